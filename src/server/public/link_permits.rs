//! How many requests of one link may be in progress. A link has no API key and so no rate limit: without this, a
//! thousand requests of one link would keep those of all others waiting.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

/// How many requests of one link are answered at the same time.
pub(in crate::server) const MOST: usize = 4;

/// The links whose requests are in progress.
#[derive(Debug, Default)]
pub(in crate::server) struct LinkPermits {
    /// The number of requests by the hash of the token.
    in_progress: Arc<Mutex<HashMap<u64, usize>>>,
    hasher: RandomState,
}

/// The permit of a request of a link. It is returned when it is dropped.
#[derive(Debug)]
pub(in crate::server) struct LinkPermit {
    in_progress: Arc<Mutex<HashMap<u64, usize>>>,
    link: u64,
}

impl LinkPermits {
    /// Returns a permit for a request of a link. `None` if as many are in progress as may be.
    pub(in crate::server) fn acquire(&self, token: &str) -> Option<LinkPermit> {
        let link = self.hasher.hash_one(token);
        let mut in_progress = self.in_progress.lock().unwrap_or_else(PoisonError::into_inner);
        let count = in_progress.entry(link).or_default();
        if *count >= MOST {
            return None;
        }
        *count += 1;
        Some(LinkPermit { in_progress: Arc::clone(&self.in_progress), link })
    }
}

impl Drop for LinkPermit {
    fn drop(&mut self) {
        let mut in_progress = self.in_progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = in_progress.get_mut(&self.link) {
            *count -= 1;
            if *count == 0 {
                in_progress.remove(&self.link);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_requests_of_a_link_are_answered_at_a_time() {
        let permits = LinkPermits::default();
        let mut held: Vec<_> = (0..4).map(|_| permits.acquire("one").expect("a permit")).collect();
        assert!(permits.acquire("one").is_none());
        assert!(permits.acquire("another").is_some());
        held.pop();
        held.push(permits.acquire("one").expect("a permit is free again"));
        assert!(permits.acquire("one").is_none());
        drop(held);
        assert!(permits.in_progress.lock().unwrap().is_empty());
    }
}
