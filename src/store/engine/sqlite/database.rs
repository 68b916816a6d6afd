//! The connections that write.

use std::cell::Cell;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::errors::convert;
use super::settings::{STATEMENTS, stable_plans, wait_briefly, wait_while_busy};

use crate::environment::Environment;
use crate::error::{Error, Result, StoreError};
use crate::store::engine::ids::IdSource;
use crate::store::engine::transaction::Transaction;

/// Marks a database as one of ours in its header: "TCKT".
const APPLICATION_ID: i64 = 0x5443_4b54;

/// A connection that writes.
pub(crate) struct Database {
    pub(super) connection: Connection,
}

thread_local! {
    /// Pages in the WAL after the last commit of this thread.
    static WAL_PAGES: Cell<u32> = const { Cell::new(0) };
}

impl Database {
    /// Makes a connection to a file of ours, or a fresh one, ready to write.
    pub(super) fn prepare(connection: Connection) -> Result<Self> {
        let database = Self { connection };
        database.set_up()?;
        Ok(database)
    }

    fn set_up(&self) -> Result<()> {
        let connection = &self.connection;
        connection.busy_handler(Some(wait_while_busy)).map_err(|error| convert(&error))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // What another program has in its log is not to be moved when this connection closes.
        let checkpoint_on_close = |on: bool| {
            let set = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !on);
            set.map(drop).map_err(|error| convert(&error))
        };
        checkpoint_on_close(false)?;
        self.check_owner()?;
        checkpoint_on_close(true)?;
        if connection.is_readonly(rusqlite::MAIN_DB).map_err(|error| convert(&error))? {
            return Err(StoreError::ReadOnly(String::new()).into());
        }
        self.switch_to_wal()?;
        // Whatever a WAL grew to beside a long backup, the disk has it back but for 96 MiB once the WAL starts anew.
        let setup = "PRAGMA journal_size_limit = 100663296;
                     PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
                     PRAGMA trusted_schema = OFF; PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 0;";
        connection.execute_batch(setup).and_then(|()| stable_plans(connection)).map_err(|error| convert(&error))?;
        connection.wal_hook(Some(|_, pages| {
            WAL_PAGES.set(u32::try_from(pages).unwrap_or(u32::MAX));
            Ok(())
        }));
        Ok(())
    }

    /// Refuses another program's database before anything of it is changed.
    fn check_owner(&self) -> Result<()> {
        // In this order: another process may make this very database ours in between.
        let version = self.number("PRAGMA user_version")?;
        let tables = self.number("SELECT COUNT(*) FROM sqlite_schema")?;
        match self.number("PRAGMA application_id")? {
            APPLICATION_ID => Ok(()),
            0 if tables == 0 && version == 0 => Ok(()),
            other => Err(StoreError::ForeignDatabase(other).into()),
        }
    }

    /// Several processes that open a fresh file at once can get SQLITE_BUSY here in spite of the busy handler.
    fn switch_to_wal(&self) -> Result<()> {
        let handler = |handler| self.connection.busy_handler(handler).map_err(|error| convert(&error));
        // Each attempt would wait as long as all of them together.
        handler(None)?;
        self.try_to_switch_to_wal()?;
        handler(Some(wait_while_busy))
    }

    fn try_to_switch_to_wal(&self) -> Result<()> {
        for attempt in 0.. {
            let mode = |sql| self.connection.query_row(sql, [], |row| row.get::<_, String>(0));
            let switched = mode("PRAGMA journal_mode")
                .and_then(|now| if now == "wal" { Ok(now) } else { mode("PRAGMA journal_mode = WAL") });
            match switched.map_err(|error| convert(&error)) {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => return Err(StoreError::CannotOpen(format!("no WAL is possible here (mode {mode})")).into()),
                Err(Error::Unavailable(_)) if wait_while_busy(attempt) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Brings the schema to the last of `migrations`, in one transaction.
    pub(crate) fn migrate(&self, migrations: &[&str]) -> Result<()> {
        let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
        let version = || self.number("PRAGMA user_version");
        if version()? == known {
            return Ok(());
        }
        self.batch("BEGIN IMMEDIATE")?;
        let upgrade = version().and_then(|found| {
            let missing = usize::try_from(found).ok().and_then(|done| migrations.get(done..));
            let missing = missing.ok_or(StoreError::SchemaTooNew { found, known })?;
            missing.iter().try_for_each(|sql| self.batch(sql))?;
            self.batch(&format!("PRAGMA user_version = {known}; PRAGMA application_id = {APPLICATION_ID}; COMMIT"))
        });
        upgrade.inspect_err(|_| drop(self.batch("ROLLBACK")))
    }

    pub(crate) fn batch(&self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|error| convert(&error))
    }

    /// Runs a statement without parameters and rows; prepared once.
    pub(crate) fn command(&self, sql: &str) -> Result<()> {
        let run = || self.connection.prepare_cached(sql)?.execute([]);
        run().map(drop).map_err(|error| convert(&error))
    }

    pub(super) fn number(&self, sql: &str) -> Result<i64> {
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(|error| convert(&error))
    }

    /// Whether a transaction is open: an error of SQLite may have ended it.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Runs `work`, which takes long, on one state of the database. Others write meanwhile, and all that stays in the WAL.
    pub(crate) fn on_one_state<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.batch("BEGIN")?;
        // Only what reads begins to hold a state.
        self.number("SELECT COUNT(*) FROM sqlite_schema")?;
        let result = work();
        if self.in_transaction() {
            self.batch("ROLLBACK")?;
        }
        // Whoever commits next would have to move all that was written meanwhile, and everybody would wait for it.
        if let Err(error) = self.checkpoint() {
            tracing::warn!(%error, "the checkpoint after a long look at the database failed");
        }
        result
    }

    /// Lets nothing be written over this connection from now on.
    pub(crate) fn only_read(&self) -> Result<()> {
        self.batch("PRAGMA query_only = ON")
    }

    /// Moves what no reader needs any more from the WAL into the database, without waiting for anybody.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        self.number("PRAGMA wal_checkpoint(PASSIVE)").map(drop)
    }

    /// Moves everything and has the next commit begin the WAL anew, where it can. It waits for who still reads an older
    /// state, but not for long: meanwhile nobody writes.
    pub(crate) fn restart_wal(&self) -> Result<()> {
        let handler = |handler| self.connection.busy_handler(handler).map_err(|error| convert(&error));
        handler(Some(wait_briefly))?;
        let restarted = self.number("PRAGMA wal_checkpoint(RESTART)");
        handler(Some(wait_while_busy))?;
        restarted.map(drop)
    }

    /// Moves everything and empties the WAL, as far as other processes let it.
    pub(crate) fn final_checkpoint(&self) -> Result<()> {
        self.number("PRAGMA wal_checkpoint(TRUNCATE)").map(drop)
    }

    /// Pages in the WAL after the last commit on this thread, told once; none where nothing was written.
    pub(crate) fn take_wal_pages() -> u32 {
        WAL_PAGES.take()
    }

    pub(crate) fn transaction<'c>(&'c self, environment: &'c Environment, ids: &'c IdSource) -> Transaction<'c> {
        Transaction::new(&self.connection, environment.now(), environment, ids)
    }
}
