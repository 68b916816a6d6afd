//! A row of a result, whose columns are read by name.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::values::{FromValue, Value, from_json};
use crate::error::{Error, Result, StoreErrorKind};

/// A row as an engine returns it. Columns are counted from 0.
pub(in crate::store::engine) trait RawRow {
    /// The value of a column that the statement returns.
    fn value(&self, index: usize) -> Value<'_>;

    /// The table, column and row that the value of a column was read from.
    fn origin(&self, index: usize) -> Origin;
}

/// The table, column and row that a value was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store::engine) struct Origin {
    pub(in crate::store::engine) table: String,
    pub(in crate::store::engine) column: String,
    /// The row's key.
    pub(in crate::store::engine) row: String,
}

/// The names of the columns that a statement returns, in their order.
#[derive(Debug)]
pub(in crate::store::engine) struct ColumnNames(Box<[ColumnName]>);

#[derive(Debug)]
struct ColumnName {
    name: Box<str>,
    /// The memory address of the constant that was last found to be this name, or 0. Most columns are read by the same
    /// constant again and again, so that comparing the addresses is enough.
    constant: AtomicUsize,
}

impl ColumnName {
    fn is(&self, name: &'static str) -> bool {
        let address = name.as_ptr().addr();
        if self.constant.load(Ordering::Relaxed) == address && self.name.len() == name.len() {
            return true;
        }
        let is_equal = *self.name == *name;
        if is_equal {
            self.constant.store(address, Ordering::Relaxed);
        }
        is_equal
    }
}

impl ColumnNames {
    /// Panics in debug builds if two columns have the same name.
    pub(in crate::store::engine) fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        for (index, name) in names.iter().enumerate() {
            debug_assert!(!names[..index].contains(name), "a statement returns two columns that are called {name}");
        }
        Self(names.into_iter().map(|name| ColumnName { name: name.into(), constant: AtomicUsize::new(0) }).collect())
    }

    fn is_at(&self, index: usize, name: &'static str) -> bool {
        self.0.get(index).is_some_and(|column| column.is(name))
    }

    /// Looks for a column, first among those after `start`.
    fn position(&self, start: usize, name: &'static str) -> Option<usize> {
        (start..self.0.len()).chain(0..start.min(self.0.len())).find(|index| self.is_at(*index, name))
    }
}

/// A row of a result. Columns are read by name: the name of the table's column, or its alias after `AS`.
pub(crate) struct Row<'r> {
    raw: &'r dyn RawRow,
    names: &'r ColumnNames,
    /// The index of the column after the one that was read last. A requested name is compared with this column and the
    /// one before it first: columns are mostly read in the order in which they are selected, and some are read twice.
    next: Cell<usize>,
    text_bytes_read: Cell<usize>,
}

impl<'r> Row<'r> {
    pub(in crate::store::engine) fn new(raw: &'r dyn RawRow, names: &'r ColumnNames) -> Self {
        Self { raw, names, next: Cell::new(0), text_bytes_read: Cell::new(0) }
    }

    /// Reads a column.
    pub(crate) fn get<T: FromValue>(&self, name: &'static str) -> Result<T> {
        self.read(name, T::from_value)
    }

    /// Reads a text without copying it.
    #[cfg(feature = "exports")]
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<&str>> {
        let index = self.index(name)?;
        match self.value(index) {
            Value::Null => Ok(None),
            value => value.text().map(Some).map_err(|problem| self.corrupt_at(index, problem)),
        }
    }

    /// Reads a number that cannot be negative.
    pub(crate) fn count(&self, name: &'static str) -> Result<u64> {
        u64::try_from(self.get::<i64>(name)?).map_err(|_| self.corrupt(name, "is negative"))
    }

    /// Reads a value from its text. `problem` completes the sentence "the value …" if the text is no such value.
    pub(crate) fn parsed<T>(
        &self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
        problem: &'static str,
    ) -> Result<T> {
        self.read(name, |value| value.parsed(parse, problem))
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, name: &'static str) -> Result<T> {
        self.read(name, from_json)
    }

    fn read<T>(&self, name: &'static str, read: impl FnOnce(Value<'_>) -> Result<T, &'static str>) -> Result<T> {
        let index = self.index(name)?;
        read(self.value(index)).map_err(|problem| self.corrupt_at(index, problem))
    }

    pub(crate) fn is_null(&self, name: &'static str) -> Result<bool> {
        let index = self.index(name)?;
        Ok(self.value(index) == Value::Null)
    }

    /// The value of a column by its position, for a query that was built from the schema.
    #[cfg(feature = "postgres")]
    pub(in crate::store::engine) fn value_at(&self, index: usize) -> Value<'_> {
        self.raw.value(index)
    }

    pub(crate) fn text_bytes_read(&self) -> usize {
        self.text_bytes_read.get()
    }

    /// Returns an error about a stored value. It names the table, the column and the row, but not the value, which may
    /// be personal data.
    pub(crate) fn corrupt(&self, name: &'static str, problem: &str) -> Error {
        match self.index(name) {
            Ok(index) => self.corrupt_at(index, problem),
            Err(error) => error,
        }
    }

    fn corrupt_at(&self, index: usize, problem: &str) -> Error {
        let Origin { table, column, row } = self.raw.origin(index);
        StoreErrorKind::CorruptRow { table, column, row, problem: problem.to_owned() }.into()
    }

    fn value(&self, index: usize) -> Value<'_> {
        let value = self.raw.value(index);
        if let Value::Text(text) = value {
            self.text_bytes_read.set(self.text_bytes_read.get() + text.len());
        }
        value
    }

    #[inline]
    fn index(&self, name: &'static str) -> Result<usize> {
        let next = self.next.get();
        let last = next.saturating_sub(1);
        let index = if self.names.is_at(next, name) {
            next
        } else if self.names.is_at(last, name) {
            last
        } else {
            let found = self.names.position(next + 1, name);
            found.ok_or_else(|| Error::Internal(format!("a statement returns no column {name}")))?
        };
        self.next.set(index + 1);
        Ok(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of each column is its index.
    struct Indexes;

    impl RawRow for Indexes {
        fn value(&self, index: usize) -> Value<'_> {
            Value::Int(i64::try_from(index).unwrap())
        }

        fn origin(&self, index: usize) -> Origin {
            Origin { table: "numbers".to_owned(), column: index.to_string(), row: "1".to_owned() }
        }
    }

    #[test]
    fn columns_are_found_by_name_in_any_order() {
        let names = ColumnNames::new(["a", "b", "c", "d"]);
        let row = Row::new(&Indexes, &names);
        for (name, index) in [("a", 0), ("b", 1), ("d", 3), ("c", 2), ("d", 3), ("d", 3), ("a", 0), ("a", 0)] {
            assert_eq!(row.get::<i64>(name), Ok(index), "{name}");
        }
    }

    #[test]
    fn a_wrong_name_is_an_internal_error_that_names_it() {
        let names = ColumnNames::new(["a"]);
        let error = Row::new(&Indexes, &names).get::<i64>("b").unwrap_err();
        assert_eq!(error, Error::Internal("a statement returns no column b".to_owned()));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "two columns that are called a")]
    fn two_columns_with_one_name_are_noticed_in_debug_builds() {
        ColumnNames::new(["a", "b", "a"]);
    }
}
