//! The pool of connections that only read.

use std::cell::RefCell;

use r2d2_sqlite::SqliteConnectionManager;

use super::connection::SqliteConnection;
use super::errors::convert;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::model::timestamp::Timestamp;
use crate::store::engine::ids::IdSource;
use crate::store::engine::transaction::Transaction;

/// The pool of connections that only read.
pub(crate) struct Readers {
    pool: Pool,
}

type Pool = r2d2::Pool<ConnectionManager>;

/// Opens the connections of the pool.
#[derive(Debug)]
pub(super) struct ConnectionManager(pub(super) SqliteConnectionManager);

impl r2d2::ManageConnection for ConnectionManager {
    type Connection = SqliteConnection;
    type Error = rusqlite::Error;

    fn connect(&self) -> rusqlite::Result<SqliteConnection> {
        self.0.connect().map(SqliteConnection::new)
    }

    fn is_valid(&self, connection: &mut SqliteConnection) -> rusqlite::Result<()> {
        self.0.is_valid(&mut connection.raw)
    }

    fn has_broken(&self, connection: &mut SqliteConnection) -> bool {
        self.0.has_broken(&mut connection.raw)
    }
}

/// Which state of the database the statements of a read see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Isolation {
    /// All statements see the state at the first of them.
    Snapshot,
    /// Each statement sees the newest state. This saves the statements that begin and end a transaction.
    Statement,
}

/// A connection that was taken from the pool. When it is dropped, also by a panic, its transaction is ended and it goes
/// back to the pool.
struct Reader {
    connection: r2d2::PooledConnection<ConnectionManager>,
    now: Timestamp,
    isolation: Isolation,
    /// The pool that it belongs to.
    readers: *const Readers,
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.isolation == Isolation::Statement {
            return;
        }
        let end = || self.connection.raw.prepare_cached("ROLLBACK")?.execute([]);
        if let Err(error) = end() {
            tracing::warn!(target: "ticketing::store", %error, "a reading transaction could not be ended");
        }
    }
}

thread_local! {
    /// The readers whose snapshots all reads of this thread share, inside `with_snapshot`: at most one of each store.
    static SHARED_READERS: RefCell<Vec<Reader>> = const { RefCell::new(Vec::new()) };
}

impl Readers {
    pub(super) fn new(pool: Pool) -> Self {
        Self { pool }
    }

    /// Runs `work` on the snapshot that this thread shares. If it shares none, runs `work` on a connection of its own.
    pub(in crate::store) fn read<T>(
        &self,
        environment: &Environment,
        ids: &IdSource,
        isolation: Isolation,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let (reader, is_shared) = match self.take_shared_reader() {
            Some(shared) => (shared, true),
            None => (self.reader(environment, isolation)?, false),
        };
        let transaction = Transaction::new(&*reader.connection, reader.now, environment, ids);
        let result = work(&transaction);
        if is_shared {
            share(reader);
        }
        result
    }

    /// Runs `work`. All reads of this thread inside it see one snapshot: the state at the beginning of `work`, or the
    /// one that the thread shares already.
    pub(crate) fn with_snapshot<T>(&self, environment: &Environment, work: impl FnOnce() -> T) -> Result<T> {
        if let Some(shared) = self.take_shared_reader() {
            share(shared);
            return Ok(work());
        }
        let reader = self.reader(environment, Isolation::Snapshot)?;
        // The snapshot is taken by the first statement that reads.
        let take =
            || reader.connection.raw.prepare_cached("SELECT 1 FROM sqlite_schema LIMIT 1")?.query_row([], |_| Ok(()));
        take().map_err(convert)?;
        share(reader);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        drop(self.take_shared_reader());
        result.or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Takes the reader of this store that the thread shares, if there is one.
    fn take_shared_reader(&self) -> Option<Reader> {
        SHARED_READERS.with_borrow_mut(|shared| {
            let own = shared.iter().position(|reader| std::ptr::eq(reader.readers, self))?;
            Some(shared.swap_remove(own))
        })
    }

    /// Takes a connection from the pool.
    fn reader(&self, environment: &Environment, isolation: Isolation) -> Result<Reader> {
        let connection = self.pool.get().map_err(|_| Error::Unavailable("every reader of the store is busy"))?;
        if isolation == Isolation::Snapshot {
            let begin = || connection.raw.prepare_cached("BEGIN")?.execute([]);
            begin().map_err(convert)?;
        }
        Ok(Reader { connection, now: environment.now(), isolation, readers: self })
    }
}

/// Makes the thread share a reader.
fn share(reader: Reader) {
    SHARED_READERS.with_borrow_mut(|shared| shared.push(reader));
}
