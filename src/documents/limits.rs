//! Limits of rendering: how many documents are rendered at the same time, and which are kept.

use std::hash::{Hash, Hasher};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hashlink::LruCache;
use sha2::{Digest, Sha256};

use super::TicketDocument;
use super::content::Content;
use crate::error::{Error, Result};

/// The documents that are rendered at the same time.
const MAX_RENDERING: usize = 2;
/// How long a document waits for its turn.
const PATIENCE: Duration = Duration::from_millis(250);
/// The documents that are kept.
const MAX_KEPT: usize = 256;
/// The documents with missing characters that are remembered, so that each is reported once.
const MAX_REPORTED: usize = 4096;

/// Counts the documents that are being rendered.
#[derive(Debug, Default)]
pub(super) struct Turns {
    rendering: Mutex<usize>,
    ended: Condvar,
}

/// The right to render a document. The next one begins when it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits until fewer than two documents are being rendered, for at most 250 ms.
    pub(super) fn wait(&self) -> Result<Turn<'_>> {
        let rendering = self.lock();
        let waited = self.ended.wait_timeout_while(rendering, PATIENCE, |rendering| *rendering >= MAX_RENDERING);
        let (mut rendering, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *rendering >= MAX_RENDERING {
            return Err(Error::Unavailable("too many ticket documents are being rendered; try again later"));
        }
        *rendering += 1;
        Ok(Turn(self))
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.rendering.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.ended.notify_one();
    }
}

/// The documents that were last used, by what they say.
pub(super) struct Kept(Mutex<LruCache<Key, TicketDocument>>);

/// SHA-256 of everything that a document says. Documents of different tickets never have the same: their codes differ.
pub(super) type Key = [u8; 32];

impl Default for Kept {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_KEPT)))
    }
}

impl Kept {
    pub(super) fn key(file_name: &str, contents: &[Content]) -> Key {
        let mut digest = DigestOf(Sha256::new());
        (file_name, contents).hash(&mut digest);
        digest.0.finalize().into()
    }

    pub(super) fn get(&self, key: &Key) -> Option<TicketDocument> {
        self.lock().get(key).cloned()
    }

    pub(super) fn put(&self, key: Key, document: TicketDocument) {
        self.lock().insert(key, document);
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Key, TicketDocument>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The documents with characters that no font has, by what they say.
pub(super) struct Reported(Mutex<LruCache<Key, ()>>);

impl Default for Reported {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_REPORTED)))
    }
}

impl Reported {
    /// Remembers a document. Returns whether it is new.
    pub(super) fn is_new(&self, key: Key) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, ()).is_none()
    }
}

/// Digests what is hashed. Lengths are hashed too, so that parts cannot be mistaken for each other.
struct DigestOf(Sha256);

impl Hasher for DigestOf {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Not used: the digest is taken instead.
    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_document_at_a_time_is_refused_until_another_has_ended() {
        let turns = Turns::default();
        let first = turns.wait().expect("the first");
        let _second = turns.wait().expect("the second");
        let refused = turns.wait().unwrap_err();
        assert!(refused.is_retryable(), "{refused}");
        drop(first);
        assert!(turns.wait().is_ok());
    }

    #[test]
    fn the_documents_that_were_last_used_are_kept() {
        let kept = Kept::default();
        let document =
            |name: &str| TicketDocument { file_name: name.into(), bytes: Vec::new(), missing_glyphs: Vec::new() };
        let key = |name: &str| Kept::key(name, &[]);
        kept.put(key("used"), document("used"));
        kept.put(key("unused"), document("unused"));
        for other in 0..MAX_KEPT - 1 {
            assert_eq!(kept.get(&key("used")), Some(document("used")));
            let other = format!("{other}");
            kept.put(key(&other), document(&other));
        }
        assert_eq!(kept.get(&key("used")), Some(document("used")));
        assert_eq!(kept.get(&key("unused")), None);
    }

    #[test]
    fn a_document_is_reported_once_while_it_is_remembered() {
        let reported = Reported::default();
        let key = |number: usize| Kept::key(&number.to_string(), &[]);
        assert_eq!([0, 0].map(|number| reported.is_new(key(number))), [true, false]);
        assert!((1..=MAX_REPORTED).all(|number| reported.is_new(key(number))));
        assert!(reported.is_new(key(0)));
    }
}
