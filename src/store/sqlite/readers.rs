//! The connections that only read.

use std::cell::Cell;

use super::failure::convert;
use super::transaction::Transaction;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::model::timestamp::Timestamp;
use crate::store::ids::IdSource;

/// The connections that only read.
pub(crate) struct Readers {
    pool: Pool,
}

type Pool = r2d2::Pool<r2d2_sqlite::SqliteConnectionManager>;

type Reader = r2d2::PooledConnection<r2d2_sqlite::SqliteConnectionManager>;

/// A reading transaction that is open. However it goes, also in a panic, it is ended before the connection is anybody
/// else's.
struct Snapshot {
    connection: Reader,
    now: Timestamp,
    /// Whose connection it is.
    readers: *const Readers,
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let end = || self.connection.prepare_cached("ROLLBACK")?.execute([]);
        if let Err(error) = end() {
            tracing::warn!(%error, "a reading transaction did not end");
        }
    }
}

thread_local! {
    /// The snapshot on which everything reads that this thread reads.
    static SHARED: Cell<Option<Snapshot>> = const { Cell::new(None) };
}

impl Readers {
    pub(super) fn new(pool: Pool) -> Self {
        Self { pool }
    }

    /// Runs `work` on one state of the database: the one that the thread shares, or a new one.
    pub(crate) fn snapshot<T>(
        &self,
        environment: &Environment,
        ids: &IdSource,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let shared = SHARED.take();
        let (snapshot, sharing) = match shared {
            Some(shared) if std::ptr::eq(shared.readers, self) => (shared, true),
            of_another_store => {
                SHARED.set(of_another_store);
                (self.begin(environment)?, false)
            }
        };
        let transaction = Transaction::new(&snapshot.connection, snapshot.now, environment, ids);
        let result = work(&transaction);
        if sharing {
            SHARED.set(Some(snapshot));
        }
        result
    }

    /// Runs `work`, in which everything that this thread reads comes from one state of the database.
    pub(crate) fn share_snapshot<T>(&self, environment: &Environment, work: impl FnOnce() -> T) -> Result<T> {
        SHARED.set(Some(self.begin(environment)?));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        drop(SHARED.take());
        result.or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn begin(&self, environment: &Environment) -> Result<Snapshot> {
        let connection = self.pool.get().map_err(|_| Error::Unavailable("every reader of the store is busy"))?;
        let begin = || connection.prepare_cached("BEGIN")?.execute([]);
        begin().map_err(|error| convert(&error))?;
        Ok(Snapshot { connection, now: environment.now(), readers: self })
    }
}
