//! When the statements of a scan have to end.

use std::sync::Arc;
use std::time::Duration;

use crate::environment::Clock;
use crate::model::values::cancellation::CancellationToken;

/// How long the server may take to end a scan whose deadline has passed.
const ENDING_TIME: Duration = Duration::from_secs(2);

/// When a scan has to end: at this time, or when no caller waits for its result any more.
pub(in crate::store::engine::postgres) struct Deadline {
    total: Duration,
    stop_at: Duration,
    clock: Arc<dyn Clock>,
    token: Option<CancellationToken>,
}

impl Deadline {
    /// The deadline of a scan that begins now, with the token of this thread.
    pub(in crate::store::engine::postgres) fn new(max_time: Duration, clock: &Arc<dyn Clock>) -> Self {
        let stop_at = clock.monotonic().saturating_add(max_time);
        Self { total: max_time, stop_at, clock: Arc::clone(clock), token: CancellationToken::current() }
    }

    /// How long an answer is waited for: longer than the server needs to end the scan.
    pub(in crate::store::engine::postgres) fn max_time(&self) -> Duration {
        self.total.saturating_add(ENDING_TIME)
    }

    pub(in crate::store::engine::postgres) fn is_over(&self) -> bool {
        self.clock.monotonic() >= self.stop_at || self.token.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}
