//! Whether maintenance may act on the current time.

use std::time::Duration;

use crate::environment::Locked;
use crate::error::Result;
use crate::model::values::timestamp::Timestamp;
use crate::service::TicketingService;
use crate::service::state::clock_history::{ClockHistory, Verdict};
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
        let now = clock.now();
        let (wall, monotonic) = (now.millis(), i64::try_from(clock.monotonic().as_millis()).unwrap_or(i64::MAX));
        let is_first = self.inner.clock_history.locked().is_none();
        let stored = if is_first { self.store()?.read(maintenance_clock::read)? } else { None };
        let (verdict, stored) = {
            let mut history = self.inner.clock_history.locked();
            let new = || ClockHistory::new(stored.map(Timestamp::millis), wall, monotonic);
            let history = history.get_or_insert_with(new);
            (history.look(wall, monotonic), history.stored)
        };
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
                    "the clock jumped ahead; maintenance expires and deletes nothing until the clock is set back, or \
                     has run on for an hour"
                );
                return Ok(false);
            }
            Verdict::Doubted => return Ok(false),
        }
        if stored.is_none_or(|stored| (wall - stored).abs() >= STORED_AGE) {
            self.store()?.write(None, move |tx| maintenance_clock::write(tx, now))?;
            if let Some(history) = &mut *self.inner.clock_history.locked() {
                history.stored = Some(wall);
            }
        }
        Ok(true)
    }
}
