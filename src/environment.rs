//! The clock and the source of randomness, handed in from outside: the system's in production, and ones that a test
//! turns by hand. Nothing else in the crate asks the machine for the time or for random bytes.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::model::timestamp::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The wall clock, UTC. It may jump, backwards too.
    fn now(&self) -> Timestamp;

    /// Time since some fixed instant; it never goes backwards.
    fn monotonic(&self) -> Duration;
}

/// Gives random bytes, for ids, ticket codes and keys.
pub trait Entropy: Send + Sync + fmt::Debug {
    /// Fills `bytes` with random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[expect(clippy::disallowed_methods, reason = "this is the one place that asks the machine for the time")]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }
}

/// A clock that stands still until it is turned. Clones show the same time.
///
/// ```
/// use ticketing::{Clock, ManualClock};
/// let clock = ManualClock::at("2026-06-01T18:00:00Z".parse()?);
/// clock.advance(std::time::Duration::from_secs(90));
/// assert_eq!(clock.now().to_string(), "2026-06-01T18:01:30.000Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock {
    wall: Arc<AtomicI64>,
    elapsed: Arc<AtomicI64>,
}

impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self { wall: Arc::new(AtomicI64::new(now.millis())), elapsed: Arc::default() }
    }

    /// Turns the wall clock to `now`, forwards or backwards; the monotonic clock follows only forwards.
    pub fn set(&self, now: Timestamp) {
        let before = self.wall.swap(now.millis(), Ordering::SeqCst);
        self.elapsed.fetch_add((now.millis() - before).max(0), Ordering::SeqCst);
    }

    /// Turns both clocks forwards.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.wall.fetch_add(millis, Ordering::SeqCst);
        self.elapsed.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.wall.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.elapsed.load(Ordering::SeqCst)).unwrap_or(0))
    }
}

/// The operating system's randomness, stretched by a cryptographic generator for each thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the machine for randomness")]
    fn fill(&self, bytes: &mut [u8]) {
        rand::fill(bytes);
    }
}

/// The same bytes for the same seed: for tests, never for production.
pub struct SeededEntropy(Mutex<StdRng>);

impl SeededEntropy {
    /// A source that `seed` determines.
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

/// What the layers below the facade get of the outside.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Environment {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// `LENGTH` random characters of `alphabet`, each as likely as any other.
    pub(crate) fn random_text(&self, alphabet: &[u8], length: usize) -> String {
        let fair = 256 - 256 % alphabet.len();
        let mut text = String::with_capacity(length);
        let mut bytes = [0_u8; 32];
        while text.len() < length {
            self.entropy.fill(&mut bytes);
            let wanted = length - text.len();
            let letters = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < fair);
            text.extend(letters.take(wanted).map(|byte| char::from(alphabet[byte % alphabet.len()])));
        }
        text
    }
}
