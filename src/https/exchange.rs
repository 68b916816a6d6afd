//! The state of the HTTP exchange that the current thread performs: allowed addresses, deadline and progress.
//!
//! ureq calls its resolver, connectors and connections on the thread that sends, but passes no data of ours to them.
//! They find the exchange in a thread-local variable.
//!
//! The deadline is kept here and not by ureq. The time that is left after the lookup differs from attempt to attempt,
//! so ureq would need a configuration for each request; for such a request it builds a new TLS configuration with each
//! connection. Therefore ureq runs without timeouts, and every read and write is limited to the time that is left.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::Duration;

use ureq::{Error, Timeout};

use super::ureq_traits::{NextTimeout, time};
use crate::environment::{Clock, SystemClock};

/// How many reads of a response are not delayed.
const FREE_READS: u32 = 64;

/// The delay before each further read. A receiver that answers byte by byte, or without end, gets 100 reads per
/// second, so that it costs hardly any CPU time.
const READ_DELAY: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    Resolving,
    #[default]
    Connecting,
    Handshaking,
    Sending,
    Waiting,
    Reading,
}

impl Phase {
    /// Completes the message "… while …".
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Resolving => "resolving the host name",
            Self::Connecting => "connecting",
            Self::Handshaking => "negotiating TLS",
            Self::Sending => "sending the request",
            Self::Waiting => "waiting for the response",
            Self::Reading => "reading the response",
        }
    }
}

/// An exchange. A thread that performs none has the default one, which allows no address and has no time left.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exchange {
    /// The addresses that were checked. The exchange connects only to these.
    pub(crate) addresses: Vec<SocketAddr>,
    /// When it times out, by the machine's monotonic clock.
    pub(crate) deadline: Duration,
    /// Whether it must not reuse a connection of an earlier exchange.
    pub(crate) needs_new_connection: bool,
    pub(crate) phase: Phase,
    /// Whether a connection was tried, or one of an earlier exchange was used.
    pub(crate) connection_tried: bool,
    /// Whether the connection was made by this exchange.
    pub(crate) connected: bool,
    /// Whether any part of a response was received.
    pub(crate) response_begun: bool,
    pub(crate) timed_out: bool,
    pub(crate) reads: u32,
    /// How many reads of the response are not delayed, beyond [`FREE_READS`].
    pub(crate) more_free_reads: u32,
}

/// A finished exchange, and the result of the work.
pub(crate) struct Finished<R> {
    pub(crate) result: R,
    pub(crate) exchange: Exchange,
}

thread_local! {
    static CURRENT: RefCell<Exchange> = RefCell::default();
}

/// The time since some fixed instant. The network takes real time, even if the service has another clock.
pub(crate) fn now() -> Duration {
    SystemClock.monotonic()
}

/// Reads or changes the current exchange.
pub(crate) fn with_current<R>(access: impl FnOnce(&mut Exchange) -> R) -> R {
    CURRENT.with_borrow_mut(access)
}

/// Makes `exchange` the current one while `work` runs.
pub(crate) fn run<R>(exchange: Exchange, work: impl FnOnce() -> R) -> Finished<R> {
    CURRENT.set(exchange);
    let result = work();
    Finished { result, exchange: CURRENT.take() }
}

impl Exchange {
    pub(crate) fn remaining(&self) -> Duration {
        self.deadline.saturating_sub(now())
    }

    /// Whether the exchange may use an open connection to `peer`.
    pub(crate) fn may_use(&self, peer: SocketAddr) -> bool {
        self.addresses.contains(&peer) && (self.connected || !self.needs_new_connection)
    }
}

/// Limits the timeout of a read or write to the time that is left. A timeout of zero asks only for data that has
/// already arrived, and does not mean that the time of the exchange is over.
pub(crate) fn limit_timeout(timeout: NextTimeout) -> Result<NextTimeout, Error> {
    if timeout.after.is_zero() {
        return Err(Error::Timeout(timeout.reason));
    }
    let remaining = with_current(|exchange| exchange.remaining());
    if remaining.is_zero() {
        return record_timeout(Err(Error::Timeout(Timeout::Global)));
    }
    let after = time::Duration::Exact(remaining.min(*timeout.after));
    Ok(NextTimeout { after, ..timeout })
}

/// Waits until the next read may start.
pub(crate) fn pace_reads() {
    let delay = with_current(|exchange| {
        exchange.reads = exchange.reads.saturating_add(1);
        if exchange.reads > FREE_READS.saturating_add(exchange.more_free_reads) {
            READ_DELAY.min(exchange.remaining())
        } else {
            Duration::ZERO
        }
    });
    sleep(delay);
}

/// Records a timeout in the current exchange, since the TLS layer may turn the error into another one. Returns the
/// result as it is.
pub(crate) fn record_timeout<T>(result: Result<T, Error>) -> Result<T, Error> {
    if matches!(result, Err(Error::Timeout(_))) {
        with_current(|exchange| exchange.timed_out = true);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(time: Duration) -> Exchange {
        Exchange { deadline: now() + time, ..Exchange::default() }
    }

    fn pace(reads: u32) {
        for _ in 0..reads {
            pace_reads();
        }
    }

    #[test]
    fn many_reads_are_slowed_down_until_the_time_is_over() {
        let started = now();
        run(exchange(Duration::from_mins(1)), || pace(FREE_READS + 20));
        assert!(now().saturating_sub(started) >= READ_DELAY * 20);
        let started = now();
        run(exchange(Duration::ZERO), || pace(100_000));
        assert!(now().saturating_sub(started) < READ_DELAY * 99_000);
    }

    #[test]
    fn a_read_is_limited_to_the_time_that_is_left() {
        let half = NextTimeout { after: time::Duration::from_millis(500), ..NextTimeout::default() };
        let limit = |timeout| limit_timeout(timeout).map(|limited| limited.after);

        let finished = run(exchange(Duration::from_mins(1)), || limit(half));
        assert_eq!(finished.result.unwrap(), time::Duration::from_millis(500));
        let finished = run(exchange(Duration::from_mins(1)), || limit(NextTimeout::default()));
        assert!(*finished.result.unwrap() <= Duration::from_mins(1) && !finished.exchange.timed_out);

        let finished = run(Exchange::default(), || limit(half));
        assert!(finished.result.is_err() && finished.exchange.timed_out);
        let none = NextTimeout { after: time::Duration::from_secs(0), ..half };
        let finished = run(exchange(Duration::from_mins(1)), || limit(none));
        assert!(finished.result.is_err() && !finished.exchange.timed_out);
    }

    #[test]
    fn a_connection_is_used_only_by_an_exchange_that_allows_its_address() {
        let peer = SocketAddr::from(([127, 0, 0, 1], 443));
        assert!(!with_current(|exchange| exchange.may_use(peer)));
        let any = Exchange { addresses: vec![peer], ..Exchange::default() };
        assert!(any.may_use(peer) && !any.may_use(SocketAddr::from(([127, 0, 0, 1], 444))));
        let new = Exchange { needs_new_connection: true, ..any };
        assert!(!new.may_use(peer) && Exchange { connected: true, ..new.clone() }.may_use(peer));
    }
}
