//! How much is in use, by key: of memory, or of requests in progress.

use std::hash::Hash;
use std::sync::{Arc, Mutex};

use super::Usage;
use crate::environment::Locked;

/// Limits what each key may have in use, and all keys together. Clones share what is in use.
#[derive(Debug, Clone)]
pub(crate) struct InUse<K> {
    most_of_key: usize,
    most: usize,
    usage: Arc<Mutex<Usage<K>>>,
}

/// What was taken for a key. When this is dropped, also by a panic, it is free again.
#[derive(Debug)]
pub(crate) struct InUseGuard<K: Hash + Eq> {
    usage: Arc<Mutex<Usage<K>>>,
    key: K,
    amount: usize,
}

impl<K: Hash + Eq + Clone> InUse<K> {
    pub(crate) fn new(most_of_key: usize, most: usize) -> Self {
        Self { most_of_key, most, usage: Arc::default() }
    }

    /// Takes an amount for a key. `None` if too much is in use.
    pub(crate) fn take(&self, key: K, amount: usize) -> Option<InUseGuard<K>> {
        let mut usage = self.usage.locked();
        if usage.of(&key) + amount > self.most_of_key || usage.all() + amount > self.most {
            return None;
        }
        usage.take(key.clone(), amount);
        Some(InUseGuard { usage: Arc::clone(&self.usage), key, amount })
    }

    /// Takes an amount for a key, also if that is too much.
    #[cfg(feature = "server")]
    pub(crate) fn take_always(&self, key: K, amount: usize) -> InUseGuard<K> {
        self.usage.locked().take(key.clone(), amount);
        InUseGuard { usage: Arc::clone(&self.usage), key, amount }
    }

    /// Whether a key may have more: it has nothing, or less than its limit while all have less than theirs.
    #[cfg(feature = "server")]
    pub(crate) fn has_room(&self, key: &K) -> bool {
        let usage = self.usage.locked();
        let own = usage.of(key);
        own == 0 || (own < self.most_of_key && usage.all() < self.most)
    }
}

impl<K: Hash + Eq> Drop for InUseGuard<K> {
    fn drop(&mut self) {
        self.usage.locked().give_back(&self.key, self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_bounded_in_all_and_for_each_key_until_they_are_dropped() {
        let in_use = InUse::new(80, 640);
        let of_one: Vec<_> = (0..100).map_while(|_| in_use.take(1, 10)).collect();
        assert_eq!(of_one.len(), 8);
        assert!(in_use.take(1, 1).is_none());
        let of_all: Vec<_> = (2..100).flat_map(|key| [key; 8]).map_while(|key| in_use.take(key, 10)).collect();
        assert_eq!(of_one.len() + of_all.len(), 64);
        assert!(in_use.take(100, 1).is_none());
        drop(of_one);
        assert!(in_use.take(1, 10).is_some());
        drop(of_all);
        let usage = in_use.usage.lock().unwrap();
        assert_eq!((usage.all(), usage.of(&1), usage.of(&2)), (0, 0, 0));
    }
}
