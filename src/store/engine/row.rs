//! A row of a result.

use super::values::{FromValue, Value};
use crate::error::{Error, Result, StoreError};
use crate::model::text_enum::TextEnum;

/// The values of a row, as an engine returns them.
pub(super) trait Columns {
    /// The value of a column, counted from 0.
    fn value(&self, index: usize) -> Result<Value<'_>>;

    /// The table, the column and the row that a value was read from.
    fn origin(&self, index: usize) -> Origin;
}

/// The place in the database that a value was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) table: String,
    pub(super) column: String,
    /// The row's key.
    pub(super) row: String,
}

/// A row of a result.
pub(crate) struct Row<'r> {
    columns: &'r dyn Columns,
}

impl<'r> Row<'r> {
    pub(super) fn new(columns: &'r dyn Columns) -> Self {
        Self { columns }
    }

    /// Reads a column.
    pub(crate) fn get<T: FromValue>(&self, index: usize) -> Result<T> {
        T::from_value(self.value(index)?).map_err(|problem| self.corrupt(index, problem))
    }

    /// Reads a number that cannot be negative.
    pub(crate) fn count(&self, index: usize) -> Result<u64> {
        u64::try_from(self.get::<i64>(index)?).map_err(|_| self.corrupt(index, "is negative"))
    }

    /// Reads a value of an enum by its text.
    pub(crate) fn text_enum<T: TextEnum>(&self, index: usize) -> Result<T> {
        let known = match self.value(index)? {
            Value::Text(text) => std::str::from_utf8(text).ok().and_then(T::from_text),
            _ => None,
        };
        known.ok_or_else(|| self.corrupt(index, "is not one of the known values"))
    }

    /// Reads a value that is stored as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, index: usize) -> Result<T> {
        let parsed = match self.value(index)? {
            Value::Text(text) => serde_json::from_slice(text).ok(),
            _ => None,
        };
        parsed.ok_or_else(|| self.corrupt(index, "is not the expected JSON"))
    }

    pub(crate) fn is_null(&self, index: usize) -> Result<bool> {
        self.value(index).map(|value| value == Value::Null)
    }

    fn value(&self, index: usize) -> Result<Value<'_>> {
        self.columns.value(index)
    }

    /// An error about a stored value. It names the table, the column and the row, but not the value, which may be
    /// personal data.
    pub(crate) fn corrupt(&self, index: usize, problem: &str) -> Error {
        let Origin { table, column, row } = self.columns.origin(index);
        StoreError::CorruptRow { table, column, row, problem: problem.to_owned() }.into()
    }
}
