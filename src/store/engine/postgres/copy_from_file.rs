//! Copies a database file to an empty PostgreSQL database.
//!
//! The copy is one transaction, so that the target is empty or complete. Which tables and columns there are is read
//! from both databases: a copy in which one would be missing fails.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use postgres::Client;
use postgres::binary_copy::BinaryCopyInWriter;
use postgres::types::{ToSql, Type};

use super::net::errors;
use super::net::purpose::Purpose;
use super::postgres_options::PostgresOptions;
use super::schema::{self, MIGRATION_LOCK};
use crate::error::{Error, Result, StoreError, StoreErrorKind};
use crate::model::operation::backup::CopyProgress;
use crate::store::engine::sql::row::Row;
use crate::store::engine::sql::values::{Bind, Value};
use crate::store::engine::transaction::Transaction;
use crate::store::migrations;

/// The tables that only PostgreSQL has.
const OWN_TABLES: &[&str] = &["schema_version", "transaction_tokens"];

/// After how many rows the progress is reported.
const REPORTED_ROWS: u64 = 1000;

/// The columns of each table.
type Tables = BTreeMap<String, BTreeSet<String>>;

/// Copies all rows of one snapshot of a database file, which `source` reads and whose tables are `tables`.
pub(in crate::store) fn copy(
    source: &Transaction<'_>,
    tables: &Tables,
    options: &PostgresOptions,
    progress: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
) -> Result<CopyProgress> {
    let mut client = options.connect()?;
    // If the copy ends early, the connection is closed, and the server undoes the transaction.
    prepare(&mut client)?;
    let mut known = known_tables(&mut client)?;
    // Further tables of the target are those of an extension or of another program.
    known.retain(|table, _| tables.contains_key(table));
    require_same(tables, &known)?;
    let order = parents_first(&mut client, &known)?;
    require_empty(&mut client, &order)?;
    let mut report = Report { done: CopyProgress::default(), progress };
    for table in &order {
        let rows = source.query_opt(&format!("SELECT COUNT(*) AS n FROM \"{table}\""), &[], |row| row.count("n"))?;
        report.done.total_rows += rows.unwrap_or(0);
    }
    for table in &order {
        copy_table(source, &mut client, table, &known[*table], &mut report)?;
    }
    report.report()?;
    // The first queries on the target have statistics.
    client.batch_execute(&format!("ANALYZE \"{}\"; COMMIT", order.join("\", \""))).map_err(convert)?;
    Ok(report.done)
}

/// Begins the transaction, and creates the tables if there are none.
fn prepare(client: &mut Client) -> Result<()> {
    client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")).map_err(convert)?;
    let known = migrations::POSTGRES.known();
    let has_tables: bool = one(client, "SELECT TO_REGCLASS('schema_version') IS NOT NULL")?;
    let found: i64 = if has_tables { one(client, "SELECT version FROM schema_version")? } else { 0 };
    match found {
        0 => {
            client.batch_execute(schema::CREATE_VERSION).map_err(convert)?;
            for migration in migrations::POSTGRES.missing(0)?.unwrap_or_default() {
                client.batch_execute(migration).map_err(convert)?;
            }
            client.batch_execute(&format!("UPDATE schema_version SET version = {known}")).map_err(convert)
        }
        found if found > known => Err(StoreErrorKind::SchemaTooNew { found, known }.into()),
        found if found < known => Err(StoreErrorKind::SchemaTooOld { found, known }.into()),
        _ => Ok(()),
    }
}

/// The only value of the only row of a query.
fn one<T: for<'r> postgres::types::FromSql<'r>>(client: &mut Client, sql: &str) -> Result<T> {
    client.query_one(sql, &[]).and_then(|row| row.try_get(0)).map_err(convert)
}

/// The tables of the target that are copied to.
fn known_tables(client: &mut Client) -> Result<Tables> {
    let sql = "SELECT table_name::TEXT, column_name::TEXT FROM information_schema.columns
        JOIN information_schema.tables USING (table_schema, table_name)
        WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'";
    let mut tables = Tables::new();
    for row in client.query(sql, &[]).map_err(convert)? {
        let table: String = row.try_get(0).map_err(convert)?;
        if !OWN_TABLES.contains(&&*table) {
            tables.entry(table).or_default().insert(row.try_get(1).map_err(convert)?);
        }
    }
    Ok(tables)
}

/// Fails if a table or a column is in one of the databases only.
fn require_same(source: &Tables, target: &Tables) -> Result<()> {
    let names = |tables: &Tables| -> BTreeSet<String> {
        let columns =
            tables.iter().flat_map(|(table, columns)| columns.iter().map(move |name| format!("{table}.{name}")));
        columns.collect()
    };
    match names(source).symmetric_difference(&names(target)).next() {
        None => Ok(()),
        Some(column) => Err(cannot_copy(format!("only one of the two databases has the column {column}"))),
    }
}

/// The tables in an order in which each comes after those that its foreign keys refer to.
fn parents_first<'t>(client: &mut Client, tables: &'t Tables) -> Result<Vec<&'t str>> {
    let sql = "SELECT child.relname::TEXT, parent.relname::TEXT FROM pg_constraint
        JOIN pg_class child ON child.oid = conrelid JOIN pg_class parent ON parent.oid = confrelid
        WHERE contype = 'f' AND connamespace = current_schema()::REGNAMESPACE AND conrelid <> confrelid";
    let mut parents: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in client.query(sql, &[]).map_err(convert)? {
        let child = row.try_get(0).map_err(convert)?;
        parents.entry(child).or_default().push(row.try_get(1).map_err(convert)?);
    }
    let mut order: Vec<&str> = Vec::new();
    while order.len() < tables.len() {
        let before = order.len();
        for table in tables.keys() {
            let is_free = |parents: &Vec<String>| parents.iter().all(|parent| order.contains(&&**parent));
            if !order.contains(&&**table) && parents.get(table).is_none_or(is_free) {
                order.push(table);
            }
        }
        if order.len() == before {
            return Err(Error::Internal("the foreign keys of the schema are circular".to_owned()));
        }
    }
    Ok(order)
}

/// Locks the tables, so that nobody else inserts anything, and fails if one of them has a row.
fn require_empty(client: &mut Client, tables: &[&str]) -> Result<()> {
    client.batch_execute("SET LOCAL lock_timeout = '10s'").map_err(convert)?;
    for table in tables {
        client.batch_execute(&format!("LOCK TABLE \"{table}\" IN SHARE ROW EXCLUSIVE MODE")).map_err(convert)?;
        if one(client, &format!("SELECT EXISTS (SELECT 1 FROM \"{table}\")"))? {
            return Err(cannot_copy(format!("the target is not empty: its table {table} has rows")));
        }
    }
    Ok(())
}

/// The progress, and whom it is reported to.
struct Report<'p> {
    done: CopyProgress,
    progress: &'p mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
}

impl Report<'_> {
    fn add_row(&mut self) -> Result<()> {
        self.done.rows += 1;
        if self.done.rows.is_multiple_of(REPORTED_ROWS) { self.report() } else { Ok(()) }
    }

    fn report(&mut self) -> Result<()> {
        match (self.progress)(self.done) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(StoreErrorKind::CopyStopped.into()),
        }
    }
}

fn copy_table(
    source: &Transaction<'_>,
    client: &mut Client,
    table: &str,
    columns: &BTreeSet<String>,
    report: &mut Report<'_>,
) -> Result<()> {
    let names = columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let types = column_types(client, table, &names)?;
    let failed = |error: postgres::Error| failed(table, error);
    let writer = client.copy_in(&format!("COPY \"{table}\" ({names}) FROM STDIN BINARY")).map_err(failed)?;
    let mut writer = BinaryCopyInWriter::new(writer, &types);
    source.query_each(&format!("SELECT {names} FROM \"{table}\""), &[], |row| {
        let values: Vec<Bind<'_>> = (0..types.len()).map(|index| value(row, index, table)).collect::<Result<_>>()?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        writer.write(&values).map_err(failed)?;
        report.add_row()
    })?;
    writer.finish().map_err(failed)?;
    Ok(())
}

/// The types of columns, which are those of a [`Bind`].
fn column_types(client: &mut Client, table: &str, names: &str) -> Result<Vec<Type>> {
    let statement = client.prepare(&format!("SELECT {names} FROM \"{table}\"")).map_err(convert)?;
    let types: Vec<Type> = statement.columns().iter().map(|column| column.type_().clone()).collect();
    match types.iter().find(|known| !matches!(**known, Type::INT8 | Type::TEXT | Type::BYTEA)) {
        None => Ok(types),
        Some(other) => Err(Error::Internal(format!("a column of {table} has the type {other}"))),
    }
}

fn value<'r>(row: &'r Row<'_>, index: usize, table: &str) -> Result<Bind<'r>> {
    let broken = |problem: &str| cannot_copy(format!("table {table}: {problem}; check the database"));
    match row.value_at(index) {
        Value::Null => Ok(Bind::Null),
        Value::Int(number) => Ok(Bind::Int(number)),
        Value::Blob(bytes) => Ok(bytes.into()),
        Value::Text(bytes) if bytes.contains(&0) => Err(broken("a text contains the character NUL")),
        Value::Text(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| broken("a text is not UTF-8"))?;
            Ok(Bind::Text(text.into()))
        }
        Value::Other => Err(broken("a value has a type that no column has")),
    }
}

/// An error that PostgreSQL has with a row. Its detail has the values.
fn failed(table: &str, error: postgres::Error) -> Error {
    match error.as_db_error().map(|error| error.message().to_owned()) {
        Some(message) => StoreError::new(StoreErrorKind::CannotCopy(format!("table {table}: {message}")), error).into(),
        None => convert(error),
    }
}

fn convert(error: postgres::Error) -> Error {
    errors::convert(error, Purpose::Write)
}

fn cannot_copy(problem: String) -> Error {
    StoreErrorKind::CannotCopy(problem).into()
}
