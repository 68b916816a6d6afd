//! How much is in use, by key: of memory, or of requests in progress.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use crate::environment::Locked;

/// Limits what each key may have in use, and all keys together. Clones share what is in use.
#[derive(Debug, Clone)]
pub(crate) struct InUse<K> {
    most_of_key: usize,
    most: usize,
    amounts: Arc<Mutex<Amounts<K>>>,
}

#[derive(Debug)]
struct Amounts<K> {
    total: usize,
    /// No key without an amount.
    by_key: HashMap<K, usize>,
}

/// What was taken for a key. It is in use until this is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct InUseGuard<K: Hash + Eq> {
    amounts: Arc<Mutex<Amounts<K>>>,
    key: K,
    amount: usize,
}

impl<K: Hash + Eq + Clone> InUse<K> {
    pub(crate) fn new(most_of_key: usize, most: usize) -> Self {
        Self { most_of_key, most, amounts: Arc::new(Mutex::new(Amounts { total: 0, by_key: HashMap::new() })) }
    }

    /// Takes an amount for a key. `None` if too much is in use.
    pub(crate) fn take(&self, key: K, amount: usize) -> Option<InUseGuard<K>> {
        let mut amounts = self.amounts.locked();
        let of_key = amounts.by_key.get(&key).copied().unwrap_or(0) + amount;
        let total = amounts.total + amount;
        if of_key > self.most_of_key || total > self.most {
            return None;
        }
        amounts.total = total;
        amounts.by_key.insert(key.clone(), of_key);
        Some(InUseGuard { amounts: Arc::clone(&self.amounts), key, amount })
    }
}

impl<K: Hash + Eq> Drop for InUseGuard<K> {
    fn drop(&mut self) {
        let mut amounts = self.amounts.locked();
        amounts.total -= self.amount;
        if let Some(of_key) = amounts.by_key.get_mut(&self.key) {
            *of_key -= self.amount;
            if *of_key == 0 {
                amounts.by_key.remove(&self.key);
            }
        }
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
        let amounts = in_use.amounts.lock().unwrap();
        assert!(amounts.total == 0 && amounts.by_key.is_empty());
    }
}
