//! Whether the database accepts writes, as far as this process knows: a circuit breaker for writes, and what a health
//! check has to know.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use crate::environment::{Clock, Locked, SystemClock};

/// When writes have failed for this long, further writes fail immediately, except one at a time that probes whether the
/// database accepts writes again. During a shorter interruption, writes are retried.
const FAIL_FAST_AFTER: Duration = Duration::from_secs(3);

/// If callers wait for a write, and the last commit is this long ago, a health check must probe the database.
const PROBE_AFTER: Duration = Duration::from_secs(5);

/// The outcomes of the recent writes of this process. Times are those of the system's monotonic clock.
pub(in crate::store::engine::postgres) struct WriteHealth {
    state: Mutex<State>,
    /// Held by the caller that probes the database.
    probe: Mutex<()>,
}

struct State {
    /// When the first write after the last commit failed.
    failing_since: Option<Duration>,
    /// The time of the last commit, or of the start if there was none.
    committed_at: Duration,
}

pub(in crate::store::engine::postgres) enum WriteStart<'h> {
    /// It may begin: writes do not fail, or have failed only briefly.
    Allowed,
    /// Writes fail. The caller must probe the database first. While it holds the guard, no other caller probes.
    AfterProbe(MutexGuard<'h, ()>),
    /// It must fail immediately: writes fail, and another caller is probing the database.
    Refused,
}

impl WriteHealth {
    pub(in crate::store::engine::postgres) fn new() -> Self {
        let committed_at = SystemClock.monotonic();
        Self { state: Mutex::new(State { failing_since: None, committed_at }), probe: Mutex::default() }
    }

    pub(in crate::store::engine::postgres) fn committed(&self) {
        *self.state.locked() = State { failing_since: None, committed_at: SystemClock.monotonic() };
    }

    /// Records that the server could not be reached, or did not commit a write.
    pub(in crate::store::engine::postgres) fn failed(&self) {
        self.state.locked().failing_since.get_or_insert_with(|| SystemClock.monotonic());
    }

    /// Whether a write has failed since the last commit.
    pub(in crate::store::engine::postgres) fn is_failing(&self) -> bool {
        self.state.locked().failing_since.is_some()
    }

    /// Whether a health check must probe the database: if a write has failed since the last commit, or if callers wait
    /// for a write and the last commit is long ago.
    pub(in crate::store::engine::postgres) fn is_doubtful(&self, is_waited_for: bool) -> bool {
        let state = self.state.locked();
        let since_commit = SystemClock.monotonic().saturating_sub(state.committed_at);
        state.failing_since.is_some() || (is_waited_for && since_commit >= PROBE_AFTER)
    }

    /// Decides whether a write may begin now.
    pub(in crate::store::engine::postgres) fn start_write(&self) -> WriteStart<'_> {
        let failing_since = self.state.locked().failing_since;
        match failing_since {
            Some(since) if SystemClock.monotonic().saturating_sub(since) >= FAIL_FAST_AFTER => {
                match self.probe.try_lock() {
                    Ok(probe) => WriteStart::AfterProbe(probe),
                    Err(TryLockError::Poisoned(poisoned)) => WriteStart::AfterProbe(poisoned.into_inner()),
                    Err(TryLockError::WouldBlock) => WriteStart::Refused,
                }
            }
            _ => WriteStart::Allowed,
        }
    }
}
