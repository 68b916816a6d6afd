//! The attempt that the current thread makes: where it may connect to, how long it has, and how far it has come.
//!
//! ureq calls its resolver, its connector and its connections on the thread that sends, and hands nothing of ours on to
//! them: they find the attempt here.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::Duration;

use ureq::unversioned::transport::{NextTimeout, time};
use ureq::{Error, Timeout};

use crate::environment::{Clock, SystemClock};

/// So many reads in a row are as fast as they can be.
const FREE_READS: u32 = 64;
/// How long each further one waits first. Whoever answers byte by byte takes none of the machine's time, and whoever
/// answers without end little of it: 100 reads in a second.
const PACE: Duration = Duration::from_millis(10);

/// What is being done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    LookingUp,
    #[default]
    Connecting,
    Securing,
    Sending,
    Waiting,
    Reading,
}

impl Phase {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::LookingUp => "looking up the name",
            Self::Connecting => "connecting",
            Self::Securing => "securing the connection",
            Self::Sending => "sending",
            Self::Waiting => "waiting for the answer",
            Self::Reading => "reading the answer",
        }
    }
}

/// An attempt. One that is not under way may connect to nothing, and has no time.
#[derive(Debug, Clone, Default)]
pub(super) struct Attempt {
    /// The addresses that were checked: it connects to one of these.
    pub(super) addresses: Vec<SocketAddr>,
    /// When its time is up, by the machine's monotonic clock.
    pub(super) deadline: Duration,
    /// Whether it must not use a connection that was there before.
    pub(super) fresh: bool,
    pub(super) phase: Phase,
    /// Whether a connection was tried, or one was used that was there before.
    pub(super) tried: bool,
    /// Whether the connection was made by this attempt.
    pub(super) dialed: bool,
    /// Whether anything of an answer came.
    pub(super) answered: bool,
    pub(super) timed_out: bool,
    pub(super) reads: u32,
}

thread_local! {
    static CURRENT: RefCell<Attempt> = RefCell::default();
}

/// Time since some fixed instant. What the network does takes real time, whatever clock the service has.
pub(super) fn now() -> Duration {
    SystemClock.monotonic()
}

/// Looks at the attempt under way, or changes it.
pub(super) fn with<R>(look: impl FnOnce(&mut Attempt) -> R) -> R {
    CURRENT.with_borrow_mut(look)
}

/// Makes `attempt` the one under way while `work` runs, and gives back what became of it.
pub(super) fn run<R>(attempt: Attempt, work: impl FnOnce() -> R) -> (R, Attempt) {
    CURRENT.set(attempt);
    let result = work();
    (result, CURRENT.take())
}

impl Attempt {
    /// How much time is left.
    pub(super) fn remaining(&self) -> Duration {
        self.deadline.saturating_sub(now())
    }

    /// Whether it may use a connection to `peer` that is there already.
    pub(super) fn may_use(&self, peer: SocketAddr) -> bool {
        self.addresses.contains(&peer) && (self.dialed || !self.fresh)
    }
}

/// The time that the next read or write has. Whoever gives it none asks for what is there already: for that the attempt's
/// time is not up.
pub(super) fn limit(timeout: NextTimeout) -> Result<NextTimeout, Error> {
    if timeout.after.is_zero() {
        return Err(Error::Timeout(timeout.reason));
    }
    let remaining = with(|attempt| attempt.remaining());
    if remaining.is_zero() {
        return note(Err(Error::Timeout(Timeout::Global)));
    }
    let after = time::Duration::Exact(remaining.min(*timeout.after));
    Ok(NextTimeout { after, ..timeout })
}

/// Waits until the next read may begin.
pub(super) fn pace() {
    let wait = with(|attempt| {
        attempt.reads = attempt.reads.saturating_add(1);
        if attempt.reads > FREE_READS { PACE.min(attempt.remaining()) } else { Duration::ZERO }
    });
    sleep(wait);
}

/// Remembers whether the time was up: on its way through TLS the error may become another.
pub(super) fn note<T>(result: Result<T, Error>) -> Result<T, Error> {
    if matches!(result, Err(Error::Timeout(_))) {
        with(|attempt| attempt.timed_out = true);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(time: Duration) -> Attempt {
        Attempt { deadline: now() + time, ..Attempt::default() }
    }

    #[test]
    fn whoever_answers_byte_by_byte_is_read_slowly() {
        let started = now();
        run(attempt(Duration::from_mins(1)), || (0..FREE_READS + 20).for_each(|_| pace()));
        assert!(now().saturating_sub(started) >= PACE * 20);
        // The last wait ends with the time.
        let started = now();
        run(attempt(Duration::ZERO), || (0..100_000).for_each(|_| pace()));
        assert!(now().saturating_sub(started) < PACE * 99_000);
    }

    #[test]
    fn a_read_has_no_longer_than_what_is_left() {
        let half = NextTimeout { after: time::Duration::from_millis(500), ..NextTimeout::default() };
        let (limited, attempt) = run(attempt(Duration::from_mins(1)), || {
            (limit(half).unwrap().after, limit(NextTimeout::default()).unwrap().after)
        });
        assert_eq!(limited.0, time::Duration::from_millis(500));
        assert!(*limited.1 <= Duration::from_mins(1) && !attempt.timed_out);
        let ((), attempt) = run(Attempt::default(), || assert!(limit(half).is_err()));
        assert!(attempt.timed_out);
        let none = NextTimeout { after: time::Duration::from_secs(0), ..half };
        let ((), attempt) = run(self::attempt(Duration::from_mins(1)), || assert!(limit(none).is_err()));
        assert!(!attempt.timed_out);
    }

    #[test]
    fn without_an_attempt_nothing_may_be_used() {
        let peer = SocketAddr::from(([127, 0, 0, 1], 443));
        assert!(!with(|attempt| attempt.may_use(peer)));
        let pooled = Attempt { addresses: vec![peer], ..Attempt::default() };
        assert!(pooled.may_use(peer) && !pooled.may_use(SocketAddr::from(([127, 0, 0, 1], 444))));
        let fresh = Attempt { fresh: true, ..pooled };
        assert!(!fresh.may_use(peer) && Attempt { dialed: true, ..fresh.clone() }.may_use(peer));
    }
}
