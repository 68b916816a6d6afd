//! A standby that serves reads which may look at many rows.
//!
//! If it is away or late, or does not have the tables yet, the primary serves them. Whether it is back is tried every
//! few seconds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::pool::{Borrowed, Connector, Pool};
use crate::environment::{Clock, Locked, SystemClock};
use crate::error::{Error, Result, Unavailable};
use crate::store::engine::postgres::net::errors::Failure;
use crate::store::engine::postgres::schema;
use crate::store::engine::postgres::statements::postgres_connection::{PostgresConnection, first_column};
use crate::store::engine::readers::{BorrowedReader, ReadConnection, ReaderPool};
use crate::store::migrations;

/// How long a standby that is away is left alone.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// How old the state may be that a standby shows.
const MAX_LAG: &str = "30 seconds";

/// A standby, and whether it answers.
pub(in crate::store::engine::postgres) struct Standby {
    connector: Connector,
    pool: Pool,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It was not used yet.
    Unknown,
    Answers,
    /// It did not answer, is late, has an older schema, or has cancelled a query. The time is by the monotonic clock of
    /// the system.
    AwaySince(Duration),
}

impl Standby {
    pub(in crate::store::engine::postgres) fn new(connector: Connector, connections: usize) -> Self {
        Self { pool: connector.clone().pool(connections), connector, state: Mutex::new(State::Unknown) }
    }

    /// Opens a connection; `None` if the standby is away.
    pub(in crate::store::engine::postgres) fn open(&self) -> Option<PostgresConnection> {
        self.unless_away(|| self.connector.open(), |connection| connection)
    }

    fn take(&self) -> Option<Borrowed> {
        self.unless_away(|| self.pool.take(), |borrowed| borrowed)
    }

    fn give_back(&self, connection: Borrowed) {
        // What the primary has changed meanwhile has cancelled the query. The next attempt goes to the primary.
        if connection.failure() == Some(Failure::RunAgain) {
            self.replace_state(State::AwaySince(SystemClock.monotonic()));
        }
        self.pool.give_back(connection);
    }

    /// Connects, unless the standby was away a moment ago.
    fn unless_away<C>(
        &self,
        connect: impl FnOnce() -> Result<C>,
        connection: impl Fn(&C) -> &PostgresConnection,
    ) -> Option<C> {
        let now = SystemClock.monotonic();
        let state = *self.state.locked();
        if let State::AwaySince(since) = state
            && now.saturating_sub(since) < RETRY_AFTER
        {
            return None;
        }
        let connected = connect().and_then(|connected| {
            require_current(connection(&connected))?;
            if state != State::Answers {
                require_schema(connection(&connected))?;
            }
            Ok(connected)
        });
        match connected {
            Ok(connection) => {
                if matches!(self.replace_state(State::Answers), State::AwaySince(_)) {
                    tracing::info!(target: "ticketing::store", "the standby serves reads again");
                }
                Some(connection)
            }
            Err(error) => {
                if !matches!(self.replace_state(State::AwaySince(now)), State::AwaySince(_)) {
                    tracing::warn!(target: "ticketing::store", %error, "the standby cannot be read: reads go to the primary");
                }
                None
            }
        }
    }

    fn replace_state(&self, state: State) -> State {
        std::mem::replace(&mut *self.state.locked(), state)
    }
}

/// Fails if the standby shows a state of more than [`MAX_LAG`] ago. It is not late if it has all that its primary has
/// written, however long ago that was, and the primary still sends: then there is a receiver. The user may need
/// `pg_read_all_stats` to know what the primary has sent last; without it, the standby knows what it has received.
fn require_current(connection: &PostgresConnection) -> Result<()> {
    let answer = connection.simple_query(&format!(
        "SELECT pg_is_in_recovery()
            AND COALESCE(NOW() - pg_last_xact_replay_timestamp() > INTERVAL '{MAX_LAG}', TRUE)
            AND NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver
                WHERE pg_last_wal_replay_lsn() >= GREATEST(pg_last_wal_receive_lsn(), latest_end_lsn))"
    ))?;
    match answer.iter().find_map(first_column) {
        Some("f") => Ok(()),
        _ => Err(Error::Unavailable(Unavailable::StandbyLate)),
    }
}

/// Fails if the tables of this version have not arrived yet.
fn require_schema(connection: &PostgresConnection) -> Result<()> {
    let known = migrations::POSTGRES.known();
    match schema::version(connection)? {
        version if version < known => Err(Error::Unavailable(Unavailable::StandbyLate)),
        _ => Ok(()),
    }
}

/// Connections to the primary, and to a standby, which comes first.
pub(in crate::store) struct ReadPool {
    primary: Arc<Pool>,
    standby: Option<Arc<Standby>>,
}

/// A connection of a [`ReadPool`].
struct Lent<L> {
    connection: Borrowed,
    /// The pool or standby that has lent it.
    lender: Arc<L>,
}

impl ReadPool {
    pub(in crate::store::engine::postgres) fn new(primary: Pool, standby: Option<Arc<Standby>>) -> Self {
        Self { primary: Arc::new(primary), standby }
    }
}

impl ReaderPool for ReadPool {
    fn take(&self) -> Result<Box<dyn BorrowedReader>> {
        if let Some(standby) = &self.standby
            && let Some(connection) = standby.take()
        {
            return Ok(Box::new(Lent { connection, lender: Arc::clone(standby) }));
        }
        Ok(Box::new(Lent { connection: self.primary.take()?, lender: Arc::clone(&self.primary) }))
    }

    /// Each look-up waits for the network.
    #[cfg(feature = "server")]
    fn take_idle(&self) -> Option<Box<dyn BorrowedReader>> {
        None
    }
}

impl BorrowedReader for Lent<Pool> {
    fn connection(&self) -> &dyn ReadConnection {
        &*self.connection
    }

    fn give_back(self: Box<Self>) {
        self.lender.give_back(self.connection);
    }
}

impl BorrowedReader for Lent<Standby> {
    fn connection(&self) -> &dyn ReadConnection {
        &*self.connection
    }

    fn give_back(self: Box<Self>) {
        self.lender.give_back(self.connection);
    }
}
