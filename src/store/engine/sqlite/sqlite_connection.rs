//! Connections to SQLite, and the statements that run on them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, Value as OwnedValue, ValueRef};
use rusqlite::{ColumnMetadata, Statement, params_from_iter};

use super::errors::{convert, statement_error};
use super::transaction_cost::CostMeter;
use crate::error::Result;
use crate::store::engine::connection::{Connection, Visit};
use crate::store::engine::lock::Lock;
use crate::store::engine::sql::query::Query;
use crate::store::engine::sql::row::{ColumnNames, Origin, RawRow, Row};
use crate::store::engine::sql::values::{Bind, Value};
use crate::store::engine::sql::violation::StatementError;

/// A connection to SQLite. It remembers the names of the columns of each query, so that they are looked up only once.
pub(in crate::store) struct SqliteConnection {
    pub(super) raw: rusqlite::Connection,
    known_queries: RefCell<BTreeMap<TextAddress, KnownQuery>>,
    pub(super) cost_meter: CostMeter,
}

/// How many queries a connection remembers. There are fewer constant texts, but texts that are built at run time are
/// remembered as well. When there are more, all are forgotten.
const MAX_KNOWN_QUERIES: usize = 1024;

/// The memory address of the text of a query. Most texts are constants, so they are found fast by their addresses. The
/// text itself must be compared as well, because another text can have the same address later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TextAddress {
    start: usize,
    length: usize,
}

struct KnownQuery {
    sql: Box<str>,
    columns: Arc<ColumnNames>,
}

impl SqliteConnection {
    pub(super) fn new(raw: rusqlite::Connection) -> Self {
        Self { raw, known_queries: RefCell::default(), cost_meter: CostMeter::default() }
    }

    fn columns(&self, sql: &str, statement: &Statement<'_>) -> Arc<ColumnNames> {
        let address = TextAddress { start: sql.as_ptr().addr(), length: sql.len() };
        let mut known_queries = self.known_queries.borrow_mut();
        if let Some(known) = known_queries.get(&address).filter(|known| *known.sql == *sql) {
            return Arc::clone(&known.columns);
        }
        let columns = Arc::new(ColumnNames::new(statement.column_names()));
        if known_queries.len() >= MAX_KNOWN_QUERIES {
            known_queries.clear();
        }
        known_queries.insert(address, KnownQuery { sql: sql.into(), columns: Arc::clone(&columns) });
        columns
    }
}

impl Connection for SqliteConnection {
    fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError> {
        let mut statement = self.raw.prepare_cached(sql).map_err(statement_error)?;
        self.cost_meter
            .measure(&mut statement, |statement| statement.execute(params_from_iter(binds)).map_err(statement_error))
    }

    fn query(&self, Query { sql, .. }: Query<'_>, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        let mut statement = self.raw.prepare_cached(sql).map_err(convert)?;
        let columns = self.columns(sql, &statement);
        self.cost_meter.measure(&mut statement, |statement| {
            let mut rows = statement.query(params_from_iter(binds)).map_err(convert)?;
            while let Some(row) = rows.next().map_err(convert)? {
                if visit(&Row::new(row, &columns))?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    fn set_savepoint(&self) -> Result<()> {
        self.execute_later("SAVEPOINT step", &[])
    }

    fn release_savepoint(&self) -> Result<()> {
        self.execute_later("RELEASE step", &[])
    }

    fn undo_savepoint(&self) -> Result<()> {
        self.execute_later("ROLLBACK TO step", &[])?;
        self.release_savepoint()
    }

    fn lock(&self, _: Lock<'_>) -> Result<()> {
        Ok(())
    }

    fn try_lock_cleanup(&self) -> Result<bool> {
        Ok(true)
    }

    fn max_savepoints(&self) -> usize {
        usize::MAX
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
    fn value(&self, index: usize) -> Value<'_> {
        match self.get_ref(index) {
            Ok(ValueRef::Null) => Value::Null,
            Ok(ValueRef::Integer(value)) => Value::Int(value),
            Ok(ValueRef::Text(text)) => Value::Text(text),
            Ok(ValueRef::Blob(bytes)) => Value::Blob(bytes),
            // An error means that there is no such column.
            Ok(ValueRef::Real(_)) | Err(_) => Value::Other,
        }
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
