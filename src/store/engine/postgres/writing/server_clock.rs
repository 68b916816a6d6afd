//! The clock of the database server, which all servers of a store share.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use postgres::SimpleQueryMessage;

use crate::environment::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::model::values::timestamp::Timestamp;
use crate::store::engine::postgres::statements::postgres_connection::{PostgresConnection, first_column};

/// The time of the server in milliseconds.
pub(in crate::store::engine::postgres) const MILLIS_OF_SERVER: &str =
    "CAST(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) * 1000 AS BIGINT)";

/// How long the difference between the clocks is used until the server is asked again.
const MAX_AGE: Duration = Duration::from_secs(10);

/// The clock of the database server: that of the system, corrected by how much it differed when the server last told
/// its time. The server is asked when a connection is opened, by each transaction that locks an event, and otherwise
/// every few seconds. Clones share what they know.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerClock(Arc<Difference>);

#[derive(Debug, Default)]
struct Difference {
    /// How far the clock of the server is ahead, in milliseconds.
    ahead: AtomicI64,
    /// When the server told its time, in milliseconds of the monotonic clock.
    known_at: AtomicU64,
}

impl ServerClock {
    /// Asks the server for its time.
    pub(in crate::store::engine::postgres) fn ask(&self, connection: &PostgresConnection) -> Result<()> {
        self.note(time_in(&connection.simple_query(&format!("SELECT {MILLIS_OF_SERVER}"))?)?);
        Ok(())
    }

    /// Notes the time that the server has just told.
    pub(in crate::store::engine::postgres) fn note(&self, time: Timestamp) {
        let ahead = time.millis().saturating_sub(SystemClock.now().millis());
        self.0.ahead.store(ahead, Ordering::Relaxed);
        self.0.known_at.store(millis(SystemClock.monotonic()), Ordering::Relaxed);
    }

    /// Whether the server should be asked again.
    pub(in crate::store::engine::postgres) fn is_old(&self) -> bool {
        let known_at = self.0.known_at.load(Ordering::Relaxed);
        millis(SystemClock.monotonic()).saturating_sub(known_at) >= millis(MAX_AGE)
    }
}

impl Clock for ServerClock {
    fn now(&self) -> Timestamp {
        let system = SystemClock.now();
        let time = system.millis().saturating_add(self.0.ahead.load(Ordering::Relaxed));
        Timestamp::from_millis(time).unwrap_or(system)
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }
}

/// The time in the last row of an answer, which has [`MILLIS_OF_SERVER`] as its first column.
pub(in crate::store::engine::postgres) fn time_in(answer: &[SimpleQueryMessage]) -> Result<Timestamp> {
    let millis = answer.iter().rev().find_map(first_column).and_then(|millis| millis.parse().ok());
    let time = millis.and_then(|millis| Timestamp::from_millis(millis).ok());
    time.ok_or_else(|| Error::Internal("the database server has no time".to_owned()))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
