//! Connections that threads borrow, and that are opened again when they are lost.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use scheduled_thread_pool::ScheduledThreadPool;
use tokio_postgres::Config;

use super::connection::PostgresConnection;
use super::options::PostgresOptions;
use super::purpose::Purpose;
use crate::error::{Error, Result};
use crate::store::engine::readers::ReaderPool;

/// How long a thread waits for a connection.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// After how long a server that does not answer counts as lost, unless the URL says otherwise: neither what is sent to it
/// is acknowledged, nor, if nothing is, a probe.
const MAX_SILENCE: Duration = Duration::from_secs(10);
const PROBE_AFTER: Duration = Duration::from_secs(5);
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
const PROBES: u32 = 3;

/// When the operating system sends the first probe by default, which is what an URL without `keepalives_idle` means.
const SYSTEM_PROBE_AFTER: Duration = Duration::from_hours(2);

/// Makes the server notice within seconds that this program has vanished, also while a statement waits for a lock. Older
/// versions have no setting for the latter.
const NOTICE_LOST_CLIENT: &str =
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;
    SELECT set_config(name, '2s', FALSE) FROM pg_settings WHERE name = 'client_connection_check_interval'";

/// The threads that add places to pools, and close connections that were idle for long. Otherwise each pool would have three
/// of its own.
static THREADS: LazyLock<Arc<ScheduledThreadPool>> = LazyLock::new(|| {
    Arc::new(ScheduledThreadPool::builder().num_threads(3).thread_name_pattern("ticketing-pool-{}").build())
});

/// Opens connections.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    options: PostgresOptions,
    purpose: Purpose,
}

/// A pool of connections.
///
/// The pool of the crate `r2d2` holds places for connections. A thread that borrows an empty place opens the connection
/// itself: it gets an error of connecting at once, and connects as soon as the server is back.
#[derive(Clone)]
pub(super) struct Pool {
    places: r2d2::Pool<Places>,
    connector: Connector,
    /// Whether the last attempt to open a connection succeeded.
    reachable: Arc<AtomicBool>,
    /// How many connections were lost.
    lost: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Places;

/// A place for a connection.
#[derive(Default)]
struct Place {
    connection: Option<PostgresConnection>,
    /// How many connections were lost before it was used last.
    lost: usize,
}

/// A borrowed connection. If it is dropped instead of being given back, it is closed.
pub(super) struct Borrowed {
    connection: PostgresConnection,
    place: r2d2::PooledConnection<Places>,
}

impl Deref for Borrowed {
    type Target = PostgresConnection;

    fn deref(&self) -> &PostgresConnection {
        &self.connection
    }
}

impl Connector {
    pub(super) fn new(options: &PostgresOptions, purpose: Purpose) -> Self {
        let mut options = options.clone();
        complete(&mut options.config);
        Self { options, purpose }
    }

    /// Opens a connection.
    pub(super) fn open(&self) -> Result<PostgresConnection> {
        let connection = PostgresConnection::new(self.options.connect_pipelining()?, self.purpose);
        connection.queue_batch(NOTICE_LOST_CLIENT);
        connection.queue_batch(match self.purpose {
            Purpose::Write => {
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;
                SET lock_timeout = '10s'; SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = '5s'"
            }
            Purpose::Read => {
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
                SET default_transaction_read_only = on; SET lock_timeout = '5s'"
            }
        });
        self.options.server_clock.ask(&connection)?;
        Ok(connection)
    }

    /// Asks the server for its time if that is due.
    fn keep_time(&self, connection: &PostgresConnection) -> Result<()> {
        let clock = &self.options.server_clock;
        if clock.is_old() { clock.ask(connection) } else { Ok(()) }
    }

    /// A pool of up to `size` connections, which are opened when they are needed.
    pub(super) fn pool(self, size: usize) -> Pool {
        let size = u32::try_from(size).unwrap_or(u32::MAX).max(1);
        let builder = r2d2::Pool::builder().max_size(size).min_idle(Some(0)).connection_timeout(MAX_WAIT);
        let builder = builder.thread_pool(Arc::clone(&THREADS)).test_on_check_out(false);
        let places = builder.build_unchecked(Places);
        Pool { places, connector: self, reachable: Arc::new(AtomicBool::new(true)), lost: Arc::default() }
    }
}

/// Makes sure that a server which has vanished is noticed within seconds.
fn complete(config: &mut Config) {
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(MAX_SILENCE);
    }
    if config.get_keepalives_idle() == SYSTEM_PROBE_AFTER {
        config.keepalives_idle(PROBE_AFTER);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(PROBE_INTERVAL);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(PROBES);
    }
}

impl r2d2::ManageConnection for Places {
    type Connection = Place;
    type Error = std::convert::Infallible;

    fn connect(&self) -> Result<Place, Self::Error> {
        Ok(Place::default())
    }

    fn is_valid(&self, _: &mut Place) -> Result<(), Self::Error> {
        Ok(())
    }

    fn has_broken(&self, _: &mut Place) -> bool {
        false
    }
}

impl Pool {
    /// Keeps an open connection for the first who borrows one.
    pub(super) fn keep(&self, connection: PostgresConnection) {
        if let Ok(mut place) = self.places.get() {
            place.connection = Some(connection);
        }
    }

    /// Opens a connection that does not belong to the pool, in a place that was borrowed from it.
    fn open(&self) -> Result<PostgresConnection> {
        let opened = self.connector.open();
        match &opened {
            Ok(_) if !self.reachable.swap(true, Ordering::Relaxed) => {
                tracing::info!(target: "ticketing::store", "the database can be reached again");
            }
            Err(error) if self.reachable.swap(false, Ordering::Relaxed) => {
                tracing::warn!(target: "ticketing::store", %error, "the database cannot be reached");
            }
            _ => {}
        }
        opened.map_err(|_| Error::Unavailable("the database cannot be reached"))
    }

    /// Notes that a connection was lost.
    pub(super) fn note_lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Replaces a connection that was lost by a new one.
    pub(super) fn reopen(&self, borrowed: Borrowed) -> Result<Borrowed> {
        self.note_lost();
        let Borrowed { connection, place } = borrowed;
        drop(connection);
        Ok(Borrowed { connection: self.open()?, place })
    }
}

impl ReaderPool for Pool {
    type Connection = Borrowed;

    fn take(&self) -> Result<Borrowed> {
        let place = self.places.get().map_err(|_| Error::Unavailable("the database has no free connection"));
        let mut place = place?;
        let lost = self.lost.load(Ordering::Relaxed);
        // If another connection was lost in the meantime, so may this one be.
        let is_doubtful = std::mem::replace(&mut place.lost, lost) != lost;
        let known = place.connection.take().filter(|connection| {
            connection.forget_failure();
            let answers = (connection.is_fresh() && !is_doubtful) || connection.check().is_ok();
            answers && self.connector.keep_time(connection).is_ok()
        });
        let connection = known.map_or_else(|| self.open(), Ok)?;
        Ok(Borrowed { connection, place })
    }

    fn give_back(&self, borrowed: Borrowed) {
        let Borrowed { connection, mut place } = borrowed;
        if connection.is_lost() {
            self.note_lost();
        } else if !connection.write.is_open() {
            place.connection = Some(connection);
        }
    }
}
