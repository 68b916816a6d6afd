//! Whether the database accepts writes, as far as this process knows.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crate::environment::{Clock, SystemClock};

/// For how long writes must have failed until the next ones are answered at once, except one that finds out whether they
/// would succeed. A short interruption is waited for.
const FAIL_FAST_AFTER: Duration = Duration::from_secs(3);

/// After how long without a commit the server is doubted while somebody waits for one.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// What the writes of this process have found out. Times are those of the monotonic clock of the system.
pub(in crate::store::engine::postgres) struct Health {
    state: Mutex<State>,
    probe: Mutex<()>,
}

struct State {
    /// When the first write failed since the last commit.
    failing_since: Option<Duration>,
    committed_at: Duration,
}

/// What is known about the next write.
pub(in crate::store::engine::postgres) enum Prospect<'h> {
    MaySucceed,
    /// Others fail. It has to find out first whether it would succeed; nobody else does while this is held.
    Finds(MutexGuard<'h, ()>),
    /// Others fail, and another one finds out just now.
    Fails,
}

impl Health {
    pub(in crate::store::engine::postgres) fn new() -> Self {
        let committed_at = SystemClock.monotonic();
        Self { state: Mutex::new(State { failing_since: None, committed_at }), probe: Mutex::default() }
    }

    /// Notes that the server has committed a write.
    pub(in crate::store::engine::postgres) fn committed(&self) {
        *self.state() = State { failing_since: None, committed_at: SystemClock.monotonic() };
    }

    /// Notes that the server could not be reached, or did not commit a write.
    pub(in crate::store::engine::postgres) fn failed(&self) {
        self.state().failing_since.get_or_insert_with(|| SystemClock.monotonic());
    }

    /// Whether a write has failed since the last commit.
    pub(in crate::store::engine::postgres) fn is_failing(&self) -> bool {
        self.state().failing_since.is_some()
    }

    /// Whether a write has failed since the last commit, or waits although there was no commit for long.
    pub(in crate::store::engine::postgres) fn is_doubtful(&self, is_waited_for: bool) -> bool {
        let state = self.state();
        let silence = SystemClock.monotonic().saturating_sub(state.committed_at);
        state.failing_since.is_some() || (is_waited_for && silence >= MAX_WAIT)
    }

    /// What is known about a write that begins now.
    pub(in crate::store::engine::postgres) fn prospect(&self) -> Prospect<'_> {
        let failing_since = self.state().failing_since;
        match failing_since {
            Some(since) if SystemClock.monotonic().saturating_sub(since) >= FAIL_FAST_AFTER => {
                match self.probe.try_lock() {
                    Ok(probe) => Prospect::Finds(probe),
                    Err(TryLockError::Poisoned(poisoned)) => Prospect::Finds(poisoned.into_inner()),
                    Err(TryLockError::WouldBlock) => Prospect::Fails,
                }
            }
            _ => Prospect::MaySucceed,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
