//! Values on their way into a statement, and out of a row.

use std::borrow::Cow;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};

use super::failure::convert;
use crate::error::{Error, Result, StoreError};
use crate::model::id::{Id, Kind};
use crate::model::text_enum::TextEnum;
use crate::model::timestamp::Timestamp;

/// A value for a parameter.
#[derive(Debug, Clone)]
pub(crate) enum Bind<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
    Blob(&'a [u8]),
}

impl rusqlite::ToSql for Bind<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Int(value) => ToSqlOutput::Owned(Value::Integer(*value)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

impl From<i64> for Bind<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}
impl From<bool> for Bind<'_> {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}
impl From<Timestamp> for Bind<'_> {
    fn from(at: Timestamp) -> Self {
        Self::Int(at.millis())
    }
}
impl<K: Kind> From<Id<K>> for Bind<'_> {
    fn from(id: Id<K>) -> Self {
        Self::Int(id.raw())
    }
}
impl<'a> From<&'a str> for Bind<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}
impl<'a> From<&'a String> for Bind<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text.into())
    }
}
impl<'a> From<&'a [u8]> for Bind<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Blob(bytes)
    }
}
impl From<String> for Bind<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}
impl<'a, T: Into<Bind<'a>>> From<Option<T>> for Bind<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row of a result.
pub(crate) struct Row<'r> {
    row: &'r rusqlite::Row<'r>,
}

/// A type that a column can hold.
pub(crate) trait FromColumn: Sized {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self>;
}

impl<'r> Row<'r> {
    pub(in crate::store) fn new(row: &'r rusqlite::Row<'r>) -> Self {
        Self { row }
    }

    pub(crate) fn get<T: FromColumn>(&self, index: usize) -> Result<T> {
        T::from_column(self, index)
    }

    /// A number of things.
    pub(crate) fn count(&self, index: usize) -> Result<u64> {
        u64::try_from(self.get::<i64>(index)?).map_err(|_| self.corrupt(index, "is below zero"))
    }

    /// A value of an enum, by its text.
    pub(crate) fn text_enum<T: TextEnum>(&self, index: usize) -> Result<T> {
        match self.value(index)? {
            ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(T::from_text),
            _ => None,
        }
        .ok_or_else(|| self.corrupt(index, "is not one of the known values"))
    }

    /// A value that is stored as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, index: usize) -> Result<T> {
        match self.value(index)? {
            ValueRef::Text(text) => serde_json::from_slice(text).ok(),
            _ => None,
        }
        .ok_or_else(|| self.corrupt(index, "is not the JSON that belongs there"))
    }

    pub(crate) fn is_null(&self, index: usize) -> Result<bool> {
        self.value(index).map(|value| value == ValueRef::Null)
    }

    fn value(&self, index: usize) -> Result<ValueRef<'_>> {
        self.row.get_ref(index).map_err(|error| convert(&error))
    }

    /// An error that says where the value stands, and not what it is.
    pub(crate) fn corrupt(&self, index: usize, problem: &str) -> Error {
        let statement: &rusqlite::Statement<'_> = self.row.as_ref();
        let columns = statement.columns_with_metadata();
        let name = |name: Option<&str>| name.unwrap_or("?").to_owned();
        let column = columns.get(index);
        let table = column.and_then(rusqlite::ColumnMetadata::table_name);
        // The key of a joined row where the statement reads it; by convention the first column is the key of the first.
        let is_key =
            |other: &rusqlite::ColumnMetadata<'_>| other.table_name() == table && other.origin_name() == Some("id");
        let key = columns.iter().position(is_key).unwrap_or(0);
        let row = match self.row.get_ref(key) {
            Ok(ValueRef::Integer(key)) => key.to_string(),
            _ => "?".to_owned(),
        };
        let row = match columns.get(key).and_then(rusqlite::ColumnMetadata::table_name) {
            Some(other) if table.is_some_and(|table| table != other) => format!("of {other} {row}"),
            _ => row,
        };
        Error::Store(StoreError::CorruptRow {
            table: name(table),
            column: name(column.and_then(rusqlite::ColumnMetadata::origin_name)),
            row,
            problem: problem.to_owned(),
        })
    }
}

impl FromColumn for i64 {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        match row.value(index)? {
            ValueRef::Integer(value) => Ok(value),
            _ => Err(row.corrupt(index, "is not an integer")),
        }
    }
}
impl FromColumn for bool {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        row.get::<i64>(index).map(|value| value != 0)
    }
}
impl FromColumn for Timestamp {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        row.get::<i64>(index).map(Self::from_millis)
    }
}
impl<K: Kind> FromColumn for Id<K> {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        row.get::<i64>(index).map(Self::from_raw)
    }
}
impl FromColumn for String {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        match row.value(index)? {
            ValueRef::Text(text) => {
                std::str::from_utf8(text).map(str::to_owned).map_err(|_| row.corrupt(index, "is not UTF-8"))
            }
            _ => Err(row.corrupt(index, "is not text")),
        }
    }
}
impl<T: FromColumn> FromColumn for Option<T> {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        if row.is_null(index)? { Ok(None) } else { T::from_column(row, index).map(Some) }
    }
}
