//! Whether maintenance may act on the wall clock, and the record of it in the database.

use std::time::Duration;

use super::clock_history::Verdict;
use crate::error::Result;
use crate::service::TicketingService;
use crate::store::maintenance_clock;

/// How old the stored time may be, in milliseconds. It is far below the jump that is believed at once, so that a
/// restart is no jump.
const STORED_AGE: i64 = 10 * 60 * 1000;

impl TicketingService {
    /// Whether maintenance may act on the current time.
    pub(in crate::service) fn believes_clock(&self) -> Result<bool> {
        let clock = &*self.inner.environment.clock;
        if clock.is_trusted() {
            return Ok(true);
        }
        let history = &self.inner.clock_history;
        let stored = match history.is_new() {
            true => self.store()?.read(maintenance_clock::read)?,
            false => None,
        };
        let (verdict, state) = history.look(clock, stored);
        match verdict {
            Verdict::Believed => {}
            Verdict::BelievedAgain => tracing::info!(
                target: "ticketing::maintenance",
                "the clock is believed again; maintenance expires and deletes what is due"
            ),
            Verdict::Jumped(jump) => {
                tracing::warn!(
                    target: "ticketing::maintenance",
                    seconds = Duration::from_millis(jump.unsigned_abs()).as_secs(),
                    "the clock jumped ahead; maintenance expires and deletes nothing until the clock is back, or has \
                     gone on for an hour"
                );
                return Ok(false);
            }
            Verdict::Doubted => return Ok(false),
        }
        let now = clock.now();
        if state.stored.is_none_or(|stored| (now.millis() - stored).abs() >= STORED_AGE) {
            self.store()?.write(None, move |tx| maintenance_clock::write(tx, now))?;
            history.set_stored(now);
        }
        Ok(true)
    }
}
