//! A clock and a source of randomness for tests, which decide what they return.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{Clock, Entropy, Locked};
use crate::model::values::timestamp::Timestamp;

/// A clock that stands still until it is set or advanced. Clones share one time.
///
/// ```
/// use ticketing::environment::{Clock, ManualClock};
/// let clock = ManualClock::new("2026-06-01T18:00:00Z".parse()?);
/// clock.advance(std::time::Duration::from_secs(90));
/// assert_eq!(clock.now().to_string(), "2026-06-01T18:01:30.000Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<ManualTime>>);

#[derive(Debug)]
struct ManualTime {
    wall: Timestamp,
    monotonic: Duration,
}

impl ManualClock {
    /// Creates a clock that shows `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(ManualTime { wall: now, monotonic: Duration::ZERO })))
    }

    /// Sets the wall clock to `now`, forwards or backwards. The monotonic clock only follows forwards.
    pub fn set(&self, now: Timestamp) {
        let mut time = self.0.locked();
        let forwards = now.duration_since(time.wall).unwrap_or_default();
        time.monotonic = time.monotonic.saturating_add(forwards);
        time.wall = now;
    }

    /// Moves both clocks forwards, the wall clock up to [`Timestamp::MAX`].
    pub fn advance(&self, by: Duration) {
        let mut time = self.0.locked();
        time.monotonic = time.monotonic.saturating_add(by);
        time.wall = time.wall.saturating_add(by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.0.locked().wall
    }

    fn monotonic(&self) -> Duration {
        self.0.locked().monotonic
    }

    /// Always true: a test that moves the clock wants to see what is due then.
    fn is_trusted(&self) -> bool {
        true
    }
}

/// A deterministic source: it returns the same bytes for the same seed. For tests only: its bytes are predictable.
pub struct SeededEntropy(Mutex<StdRng>);

impl SeededEntropy {
    /// Creates the source for a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.locked().fill_bytes(bytes);
    }
}

impl fmt::Debug for SeededEntropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SeededEntropy")
    }
}
