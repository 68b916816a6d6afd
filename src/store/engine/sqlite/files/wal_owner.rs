//! Whether the write-ahead log (WAL) next to a database file belongs to it.
//!
//! If a backup is copied over a database whose program was killed, the WAL of the old file stays behind. SQLite would
//! combine the two, and damage the database. It cannot tell, so every copy gets a random number in its header: the
//! "schema cookie", which SQLite counts up whenever the schema changes, and which has no other meaning. The number in
//! the file and the one in the header that the WAL has are then far apart.
//!
//! So the first transaction of each WAL writes the header. If another process has moved the previous WAL, the second
//! one does. This does not notice a copy of the file that was made by other programs.

use rusqlite::Connection;

use super::location::Location;
use crate::environment::Environment;
use crate::error::{Result, StoreErrorKind};
use crate::store::engine::sqlite::database::Database;
use crate::store::engine::sqlite::errors::convert;

/// How far the number in the WAL may be ahead: more than all migrations together change.
const MAX_CHANGES: i64 = 10_000;

impl Location {
    /// Gives a copy, which nobody has open, a number of its own.
    pub(in crate::store::engine::sqlite) fn number_copy(&self, environment: &Environment) -> Result<()> {
        // Far from the numbers of databases that are not copies, which begin at 0.
        let number = (u32::from_le_bytes(environment.random()) >> 2) | 1 << 28;
        let copy = self.open_empty()?;
        // Closing the only connection moves the change into the file, and removes the WAL.
        let sql =
            format!("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF; PRAGMA schema_version = {number}");
        copy.execute_batch(&sql).map_err(convert)?;
        copy.close().map_err(|(_, error)| convert(error))
    }

    /// Fails if the WAL next to the file is that of another file. `file` reads the file without its WAL, and `database`
    /// with it.
    pub(in crate::store::engine::sqlite) fn check_wal_owner(
        &self,
        file: &Connection,
        database: &Database,
    ) -> Result<()> {
        let number = |connection: &Connection| {
            connection.query_row("PRAGMA schema_version", [], |row| row.get::<_, i64>(0)).map_err(convert)
        };
        // The file first: another process may change both meanwhile.
        let Ok(in_file) = number(file) else { return Ok(()) };
        if (in_file..=in_file + MAX_CHANGES).contains(&number(database.raw())?) {
            return Ok(());
        }
        Err(StoreErrorKind::ForeignLog(self.path().display().to_string()).into())
    }
}
