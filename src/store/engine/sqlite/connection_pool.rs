//! The connections of a database file that only read: pools of r2d2, which threads borrow from in turn.

use std::sync::Arc;
use std::time::Duration;

use r2d2::{ManageConnection, NopErrorHandler, Pool, PooledConnection};
use r2d2_sqlite::SqliteConnectionManager;
use scheduled_thread_pool::ScheduledThreadPool;

use super::sqlite_connection::SqliteConnection;
use crate::error::{Error, Result, StoreErrorKind, Unavailable};
use crate::store::engine::readers::{BorrowedReader, ReadConnection, ReaderPool};

/// How long a thread waits for a connection, and how long opening the pool may take.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// A pool that opens all connections when it is opened, and closes them when it is dropped. A connection that is closed
/// after the writer would leave the WAL file behind. The connection that was used last is used next: its page cache is
/// warm.
pub(in crate::store) struct ConnectionPool(Pool<Reader>);

/// Opens the connections of a pool.
pub(in crate::store) struct Reader(SqliteConnectionManager);

impl ConnectionPool {
    /// Opens this number of connections. r2d2 opens them on the threads of `opening`.
    pub(super) fn open(
        manager: SqliteConnectionManager,
        connections: usize,
        opening: &Arc<ScheduledThreadPool>,
    ) -> Result<Self> {
        let pool = Pool::builder()
            .max_size(u32::try_from(connections).unwrap_or(u32::MAX))
            .test_on_check_out(false)
            .max_lifetime(None)
            .idle_timeout(None)
            .connection_timeout(MAX_WAIT)
            .error_handler(Box::new(NopErrorHandler))
            .thread_pool(Arc::clone(opening))
            .build(Reader(manager));
        pool.map(Self).map_err(|error| StoreErrorKind::CannotOpen(error.to_string()).into())
    }
}

impl ManageConnection for Reader {
    // A connection is large, and r2d2 moves it for each read.
    type Connection = Box<SqliteConnection>;
    type Error = rusqlite::Error;

    fn connect(&self) -> rusqlite::Result<Box<SqliteConnection>> {
        self.0.connect().map(SqliteConnection::new).map(Box::new)
    }

    fn is_valid(&self, _: &mut Box<SqliteConnection>) -> rusqlite::Result<()> {
        Ok(())
    }

    fn has_broken(&self, _: &mut Box<SqliteConnection>) -> bool {
        false
    }
}

impl BorrowedReader for PooledConnection<Reader> {
    fn connection(&self) -> &dyn ReadConnection {
        &***self
    }

    fn give_back(self: Box<Self>) {
        drop(self);
    }
}

impl ReaderPool for ConnectionPool {
    fn take(&self) -> Result<Box<dyn BorrowedReader>> {
        // An idle connection is taken without looking at the clock.
        let taken = self.0.try_get().map_or_else(|| self.0.get(), Ok);
        let taken = taken.map_err(|_| Error::Unavailable(Unavailable::NoConnection))?;
        Ok(Box::new(taken))
    }

    #[cfg(feature = "server")]
    fn take_idle(&self) -> Option<Box<dyn BorrowedReader>> {
        Some(Box::new(self.0.try_get()?))
    }
}
