//! Statements on a connection to SQLite.

use rusqlite::types::{ToSqlOutput, Value as OwnedValue, ValueRef};
use rusqlite::{ColumnMetadata, Statement, params_from_iter};

use super::errors::{convert, statement_error};
use crate::error::Result;
use crate::store::engine::connection::{Connection, Visit};
use crate::store::engine::row::{Origin, RawRow, ReadColumns, Row};
use crate::store::engine::values::{Bind, Value};
use crate::store::engine::violation::StatementError;

impl Connection for rusqlite::Connection {
    fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError> {
        let mut statement = self.prepare_cached(sql).map_err(|error| statement_error(&error))?;
        statement.execute(params_from_iter(binds)).map_err(|error| statement_error(&error))
    }

    fn query(&self, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        let mut statement = self.prepare_cached(sql).map_err(|error| convert(&error))?;
        let mut rows = statement.query(params_from_iter(binds)).map_err(|error| convert(&error))?;
        let columns = ReadColumns::default();
        while let Some(row) = rows.next().map_err(|error| convert(&error))? {
            if visit(&Row::new(row, &columns))?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl rusqlite::ToSql for Bind<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(OwnedValue::Null),
            Self::Int(value) => ToSqlOutput::Owned(OwnedValue::Integer(*value)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

impl RawRow for rusqlite::Row<'_> {
    fn value(&self, index: usize) -> Result<Value<'_>> {
        let value = self.get_ref(index).map_err(|error| convert(&error))?;
        Ok(match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(value) => Value::Int(value),
            ValueRef::Text(text) => Value::Text(text),
            ValueRef::Blob(bytes) => Value::Blob(bytes),
            ValueRef::Real(_) => Value::Other,
        })
    }

    fn name(&self, index: usize) -> Option<&str> {
        let statement: &Statement<'_> = self.as_ref();
        statement.column_name(index).ok()
    }

    fn origin(&self, index: usize) -> Origin {
        let statement: &Statement<'_> = self.as_ref();
        let columns = statement.columns_with_metadata();
        let name = |name: Option<&str>| name.unwrap_or("?").to_owned();
        let column = columns.get(index);
        let table = column.and_then(ColumnMetadata::table_name);

        // The key of the value's own table, if the statement reads it. Otherwise the first column, which is by
        // convention the key of the statement's first table.
        let is_key = |other: &ColumnMetadata<'_>| other.table_name() == table && other.origin_name() == Some("id");
        let key = columns.iter().position(is_key).unwrap_or(0);
        let row = match self.get_ref(key) {
            Ok(ValueRef::Integer(key)) => key.to_string(),
            _ => "?".to_owned(),
        };
        let key_table = columns.get(key).and_then(ColumnMetadata::table_name);
        let row = match key_table {
            Some(other) if table.is_some_and(|table| table != other) => format!("of {other} {row}"),
            _ => row,
        };
        Origin { table: name(table), column: name(column.and_then(ColumnMetadata::origin_name)), row }
    }
}
