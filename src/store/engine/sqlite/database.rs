//! Connections for writing: their settings, the schema, and checkpoints.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::errors::convert;
use super::files::file_state::{FileState, OtherCheckpoint};
use super::files::moved::too_new;
use super::settings::{
    CACHED_STATEMENTS, never_checkpoint_on_close, set_defensive, use_stable_plans, wait_briefly, wait_while_busy,
};
use super::sqlite_connection::SqliteConnection;
use super::transaction_cost::TransactionCost;
use crate::environment::Environment;
use crate::error::{Error, Result, StoreErrorKind, Unavailable};
use crate::store::engine::comparison_keys;
use crate::store::engine::transaction::Transaction;
use crate::store::migrations;

/// The `application_id` in the header of the databases of this crate: "TCKT".
const APPLICATION_ID: i64 = 0x5443_4b54;

/// A connection for writing.
pub(crate) struct Database {
    pub(super) connection: SqliteConnection,
    /// Whether the file may still be written.
    pub(super) file: Arc<FileState>,
    /// Whether this connection makes no checkpoints.
    leaves_wal: bool,
}

thread_local! {
    /// The pages in the WAL after the last commit of this thread. The hook that learns it is a function without state.
    static WAL_PAGES: Cell<u32> = const { Cell::new(0) };
}

impl Database {
    /// Prepares a connection to the file at `path` for writing. Refuses a database of another program, and a file that
    /// may not be written any more.
    pub(super) fn prepare(connection: Connection, path: &Path) -> Result<Self> {
        let database = Self::new(connection, path)?;
        database.file.check()?;
        database.set_busy_handler(Some(wait_while_busy))?;
        database.raw().set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        database.check_owner()?;
        if database.is_read_only()? {
            return Err(StoreErrorKind::ReadOnly(String::new()).into());
        }
        database.switch_to_wal()?;
        // The WAL file is truncated to 96 MiB when the WAL restarts, so that a long backup leaves no huge file behind.
        // The page cache is small: in a file of less than 1 GiB, most commits look through all of it, because balancing
        // a B-tree uses a page number above the last page for a moment.
        database.batch(
            "PRAGMA journal_size_limit = 100663296;
            PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
            PRAGMA trusted_schema = OFF; PRAGMA cache_size = -4096; PRAGMA wal_autocheckpoint = 0;",
        )?;
        use_stable_plans(database.raw()).map_err(convert)?;
        database.raw().wal_hook(Some(|_, pages| {
            WAL_PAGES.set(u32::try_from(pages).unwrap_or(u32::MAX));
            Ok(())
        }));
        Ok(database)
    }

    /// Locks the file at `path` for this connection. Fails if another connection is open.
    pub(super) fn open_exclusively(connection: Connection, path: &Path) -> Result<Self> {
        let database = Self::new(connection, path)?;
        database.set_busy_handler(None)?;
        // Before the first read: SQLite then makes an index of the WAL for this connection only.
        database.batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL")?;
        database.check_owner()?;
        Ok(database)
    }

    /// Prepares a connection that changes nothing in the database at `path`. `has_wal` says whether there was a WAL
    /// with content before.
    pub(super) fn open_unchanged(connection: Connection, path: &Path, has_wal: bool) -> Result<Self> {
        let database = Self { leaves_wal: true, ..Self::new(connection, path)? };
        database.file.check()?;
        database.set_busy_handler(Some(wait_while_busy))?;
        database.raw().set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        database.check_owner()?;
        database.batch("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF")?;
        use_stable_plans(database.raw()).map_err(convert)?;
        if !has_wal {
            // Closing this connection then removes the files that opening it has created.
            database.let_close_remove_wal()?;
        }
        Ok(database)
    }

    fn new(connection: Connection, path: &Path) -> Result<Self> {
        let database =
            Self { connection: SqliteConnection::new(connection), file: FileState::of(path), leaves_wal: false };
        never_checkpoint_on_close(database.raw()).map_err(convert)?;
        Ok(database)
    }

    /// Whether the file cannot be written to.
    pub(super) fn is_read_only(&self) -> Result<bool> {
        self.raw().is_readonly(rusqlite::MAIN_DB).map_err(convert)
    }

    /// Refuses a database of another program, before anything in it is changed.
    fn check_owner(&self) -> Result<()> {
        // The application id is read last: another process may initialize the database in between.
        let version = self.number("PRAGMA user_version")?;
        let tables = self.number("SELECT COUNT(*) FROM sqlite_schema")?;
        match self.number("PRAGMA application_id")? {
            APPLICATION_ID => Ok(()),
            0 if tables == 0 && version == 0 => Ok(()),
            other => Err(StoreErrorKind::ForeignDatabase(other).into()),
        }
    }

    /// Switches to WAL mode. If several processes open a new file at once, SQLite can report SQLITE_BUSY here without
    /// calling the busy handler, so this waits and tries again by itself.
    fn switch_to_wal(&self) -> Result<()> {
        // With the busy handler, each attempt would wait for its five seconds.
        self.set_busy_handler(None)?;
        let read = |sql| self.raw().query_row(sql, [], |row| row.get::<_, String>(0));
        let mut attempt = 0;
        let mode = loop {
            let switched = read("PRAGMA journal_mode")
                .and_then(|now| if now == "wal" { Ok(now) } else { read("PRAGMA journal_mode = WAL") });
            match switched.map_err(convert) {
                Err(Error::Unavailable(_)) if wait_while_busy(attempt) => attempt += 1,
                switched => break switched?,
            }
        };
        if mode != "wal" {
            let problem = format!("WAL mode is not possible here; the journal mode stays {mode}");
            return Err(StoreErrorKind::CannotOpen(problem).into());
        }
        self.set_busy_handler(Some(wait_while_busy))
    }

    fn set_busy_handler(&self, handler: Option<fn(i32) -> bool>) -> Result<()> {
        self.raw().busy_handler(handler).map_err(convert)
    }

    /// Runs the migrations that are not applied yet, in one transaction. `user_version` in the header is the version of
    /// the schema. Returns the version from before: 0 for a new database.
    ///
    /// If some are missing, calls `before` with this number first, when no other connection can write any more.
    pub(crate) fn migrate(&self, before: impl FnOnce(i64) -> Result<()>) -> Result<i64> {
        let known = migrations::SQLITE.known();
        if self.schema_version()? == known {
            return Ok(known);
        }
        let was_defensive = set_defensive(self.raw(), false).map_err(convert)?;
        self.batch("BEGIN IMMEDIATE")?;
        let migrated_from = self.run_missing(known, before).inspect_err(|_| drop(self.batch("ROLLBACK")))?;
        set_defensive(self.raw(), was_defensive).map_err(convert)?;
        Ok(migrated_from)
    }

    fn run_missing(&self, known: i64, before: impl FnOnce(i64) -> Result<()>) -> Result<i64> {
        // Another process may have replaced the file before this transaction began.
        self.file.check()?;
        // Read again: another process may have migrated the database before this transaction began.
        let found = self.schema_version()?;
        let missing = migrations::SQLITE.missing(found)?.ok_or_else(|| too_new(found, known))?;
        if !missing.is_empty() {
            before(found)?;
        }
        for migration in missing {
            self.batch(migration)?;
            if *migration == migrations::COMPARISON_KEYS {
                comparison_keys::recompute(&self.connection)?;
            }
        }
        self.batch(&format!("PRAGMA user_version = {known}; PRAGMA application_id = {APPLICATION_ID}; COMMIT"))?;
        Ok(found)
    }

    pub(super) fn schema_version(&self) -> Result<i64> {
        let read = || self.raw().prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0));
        read().map_err(convert)
    }

    /// Fails if nothing may be written any more: see [`FileState::check`]. Also if a newer program has migrated the
    /// database, which this reads from its header.
    pub(crate) fn check(&self) -> Result<()> {
        self.file.check()?;
        let version = self.schema_version()?;
        self.file.check_schema_version(version)
    }

    /// Writes the header of the database as it is, if the WAL may not have it yet: see
    /// [`wal_owner`](super::files::wal_owner).
    pub(crate) fn write_header_to_wal(&self) -> Result<()> {
        if self.file.take_header_missing() {
            let version = self.schema_version()?;
            self.batch(&format!("PRAGMA user_version = {version}"))?;
        }
        Ok(())
    }

    pub(crate) fn batch(&self, sql: &str) -> Result<()> {
        self.raw().execute_batch(sql).map_err(convert)
    }

    /// Runs a statement without parameters and rows, which is prepared once.
    pub(crate) fn command(&self, sql: &str) -> Result<()> {
        let run = || self.raw().prepare_cached(sql)?.execute([]);
        run().map(drop).map_err(convert)
    }

    pub(super) fn number(&self, sql: &str) -> Result<i64> {
        self.raw().query_row(sql, [], |row| row.get(0)).map_err(convert)
    }

    /// Whether a transaction is open. After some errors, SQLite rolls a transaction back by itself.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.raw().is_autocommit()
    }

    /// Runs `work`, which may take long, on one snapshot of the database. Other connections can write in the meantime.
    /// Their writes stay in the WAL until `work` ends.
    pub(crate) fn with_snapshot<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.batch("BEGIN")?;
        // The snapshot is taken by the first statement that reads.
        self.number("SELECT COUNT(*) FROM sqlite_schema")?;
        let result = work();
        if self.in_transaction() {
            self.batch("ROLLBACK")?;
        }
        if self.leaves_wal {
            return result;
        }
        // Otherwise the next commit would have to move all that was written, and every writer would wait for it.
        if let Err(error) = self.checkpoint() {
            tracing::warn!(target: "ticketing::store", %error, "the checkpoint after a long read failed");
        }
        result
    }

    /// Makes a passive checkpoint: moves pages from the WAL into the database file without waiting for readers or
    /// writers. Does nothing while another checkpoint is being made.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        self.file.checkpoint(OtherCheckpoint::Skip, || self.run_checkpoint("PASSIVE")).map(drop)
    }

    /// Moves all of the WAL, so that the next commit restarts it. Waits briefly for readers of older states, and
    /// blocks writers meanwhile. If the readers do not finish, the WAL is not restarted.
    pub(crate) fn restart_wal(&self) -> Result<()> {
        self.set_busy_handler(Some(wait_briefly))?;
        let restarted = self.file.checkpoint(OtherCheckpoint::Skip, || self.run_checkpoint("RESTART"));
        self.set_busy_handler(Some(wait_while_busy))?;
        restarted.map(drop)
    }

    /// Moves all of the WAL and truncates its file, unless other processes use the database. Then closing this
    /// connection removes the WAL. Fails if the store has stopped: the WAL is needed at the next start.
    pub(crate) fn final_checkpoint(&self) -> Result<()> {
        self.file.checkpoint(OtherCheckpoint::Wait, || self.run_checkpoint("TRUNCATE"))?;
        self.let_close_remove_wal()
    }

    fn let_close_remove_wal(&self) -> Result<()> {
        let allowed = self.raw().set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        allowed.map(drop).map_err(convert)
    }

    /// Copies the whole WAL into the database file again, including the parts that were copied before. The connection
    /// must be open [exclusively](Self::open_exclusively).
    pub(super) fn copy_whole_wal(&self) -> Result<()> {
        match self.run_checkpoint("TRUNCATE").map_err(convert)? {
            true => Ok(()),
            false => Err(Error::Unavailable(Unavailable::Busy)),
        }
    }

    /// Makes a checkpoint. Returns whether all of the WAL is in the database file.
    fn run_checkpoint(&self, mode: &str) -> rusqlite::Result<bool> {
        self.raw().query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
            let was_busy: bool = row.get("busy")?;
            let frames: i64 = row.get("log")?;
            let moved: i64 = row.get("checkpointed")?;
            Ok(!was_busy && moved == frames)
        })
    }

    /// Returns the pages in the WAL after the last commit on this thread, and resets the number to 0.
    pub(crate) fn take_wal_pages() -> u32 {
        WAL_PAGES.take()
    }

    pub(super) fn raw(&self) -> &Connection {
        &self.connection.raw
    }

    /// Measures what is run from now on, or stops measuring.
    pub(crate) fn measure_cost(&self, measure: bool) {
        self.connection.cost_meter.switch(self.raw(), measure);
    }

    /// What was run since [`measure_cost`](Self::measure_cost); `None` if it is not measured.
    pub(crate) fn cost(&self) -> Option<TransactionCost> {
        self.connection.cost_meter.read(self.raw())
    }

    /// The transaction that is open on this connection.
    pub(crate) fn transaction<'c>(&'c self, environment: &'c Environment) -> Transaction<'c> {
        Transaction::new(&self.connection, environment.now(), environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_created_and_migrated_by_an_sqlite_that_is_defensive_by_default() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ticketing.db");
        let connection = Connection::open(&path).expect("a connection");
        set_defensive(&connection, true).expect("set");
        let database = Database::prepare(connection, &path).expect("a database");
        // The control: this is what such an SQLite does to the statements of a migration.
        let refused = database.batch("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql");
        assert!(refused.expect_err("refused").to_string().contains("may not be modified"));

        assert_eq!(database.migrate(|_| Ok(())), Ok(0));
        let checks =
            "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'orders' AND sql LIKE '%status = ''PENDING'' OR%'";
        assert_eq!(database.number(checks).expect("a number"), 1);
        assert!(set_defensive(database.raw(), true).expect("set"), "it is defensive again");
    }
}
