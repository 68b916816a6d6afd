//! What is counted in memory and stored later, many rows together: a transaction for each would cost too much.
//!
//! The maintenance stores it every second, and the service when it is closed. What was counted since then is lost if
//! the process is killed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Mutex;

use crate::environment::Locked;
use crate::error::{Error, Result};

/// How many rows are kept in memory at most. Each takes less than 50 bytes.
const MAX_ROWS: usize = 20_000;

/// A value for each row that is not stored yet.
pub(in crate::service) struct DeferredRows<K, V> {
    rows: Mutex<HashMap<K, V>>,
    merge: fn(V, V) -> V,
}

impl<K: Copy + Eq + Hash + Ord, V: Copy> DeferredRows<K, V> {
    /// `merge` makes one value of two of the same row.
    pub(in crate::service) fn new(merge: fn(V, V) -> V) -> Self {
        Self { rows: Mutex::default(), merge }
    }

    /// Adds a value of a row. Returns `false` if there is no room for another row.
    pub(in crate::service) fn add(&self, key: K, value: V) -> bool {
        let mut rows = self.rows.locked();
        let is_full = rows.len() >= MAX_ROWS;
        match rows.entry(key) {
            Entry::Occupied(mut row) => {
                let merged = (self.merge)(*row.get(), value);
                row.insert(merged);
            }
            Entry::Vacant(_) if is_full => return false,
            Entry::Vacant(row) => drop(row.insert(value)),
        }
        true
    }

    /// Calls `store` with up to `batch` rows at a time, in the order of the keys. Keeps the rows for which it fails or
    /// returns `false`, and all later ones after a failure that concerns all rows or once `stop` returns `true`.
    /// Returns the first failure.
    pub(in crate::service) fn store(
        &self,
        batch: usize,
        stop: &dyn Fn() -> bool,
        mut store: impl FnMut(Vec<(K, V)>) -> Result<bool>,
    ) -> Result<()> {
        let mut rows: Vec<_> = std::mem::take(&mut *self.rows.locked()).into_iter().collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        let mut result = Ok(());
        let mut ends = false;
        for batch in rows.chunks(batch.max(1)) {
            ends = ends || stop();
            let stored = if ends { Ok(false) } else { store(batch.to_vec()) };
            if !matches!(stored, Ok(true)) {
                self.keep(batch);
            }
            ends = ends || stored.as_ref().is_err_and(Error::concerns_all_rows);
            result = result.and(stored.map(drop));
        }
        result
    }

    /// How many rows are not stored yet.
    pub(in crate::service) fn len(&self) -> usize {
        self.rows.locked().len()
    }

    /// Keeps rows that were taken out, also if there is no room for others.
    fn keep(&self, taken: &[(K, V)]) {
        let mut rows = self.rows.locked();
        for (key, value) in taken {
            let merged = rows.get(key).map_or(*value, |newer| (self.merge)(*value, *newer));
            rows.insert(*key, merged);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Unavailable;

    fn stored(rows: &DeferredRows<i64, i64>, batch: usize) -> Vec<Vec<(i64, i64)>> {
        let mut batches = Vec::new();
        let result = rows.store(batch, &|| false, |batch| {
            batches.push(batch);
            Ok(true)
        });
        assert_eq!(result, Ok(()));
        batches
    }

    #[test]
    fn values_of_a_row_are_merged_and_stored_once_in_the_order_of_the_keys() {
        let rows = DeferredRows::new(i64::saturating_add);
        for key in [3, 1, 2, 1] {
            assert!(rows.add(key, 1));
        }
        assert_eq!(stored(&rows, 2), [vec![(1, 2), (2, 1)], vec![(3, 1)]]);
        assert!(stored(&rows, 2).is_empty());
    }

    #[test]
    fn rows_that_are_not_stored_are_kept_and_merged_with_new_values() {
        let rows = DeferredRows::new(i64::saturating_add);
        for key in 1..=4 {
            rows.add(key, 1);
        }
        let failed = rows.store(1, &|| false, |batch| match batch[0].0 {
            1 => Ok(true),
            2 => Ok(false),
            key => {
                assert!(rows.add(key, 10));
                Err(Error::Unavailable(Unavailable::Busy))
            }
        });
        assert_eq!(failed, Err(Error::Unavailable(Unavailable::Busy)));
        assert_eq!(rows.store(1, &|| true, |_| panic!("it stops")), Ok(()));
        assert_eq!(stored(&rows, 10), [vec![(2, 1), (3, 11), (4, 1)]]);
    }

    #[test]
    fn a_row_that_cannot_be_stored_keeps_no_others() {
        let rows = DeferredRows::new(i64::saturating_add);
        for key in 1..=3 {
            rows.add(key, 1);
        }
        let damaged = || Error::Internal("the row is damaged".to_owned());
        let failed = rows.store(1, &|| false, |batch| if batch[0].0 == 1 { Err(damaged()) } else { Ok(true) });
        assert_eq!((failed, rows.len()), (Err(damaged()), 1));
    }

    #[test]
    fn a_full_memory_takes_values_of_known_rows_only() {
        let rows = DeferredRows::new(i64::saturating_add);
        for key in 0..20_000 {
            assert!(rows.add(key, 1));
        }
        assert!(!rows.add(20_000, 1));
        assert!(rows.add(19_999, 1));
    }
}
