//! How many of something are in use, by key: for example, requests in progress.

use std::hash::Hash;
use std::sync::{Arc, Mutex};

use super::Usage;
use crate::environment::Locked;

/// Limits how many of something each key may have at the same time. Clones share what is in use.
#[derive(Debug, Clone)]
pub(crate) struct InUse<K> {
    most: usize,
    usage: Arc<Mutex<Usage<K>>>,
}

/// A use by a key. It ends when this is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct InUseGuard<K: Hash + Eq> {
    usage: Arc<Mutex<Usage<K>>>,
    key: K,
}

impl<K: Hash + Eq + Clone> InUse<K> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, usage: Arc::default() }
    }

    /// Begins a use by a key. `None` if the key has the most already.
    pub(crate) fn take(&self, key: K) -> Option<InUseGuard<K>> {
        let mut usage = self.usage.locked();
        if usage.of(&key) >= self.most {
            return None;
        }
        usage.take(key.clone(), 1);
        Some(InUseGuard { usage: Arc::clone(&self.usage), key })
    }
}

impl<K: Hash + Eq> Drop for InUseGuard<K> {
    fn drop(&mut self) {
        self.usage.locked().give_back(&self.key, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_as_many_as_it_may_until_they_are_dropped() {
        let in_use = InUse::new(8);
        let of_one: Vec<_> = (0..100).map_while(|_| in_use.take(1)).collect();
        assert_eq!(of_one.len(), 8);
        assert!(in_use.take(2).is_some());
        drop(of_one);
        assert!(in_use.take(1).is_some());
        assert_eq!(in_use.usage.lock().unwrap().all(), 0);
    }
}
