//! Rate limits for requests per API key, for failed authentications per client address, for requests to the links of
//! tickets and orders, per link and per client address, and for orders that door links look up. All use fixed windows of
//! one minute, or of one hour for the last, counted in the memory of this process.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError, RwLock};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::environment::Locked;
use crate::model::tenants::caller::Caller;
#[cfg(feature = "event-pages")]
use crate::model::values::id::EventId;
use crate::model::values::id::{ApiKeyId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::server::net::client_network::network;
use crate::server::options::ServerOptions;
use crate::server::responses::problem::Problem;

/// The length of a window, in milliseconds.
const MINUTE: i64 = 60_000;

/// The length of a window for orders that door links look up.
const HOUR: i64 = 60 * MINUTE;

/// How many client addresses, or links, have a window of their own. All further ones share one window, so that a client
/// with many addresses can neither escape its limit nor use up memory.
const MAX_WINDOWS: usize = 65_536;

/// The least value of [`RateLimits::failures_until_unchecked`].
const MIN_FAILURES_UNTIL_UNCHECKED: u32 = 1000;

/// The maximum number of requests with the key of a door link in a minute.
const REQUESTS_OF_DOOR_LINK: u32 = 300;

/// The maximum number of orders that the key of a door link can look up in an hour. An id has twelve random bits besides its
/// time, which may be known.
const ORDERS_OF_DOOR_LINK: u32 = 60;

/// The maximum number of requests to one link in a minute.
const REQUESTS_PER_LINK: u32 = 60;

/// How many valid keys are cached. When the cache is full, it is cleared.
const MAX_VALID_KEYS: usize = 65_536;

/// From this number of API keys with a window on, expired windows are removed.
const MANY_KEYS: usize = 1024;

/// The window of one key or address after a request was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) struct RateLimitStatus {
    limit: u32,
    remaining: u32,
    /// When the window ends, in milliseconds since 1970.
    resets_at: i64,
    /// If the limit was exceeded: seconds until the window ends.
    retry_after: Option<u64>,
}

impl RateLimitStatus {
    /// Adds the headers `X-RateLimit-*`.
    pub(in crate::server) fn add_headers(self, headers: &mut HeaderMap) {
        let reset = seconds_rounded_up(self.resets_at);
        headers.insert(HeaderName::from_static("x-ratelimit-limit"), HeaderValue::from(self.limit));
        headers.insert(HeaderName::from_static("x-ratelimit-remaining"), HeaderValue::from(self.remaining));
        headers.insert(HeaderName::from_static("x-ratelimit-reset"), HeaderValue::from(reset));
    }

    /// Refuses a request that exceeded the limit.
    pub(in crate::server) fn check(self) -> Result<(), Problem> {
        match self.retry_after {
            None => Ok(()),
            Some(seconds) => {
                let detail = format!("the API key may make at most {} requests per minute", self.limit);
                Err(Problem::rate_limited(detail, seconds))
            }
        }
    }
}

/// Converts milliseconds to seconds. Rounds up, so that a client that waits this long never retries too early.
fn seconds_rounded_up(millis: i64) -> u64 {
    u64::try_from(millis).unwrap_or(0).div_ceil(1000)
}

/// A client network that orders tickets of an event.
#[cfg(feature = "event-pages")]
type OrderingNetwork = (EventId, Option<IpAddr>);

/// The rate limits of one server, and what was counted for them.
#[derive(Debug)]
pub(in crate::server) struct RateLimits {
    /// `None` if requests are not limited.
    requests: Option<Mutex<Windows<ApiKeyId>>>,
    /// Orders that keys of door links have looked up. `None` is the window of all keys without a window of their own.
    order_look_ups: Mutex<Windows<Option<ApiKeyId>>>,
    /// Failed authentications by client network. `None` is the window of unknown addresses, and of all networks without
    /// a window of their own.
    failures: Mutex<Windows<Option<IpAddr>>>,
    /// Requests to any link by client network, like `failures`.
    link_requests_by_network: Mutex<Windows<Option<IpAddr>>>,
    /// Requests with a valid link token, by the hash of the token. `None` is the window of all links without a window
    /// of their own.
    requests_by_link: Mutex<Windows<Option<u64>>>,
    /// Orders with the forms of event pages, by event and client network. `None` is the window of all without a window of
    /// their own.
    #[cfg(feature = "event-pages")]
    orders: Mutex<Windows<Option<OrderingNetwork>>>,
    /// From this number of failures per network and minute on, unknown keys are refused without a look-up.
    failures_until_unchecked: u32,
    /// The organizations of API keys that were valid when they were cached, by the hash of the key.
    valid_keys: RwLock<HashMap<u64, OrganizationId>>,
    hasher: RandomState,
}

impl RateLimits {
    pub(in crate::server) fn new(options: &ServerOptions) -> Self {
        let failures = options.failed_authentications;
        Self {
            requests: options.rate_limit.map(|limit| Mutex::new(Windows::new(limit))),
            order_look_ups: Mutex::new(Windows { length: HOUR, ..Windows::new(ORDERS_OF_DOOR_LINK) }),
            failures: Mutex::new(Windows::new(failures)),
            link_requests_by_network: Mutex::new(Windows::new(options.link_requests)),
            requests_by_link: Mutex::new(Windows::new(REQUESTS_PER_LINK)),
            #[cfg(feature = "event-pages")]
            orders: Mutex::new(Windows { length: 10 * MINUTE, ..Windows::new(options.orders_per_network) }),
            failures_until_unchecked: failures.saturating_mul(10).max(MIN_FAILURES_UNTIL_UNCHECKED),
            valid_keys: RwLock::default(),
            hasher: RandomState::new(),
        }
    }

    /// Caches that a key is valid. It is then always looked up, even if other clients with the same address cause many
    /// failures.
    pub(in crate::server) fn remember_valid(&self, key: &str, organization: OrganizationId) {
        if self.organization_of(key).is_some() {
            return;
        }
        let mut valid_keys = self.valid_keys.write().unwrap_or_else(PoisonError::into_inner);
        if valid_keys.len() >= MAX_VALID_KEYS {
            valid_keys.clear();
        }
        valid_keys.insert(self.hasher.hash_one(key), organization);
    }

    /// Returns the organization of a key that was valid before. This predicts the organization of a request. It does
    /// not authenticate it: the key may have been revoked since.
    pub(in crate::server) fn organization_of(&self, key: &str) -> Option<OrganizationId> {
        let valid_keys = self.valid_keys.read().unwrap_or_else(PoisonError::into_inner);
        valid_keys.get(&self.hasher.hash_one(key)).copied()
    }

    /// Refuses a key without a look-up if its address is far above the limit of failed authentications, unless the key
    /// was valid before. A flood of invented keys thus causes no queries.
    pub(in crate::server) fn refuse_unchecked(
        &self,
        key: &str,
        address: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<(), Problem> {
        let windows = self.failures.locked();
        let failures = windows.current(&windows.key_of(address.map(network)), now.millis());
        drop(windows);
        if failures < self.failures_until_unchecked {
            return Ok(());
        }
        if self.organization_of(key).is_some() {
            return Ok(());
        }
        Err(self.count_failure(address, now))
    }

    /// Counts a request of a caller with an API key. Returns `None` if requests are not limited.
    pub(in crate::server) fn count_request(&self, caller: &Caller, now: Timestamp) -> Option<RateLimitStatus> {
        let key = caller.key?;
        let mut windows = self.requests.as_ref()?.locked();
        if windows.by_key.len() >= MANY_KEYS {
            windows.remove_expired(now.millis());
        }
        let limit = windows.limit.min(if caller.event.is_some() { REQUESTS_OF_DOOR_LINK } else { u32::MAX });
        Some(windows.count_up_to(limit, key, now.millis()))
    }

    /// Counts an order that a caller looks up, and refuses it if the key is that of a door link and has looked up too many.
    pub(in crate::server) fn count_order_look_up(&self, caller: &Caller, now: Timestamp) -> Result<(), Problem> {
        let Some(key) = caller.key.filter(|_| caller.event.is_some()) else { return Ok(()) };
        let detail = || format!("the key of a door link may look up at most {ORDERS_OF_DOOR_LINK} orders per hour");
        count_bounded(&self.order_look_ups, Some(key), now, detail)
    }

    /// Counts a failed authentication, and returns the problem to respond with: 401, or 429 above the limit.
    pub(in crate::server) fn count_failure(&self, address: Option<IpAddr>, now: Timestamp) -> Problem {
        let detail = || "too many requests without a valid API key from this address".to_owned();
        let counted = count_bounded(&self.failures, address.map(network), now, detail);
        counted.err().unwrap_or_else(Problem::unauthenticated)
    }

    /// Counts a request to a link, valid or not, and refuses it if its address has made too many.
    pub(in crate::server) fn count_link_request(&self, address: Option<IpAddr>, now: Timestamp) -> Result<(), Problem> {
        let detail = || "too many link requests from this address".to_owned();
        count_bounded(&self.link_requests_by_network, address.map(network), now, detail)
    }

    /// Counts an order with the form of an event page. If its network has made too many, returns in how many seconds it
    /// may make another.
    #[cfg(feature = "event-pages")]
    pub(in crate::server) fn count_order(
        &self,
        address: Option<IpAddr>,
        event: EventId,
        now: Timestamp,
    ) -> Option<u64> {
        let mut windows = self.orders.locked();
        let key = Some((event, address.map(network)));
        if windows.by_key.len() >= MAX_WINDOWS && !windows.by_key.contains_key(&key) {
            windows.remove_expired(now.millis());
        }
        let key = windows.key_of(key);
        windows.count(key, now.millis()).retry_after
    }

    /// Counts a request with a valid link token, and refuses it if there were too many for this link.
    pub(in crate::server) fn count_link(&self, token: &str, now: Timestamp) -> Result<(), Problem> {
        let detail = || format!("a link may be requested at most {REQUESTS_PER_LINK} times per minute");
        count_bounded(&self.requests_by_link, Some(self.hasher.hash_one(token)), now, detail)
    }
}

/// Counts a request for `key`. If there are [`MAX_WINDOWS`] windows and `key` has none, counts it in the shared window.
/// Fails with `detail` if the limit was exceeded.
fn count_bounded<K: Hash + Eq>(
    windows: &Mutex<Windows<Option<K>>>,
    key: Option<K>,
    now: Timestamp,
    detail: impl FnOnce() -> String,
) -> Result<(), Problem> {
    let now = now.millis();
    let mut windows = windows.locked();
    if windows.by_key.len() >= MAX_WINDOWS && !windows.by_key.contains_key(&key) {
        windows.remove_expired(now);
    }
    let key = windows.key_of(key);
    match windows.count(key, now).retry_after {
        None => Ok(()),
        Some(seconds) => Err(Problem::rate_limited(detail(), seconds)),
    }
}

/// A counter per key, in a fixed window that starts with the first count.
#[derive(Debug)]
struct Windows<K> {
    limit: u32,
    /// How long a window lasts, in milliseconds.
    length: i64,
    by_key: HashMap<K, Window>,
    /// When expired windows were last removed, in milliseconds since 1970.
    cleaned_at: i64,
}

impl<K: Hash + Eq> Windows<Option<K>> {
    /// The key of the window in which requests for `key` are counted: that of the shared window, `None`, if there are
    /// [`MAX_WINDOWS`] windows and `key` has none.
    fn key_of(&self, key: Option<K>) -> Option<K> {
        if self.by_key.len() >= MAX_WINDOWS && !self.by_key.contains_key(&key) { None } else { key }
    }
}

#[derive(Debug, Clone, Copy)]
struct Window {
    started_at: i64,
    count: u32,
}

impl<K: Hash + Eq> Windows<K> {
    fn new(limit: u32) -> Self {
        Self { limit, length: MINUTE, by_key: HashMap::new(), cleaned_at: 0 }
    }

    /// The count of `key` in its current window.
    fn current(&self, key: &K, now: i64) -> u32 {
        let window = self.by_key.get(key).filter(|window| now < window.started_at + self.length);
        window.map_or(0, |window| window.count)
    }

    fn count(&mut self, key: K, now: i64) -> RateLimitStatus {
        self.count_up_to(self.limit, key, now)
    }

    fn count_up_to(&mut self, limit: u32, key: K, now: i64) -> RateLimitStatus {
        let window = self.by_key.entry(key).or_insert(Window { started_at: now, count: 0 });
        if now >= window.started_at + self.length {
            *window = Window { started_at: now, count: 0 };
        }
        // If the clock was set back, the window must not last longer than its length from now.
        window.started_at = window.started_at.min(now);
        let resets_at = window.started_at + self.length;
        let mut retry_after = None;
        if window.count >= limit {
            retry_after = Some(seconds_rounded_up(resets_at - now).max(1));
        }
        window.count = window.count.saturating_add(1);
        let remaining = limit.saturating_sub(window.count);
        RateLimitStatus { limit, remaining, resets_at, retry_after }
    }

    /// Removes the windows that have ended. This looks at every window, so it does nothing if it ran within the last
    /// second.
    fn remove_expired(&mut self, now: i64) {
        if (now - self.cleaned_at).abs() >= 1000 {
            self.cleaned_at = now;
            self.by_key.retain(|_, window| now < window.started_at + self.length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).expect("in the range")
    }

    /// Limits with this number of failed authentications, and no limit for keys.
    fn limits(failed_authentications: u32) -> RateLimits {
        RateLimits::new(&ServerOptions { rate_limit: None, failed_authentications, ..ServerOptions::default() })
    }

    #[test]
    fn requests_to_links_are_limited_per_link_and_per_address() {
        let limits = RateLimits::new(&ServerOptions { link_requests: 100, ..ServerOptions::default() });
        let answered = |token, now| (0..200).take_while(|_| limits.count_link(token, at(now)).is_ok()).count();
        assert_eq!([answered("one", 0), answered("another", 0), answered("one", 59_999)], [60, 60, 0]);
        assert_eq!(limits.count_link("one", at(59_000)).unwrap_err().status(), 429);
        assert_eq!(answered("one", 60_000), 60);

        let address = |number: u32| Some(IpAddr::V4(number.into()));
        let answered =
            |number, now| (0..200).take_while(|_| limits.count_link_request(address(number), at(now)).is_ok()).count();
        assert_eq!([answered(1, 0), answered(2, 0), answered(1, 59_999), answered(1, 60_000)], [100, 100, 0, 100]);
    }

    fn count(windows: &mut Windows<u8>, key: u8, now: i64) -> (u32, i64, Option<u64>) {
        let status = windows.count(key, now);
        (status.remaining, status.resets_at, status.retry_after)
    }

    #[test]
    fn setting_the_clock_back_does_not_prolong_a_window() {
        let mut windows = Windows::new(1);
        assert_eq!(count(&mut windows, 1, 1_000_000), (0, 1_060_000, None));
        assert_eq!(count(&mut windows, 1, 10_000), (0, 70_000, Some(60)));
        assert_eq!(count(&mut windows, 1, 70_000), (0, 130_000, None));
    }

    #[test]
    fn failures_are_limited_per_address_in_bounded_memory() {
        let limits = limits(2);
        let address = |number: u32| Some(IpAddr::V4(number.into()));
        let status = |number, now| limits.count_failure(address(number), at(now)).status().as_u16();
        assert_eq!([status(1, 0), status(1, 0), status(1, 0), status(2, 0)], [401, 401, 429, 401]);
        for number in 0..200_000 {
            limits.count_failure(address(number), at(1_000));
        }
        assert!(limits.failures.lock().unwrap().by_key.len() <= MAX_WINDOWS + 1);
        assert_eq!(status(1_000_000, 1_000), 429, "a new address uses the shared window, which is used up");
        assert!(
            limits.refuse_unchecked("tk_invented", address(1_000_000), at(1_000)).is_err(),
            "nor is its key looked up"
        );
        assert_eq!(status(1, 1_000), 429, "an address that was counted before keeps its window");
        assert_eq!(status(1_000_001, 61_001), 401, "a minute later there is room for a window of its own");
    }
}
