//! Connections that threads borrow, and that are opened anew when they are lost.

use std::time::Duration;

use postgres::NoTls;

use super::connection::PostgresConnection;
use super::errors::convert;
use super::options::PostgresOptions;
use crate::error::{Error, Result, StoreError, StoreErrorKind};
use crate::store::engine::readers::ReaderPool;

/// How long a thread waits for a connection.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Short transactions. The server ends one whose program was stopped in the middle of it, so that it holds no lock.
    Write,
    /// Reads, and snapshots that a program may hold for long.
    Read,
}

/// Opens connections.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    options: PostgresOptions,
    purpose: Purpose,
}

/// A pool of connections.
#[derive(Debug, Clone)]
pub(super) struct Pool(r2d2::Pool<Connector>);

/// Hides the errors of connecting from the log of r2d2: they are returned.
#[derive(Debug)]
struct Quiet;

impl<E> r2d2::HandleError<E> for Quiet {
    fn handle_error(&self, _: E) {}
}

impl Connector {
    pub(super) fn new(options: &PostgresOptions, purpose: Purpose) -> Self {
        Self { options: options.clone(), purpose }
    }

    /// Opens a connection.
    pub(super) fn open(&self) -> Result<PostgresConnection> {
        let client = self.options.config.connect(NoTls).map_err(|error| {
            let message = match (error.as_db_error(), std::error::Error::source(&error)) {
                (Some(error), _) => error.message().to_owned(),
                (None, Some(source)) => source.to_string(),
                (None, None) => error.to_string(),
            };
            Error::from(StoreError::new(StoreErrorKind::CannotOpen(message), error))
        })?;
        let connection = PostgresConnection::new(client);
        connection.batch(match self.purpose {
            Purpose::Write => {
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;
                SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '10s'"
            }
            Purpose::Read => {
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
                SET default_transaction_read_only = on; SET lock_timeout = '5s'"
            }
        })?;
        Ok(connection)
    }

    /// A pool of up to `size` connections, which are opened when they are needed.
    pub(super) fn pool(self, size: usize) -> Pool {
        let size = u32::try_from(size).unwrap_or(u32::MAX).max(1);
        let builder = r2d2::Pool::builder().max_size(size).min_idle(Some(0)).connection_timeout(MAX_WAIT);
        // Whether a connection is alive is found out by using it.
        Pool(builder.test_on_check_out(false).error_handler(Box::new(Quiet)).build_unchecked(self))
    }
}

impl r2d2::ManageConnection for Connector {
    type Connection = PostgresConnection;
    type Error = Error;

    fn connect(&self) -> Result<PostgresConnection> {
        self.open()
    }

    fn is_valid(&self, connection: &mut PostgresConnection) -> Result<()> {
        connection.check().map_err(convert)
    }

    fn has_broken(&self, connection: &mut PostgresConnection) -> bool {
        connection.is_lost()
    }
}

/// A borrowed connection, which is given back when it is dropped.
pub(super) type Borrowed = r2d2::PooledConnection<Connector>;

impl Pool {
    /// How many threads could borrow a connection at once.
    pub(super) fn size(&self) -> u32 {
        self.0.max_size()
    }
}

impl ReaderPool for Pool {
    type Connection = Borrowed;

    fn take(&self) -> Result<Borrowed> {
        // More than all that may have been lost while they were idle.
        for _ in 0..=self.size() {
            let connection = self.0.get().map_err(|_| Error::Unavailable("the database has no free connection"))?;
            connection.forget_failure();
            if connection.is_fresh() || connection.check().is_ok() {
                return Ok(connection);
            }
        }
        Err(Error::Unavailable("the database does not answer"))
    }

    fn give_back(&self, connection: Borrowed) {
        drop(connection);
    }
}
