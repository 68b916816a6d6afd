//! What was last used, bounded by bytes.

use hashlink::LruCache;

/// The values that are kept at most, however small they are.
const MAX_VALUES: usize = 256;
/// A value that needs a larger part of all bytes than one of this many is not kept: it would replace too many others.
const LARGEST_PART: usize = 8;

/// The values that were last used, by a digest.
pub(super) struct LastUsed<V> {
    values: LruCache<[u8; 32], (V, usize)>,
    bytes: usize,
    max_bytes: usize,
}

impl<V: Clone> LastUsed<V> {
    /// Keeps values of at most this many bytes in all.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { values: LruCache::new_unbounded(), bytes: 0, max_bytes }
    }

    pub(super) fn get(&mut self, key: &[u8; 32]) -> Option<V> {
        self.values.get(key).map(|(value, _)| value.clone())
    }

    /// Keeps a value that has this many bytes.
    pub(super) fn put(&mut self, key: [u8; 32], value: V, bytes: usize) {
        if bytes > self.max_bytes / LARGEST_PART {
            return;
        }
        let before = self.values.insert(key, (value, bytes)).map_or(0, |(_, bytes)| bytes);
        self.bytes = self.bytes - before + bytes;
        while self.bytes > self.max_bytes || self.values.len() > MAX_VALUES {
            let Some((_, (_, bytes))) = self.values.remove_lru() else { break };
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> [u8; 32] {
        [number; 32]
    }

    fn kept(cache: &mut LastUsed<u8>) -> Vec<u8> {
        (0..=u8::MAX).filter_map(|number| cache.get(&key(number))).collect()
    }

    #[test]
    fn values_of_at_most_as_many_bytes_are_kept() {
        let mut cache = LastUsed::new(800);
        for number in 0..8 {
            cache.put(key(number), number, 100);
        }
        assert_eq!(cache.get(&key(0)), Some(0));
        cache.put(key(8), 8, 50);
        // 750 bytes: the one that was not used for longest made room.
        assert_eq!(kept(&mut cache), [0, 2, 3, 4, 5, 6, 7, 8]);
        cache.put(key(9), 9, 51);
        assert_eq!(kept(&mut cache), [2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_value_replaces_the_one_of_the_same_key() {
        let mut cache = LastUsed::new(800);
        for _ in 0..100 {
            cache.put(key(1), 1, 100);
        }
        for number in 2..9 {
            cache.put(key(number), number, 100);
        }
        assert_eq!(kept(&mut cache), [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_value_that_needs_more_than_an_eighth_is_not_kept() {
        let mut cache = LastUsed::new(800);
        cache.put(key(1), 1, 100);
        cache.put(key(2), 2, 101);
        assert_eq!(kept(&mut cache), [1]);
    }

    #[test]
    fn at_most_256_values_are_kept() {
        let mut cache = LastUsed::new(800);
        for number in 0..=u8::MAX {
            cache.put(key(number), number, 0);
        }
        let mut one_more = key(0);
        one_more[0] = 1;
        cache.put(one_more, 0, 0);
        assert_eq!(kept(&mut cache), (1..=u8::MAX).collect::<Vec<_>>());
    }
}
