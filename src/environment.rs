//! The clock and the source of randomness. They are passed in: the system's in production, controllable ones in tests.
//! Nothing else in the crate reads the system time or draws random bytes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

#[cfg(feature = "documents")]
use crate::model::tickets::document_link::DocumentLinks;
use crate::model::values::timestamp::Timestamp;

/// A source of the current time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The wall-clock time in UTC. It may jump, also backwards.
    fn now(&self) -> Timestamp;

    /// The time since an arbitrary fixed instant. It never goes backwards.
    fn monotonic(&self) -> Duration;

    /// Whether the wall clock is known to be right, also after it jumped. Default: `false`.
    ///
    /// If it is `true`, [maintenance](crate::TicketingService::run_maintenance) acts on the time at once. Otherwise, it
    /// waits an hour after the clock jumped forwards. A clock that asks the system whether it is synchronized can
    /// return `true` as long as it is.
    fn is_trusted(&self) -> bool {
        false
    }
}

/// A source of random bytes, for ids, ticket codes and keys.
pub trait Entropy: Send + Sync + fmt::Debug {
    /// Fills `bytes` with random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// Implements the traits for pointers, so that a program can keep the clock that it gives to the service.
macro_rules! for_pointers {
    ($($pointer:ident),+) => {$(
        impl<T: Clock + ?Sized> Clock for $pointer<T> {
            fn now(&self) -> Timestamp {
                (**self).now()
            }

            fn monotonic(&self) -> Duration {
                (**self).monotonic()
            }

            fn is_trusted(&self) -> bool {
                (**self).is_trusted()
            }
        }

        impl<T: Entropy + ?Sized> Entropy for $pointer<T> {
            fn fill(&self, bytes: &mut [u8]) {
                (**self).fill(bytes);
            }
        }
    )+};
}

for_pointers!(Arc, Box);

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
        let mut time = self.time();
        let forwards = now.duration_since(time.wall).unwrap_or_default();
        time.monotonic = time.monotonic.saturating_add(forwards);
        time.wall = now;
    }

    /// Moves both clocks forwards, the wall clock up to [`Timestamp::MAX`].
    pub fn advance(&self, by: Duration) {
        let mut time = self.time();
        time.monotonic = time.monotonic.saturating_add(by);
        time.wall = time.wall.saturating_add(by);
    }

    fn time(&self) -> MutexGuard<'_, ManualTime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.time().wall
    }

    fn monotonic(&self) -> Duration {
        self.time().monotonic
    }

    /// Always true: a test that moves the clock wants to see what is due then.
    fn is_trusted(&self) -> bool {
        true
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(bytes);
    }
}

impl fmt::Debug for SeededEntropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SeededEntropy")
    }
}

/// The clock and the source of randomness, as the layers below the facade receive them.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// Where the pages of tickets and orders are, if documents are switched on.
    #[cfg(feature = "documents")]
    pub(crate) pages_url: Option<String>,
    /// The links to these pages, in the transactions of an open store.
    #[cfg(feature = "documents")]
    pub(crate) links: Option<Arc<DocumentLinks>>,
}

impl Environment {
    pub(crate) fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            clock,
            entropy,
            #[cfg(feature = "documents")]
            pages_url: None,
            #[cfg(feature = "documents")]
            links: None,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns `N` random bytes.
    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes);
        bytes
    }

    /// Returns `length` random characters of `alphabet`, all equally likely.
    pub(crate) fn random_text(&self, alphabet: &[u8], length: usize) -> String {
        let fair = 256 - 256 % alphabet.len();
        let mut text = String::with_capacity(length);
        while text.len() < length {
            let bytes: [u8; 32] = self.random();
            let wanted = length - text.len();
            let letters = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < fair);
            text.extend(letters.take(wanted).map(|byte| char::from(alphabet[byte % alphabet.len()])));
        }
        text
    }
}
