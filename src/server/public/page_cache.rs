//! Pages that were rendered a short time ago, and what reports show. They are the same for everybody, so that a page that very
//! many look at is rendered, or its report read, once in this time.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;

use crate::environment::Locked;
use crate::model::values::id::{EventId, OrganizationId};
use crate::server::responses::problem::Problem;

/// The pages that are kept, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;
const MAX_PAGES: usize = 4096;

/// Which page it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PageKey {
    /// The path of the page, or the event of the report.
    pub(super) path: String,
    pub(super) language: &'static str,
    pub(super) gzip: bool,
}

/// A page that was rendered, or what a report shows.
#[derive(Debug, Clone)]
pub(super) struct KeptPage<P> {
    #[cfg_attr(not(feature = "event-pages"), expect(dead_code, reason = "only views of event pages are counted"))]
    pub(super) event: EventId,
    pub(super) organization: OrganizationId,
    pub(super) page: P,
    /// How many bytes it has.
    pub(super) bytes: usize,
}

/// A page and when it was rendered. Who has it locked renders it.
type Slot<P> = Arc<AsyncMutex<Option<(Duration, KeptPage<P>)>>>;

/// The pages that were rendered last.
pub(in crate::server) struct PageCache<P>(Mutex<Kept<P>>);

struct Kept<P> {
    pages: HashMap<PageKey, Entry<P>>,
    bytes: usize,
    /// Counts up with each use.
    uses: u64,
}

struct Entry<P> {
    slot: Slot<P>,
    organization: OrganizationId,
    bytes: usize,
    /// The use of the cache at which it was wanted last.
    used: u64,
}

impl<P> Default for PageCache<P> {
    fn default() -> Self {
        Self(Mutex::new(Kept { pages: HashMap::new(), bytes: 0, uses: 0 }))
    }
}

impl<P> fmt::Debug for PageCache<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCache").finish_non_exhaustive()
    }
}

impl<P: Clone> PageCache<P> {
    /// Returns a page, which `render` renders unless it was rendered within the last `age`. Those who want the same page
    /// meanwhile wait for it. `now` reads a clock that never goes backwards.
    pub(super) async fn get(
        &self,
        key: PageKey,
        age: Duration,
        now: impl Fn() -> Duration,
        render: impl AsyncFnOnce() -> Result<KeptPage<P>, Problem>,
    ) -> Result<KeptPage<P>, Problem> {
        let slot = self.slot(&key);
        let mut kept = slot.lock().await;
        if let Some((rendered_at, page)) = kept.as_ref()
            && now().saturating_sub(*rendered_at) < age
        {
            return Ok(page.clone());
        }
        let rendered_at = now();
        match render().await {
            Ok(page) => {
                *kept = Some((rendered_at, page.clone()));
                self.keep(key, &slot, &page);
                Ok(page)
            }
            Err(problem) => {
                *kept = None;
                self.remove(&key);
                Err(problem)
            }
        }
    }

    fn slot(&self, key: &PageKey) -> Slot<P> {
        let mut kept = self.0.locked();
        kept.uses += 1;
        let used = kept.uses;
        if let Some(entry) = kept.pages.get_mut(key) {
            entry.used = used;
            return Arc::clone(&entry.slot);
        }
        let slot = Slot::<P>::default();
        // Until the page is rendered, it has no bytes and belongs to nobody.
        let entry = Entry { slot: Arc::clone(&slot), organization: OrganizationId::UNKNOWN, bytes: 0, used };
        kept.pages.insert(key.clone(), entry);
        kept.make_room();
        slot
    }

    fn keep(&self, key: PageKey, slot: &Slot<P>, page: &KeptPage<P>) {
        let mut kept = self.0.locked();
        let entry =
            Entry { slot: Arc::clone(slot), organization: page.organization, bytes: page.bytes, used: kept.uses };
        let before = kept.pages.insert(key, entry);
        kept.bytes = kept.bytes + page.bytes - before.map_or(0, |before| before.bytes);
        kept.make_room();
    }

    fn remove(&self, key: &PageKey) {
        let mut kept = self.0.locked();
        if let Some(entry) = kept.pages.remove(key) {
            kept.bytes -= entry.bytes;
        }
    }
}

impl<P> Kept<P> {
    /// Drops pages until the others have room: those of the organization that uses most, the one first that was not wanted
    /// for longest.
    fn make_room(&mut self) {
        while self.bytes > MAX_BYTES || self.pages.len() > MAX_PAGES {
            let mut sums: HashMap<OrganizationId, (usize, usize)> = HashMap::new();
            for entry in self.pages.values() {
                let (bytes, pages) = sums.entry(entry.organization).or_default();
                *bytes += entry.bytes;
                *pages += 1;
            }
            let by_bytes = self.bytes > MAX_BYTES;
            let most = sums.into_iter().max_by_key(|(_, (bytes, pages))| if by_bytes { *bytes } else { *pages });
            let of_most = self.pages.iter().filter(|(_, entry)| Some(entry.organization) == most.map(|(most, _)| most));
            let Some(oldest) = of_most.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone()) else { break };
            if let Some(entry) = self.pages.remove(&oldest) {
                self.bytes -= entry.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use super::*;
    use crate::server::http::representation::Representation;

    const AGE: Duration = Duration::from_secs(1);

    fn key(path: &str) -> PageKey {
        PageKey { path: path.to_owned(), language: "en", gzip: false }
    }

    fn page(organization: i64, bytes: usize) -> KeptPage<Representation> {
        let page = Representation::page(String::new(), false);
        let organization = OrganizationId::from_raw(organization);
        KeptPage { event: EventId::from_raw(1), organization, page, bytes }
    }

    /// Whether the cache has a page still, a moment later.
    async fn is_kept(cache: &PageCache<Representation>, path: &str) -> bool {
        let kept = cache.get(key(path), AGE, || Duration::ZERO, async || Err(Problem::no_such_route())).await;
        kept.is_ok()
    }

    #[tokio::test]
    async fn a_page_that_many_want_at_once_is_rendered_once_in_a_second() {
        let (cache, renders, now) = (PageCache::default(), AtomicUsize::new(0), AtomicU64::new(0));
        let get = || {
            cache.get(
                key("one"),
                AGE,
                || Duration::from_millis(now.load(Ordering::Relaxed)),
                async || {
                    renders.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                    Ok(page(1, 10))
                },
            )
        };
        futures_util::future::join_all((0..50).map(|_| get())).await;
        assert_eq!(renders.load(Ordering::Relaxed), 1);
        now.store(999, Ordering::Relaxed);
        get().await.expect("a page");
        assert_eq!(renders.load(Ordering::Relaxed), 1);
        now.store(1000, Ordering::Relaxed);
        futures_util::future::join_all((0..50).map(|_| get())).await;
        assert_eq!(renders.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn what_could_not_be_rendered_is_not_kept() {
        let cache = PageCache::default();
        for number in 0..10_000 {
            assert!(!is_kept(&cache, &number.to_string()).await);
        }
        assert!(cache.0.locked().pages.is_empty());
    }

    #[tokio::test]
    async fn the_organization_that_uses_most_makes_room() {
        let cache = PageCache::default();
        let add = async |path: String, organization, bytes| {
            cache
                .get(key(&path), AGE, || Duration::ZERO, async || Ok(page(organization, bytes)))
                .await
                .expect("a page");
        };
        add("small".to_owned(), 1, 1000).await;
        for number in 0..100 {
            add(format!("large-{number}"), 2, MAX_BYTES / 64).await;
        }
        assert!(cache.0.locked().bytes <= MAX_BYTES);
        assert!(
            is_kept(&cache, "small").await && is_kept(&cache, "large-99").await && !is_kept(&cache, "large-0").await
        );
        // Also of very many pages.
        for number in 0..MAX_PAGES {
            add(format!("many-{number}"), 3, 1).await;
        }
        assert!(cache.0.locked().pages.len() <= MAX_PAGES);
        assert!(is_kept(&cache, "small").await && is_kept(&cache, "large-99").await);
    }
}
