//! Settings that connections share.

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// How many prepared statements a connection caches: more than the store has.
pub(super) const CACHED_STATEMENTS: usize = 256;

/// Makes the query plan of a statement independent of the bound values. Otherwise, an SQLite with STAT4 plans a
/// statement again when a bound value changes, if ANALYZE has run.
pub(super) fn use_stable_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Sets whether SQLite refuses statements that could damage the file, and returns whether it did. Some systems build it
/// so that it does by default. Migrations that change the text of a table need it off.
pub(super) fn set_defensive(connection: &Connection, defensive: bool) -> rusqlite::Result<bool> {
    let before = connection.db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, defensive)?;
    Ok(before)
}

/// Lets SQLite not checkpoint the WAL when the last connection is closed: it could be that of another program, and
/// after a failed sync it must stay as it is.
pub(super) fn never_checkpoint_on_close(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
}

/// A busy handler that waits for another process's write lock, about five seconds in total. Each wait has a random
/// part, so that several waiting processes do not retry at the same time.
///
/// The waits stay short. A process that writes without pause is without the lock for less than a hundredth of the time:
/// who tries seldom does not get it.
pub(super) fn wait_while_busy(attempt: i32) -> bool {
    let mut jitter = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(&(std::thread::current().id(), std::process::id(), attempt), &mut jitter);
    let micros = 500 + std::hash::Hasher::finish(&jitter) % 1000;
    std::thread::sleep(Duration::from_micros(micros));
    attempt < 5000
}

/// A busy handler that waits for readers, at most a fifth of a second.
pub(super) fn wait_briefly(attempt: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    attempt < 200
}
