//! The clock and the randomness of the system. Nothing else in the crate reads or draws either.

use std::time::{Duration, SystemTime};

use super::{Clock, Entropy};
use crate::model::values::timestamp::Timestamp;

/// The system clock. A time outside of the years 1970 to 9999 is read as 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "programs name it as a value; it can have no options")]
pub struct SystemClock;

#[expect(clippy::disallowed_methods, reason = "the only place that reads the system time")]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        SystemTime::now().try_into().unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn monotonic(&self) -> Duration {
        static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }
}

impl Timestamp {
    /// The current time of the system clock. A service with another [`Clock`] does not use it: ask that clock.
    #[must_use]
    pub fn now() -> Self {
        SystemClock.now()
    }
}

/// Randomness of the operating system, expanded by a cryptographic generator per thread.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "programs name it as a value; it can have no options")]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "the only place that draws randomness from the system")]
    fn fill(&self, bytes: &mut [u8]) {
        rand::fill(bytes);
    }
}
