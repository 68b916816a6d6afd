//! When the statements of a scan have to end.

use std::sync::Arc;
use std::time::Duration;

use crate::environment::Clock;
use crate::model::values::cancellation::CancellationToken;

/// When a scan has to end: at this time, or when no caller waits for its result any more.
pub(super) struct Deadline {
    stop_at: Duration,
    clock: Arc<dyn Clock>,
    token: Option<CancellationToken>,
}

impl Deadline {
    /// The deadline of a scan that begins now, with the token of this thread.
    pub(super) fn new(max_time: Duration, clock: &Arc<dyn Clock>) -> Self {
        let stop_at = clock.monotonic().saturating_add(max_time);
        Self { stop_at, clock: Arc::clone(clock), token: CancellationToken::current() }
    }

    pub(super) fn time_left(&self) -> Duration {
        self.stop_at.saturating_sub(self.clock.monotonic())
    }

    pub(super) fn is_over(&self) -> bool {
        self.time_left().is_zero() || self.token.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}
