//! The schema of a database: which migrations were applied, and applying the others.

use std::time::Duration;

use super::postgres_options::PostgresOptions;
use super::statements::postgres_connection::PostgresConnection;
use crate::error::{Error, Result, StoreErrorKind};
use crate::store::engine::comparison_keys;
use crate::store::migrations;

/// Whichever process holds this lock of the database migrates it: "TCKT".
pub(super) const MIGRATION_LOCK: i64 = 0x5443_4b54;

/// How long a migration waits for the lock of a table. Meanwhile, all others wait behind it: behind a long transaction,
/// it would stop the sale.
const MAX_LOCK_WAIT: &str = "2s";

/// How often a migration is tried while others use the tables, and the pause before the next attempt: five minutes
/// together.
const MAX_ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_secs(1);

/// Keeps others from writing while a migration runs. A transaction of an older program is complete before that, or
/// waits and then finds the new version, see [`tokens`](super::writing::tokens).
const LOCK_TABLES: &str = "DO $$ DECLARE tables TEXT; BEGIN
    SELECT string_agg(format('%I', tablename), ', ' ORDER BY tablename) INTO tables FROM pg_tables
        WHERE schemaname = current_schema() AND pg_has_role(tableowner, 'USAGE');
    IF tables IS NOT NULL THEN EXECUTE 'LOCK TABLE ' || tables || ' IN SHARE ROW EXCLUSIVE MODE'; END IF;
    END $$";

/// Creates the table that says how many migrations were applied.
pub(super) const CREATE_VERSION: &str =
    "CREATE TABLE IF NOT EXISTS schema_version (id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
    INSERT INTO schema_version (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING";

/// Runs the migrations that are not applied yet, in one transaction. Returns the version of the schema from before.
pub(super) fn migrate(connection: &PostgresConnection, options: &PostgresOptions) -> Result<i64> {
    let known = migrations::POSTGRES.known();
    let found = version(connection)?;
    // The user of the database needs no right to create tables if there is nothing to do.
    if found == known {
        return Ok(found);
    }
    migrations::POSTGRES.missing(found)?;
    if found == 0 && !options.create_tables {
        let problem = "it has none of the tables of this program: start the server to create them".to_owned();
        return Err(StoreErrorKind::CannotOpen(problem).into());
    }
    if (1..known).contains(&found) && !options.migrate {
        return Err(StoreErrorKind::SchemaTooOld { found, known }.into());
    }
    connection.set_max_time(Some(Duration::MAX));
    let migrated = run_when_unlocked(connection);
    connection.set_max_time(None);
    migrated
}

/// Tries again while others use the tables.
fn run_when_unlocked(connection: &PostgresConnection) -> Result<i64> {
    let mut attempts = 1;
    loop {
        let error = match run_missing(connection) {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        let is_locked = matches!(error, Error::Unavailable(_)) && !connection.is_lost();
        if !connection.is_lost() {
            drop(connection.batch("ROLLBACK"));
        }
        if !is_locked {
            return Err(error);
        }
        if attempts >= MAX_ATTEMPTS {
            let problem = "its schema cannot be migrated, because others use its tables all the time: \
                end long transactions, such as that of pg_dump";
            return Err(StoreErrorKind::CannotOpen(problem.to_owned()).into());
        }
        tracing::warn!(target: "ticketing::store", attempts, "the schema is not migrated yet: others use its tables");
        std::thread::sleep(PAUSE);
        attempts += 1;
    }
}

fn run_missing(connection: &PostgresConnection) -> Result<i64> {
    connection.forget_failure();
    // A migration may take as long as it needs, and the process that waits for it too.
    connection.batch(&format!(
        "BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({MIGRATION_LOCK});
        SET LOCAL lock_timeout = '{MAX_LOCK_WAIT}'"
    ))?;
    connection.batch(CREATE_VERSION)?;
    let found = version(connection)?;
    let known = migrations::POSTGRES.known();
    let missing = migrations::POSTGRES.missing(found)?.ok_or(StoreErrorKind::SchemaTooNew { found, known })?;
    if !missing.is_empty() {
        connection.batch(LOCK_TABLES)?;
    }
    for migration in missing {
        connection.batch(migration)?;
        if *migration == migrations::COMPARISON_KEYS {
            comparison_keys::recompute(connection)?;
        }
    }
    connection.batch(&format!("UPDATE schema_version SET version = {known}; COMMIT"))?;
    Ok(found)
}

/// The version of the schema: 0 if there are no tables.
pub(super) fn version(connection: &PostgresConnection) -> Result<i64> {
    let number = |sql| -> Result<i64> { Ok(connection.first_value(sql, &[], "found")?.unwrap_or(0)) };
    let tables = number("SELECT COUNT(TO_REGCLASS('schema_version')) AS found")?;
    if tables == 0 { Ok(0) } else { number("SELECT version AS found FROM schema_version") }
}
