//! How many requests are sent in a second.
//!
//! Stripe allows 25 requests in a second for each operation of its API, and in all 100 in live mode and 25 in a sandbox
//! (<https://docs.stripe.com/rate-limits>). Beyond that it answers 429: an order would be cancelled because others were
//! created in the same second. So the requests are spread out here, a little below the limits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How many requests for the same operation are sent in a second, unless the builder says otherwise. Together with the
/// first [`AT_ONCE`] it is Stripe's limit.
pub(super) const PER_OPERATION: u32 = 20;

/// How many requests are sent without a pause after a time without requests, as a part of those of a second.
const AT_ONCE: u32 = 4;

/// How many operations can be called at their highest rate in live mode. In a sandbox it is one.
const OPERATIONS: u32 = 4;

/// The requests that are sent in a second. Times are those of the monotonic clock.
pub(super) struct RateLimit {
    of_operation: Rate,
    of_all: Rate,
    next: Mutex<HashMap<String, Duration>>,
}

/// A number of requests in a second.
#[derive(Debug, Clone, Copy)]
struct Rate {
    interval: Duration,
    /// How far the requests may be ahead of the interval.
    burst: Duration,
}

impl Rate {
    fn per_second(requests: u32) -> Self {
        let interval = Duration::from_secs(1) / requests.max(1);
        Self { interval, burst: interval * (requests / AT_ONCE).saturating_sub(1) }
    }

    /// When the next request may be sent if this is the time that was planned for it.
    fn earliest(self, planned: Duration) -> Duration {
        planned.saturating_sub(self.burst)
    }
}

impl RateLimit {
    /// A limit of so many requests in a second for each operation.
    pub(super) fn new(per_operation: u32, is_live: bool) -> Self {
        let all = if is_live { per_operation.saturating_mul(OPERATIONS) } else { per_operation };
        Self { of_operation: Rate::per_second(per_operation), of_all: Rate::per_second(all), next: Mutex::default() }
    }

    /// Reserves the next free time for a request of an operation. Returns how long to wait for it, or `None` if that would
    /// be longer than `patience`.
    pub(super) fn reserve(&self, operation: &str, now: Duration, patience: Duration) -> Option<Duration> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let planned = |name: &str| next.get(name).copied().unwrap_or_default().max(now);
        let (of_operation, of_all) = (planned(operation), planned(""));
        let earliest = self.of_operation.earliest(of_operation).max(self.of_all.earliest(of_all));
        let wait = earliest.saturating_sub(now);
        if wait > patience {
            return None;
        }
        next.insert(operation.to_owned(), of_operation + self.of_operation.interval);
        next.insert(String::new(), of_all + self.of_all.interval);
        Some(wait)
    }
}

/// The operation of the API that a request calls: its method, and its path without ids, which have digits.
pub(super) fn operation(method: &str, path: &str) -> String {
    let is_id = |part: &str| part.bytes().any(|byte| byte.is_ascii_digit());
    let parts = path.split('/').map(|part| if is_id(part) { "*" } else { part });
    format!("{method} {}", parts.collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(1000);

    /// The times at which requests are sent that are all asked for at `now`.
    fn sent_at(limit: &RateLimit, operations: &[&str], now: Duration, count: usize) -> Vec<Duration> {
        let wait = |index: usize| limit.reserve(operations[index % operations.len()], now, PATIENCE).expect("a time");
        let mut times: Vec<_> = (0..count).map(|index| now + wait(index)).collect();
        times.sort();
        times
    }

    /// The most requests in any second.
    fn most_in_a_second(times: &[Duration]) -> usize {
        let second = Duration::from_secs(1);
        let until_a_second_after =
            |from: Duration| times.iter().filter(|&&at| (from..=from + second).contains(&at)).count();
        times.iter().map(|from| until_a_second_after(*from)).max().unwrap_or_default()
    }

    #[test]
    fn no_second_has_more_than_25_requests_for_an_operation() {
        let limit = RateLimit::new(PER_OPERATION, true);
        let mut times = sent_at(&limit, &["POST refunds"], Duration::from_secs(7), 100);
        assert_eq!(times[0], Duration::from_secs(7), "the first one does not wait");
        assert_eq!(times.last().map(Duration::as_secs), Some(11), "20 in a second");
        times.extend(sent_at(&limit, &["POST refunds"], Duration::from_secs(20), 100));
        assert_eq!(most_in_a_second(&times), 25);
    }

    #[test]
    fn operations_have_limits_of_their_own_up_to_that_of_the_account() {
        for (is_live, expected) in [(true, 100), (false, 25)] {
            let limit = RateLimit::new(PER_OPERATION, is_live);
            let operations = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
            let times = sent_at(&limit, &operations, Duration::ZERO, 500);
            assert_eq!(most_in_a_second(&times), expected, "live: {is_live}");
        }
    }

    #[test]
    fn a_request_that_would_wait_too_long_reserves_nothing() {
        let limit = RateLimit::new(1, true);
        let patience = Duration::from_secs(1);
        let wait = |now: u64| limit.reserve("one", Duration::from_secs(now), patience);
        assert_eq!(wait(0), Some(Duration::ZERO));
        assert_eq!(wait(0), Some(Duration::from_secs(1)));
        for _ in 0..10 {
            assert_eq!(wait(0), None);
        }
        assert_eq!(wait(1), Some(Duration::from_secs(1)));
    }

    #[test]
    fn an_operation_is_the_same_for_every_id() {
        assert_eq!(operation("GET", "checkout/sessions"), "GET checkout/sessions");
        assert_eq!(operation("POST", "checkout/sessions/cs_test_a1b2/expire"), "POST checkout/sessions/*/expire");
        assert_eq!(operation("GET", "checkout/sessions/cs_test_a1b2"), "GET checkout/sessions/*");
    }
}
