//! The schema of a database: which migrations were applied, and applying the others.

use std::ops::ControlFlow;

use super::connection::PostgresConnection;
use crate::error::{Result, StoreErrorKind};
use crate::store::engine::connection::Connection;

/// Whichever process holds this lock of the database migrates it: "TCKT".
const MIGRATION_LOCK: i64 = 0x5443_4b54;

/// Runs the migrations that are not applied yet, in one transaction. Returns how many were applied before.
pub(super) fn migrate(connection: &PostgresConnection, migrations: &[&str]) -> Result<i64> {
    connection.batch(&format!("BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))?;
    let migrated = run_missing(connection, migrations);
    if migrated.is_err() && !connection.is_lost() {
        drop(connection.batch("ROLLBACK"));
    }
    migrated
}

fn run_missing(connection: &PostgresConnection, migrations: &[&str]) -> Result<i64> {
    connection.batch(
        "CREATE TABLE IF NOT EXISTS schema_version (id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
        INSERT INTO schema_version (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING",
    )?;
    let mut found = 0_i64;
    connection.query("SELECT version FROM schema_version", &[], &mut |row| {
        found = row.get("version")?;
        Ok(ControlFlow::Break(()))
    })?;
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let missing = usize::try_from(found).ok().and_then(|done| migrations.get(done..));
    for migration in missing.ok_or(StoreErrorKind::SchemaTooNew { found, known })? {
        connection.batch(migration)?;
    }
    connection.batch(&format!("UPDATE schema_version SET version = {known}; COMMIT"))?;
    Ok(found)
}
