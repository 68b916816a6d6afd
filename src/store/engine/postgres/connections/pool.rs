//! Connections that threads borrow, and that are opened again when they are lost.

use std::ops::Deref;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_postgres::Config;

use crate::environment::{Clock, Locked, SystemClock};
use crate::error::{Error, Result, Unavailable};
use crate::fair::{Limits, Permit, Semaphore};
use crate::store::engine::postgres::net::hosts::MAX_CONNECT_TIME;
use crate::store::engine::postgres::net::purpose::Purpose;
use crate::store::engine::postgres::postgres_options::PostgresOptions;
use crate::store::engine::postgres::statements::postgres_connection::PostgresConnection;

/// How long a thread waits for a connection.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// How long the server may take to answer on a connection that was idle.
const MAX_CHECK_TIME: Duration = Duration::from_secs(2);

/// After how long a server that does not answer counts as lost, unless the URL says otherwise: neither what is sent to
/// it is acknowledged, nor, if nothing is, a probe.
const MAX_SILENCE: Duration = Duration::from_secs(10);
const PROBE_AFTER: Duration = Duration::from_secs(5);
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
const PROBES: u32 = 3;

/// When the operating system sends the first probe by default, which is what an URL without `keepalives_idle` means.
const SYSTEM_PROBE_AFTER: Duration = Duration::from_hours(2);

/// Makes the server notice within seconds that this program has vanished, also while a statement waits for a lock.
/// Older versions have no setting for the latter.
const NOTICE_LOST_CLIENT: &str =
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;
    SELECT set_config(name, '2s', FALSE) FROM pg_settings WHERE name = 'client_connection_check_interval'";

#[derive(Debug, Clone)]
pub(in crate::store::engine::postgres) struct Connector {
    options: PostgresOptions,
    purpose: Purpose,
}

/// A pool of connections, with a limited number of places for them. A thread that borrows an empty place opens the
/// connection itself: it gets an error of connecting at once, and connects as soon as the server is back.
pub(in crate::store::engine::postgres) struct Pool {
    connector: Connector,
    places: Semaphore,
    /// The connections of free places. The last one was used last.
    idle: Mutex<Vec<PostgresConnection>>,
    /// Whether the last attempt to open a connection succeeded.
    reachable: AtomicBool,
}

/// A borrowed connection. If it is dropped instead of being given back, it is closed.
pub(in crate::store::engine::postgres) struct Borrowed {
    connection: PostgresConnection,
    /// After the connection: it is closed before another one is opened in its place.
    place: Permit,
}

impl Deref for Borrowed {
    type Target = PostgresConnection;

    fn deref(&self) -> &PostgresConnection {
        &self.connection
    }
}

impl Connector {
    pub(in crate::store::engine::postgres) fn new(options: &PostgresOptions, purpose: Purpose) -> Self {
        let mut options = options.clone();
        complete(&mut options.config);
        Self { options, purpose }
    }

    pub(in crate::store::engine::postgres) fn open(&self) -> Result<PostgresConnection> {
        self.open_within(Duration::MAX)
    }

    /// Opens a connection. It takes this long at most, and not longer than the server may take.
    fn open_within(&self, max_time: Duration) -> Result<PostgresConnection> {
        let left = time_left(max_time);
        let connection = PostgresConnection::new(self.options.connect_pipelining(max_time)?, self.purpose);
        connection.queue_batch(NOTICE_LOST_CLIENT);
        connection.queue_batch(match self.purpose {
            Purpose::Write => {
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;
                SET enable_seqscan = off; SET jit = off;
                SET client_min_messages = warning; SET lock_timeout = '10s'; SET statement_timeout = '11s'; SET idle_in_transaction_session_timeout = '5s'"
            }
            Purpose::Read => {
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
                SET default_transaction_read_only = on; SET lock_timeout = '5s'"
            }
        });
        connection.set_max_time(Some(left().min(MAX_CONNECT_TIME)));
        self.options.server_clock.ask(&connection)?;
        connection.set_max_time(None);
        Ok(connection)
    }

    /// A pool of up to `size` connections, which are opened when they are needed.
    pub(in crate::store::engine::postgres) fn pool(self, size: usize) -> Pool {
        let places = Semaphore::with(Limits { one_may_use_all: true, ..Limits::new(size.max(1)) });
        Pool { connector: self, places, idle: Mutex::default(), reachable: AtomicBool::new(true) }
    }
}

/// What is left of a time that begins now.
pub(in crate::store::engine::postgres) fn time_left(max_time: Duration) -> impl Fn() -> Duration {
    let start = SystemClock.monotonic();
    move || max_time.saturating_sub(SystemClock.monotonic().saturating_sub(start))
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

impl Pool {
    /// Keeps an open connection for the first who borrows one.
    pub(in crate::store::engine::postgres) fn keep(&self, connection: PostgresConnection) {
        self.idle.locked().push(connection);
    }

    /// Opens a connection that does not belong to the pool, in a place that was borrowed from it.
    fn open(&self, max_time: Duration) -> Result<PostgresConnection> {
        let opened = self.connector.open_within(max_time);
        match &opened {
            Ok(_) if !self.reachable.swap(true, Ordering::Relaxed) => {
                tracing::info!(target: "ticketing::store", "the database can be reached again");
            }
            Err(error) if self.reachable.swap(false, Ordering::Relaxed) => {
                tracing::warn!(target: "ticketing::store", %error, "the database cannot be reached");
            }
            _ => {}
        }
        opened.map_err(|_| Error::Unavailable(Unavailable::Unreachable))
    }

    /// Closes a connection that was lost. The idle ones are closed too, because they may be lost as well: to find that
    /// out for each of them would take long if the server does not answer.
    fn lose(&self, connection: PostgresConnection) {
        drop(connection);
        let idle = std::mem::take(&mut *self.idle.locked());
        drop(idle);
    }

    /// Replaces a connection that was lost by a new one. Takes up to `max_time`, and not longer than the server may
    /// take.
    pub(in crate::store::engine::postgres) fn reopen(
        &self,
        borrowed: Borrowed,
        max_time: Duration,
    ) -> Result<Borrowed> {
        let Borrowed { connection, place } = borrowed;
        self.lose(connection);
        Ok(Borrowed { connection: self.open(max_time)?, place })
    }

    /// Takes a connection out of the pool. Waits up to `max_time` for a place and for the server together.
    pub(in crate::store::engine::postgres) fn take_within(&self, max_time: Duration) -> Result<Borrowed> {
        let left = time_left(max_time);
        // Organizations take turns before they come here.
        let place = self.places.acquire(None, max_time.min(MAX_WAIT), || false);
        let place = place.ok_or(Error::Unavailable(Unavailable::NoConnection))?;
        let known = self.idle.locked().pop();
        if let Some(connection) = known {
            connection.forget_failure();
            connection.set_max_time(Some(left().min(MAX_CHECK_TIME)));
            let clock = &self.connector.options.server_clock;
            // The time of the server is an answer as well.
            let checked = if clock.is_old() {
                clock.ask(&connection)
            } else if connection.is_fresh() {
                Ok(())
            } else {
                connection.check()
            };
            connection.set_max_time(None);
            if checked.is_ok() {
                return Ok(Borrowed { connection, place });
            }
            self.lose(connection);
        }
        Ok(Borrowed { connection: self.open(left())?, place })
    }

    /// Takes a connection out of the pool. Waits until one is idle.
    pub(in crate::store::engine::postgres) fn take(&self) -> Result<Borrowed> {
        self.take_within(Duration::MAX)
    }

    pub(in crate::store::engine::postgres) fn give_back(&self, borrowed: Borrowed) {
        let Borrowed { connection, place } = borrowed;
        if connection.is_lost() {
            self.lose(connection);
        } else if !connection.write.is_open.get() {
            self.keep(connection);
        }
        drop(place);
    }
}
