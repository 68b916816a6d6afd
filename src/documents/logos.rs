//! Logos at `https:` URLs. They are fetched before a document waits for its turn, by the thread that wants it.
//!
//! A host that does not answer holds a thread until the timeout. So there are permits for those who fetch a logo, or
//! wait until another thread has fetched it, which organizations share: one that uses many leaves some to each other
//! one. A logo that could not be fetched, and those of an organization most of whose logos could not, need permits of
//! another kind, so that they do not delay those whose hosts answer. Without a permit, the document is made without the
//! logo.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::content::TicketToPrint;
use super::logo_cache::{Known, LogoCache, LogoKey};
use super::picture::{Logo, picture};
use crate::environment::{Clock, Locked, SystemClock};
use crate::fair::Semaphore;
use crate::form::picture::{MAX_PICTURE_BYTES, file_in_data_uri, is_data_uri};
use crate::model::operation::statistics::LogoOutcome;
use crate::model::values::id::{OrganizationId, TicketTypeId};

/// Fetches a file for an organization: its URL, the most bytes that it may have, and how long this may take. The error says
/// why it could not.
pub(crate) type Fetch = Box<dyn Fn(OrganizationId, &str, usize, Duration) -> Result<Vec<u8>, String> + Send + Sync>;

/// How many threads fetch a logo or wait for one.
const MAX_WAITING: usize = 32;
/// How many do so for logos that may fail again.
const MAX_WAITING_AFTER_FAILURE: usize = 8;

/// Fetches and keeps logos.
pub(super) struct Logos {
    /// `None` if there is no transport.
    fetch: Option<Fetch>,
    /// How long a document waits for all its logos.
    timeout: Duration,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    ended: Condvar,
    permits: Semaphore,
    permits_after_failure: Semaphore,
    /// The discriminants of [`LogoOutcome`] are the indexes.
    outcomes: [AtomicU64; LogoOutcome::ALL.len()],
}

#[derive(Default)]
struct State {
    cache: LogoCache,
    fetching: HashSet<LogoKey>,
}

/// Ends a fetch when it is dropped, also by a panic.
struct Fetching<'a> {
    logos: &'a Logos,
    key: LogoKey,
}

impl Drop for Fetching<'_> {
    fn drop(&mut self) {
        self.logos.state.locked().fetching.remove(&self.key);
        self.logos.ended.notify_all();
    }
}

pub(crate) struct LogosOfDocument<'a> {
    logos: &'a Logos,
    organization: OrganizationId,
    deadline: Duration,
    /// Those at URLs.
    fetched: HashMap<String, Option<Logo>>,
}

impl LogosOfDocument<'_> {
    /// The logo at a URL. `None` if it cannot be had.
    pub(super) fn fetched(&mut self, url: &str) -> Option<Logo> {
        if let Some(fetched) = self.fetched.get(url) {
            return fetched.clone();
        }
        let logo = self.logos.get(self.organization, url, self.deadline);
        self.fetched.insert(url.to_owned(), logo.clone());
        logo
    }

    /// The logos of the types of some tickets. Those that cannot be had are left out.
    pub(super) fn of_types(&mut self, tickets: &[TicketToPrint<'_>]) -> HashMap<TicketTypeId, Option<Logo>> {
        let mut found = HashMap::new();
        for ticket_type in tickets.iter().map(|ticket| ticket.ticket_type) {
            let find = |logo: &String| match is_data_uri(logo) {
                true => file_in_data_uri(logo).map(Logo::new),
                false => self.fetched(logo),
            };
            found.entry(ticket_type.id).or_insert_with(|| ticket_type.ticket_logo.as_ref().and_then(find));
        }
        found
    }
}

impl Logos {
    pub(super) fn new(fetch: Option<Fetch>, timeout: Duration, clock: Arc<dyn Clock>) -> Self {
        Self {
            fetch,
            timeout,
            clock,
            state: Mutex::default(),
            ended: Condvar::new(),
            permits: Semaphore::new(MAX_WAITING),
            permits_after_failure: Semaphore::new(MAX_WAITING_AFTER_FAILURE),
            outcomes: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    pub(super) fn of_document(&self, organization: OrganizationId) -> LogosOfDocument<'_> {
        let deadline = time().saturating_add(self.timeout);
        LogosOfDocument { logos: self, organization, deadline, fetched: HashMap::new() }
    }

    /// How often logos were fetched, by outcome.
    pub(super) fn outcomes(&self) -> Vec<(LogoOutcome, u64)> {
        let count = |outcome: &LogoOutcome| (*outcome, self.outcomes[*outcome as usize].load(Ordering::Relaxed));
        LogoOutcome::ALL.iter().map(count).collect()
    }

    /// The logo at a URL: the one that is kept, or else the one that is fetched until the deadline.
    fn get(&self, organization: OrganizationId, url: &str, deadline: Duration) -> Option<Logo> {
        let fetch = self.fetch.as_ref()?;
        let key = LogoKey::new(organization, url);
        let mut state = self.state.locked();
        let known = match state.cache.look_up(&key, self.clock.monotonic()) {
            Known::Now(logo) => return logo,
            Known::Due(logo) => logo,
        };
        let is_fetched_elsewhere = state.fetching.contains(&key);
        if is_fetched_elsewhere && known.is_some() {
            return known;
        }
        let permits = if state.cache.may_fail(&key) { &self.permits_after_failure } else { &self.permits };
        let Some(_permit) = permits.try_acquire(Some(organization)) else {
            self.count(LogoOutcome::NotTried);
            return known;
        };
        if is_fetched_elsewhere {
            return self.wait(state, key, deadline);
        }
        let remaining = deadline.saturating_sub(time());
        if remaining.is_zero() {
            self.count(LogoOutcome::NotTried);
            return known;
        }
        state.fetching.insert(key);
        drop(state);
        let _fetching = Fetching { logos: self, key };
        let result = fetch(organization, url, MAX_PICTURE_BYTES, remaining).and_then(|file| match picture(&file) {
            Some(_) => Ok(Logo::new(file)),
            None => Err("the file is not a PNG or JPEG picture of at most 2,000 pixels in each direction".to_owned()),
        });
        self.record(key, result).or(known)
    }

    /// Remembers the result of a fetch. Returns the logo.
    fn record(&self, key: LogoKey, result: Result<Logo, String>) -> Option<Logo> {
        let now = self.clock.monotonic();
        match result {
            Ok(logo) => {
                self.count(LogoOutcome::Fetched);
                self.state.locked().cache.fetched(key, logo.clone(), now);
                Some(logo)
            }
            Err(reason) => {
                self.count(LogoOutcome::Failed);
                // Without the URL, which may contain a secret.
                tracing::info!(target: "ticketing::documents", organization = %key.organization, reason, "a logo could not be fetched");
                self.state.locked().cache.failed(key, now);
                None
            }
        }
    }

    /// Waits until another thread has fetched a logo.
    fn wait(&self, state: MutexGuard<'_, State>, key: LogoKey, deadline: Duration) -> Option<Logo> {
        let remaining = deadline.saturating_sub(time());
        let is_fetching = |state: &mut State| state.fetching.contains(&key);
        let waited = self.ended.wait_timeout_while(state, remaining, is_fetching);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let (Known::Now(logo) | Known::Due(logo)) = state.cache.look_up(&key, self.clock.monotonic());
        logo
    }

    fn count(&self, outcome: LogoOutcome) {
        self.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// The time since some fixed instant. The network takes real time, even if the service has another clock.
fn time() -> Duration {
    SystemClock.monotonic()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::ManualClock;
    use crate::model::values::timestamp::Timestamp;

    /// Fetches nothing until it is released, and then fails.
    #[derive(Default)]
    struct Held {
        state: Mutex<(usize, bool)>,
        changed: Condvar,
    }

    impl Held {
        fn fetch(self: &Arc<Self>) -> Fetch {
            let held = Arc::clone(self);
            Box::new(move |_, url, _, _| {
                if !url.starts_with("https://example.com/fast") {
                    let mut state = held.state.lock().expect("the state");
                    state.0 += 1;
                    held.changed.notify_all();
                    drop(held.changed.wait_while(state, |(_, released)| !*released));
                }
                Err("nothing is there".to_owned())
            })
        }

        fn wait_for(&self, fetches: usize) {
            drop(self.changed.wait_while(self.state.lock().expect("the state"), |(begun, _)| *begun < fetches));
        }

        fn release(&self) {
            self.state.lock().expect("the state").1 = true;
            self.changed.notify_all();
        }
    }

    fn organization(number: i64) -> OrganizationId {
        OrganizationId::from_raw(number)
    }

    fn logos(held: &Arc<Held>) -> Logos {
        let clock = ManualClock::new(Timestamp::from_millis(0).expect("in the range"));
        Logos::new(Some(held.fetch()), NEVER, Arc::new(clock))
    }

    fn count(logos: &Logos, outcome: LogoOutcome) -> u64 {
        logos.outcomes[outcome as usize].load(Ordering::Relaxed)
    }

    /// When a document that has all the time it wants gives up.
    const NEVER: Duration = Duration::MAX;

    #[test]
    fn an_organization_whose_hosts_hang_leaves_fetches_to_others() {
        let held = Arc::new(Held::default());
        let logos = logos(&held);
        std::thread::scope(|scope| {
            let get = |number: i64, url: String| logos.get(organization(number), &url, NEVER);
            for number in 0..16 {
                scope.spawn(move || get(1, format!("https://example.com/{number}")));
            }
            held.wait_for(16);
            // All others are at work, so this one gets nothing.
            assert!(get(1, "https://example.com/another".to_owned()).is_none());
            assert_eq!(count(&logos, LogoOutcome::NotTried), 1);
            for other in 2..6 {
                assert!(get(other, "https://example.com/fast".to_owned()).is_none());
            }
            assert_eq!((count(&logos, LogoOutcome::NotTried), count(&logos, LogoOutcome::Failed)), (1, 4));
            held.release();
        });
        assert_eq!(count(&logos, LogoOutcome::Failed), 20);
        assert_eq!((logos.permits.free(), logos.permits_after_failure.free()), (32, 8));
    }

    #[test]
    fn organizations_whose_logos_fail_share_fewer_fetches_and_leave_the_rest_to_others() {
        let held = Arc::new(Held::default());
        let logos = logos(&held);
        std::thread::scope(|scope| {
            let get = |number: i64, url: &str| logos.get(organization(number), url, NEVER);
            for number in 1..=1000 {
                get(number, "https://example.com/fast");
                get(number, "https://example.com/fast-too");
            }
            // One after the other, each takes what is left to it: eight in all.
            let mut begun = 0;
            for number in 1..=1000 {
                if logos.permits_after_failure.free() > 0 {
                    scope.spawn(move || get(number, "https://example.com/slow"));
                    begun += 1;
                    held.wait_for(begun);
                } else {
                    get(number, "https://example.com/slow");
                }
            }
            assert_eq!((begun, count(&logos, LogoOutcome::NotTried)), (8, 992));
            assert_eq!(logos.permits.free(), 32);
            get(1001, "https://example.com/fast");
            assert_eq!(count(&logos, LogoOutcome::Failed), 2001);
            // One failure does not hold the other logos of an organization.
            get(1001, "https://example.com/fast-too");
            assert_eq!(count(&logos, LogoOutcome::Failed), 2002);
            // Two do.
            get(1001, "https://example.com/fast-as-well");
            assert_eq!((count(&logos, LogoOutcome::Failed), count(&logos, LogoOutcome::NotTried)), (2002, 993));
            held.release();
        });
    }

    #[test]
    fn threads_that_want_the_same_logo_wait_for_one_that_fetches_it() {
        let held = Arc::new(Held::default());
        let logos = logos(&held);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| logos.get(organization(1), "https://example.com/slow", NEVER));
            }
            held.wait_for(1);
            while logos.permits.free() > 16 {
                std::thread::yield_now();
            }
            held.release();
        });
        assert_eq!((count(&logos, LogoOutcome::Failed), count(&logos, LogoOutcome::NotTried)), (1, 0));
    }
}
