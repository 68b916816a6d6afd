//! What every connection is told.

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// How many prepared statements a connection keeps: more than there are.
pub(super) const STATEMENTS: usize = 256;

/// The same plan for the same statement, whatever is bound: with STAT4 compiled in, SQLite otherwise plans anew when a
/// bound value changes.
pub(super) fn stable_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Waits a little for the other process that writes, and gives up after about five seconds. Waiters that came together
/// part ways: each waits for another while.
pub(super) fn wait_while_busy(attempt: i32) -> bool {
    let longest = 1_u64 << attempt.clamp(0, 5);
    let mut jitter = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(&(std::thread::current().id(), std::process::id(), attempt), &mut jitter);
    let micros = longest * 500 + std::hash::Hasher::finish(&jitter) % (longest * 1000);
    std::thread::sleep(Duration::from_micros(micros));
    attempt < 160
}

/// Waits for readers, at most a fifth of a second.
pub(super) fn wait_briefly(attempt: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    attempt < 200
}
