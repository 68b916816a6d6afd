//! The schema of a database: which migrations were applied, and applying the others.

use std::ops::ControlFlow;

use super::connection::PostgresConnection;
use super::options::PostgresOptions;
use crate::error::{Result, StoreErrorKind};
use crate::store::engine::connection::Connection;

/// Whichever process holds this lock of the database migrates it: "TCKT".
pub(super) const MIGRATION_LOCK: i64 = 0x5443_4b54;

/// Creates the table that says how many migrations were applied.
pub(super) const CREATE_VERSION: &str =
    "CREATE TABLE IF NOT EXISTS schema_version (id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
    INSERT INTO schema_version (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING";

/// Runs the migrations that are not applied yet, in one transaction. Returns how many were applied before.
pub(super) fn migrate(connection: &PostgresConnection, options: &PostgresOptions, migrations: &[&str]) -> Result<i64> {
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let found = version(connection)?;
    // The user of the database needs no right to create tables if there is nothing to do.
    if found == known {
        return Ok(found);
    }
    if found == 0 && !options.create_tables {
        let problem = "it has none of the tables of this program: start the server to create them".to_owned();
        return Err(StoreErrorKind::CannotOpen(problem).into());
    }
    if (1..known).contains(&found) && !options.migrate {
        return Err(StoreErrorKind::SchemaTooOld { found, known }.into());
    }
    // A migration may take as long as it needs, and the process that waits for it too.
    connection.batch(&format!(
        "BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"
    ))?;
    let migrated = run_missing(connection, migrations);
    if migrated.is_err() && !connection.is_lost() {
        drop(connection.batch("ROLLBACK"));
    }
    migrated
}

fn run_missing(connection: &PostgresConnection, migrations: &[&str]) -> Result<i64> {
    connection.batch(CREATE_VERSION)?;
    let found = version(connection)?;
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let missing = usize::try_from(found).ok().and_then(|done| migrations.get(done..));
    for migration in missing.ok_or(StoreErrorKind::SchemaTooNew { found, known })? {
        connection.batch(migration)?;
    }
    connection.batch(&format!("UPDATE schema_version SET version = {known}; COMMIT"))?;
    Ok(found)
}

/// How many migrations were applied: 0 if there are no tables.
pub(super) fn version(connection: &PostgresConnection) -> Result<i64> {
    let tables = number(connection, "SELECT COUNT(TO_REGCLASS('schema_version')) AS found")?;
    if tables == 0 { Ok(0) } else { number(connection, "SELECT version AS found FROM schema_version") }
}

/// The column `found` of the only row of a query.
fn number(connection: &PostgresConnection, sql: &str) -> Result<i64> {
    let mut found = 0;
    connection.query(sql, &[], &mut |row| {
        found = row.get("found")?;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}
