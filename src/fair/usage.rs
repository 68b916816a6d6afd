//! Amounts in use, by key and in all.

use std::collections::HashMap;
use std::hash::Hash;

#[derive(Debug)]
pub(crate) struct Usage<K> {
    all: usize,
    /// Without keys that have nothing.
    by_key: HashMap<K, usize>,
}

impl<K> Default for Usage<K> {
    fn default() -> Self {
        Self { all: 0, by_key: HashMap::new() }
    }
}

impl<K: Hash + Eq> Usage<K> {
    pub(crate) const fn all(&self) -> usize {
        self.all
    }

    pub(crate) fn of(&self, key: &K) -> usize {
        self.by_key.get(key).copied().unwrap_or_default()
    }

    pub(crate) fn take(&mut self, key: K, amount: usize) {
        if amount > 0 {
            self.all += amount;
            *self.by_key.entry(key).or_default() += amount;
        }
    }

    /// Takes back an amount, or what the key has if that is less.
    pub(crate) fn give_back(&mut self, key: &K, amount: usize) {
        let Some(own) = self.by_key.get_mut(key) else { return };
        let amount = amount.min(*own);
        *own -= amount;
        self.all -= amount;
        if *own == 0 {
            self.by_key.remove(key);
        }
    }
}
