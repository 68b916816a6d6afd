//! The engine of an open store: an SQLite file or a PostgreSQL database.

use std::ops::ControlFlow;
use std::path::Path;

use super::after_commit::AfterCommit;
use super::isolation::Isolation;
use super::lock::EventKey;
use super::options::{EngineOptions, ReaderOptions};
use super::snapshots::Snapshots;
#[cfg(feature = "postgres")]
use super::sqlite;
use super::sqlite::{ClosingResult, SqliteEngine};
use super::transaction::Transaction;
use crate::environment::Environment;
#[cfg(feature = "postgres")]
use crate::error::StoreErrorKind;
use crate::error::{Result, StoreError};
use crate::model::backup::BackupProgress;
#[cfg(feature = "postgres")]
use crate::model::backup::CopyProgress;
use crate::model::id::OrganizationId;

/// An open database.
pub(in crate::store) enum Engine {
    Sqlite(Box<SqliteEngine>),
    #[cfg(feature = "postgres")]
    Postgres(Box<super::postgres::PostgresEngine>),
}

/// Calls a method of the engine.
macro_rules! call {
    ($engine:ident.$method:ident($($argument:expr),*)) => {
        match $engine {
            Engine::Sqlite(engine) => engine.$method($($argument),*),
            #[cfg(feature = "postgres")]
            Engine::Postgres(engine) => engine.$method($($argument),*),
        }
    };
}

impl Engine {
    /// Opens the database, and creates or migrates its schema.
    pub(in crate::store) fn open(
        options: &EngineOptions,
        readers: ReaderOptions,
        environment: Environment,
        after_commit: AfterCommit,
    ) -> Result<Self> {
        match options {
            EngineOptions::Sqlite { location, migration } => {
                let engine = SqliteEngine::open(location, readers, *migration, environment, after_commit);
                engine.map(|engine| Self::Sqlite(Box::new(engine)))
            }
            #[cfg(feature = "postgres")]
            EngineOptions::Postgres(options) => {
                let engine = super::postgres::PostgresEngine::open(options, readers, environment, after_commit);
                engine.map(|engine| Self::Postgres(Box::new(engine)))
            }
        }
    }

    /// Runs `work` in a transaction and returns its result when the transaction is durable. See
    /// [`Store::write`](crate::store::Store::write).
    pub(in crate::store) fn write<T: Send + 'static>(
        &self,
        organization: Option<OrganizationId>,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        call!(self.write(organization, work))
    }

    /// Like [`write`](Self::write), for a change of the sale of an event. See
    /// [`Store::write_event`](crate::store::Store::write_event).
    pub(in crate::store) fn write_event<T: Send + 'static>(
        &self,
        organization: OrganizationId,
        event: EventKey,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        call!(self.write_event(organization, event, work))
    }

    /// Like [`write`](Self::write), for background work on an event. See
    /// [`Store::write_unless_locked`](crate::store::Store::write_unless_locked).
    pub(in crate::store) fn write_unless_locked<T: Send + 'static>(
        &self,
        event: EventKey,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        call!(self.write_unless_locked(event, work))
    }

    /// Whether each statement costs a round trip to a server.
    pub(in crate::store) fn has_round_trips(&self) -> bool {
        !matches!(self, Self::Sqlite(_))
    }

    /// Deletes some of what only the engine needs, and does not need any more.
    pub(in crate::store) fn tidy(&self) -> Result<()> {
        call!(self.tidy())
    }

    /// How many callers wait for a transaction.
    pub(in crate::store) fn writes_waiting(&self) -> usize {
        call!(self.writes_waiting())
    }

    /// Fails if the store has stopped, if it cannot be read, or if the last attempt to write failed and another one fails
    /// too.
    pub(in crate::store) fn ready(&self) -> Result<()> {
        call!(self.ready())
    }

    /// Why the store has stopped to write: it writes again when it is opened anew.
    pub(in crate::store) fn stopped(&self) -> Option<&StoreError> {
        call!(self.stopped())
    }

    /// Whether the last attempt to write failed.
    #[cfg(feature = "http")]
    pub(in crate::store) fn last_write_failed(&self) -> bool {
        call!(self.last_write_failed())
    }

    /// How the last work of the engine ended: filled when the engine is dropped.
    pub(in crate::store) fn closing_result(&self) -> ClosingResult {
        call!(self.closing_result())
    }

    /// Runs `work`, which looks up a few rows by an index.
    pub(in crate::store) fn look_up<T>(
        &self,
        isolation: Isolation,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        call!(self.look_up(isolation, work))
    }

    /// Runs `work`, which may look at many rows. See [`Store::scan`](crate::store::Store::scan).
    pub(in crate::store) fn scan<T>(
        &self,
        organization: Option<OrganizationId>,
        work: impl FnMut(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        call!(self.scan(organization, work))
    }

    /// Runs `work`. All reads of this thread inside it see one snapshot, which does not include what `work` writes.
    pub(in crate::store) fn with_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        call!(self.with_snapshot(work))
    }

    /// Like [`with_snapshot`](Self::with_snapshot), for work that only looks up rows.
    #[cfg(feature = "http")]
    pub(in crate::store) fn with_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        call!(self.with_look_ups(work))
    }

    /// Runs `work` on one snapshot of the database, on a new connection.
    pub(in crate::store) fn read_on_dedicated_connection<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        call!(self.read_on_dedicated_connection(work))
    }

    /// Opens connections that read large parts of the database in steps.
    pub(in crate::store) fn snapshots(&self) -> Box<dyn Snapshots> {
        match self {
            Self::Sqlite(engine) => Box::new(engine.snapshots()),
            #[cfg(feature = "postgres")]
            Self::Postgres(engine) => Box::new(engine.snapshots()),
        }
    }

    /// Copies one snapshot of the database to a new file at `target`, and passes the progress to `progress`.
    pub(in crate::store) fn backup(
        &self,
        target: &Path,
        progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        call!(self.backup(target, progress))
    }

    /// Copies one snapshot of a database file to an empty PostgreSQL database. Fails if this is a PostgreSQL database.
    #[cfg(feature = "postgres")]
    pub(in crate::store) fn copy_to(
        &self,
        target: &super::postgres::PostgresOptions,
        progress: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
    ) -> Result<CopyProgress> {
        match self {
            Self::Sqlite(engine) => engine
                .read_on_dedicated_connection(|tx| super::postgres::copy(tx, &sqlite::columns(tx)?, target, progress)),
            Self::Postgres(_) => {
                Err(StoreErrorKind::CannotCopy("a PostgreSQL database is copied with pg_dump".to_owned()).into())
            }
        }
    }

    /// Listens to what other processes commit, if the engine can, and reports it like the commits of this one.
    pub(in crate::store) fn listen(&self) {
        match self {
            Self::Sqlite(_) => {}
            #[cfg(feature = "postgres")]
            Self::Postgres(engine) => engine.listen(),
        }
    }

    /// The size of the write-ahead log of a database file in bytes.
    pub(in crate::store) fn wal_bytes(&self) -> u64 {
        call!(self.wal_bytes())
    }
}
