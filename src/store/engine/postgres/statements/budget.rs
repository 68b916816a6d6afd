//! The time that the statements of a scan may take together.

use std::sync::Arc;
use std::time::Duration;

use crate::environment::Clock;
use crate::model::values::cancellation::CancellationToken;

/// How long the server may take to end a scan whose budget is over.
const ENDING_TIME: Duration = Duration::from_secs(2);

/// The time that is left to a scan, which ends when nobody waits for its result any more.
pub(in crate::store::engine::postgres) struct Budget {
    total: Duration,
    stop_at: Duration,
    clock: Arc<dyn Clock>,
    token: Option<CancellationToken>,
}

impl Budget {
    /// The budget of a scan that begins now, with the token of this thread.
    pub(in crate::store::engine::postgres) fn new(budget: Duration, clock: &Arc<dyn Clock>) -> Self {
        let stop_at = clock.monotonic().saturating_add(budget);
        Self { total: budget, stop_at, clock: Arc::clone(clock), token: CancellationToken::current() }
    }

    /// How long an answer is waited for: longer than the server needs to end the scan.
    pub(in crate::store::engine::postgres) fn max_time(&self) -> Duration {
        self.total.saturating_add(ENDING_TIME)
    }

    /// Whether the scan has to stop.
    pub(in crate::store::engine::postgres) fn is_over(&self) -> bool {
        self.clock.monotonic() >= self.stop_at || self.token.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}
