//! The connections that only read.

use std::cell::Cell;

use super::errors::convert;

use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::model::timestamp::Timestamp;
use crate::store::engine::ids::IdSource;
use crate::store::engine::transaction::Transaction;

/// The connections that only read.
pub(crate) struct Readers {
    pool: Pool,
}

type Pool = r2d2::Pool<r2d2_sqlite::SqliteConnectionManager>;

type Reader = r2d2::PooledConnection<r2d2_sqlite::SqliteConnectionManager>;

/// A connection of the pool while it is somebody's. However it goes, also in a panic, a transaction on it is ended before
/// it is anybody else's.
struct Snapshot {
    connection: Reader,
    now: Timestamp,
    /// Whether a transaction holds one state of the database; otherwise each statement sees the newest.
    held: bool,
    /// Whose connection it is.
    readers: *const Readers,
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let end = || self.connection.prepare_cached("ROLLBACK")?.execute([]);
        if self.held
            && let Err(error) = end()
        {
            tracing::warn!(%error, "a reading transaction did not end");
        }
    }
}

thread_local! {
    /// The snapshot on which everything reads that this thread reads.
    static SHARED: Cell<Option<Snapshot>> = const { Cell::new(None) };
}

impl Readers {
    pub(in crate::store) fn new(pool: Pool) -> Self {
        Self { pool }
    }

    /// Runs `work` on the state of the database that the thread shares. Where it shares none, on a new one: held for the
    /// whole of `work` where it asks for that, and otherwise as each of its statements finds it.
    pub(crate) fn read<T>(
        &self,
        environment: &Environment,
        ids: &IdSource,
        held: bool,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let shared = SHARED.take();
        let (snapshot, sharing) = match shared {
            Some(shared) if std::ptr::eq(shared.readers, self) => (shared, true),
            of_another_store => {
                SHARED.set(of_another_store);
                (self.begin(environment, held)?, false)
            }
        };
        let transaction = Transaction::new(&*snapshot.connection, snapshot.now, environment, ids);
        let result = work(&transaction);
        if sharing {
            SHARED.set(Some(snapshot));
        }
        result
    }

    /// Runs `work`, in which everything that this thread reads comes from one state of the database.
    pub(crate) fn with_snapshot<T>(&self, environment: &Environment, work: impl FnOnce() -> T) -> Result<T> {
        SHARED.set(Some(self.begin(environment, true)?));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        drop(SHARED.take());
        result.or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn begin(&self, environment: &Environment, held: bool) -> Result<Snapshot> {
        let connection = self.pool.get().map_err(|_| Error::Unavailable("every reader of the store is busy"))?;
        if held {
            let begin = || connection.prepare_cached("BEGIN")?.execute([]);
            begin().map_err(|error| convert(&error))?;
        }
        Ok(Snapshot { connection, now: environment.now(), held, readers: self })
    }
}
