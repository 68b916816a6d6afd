//! Log lines of requests that are refused because there are too many: one in a second, with the number of the others.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::environment::Locked;

/// How long no further line is written after one.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(in crate::server) struct RefusalLog(Mutex<Refusals>);

#[derive(Debug, Default)]
struct Refusals {
    last_line: Option<Instant>,
    /// How many have had no line since.
    without_line: u64,
}

impl RefusalLog {
    /// Counts a refused request. Returns how many before it had no line, if it gets one.
    pub(in crate::server) fn count(&self, now: Instant) -> Option<u64> {
        let mut refusals = self.0.locked();
        if refusals.last_line.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            refusals.without_line = refusals.without_line.saturating_add(1);
            return None;
        }
        refusals.last_line = Some(now);
        Some(std::mem::take(&mut refusals.without_line))
    }
}
