//! A standby that serves reads which may look at many rows.
//!
//! If it is away, or does not have the tables yet, the primary serves them. Whether it is back is tried every few seconds.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::connection::PostgresConnection;
use super::pool::{Borrowed, Connector, Pool};
use super::schema;
use crate::environment::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::store::engine::readers::ReaderPool;
use crate::store::migrations;

/// How long a standby that is away is left alone.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// A standby, and whether it answers.
pub(super) struct Standby {
    connector: Connector,
    pool: Pool,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It was not used yet.
    Unknown,
    Answers,
    /// It did not answer, or has an older schema. The time is by the monotonic clock of the system.
    AwaySince(Duration),
}

impl Standby {
    pub(super) fn new(connector: Connector, connections: usize) -> Self {
        Self { pool: connector.clone().pool(connections), connector, state: Mutex::new(State::Unknown) }
    }

    /// Opens a connection; `None` if the standby is away.
    pub(super) fn open(&self) -> Option<PostgresConnection> {
        self.unless_away(|| self.connector.open(), |connection| connection)
    }

    fn take(&self) -> Option<Borrowed> {
        self.unless_away(|| self.pool.take(), |borrowed| borrowed)
    }

    /// Connects, unless the standby was away a moment ago.
    fn unless_away<C>(
        &self,
        connect: impl FnOnce() -> Result<C>,
        connection: impl Fn(&C) -> &PostgresConnection,
    ) -> Option<C> {
        let now = SystemClock.monotonic();
        let state = *self.state();
        if let State::AwaySince(since) = state
            && now.saturating_sub(since) < RETRY_AFTER
        {
            return None;
        }
        let connected = connect().and_then(|connected| {
            // Costs no round trip: whether the server has closed the connection.
            connection(&connected).check()?;
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

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace_state(&self, state: State) -> State {
        std::mem::replace(&mut *self.state(), state)
    }
}

/// Fails if the tables of this version have not arrived yet.
fn require_schema(connection: &PostgresConnection) -> Result<()> {
    let known = migrations::known_of_postgres();
    match schema::version(connection)? {
        version if version < known => Err(Error::Unavailable("the standby does not have the tables yet")),
        _ => Ok(()),
    }
}

/// Connections to the primary, and to a standby, which comes first.
pub(super) struct ReadPool {
    primary: Pool,
    standby: Option<Arc<Standby>>,
}

/// A connection of a [`ReadPool`].
pub(super) struct Lent {
    connection: Borrowed,
    of_standby: bool,
}

impl ReadPool {
    pub(super) fn new(primary: Pool, standby: Option<Arc<Standby>>) -> Self {
        Self { primary, standby }
    }
}

impl ReaderPool for ReadPool {
    type Connection = Lent;

    fn take(&self) -> Result<Lent> {
        if let Some(connection) = self.standby.as_ref().and_then(|standby| standby.take()) {
            return Ok(Lent { connection, of_standby: true });
        }
        Ok(Lent { connection: self.primary.take()?, of_standby: false })
    }

    fn give_back(&self, Lent { connection, of_standby }: Lent) {
        match &self.standby {
            Some(standby) if of_standby => standby.pool.give_back(connection),
            _ => self.primary.give_back(connection),
        }
    }
}

impl Deref for Lent {
    type Target = PostgresConnection;

    fn deref(&self) -> &PostgresConnection {
        &self.connection
    }
}
