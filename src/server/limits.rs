//! How much may be asked: by a key, and by who fails to show one. Both count in fixed windows of a minute, in the memory
//! of this process.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::problem::Problem;
use crate::model::id::ApiKeyId;
use crate::model::timestamp::Timestamp;

/// How long a window lasts, in milliseconds.
const WINDOW: i64 = 60_000;

/// How many addresses are counted by themselves. The failures of further ones are counted together, so that nobody gets
/// rid of a count, or of our memory, by coming from many.
const ADDRESSES: usize = 65_536;

/// From how many keys on those whose minute is over are forgotten.
const KEYS: usize = 1024;

/// Where one key or address stands in its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    limit: u32,
    remaining: u32,
    /// The instant at which the next window may begin, in milliseconds.
    resets_at: i64,
    /// For how many seconds there is nothing left.
    wait: Option<u64>,
}

impl Standing {
    /// What every answer to a key says about its window.
    pub(super) fn describe(self, headers: &mut HeaderMap) {
        let reset = ceil_seconds(self.resets_at);
        let fields = [
            ("x-ratelimit-limit", HeaderValue::from(self.limit)),
            ("x-ratelimit-remaining", self.remaining.into()),
            ("x-ratelimit-reset", reset.into()),
        ];
        headers.extend(fields.map(|(name, value)| (HeaderName::from_static(name), value)));
    }
}

/// Whole seconds, rounded up: who waits so long has waited enough.
fn ceil_seconds(millis: i64) -> u64 {
    u64::try_from(millis).unwrap_or(0).div_ceil(1000)
}

/// A count, and since when.
#[derive(Debug, Clone, Copy)]
struct Window {
    since: i64,
    count: u32,
}

/// The windows of many.
#[derive(Debug)]
struct Windows<K> {
    limit: u32,
    at_most: usize,
    of: HashMap<K, Window>,
    /// When room was last made.
    cleared_at: i64,
}

impl<K: Hash + Eq> Windows<K> {
    fn new(limit: u32, at_most: usize) -> Self {
        Self { limit, at_most, of: HashMap::new(), cleared_at: 0 }
    }

    /// Counts one more for `who`; past the limit nothing is counted. `None` where there is no room for another.
    fn count(&mut self, who: K, now: i64) -> Option<Standing> {
        if self.of.len() >= self.at_most && !self.of.contains_key(&who) && !self.make_room(now) {
            return None;
        }
        let window = self.of.entry(who).or_insert(Window { since: now, count: 0 });
        if now >= window.since + WINDOW {
            *window = Window { since: now, count: 0 };
        }
        // A clock that was turned back must not make the window longer.
        window.since = window.since.min(now);
        let resets_at = window.since + WINDOW;
        let wait = (window.count >= self.limit).then(|| ceil_seconds(resets_at - now).max(1));
        if wait.is_none() {
            window.count += 1;
        }
        Some(Standing { limit: self.limit, remaining: self.limit - window.count.min(self.limit), resets_at, wait })
    }
}

impl<K> Windows<K> {
    /// Forgets the windows that are over; says whether there is room. It looks through all of them, and so not more often
    /// than once a second.
    fn make_room(&mut self, now: i64) -> bool {
        if (now - self.cleared_at).abs() >= 1000 {
            self.cleared_at = now;
            self.of.retain(|_, window| now < window.since + WINDOW);
        }
        self.of.len() < self.at_most
    }
}

/// The limits of one server.
#[derive(Debug)]
pub(super) struct Limits {
    keys: Option<Mutex<Windows<ApiKeyId>>>,
    failures: Mutex<Windows<Option<IpAddr>>>,
}

impl Limits {
    /// `requests` a minute for each key, or any number; `failures` a minute for each address.
    pub(super) fn new(requests: Option<u32>, failures: u32) -> Self {
        let keys = requests.map(|limit| Mutex::new(Windows::new(limit, usize::MAX)));
        Self { keys, failures: Mutex::new(Windows::new(failures, ADDRESSES)) }
    }

    /// Counts a request of a key; `None` where keys have no limit.
    pub(super) fn request(&self, key: ApiKeyId, now: Timestamp) -> Option<Standing> {
        let mut windows = self.keys.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.of.len() >= KEYS {
            windows.make_room(now.millis());
        }
        windows.count(key, now.millis())
    }

    /// Refuses what is past the limit.
    pub(super) fn check(standing: Option<Standing>) -> Result<(), Problem> {
        match standing.and_then(|standing| standing.wait.map(|wait| (standing.limit, wait))) {
            None => Ok(()),
            Some((limit, wait)) => {
                Err(Problem::rate_limited(format!("the key has made its {limit} requests of this minute"), wait))
            }
        }
    }

    /// Counts a failed authentication, and says what to answer to it.
    pub(super) fn failure(&self, address: Option<IpAddr>, now: Timestamp) -> Problem {
        let mut windows = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let standing = windows.count(address.map(network), now.millis());
        // Whoever finds no room is counted with all others who found none, and with those who have no address.
        let standing = standing.or_else(|| windows.count_together(now.millis()));
        match standing.and_then(|standing| standing.wait) {
            None => Problem::unauthenticated(),
            Some(wait) => Problem::rate_limited("too many requests came without a valid key", wait),
        }
    }
}

impl Windows<Option<IpAddr>> {
    fn count_together(&mut self, now: i64) -> Option<Standing> {
        let at_most = std::mem::replace(&mut self.at_most, usize::MAX);
        let standing = self.count(None, now);
        self.at_most = at_most;
        standing
    }
}

/// Whose address it is: of IPv6, a network of 64 bits is one client's.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn remaining(windows: &mut Windows<u8>, who: u8, now: i64) -> (u32, i64, Option<u64>) {
        let standing = windows.count(who, now).unwrap();
        (standing.remaining, standing.resets_at, standing.wait)
    }

    #[test]
    fn a_window_begins_with_the_first_request_and_lasts_a_minute() {
        let mut windows = Windows::new(2, usize::MAX);
        assert_eq!(remaining(&mut windows, 1, 500), (1, 60_500, None));
        assert_eq!(remaining(&mut windows, 1, 60_499), (0, 60_500, None));
        assert_eq!(remaining(&mut windows, 1, 60_499), (0, 60_500, Some(1)));
        assert_eq!(remaining(&mut windows, 2, 1_000), (1, 61_000, None), "another has a window of its own");
        assert_eq!(remaining(&mut windows, 1, 60_500), (1, 120_500, None));
    }

    #[test]
    fn the_wait_is_rounded_up_to_seconds() {
        let mut windows = Windows::new(0, usize::MAX);
        assert_eq!(remaining(&mut windows, 1, 0), (0, 60_000, Some(60)));
        assert_eq!(remaining(&mut windows, 1, 1), (0, 60_000, Some(60)));
        assert_eq!(remaining(&mut windows, 1, 1_000), (0, 60_000, Some(59)));
        let mut headers = HeaderMap::new();
        windows.count(1, 1_500).unwrap().describe(&mut headers);
        assert_eq!(headers["x-ratelimit-reset"], "60");
        assert_eq!(headers["x-ratelimit-limit"], "0");
    }

    #[test]
    fn a_clock_that_goes_back_makes_no_window_longer() {
        let mut windows = Windows::new(1, usize::MAX);
        assert_eq!(remaining(&mut windows, 1, 1_000_000), (0, 1_060_000, None));
        assert_eq!(remaining(&mut windows, 1, 10_000), (0, 70_000, Some(60)));
        assert_eq!(remaining(&mut windows, 1, 70_000), (0, 130_000, None));
    }

    #[test]
    fn an_ipv6_network_of_64_bits_and_an_ipv4_address_are_one_client_each() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }

    #[test]
    fn failures_past_the_limit_are_braked_and_memory_is_bounded_whatever_comes() {
        let limits = Limits::new(None, 2);
        let address = |number: u32| Some(IpAddr::V4(number.into()));
        let status = |number, now| limits.failure(address(number), at(now)).status().as_u16();
        assert_eq!([status(1, 0), status(1, 0), status(1, 0), status(2, 0)], [401, 401, 429, 401]);
        for number in 0..200_000 {
            limits.failure(address(number), at(1_000));
        }
        assert!(limits.failures.lock().unwrap().of.len() <= ADDRESSES + 1);
        // There is no room for a new one: it shares the count of all who found none, which is used up.
        assert_eq!(status(1_000_000, 1_000), 429);
        // Who was counted before is not forgotten for it.
        assert_eq!(status(1, 1_000), 429);
        // A minute later there is room again.
        assert_eq!(status(1_000_001, 61_001), 401);
    }
}
