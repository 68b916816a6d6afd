//! A row of a result, whose columns are read by name.

use std::cell::{Cell, RefCell};

use super::values::{FromValue, Value};
use crate::error::{Error, Result, StoreError};
use crate::text_enum::TextEnum;

/// A row as the engine returns it. Columns are numbered from 0.
pub(super) trait RawRow {
    fn value(&self, index: usize) -> Result<Value<'_>>;

    /// The name of a column; `None` if `index` is out of range.
    fn name(&self, index: usize) -> Option<&str>;

    /// The table, column and row from which the value of a column was read.
    fn origin(&self, index: usize) -> Origin;
}

/// The table, column and row from which a value was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) table: String,
    pub(super) column: String,
    /// The row's key.
    pub(super) row: String,
}

/// A cache of the column indexes of one query, in the order in which the columns are read. As all rows are read in the
/// same order, only the first row has to look up names.
#[derive(Debug, Default)]
pub(super) struct ReadColumns(RefCell<Vec<ReadColumn>>);

#[derive(Debug, Clone, Copy)]
struct ReadColumn {
    name: &'static str,
    index: usize,
}

/// A row of a result.
///
/// Columns are read by name: the name of the table's column, or the alias after `AS`.
pub(crate) struct Row<'r> {
    raw: &'r dyn RawRow,
    columns: &'r ReadColumns,
    /// The index in `columns` at which the next column to be read is expected.
    next: Cell<usize>,
}

impl<'r> Row<'r> {
    pub(super) fn new(raw: &'r dyn RawRow, columns: &'r ReadColumns) -> Self {
        Self { raw, columns, next: Cell::new(0) }
    }

    /// Reads a column.
    pub(crate) fn get<T: FromValue>(&self, name: &'static str) -> Result<T> {
        let index = self.index(name)?;
        T::from_value(self.raw.value(index)?).map_err(|problem| self.corrupt_at(index, problem))
    }

    /// Reads a number that cannot be negative.
    pub(crate) fn count(&self, name: &'static str) -> Result<u64> {
        u64::try_from(self.get::<i64>(name)?).map_err(|_| self.corrupt(name, "is negative"))
    }

    /// Reads an enum that is stored as text.
    pub(crate) fn text_enum<T: TextEnum>(&self, name: &'static str) -> Result<T> {
        let index = self.index(name)?;
        let known = match self.raw.value(index)? {
            Value::Text(text) => std::str::from_utf8(text).ok().and_then(T::from_text),
            _ => None,
        };
        known.ok_or_else(|| self.corrupt_at(index, "is not one of the known values"))
    }

    /// Reads a value that is stored as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, name: &'static str) -> Result<T> {
        let index = self.index(name)?;
        let parsed = match self.raw.value(index)? {
            Value::Text(text) => serde_json::from_slice(text).ok(),
            _ => None,
        };
        parsed.ok_or_else(|| self.corrupt_at(index, "is not the expected JSON"))
    }

    pub(crate) fn is_null(&self, name: &'static str) -> Result<bool> {
        let value = self.raw.value(self.index(name)?)?;
        Ok(value == Value::Null)
    }

    /// Returns an error about a stored value. It names the table, the column and the row, but not the value, which may
    /// be personal data.
    pub(crate) fn corrupt(&self, name: &'static str, problem: &str) -> Error {
        self.index(name).map_or_else(|error| error, |index| self.corrupt_at(index, problem))
    }

    fn corrupt_at(&self, index: usize, problem: &str) -> Error {
        let Origin { table, column, row } = self.raw.origin(index);
        StoreError::CorruptRow { table, column, row, problem: problem.to_owned() }.into()
    }

    fn index(&self, name: &'static str) -> Result<usize> {
        let mut columns = self.columns.0.borrow_mut();
        let expected = self.next.get();
        if let Some(column) = columns.get(expected) {
            if std::ptr::eq(column.name, name) || column.name == name {
                self.next.set(expected + 1);
                return Ok(column.index);
            }
            // This row is read in a different order from the row before.
            if let Some(position) = columns.iter().position(|column| column.name == name) {
                self.next.set(position + 1);
                return Ok(columns[position].index);
            }
        }
        let index = self.find(name, columns.last().map_or(0, |column| column.index + 1))?;
        columns.push(ReadColumn { name, index });
        self.next.set(columns.len());
        Ok(index)
    }

    /// Finds a column by its name. Statements list their columns in the order in which they are read, so `expected` is
    /// usually right.
    fn find(&self, name: &str, expected: usize) -> Result<usize> {
        debug_assert!(self.names().filter(|other| *other == name).count() < 2, "two columns are named {name}");
        if self.raw.name(expected) == Some(name) {
            return Ok(expected);
        }
        let found = self.names().position(|other| other == name);
        found.ok_or_else(|| Error::Internal(format!("a statement returns no column {name}")))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        (0..).map_while(|index| self.raw.name(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers(&'static [&'static str]);

    /// Each value is the position of its column.
    impl RawRow for Numbers {
        fn value(&self, index: usize) -> Result<Value<'_>> {
            Ok(Value::Int(i64::try_from(index).unwrap()))
        }

        fn name(&self, index: usize) -> Option<&str> {
            self.0.get(index).copied()
        }

        fn origin(&self, index: usize) -> Origin {
            Origin { table: "numbers".to_owned(), column: self.0[index].to_owned(), row: "1".to_owned() }
        }
    }

    #[test]
    fn columns_are_found_by_name_in_any_order_in_every_row() {
        let (raw, columns) = (Numbers(&["a", "b", "c", "d"]), ReadColumns::default());
        for order in [["a", "b", "c", "d"], ["a", "c", "b", "d"], ["d", "c", "b", "a"], ["b", "b", "d", "a"]] {
            let row = Row::new(&raw, &columns);
            for name in order {
                let index = raw.0.iter().position(|other| *other == name).unwrap();
                assert_eq!(row.get::<i64>(name).unwrap(), i64::try_from(index).unwrap(), "{name} of {order:?}");
            }
        }
    }

    #[test]
    fn a_wrong_name_is_an_internal_error_that_names_it() {
        let (raw, columns) = (Numbers(&["a"]), ReadColumns::default());
        let error = Row::new(&raw, &columns).get::<i64>("b").unwrap_err();
        assert_eq!(error, Error::Internal("a statement returns no column b".to_owned()));
    }

    #[test]
    #[should_panic(expected = "two columns are named a")]
    fn two_columns_with_one_name_panic_in_debug_builds() {
        let (raw, columns) = (Numbers(&["a", "b", "a"]), ReadColumns::default());
        let _ = Row::new(&raw, &columns).get::<i64>("a");
    }
}
