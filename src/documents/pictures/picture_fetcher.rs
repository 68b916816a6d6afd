//! Pictures at `https:` URLs. They are fetched by the thread that wants them.
//!
//! A host that does not answer holds a thread until the timeout. So there are permits for those who fetch a picture, or
//! wait until another thread has fetched it, which organizations share: one that uses many leaves some to each other
//! one. A picture that could not be fetched, and those of an organization most of whose pictures could not, need permits
//! of another kind, so that they do not delay those whose hosts answer. Without a permit, there is no picture.
//!
//! What was fetched is decoded, to see whether it is whole. This takes much memory, so few pictures are decoded at the
//! same time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::picture::PictureFile;
use super::picture_cache::{Known, PictureCache, PictureKey};
use crate::environment::{Clock, Locked, SystemClock};
use crate::fair::{Limits, Semaphore};
use crate::model::operation::statistics::LogoOutcome;
use crate::model::values::id::OrganizationId;

/// Fetches a file for an organization: its URL, the most bytes that it may have, and how long this may take. The error says
/// why it could not.
pub(crate) type Fetch = Arc<dyn Fn(OrganizationId, &str, usize, Duration) -> Result<Vec<u8>, String> + Send + Sync>;

/// How many threads fetch a picture or wait for one.
const MAX_WAITING: usize = 32;
/// How many do so for pictures that may fail again.
const MAX_WAITING_AFTER_FAILURE: usize = 8;

/// What pictures may be, and how many are kept.
pub(super) struct PictureKind {
    /// What such a picture is called in the log.
    pub(super) name: &'static str,
    /// The most bytes of a file.
    pub(super) max_bytes: usize,
    /// The most pixels in width and in height.
    pub(super) max_side: u32,
    /// The most bytes of the files that are kept.
    pub(super) max_kept_bytes: usize,
    /// How many are decoded at the same time.
    pub(super) max_decoding: usize,
    /// Returns the file that is kept of one that was fetched. `None` if this is damaged, or no picture within the limits.
    pub(super) check: fn(Vec<u8>) -> Option<Vec<u8>>,
}

/// Fetches and keeps pictures of one kind.
pub(in crate::documents) struct PictureFetcher {
    kind: PictureKind,
    /// `None` if there is no transport.
    fetch: Option<Fetch>,
    /// How long a picture is waited for.
    timeout: Duration,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    ended: Condvar,
    permits: Semaphore,
    permits_after_failure: Semaphore,
    /// One organization may use all, but those that wait take turns.
    decoding: Semaphore,
    /// The discriminants of [`LogoOutcome`] are the indexes.
    outcomes: [AtomicU64; LogoOutcome::ALL.len()],
}

struct State {
    cache: PictureCache,
    fetching: HashSet<PictureKey>,
}

/// Ends a fetch when it is dropped, also by a panic.
struct Fetching<'a> {
    fetcher: &'a PictureFetcher,
    key: PictureKey,
}

impl Drop for Fetching<'_> {
    fn drop(&mut self) {
        self.fetcher.state.locked().fetching.remove(&self.key);
        self.fetcher.ended.notify_all();
    }
}

impl PictureFetcher {
    pub(super) fn new(kind: PictureKind, fetch: Option<Fetch>, timeout: Duration, clock: Arc<dyn Clock>) -> Self {
        let cache = PictureCache::new(kind.max_kept_bytes);
        let decoding = Limits { one_may_use_all: true, ..Limits::new(kind.max_decoding) };
        Self {
            kind,
            fetch,
            timeout,
            clock,
            state: Mutex::new(State { cache, fetching: HashSet::new() }),
            ended: Condvar::new(),
            permits: Semaphore::new(MAX_WAITING),
            permits_after_failure: Semaphore::new(MAX_WAITING_AFTER_FAILURE),
            decoding: Semaphore::with(decoding),
            outcomes: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// When a picture that is wanted now is no longer waited for.
    pub(super) fn deadline(&self) -> Duration {
        time().saturating_add(self.timeout)
    }

    /// How often pictures were fetched, by outcome.
    pub(in crate::documents) fn outcomes(&self) -> Vec<(LogoOutcome, u64)> {
        let count = |outcome: &LogoOutcome| (*outcome, self.outcomes[*outcome as usize].load(Ordering::Relaxed));
        LogoOutcome::ALL.iter().map(count).collect()
    }

    /// The picture at a URL that is kept. Nothing is fetched.
    #[cfg(feature = "event-pages")]
    pub(super) fn kept(&self, organization: OrganizationId, url: &str) -> Option<PictureFile> {
        self.look_up(&mut self.state.locked(), &PictureKey::new(organization, url)).picture()
    }

    /// The picture at a URL: the one that is kept, or else the one that is fetched until the deadline.
    pub(super) fn get(&self, organization: OrganizationId, url: &str, deadline: Duration) -> Option<PictureFile> {
        let fetch = self.fetch.as_ref()?;
        let key = PictureKey::new(organization, url);
        let mut state = self.state.locked();
        let known = match self.look_up(&mut state, &key) {
            Known::Now(picture) => return picture,
            Known::Due(picture) => picture,
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
        let _fetching = Fetching { fetcher: self, key };
        let file = match fetch(organization, url, self.kind.max_bytes, remaining) {
            Ok(file) => file,
            Err(reason) => return self.failed(key, &reason).or(known),
        };
        let remaining = deadline.saturating_sub(time());
        let Some(_permit) = self.decoding.acquire(Some(organization), remaining, || false) else {
            self.count(LogoOutcome::NotTried);
            return known;
        };
        match (self.kind.check)(file) {
            Some(file) => Some(self.fetched(key, PictureFile::new(file))),
            None => {
                let side = self.kind.max_side;
                let reason =
                    format!("the file is not a PNG or JPEG picture of at most {side} pixels in each direction");
                self.failed(key, &reason).or(known)
            }
        }
    }

    fn look_up(&self, state: &mut State, key: &PictureKey) -> Known {
        state.cache.look_up(key, self.clock.monotonic())
    }

    /// Remembers a picture that was fetched, and returns it.
    fn fetched(&self, key: PictureKey, picture: PictureFile) -> PictureFile {
        self.count(LogoOutcome::Fetched);
        self.state.locked().cache.fetched(key, picture.clone(), self.clock.monotonic());
        picture
    }

    /// Remembers that a picture could not be fetched. Returns none.
    fn failed(&self, key: PictureKey, reason: &str) -> Option<PictureFile> {
        self.count(LogoOutcome::Failed);
        let (organization, name) = (key.organization, self.kind.name);
        // Without the URL, which may contain a secret.
        tracing::info!(target: "ticketing::documents", %organization, reason, "a {name} could not be fetched");
        self.state.locked().cache.failed(key, self.clock.monotonic());
        None
    }

    /// Waits until another thread has fetched a picture.
    fn wait(&self, state: MutexGuard<'_, State>, key: PictureKey, deadline: Duration) -> Option<PictureFile> {
        let remaining = deadline.saturating_sub(time());
        let is_fetching = |state: &mut State| state.fetching.contains(&key);
        let waited = self.ended.wait_timeout_while(state, remaining, is_fetching);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.look_up(&mut state, &key).picture()
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
    use crate::documents::pictures::logos;
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
            Arc::new(move |_, url, _, _| {
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

    fn fetcher(held: &Arc<Held>) -> PictureFetcher {
        let clock = ManualClock::new(Timestamp::from_millis(0).expect("in the range"));
        logos::fetcher(Some(held.fetch()), NEVER, Arc::new(clock))
    }

    fn count(fetcher: &PictureFetcher, outcome: LogoOutcome) -> u64 {
        fetcher.outcomes[outcome as usize].load(Ordering::Relaxed)
    }

    /// When a document that has all the time it wants gives up.
    const NEVER: Duration = Duration::MAX;

    #[test]
    fn an_organization_whose_hosts_hang_leaves_fetches_to_others() {
        let held = Arc::new(Held::default());
        let fetcher = fetcher(&held);
        std::thread::scope(|scope| {
            let get = |number: i64, url: String| fetcher.get(organization(number), &url, NEVER);
            for number in 0..16 {
                scope.spawn(move || get(1, format!("https://example.com/{number}")));
            }
            held.wait_for(16);
            // All others are at work, so this one gets nothing.
            assert!(get(1, "https://example.com/another".to_owned()).is_none());
            assert_eq!(count(&fetcher, LogoOutcome::NotTried), 1);
            for other in 2..6 {
                assert!(get(other, "https://example.com/fast".to_owned()).is_none());
            }
            assert_eq!((count(&fetcher, LogoOutcome::NotTried), count(&fetcher, LogoOutcome::Failed)), (1, 4));
            held.release();
        });
        assert_eq!(count(&fetcher, LogoOutcome::Failed), 20);
        assert_eq!((fetcher.permits.free(), fetcher.permits_after_failure.free()), (32, 8));
    }

    #[test]
    fn organizations_whose_logos_fail_share_fewer_fetches_and_leave_the_rest_to_others() {
        let held = Arc::new(Held::default());
        let fetcher = fetcher(&held);
        std::thread::scope(|scope| {
            let get = |number: i64, url: &str| fetcher.get(organization(number), url, NEVER);
            for number in 1..=1000 {
                get(number, "https://example.com/fast");
                get(number, "https://example.com/fast-too");
            }
            // One after the other, each takes what is left to it: eight in all.
            let mut begun = 0;
            for number in 1..=1000 {
                if fetcher.permits_after_failure.free() > 0 {
                    scope.spawn(move || get(number, "https://example.com/slow"));
                    begun += 1;
                    held.wait_for(begun);
                } else {
                    get(number, "https://example.com/slow");
                }
            }
            assert_eq!((begun, count(&fetcher, LogoOutcome::NotTried)), (8, 992));
            assert_eq!(fetcher.permits.free(), 32);
            get(1001, "https://example.com/fast");
            assert_eq!(count(&fetcher, LogoOutcome::Failed), 2001);
            // One failure does not hold the other logos of an organization.
            get(1001, "https://example.com/fast-too");
            assert_eq!(count(&fetcher, LogoOutcome::Failed), 2002);
            // Two do.
            get(1001, "https://example.com/fast-as-well");
            assert_eq!((count(&fetcher, LogoOutcome::Failed), count(&fetcher, LogoOutcome::NotTried)), (2002, 993));
            held.release();
        });
    }

    #[test]
    fn threads_that_want_the_same_logo_wait_for_one_that_fetches_it() {
        let held = Arc::new(Held::default());
        let fetcher = fetcher(&held);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| fetcher.get(organization(1), "https://example.com/slow", NEVER));
            }
            held.wait_for(1);
            while fetcher.permits.free() > 16 {
                std::thread::yield_now();
            }
            held.release();
        });
        assert_eq!((count(&fetcher, LogoOutcome::Failed), count(&fetcher, LogoOutcome::NotTried)), (1, 0));
    }

    #[test]
    fn a_picture_that_is_not_decoded_in_time_is_not_remembered_as_a_failure() {
        static RELEASED: Mutex<bool> = Mutex::new(false);
        static CHANGED: Condvar = Condvar::new();
        static BEGUN: AtomicU64 = AtomicU64::new(0);
        let kind = PictureKind {
            name: "picture",
            max_bytes: 10,
            max_side: 10,
            max_kept_bytes: 100,
            max_decoding: 1,
            check: |file| {
                BEGUN.fetch_add(1, Ordering::Relaxed);
                if file == b"slow" {
                    drop(CHANGED.wait_while(RELEASED.locked(), |released| !*released));
                }
                Some(file)
            },
        };
        let fetch: Fetch = Arc::new(|_, url, _, _| Ok(url.into()));
        let clock = ManualClock::new(Timestamp::from_millis(0).expect("in the range"));
        let fetcher = PictureFetcher::new(kind, Some(fetch), NEVER, Arc::new(clock));
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| fetcher.get(organization(1), "slow", NEVER));
            while BEGUN.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            let soon = time() + Duration::from_millis(20);
            assert!(fetcher.get(organization(2), "fast", soon).is_none(), "the only permit is used");
            assert_eq!(BEGUN.load(Ordering::Relaxed), 1);
            *RELEASED.locked() = true;
            CHANGED.notify_all();
            assert_eq!(&*slow.join().expect("no panic").expect("a picture").file, b"slow");
        });
        assert_eq!((count(&fetcher, LogoOutcome::NotTried), count(&fetcher, LogoOutcome::Failed)), (1, 0));
        assert_eq!(&*fetcher.get(organization(2), "fast", NEVER).expect("a picture").file, b"fast");
    }
}
