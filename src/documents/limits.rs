//! Limits of rendering: how many documents are rendered at the same time, and which are kept.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hashlink::LruCache;
use sha2::{Digest, Sha256};

use super::TicketDocument;
use super::content::Content;
use super::last_used::LastUsed;
use crate::error::{Error, Result};
use crate::model::id::OrganizationId;
use crate::round_robin::RoundRobin;

/// The documents that are rendered at the same time.
const MAX_RENDERING: usize = 2;
/// How long a document waits for its turn.
const PATIENCE: Duration = Duration::from_millis(250);
/// The documents that are kept, in bytes.
const MAX_KEPT_BYTES: usize = 64 * 1024 * 1024;
/// The documents with missing characters that are remembered, so that each is reported once.
const MAX_REPORTED: usize = 4096;

/// Counts the documents that are being rendered. Organizations whose documents wait take turns.
#[derive(Debug, Default)]
pub(super) struct Turns {
    state: Mutex<TurnsState>,
    given: Condvar,
}

#[derive(Debug, Default)]
struct TurnsState {
    /// The turns that somebody has, or was given.
    taken: usize,
    /// The numbers of the documents that wait.
    waiting: RoundRobin<OrganizationId, u64>,
    /// Those that were given a turn, and have not begun yet.
    given: HashSet<u64>,
    last_number: u64,
}

/// The right to render a document. When it is dropped, it is given to a document that waits.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits until fewer than two documents are being rendered, for at most 250 ms.
    pub(super) fn wait(&self, organization: OrganizationId) -> Result<Turn<'_>> {
        let mut state = self.lock();
        if state.taken < MAX_RENDERING {
            state.taken += 1;
            return Ok(Turn(self));
        }
        state.last_number += 1;
        let number = state.last_number;
        state.waiting.push(organization, number);
        let waited = self.given.wait_timeout_while(state, PATIENCE, |state| !state.given.contains(&number));
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.given.remove(&number) {
            return Ok(Turn(self));
        }
        state.waiting.remove(organization, &number);
        Err(Error::Unavailable("too many ticket documents are being rendered; try again later"))
    }

    fn lock(&self) -> MutexGuard<'_, TurnsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        match state.waiting.pop() {
            Some(next) => {
                state.given.insert(next);
                self.0.given.notify_all();
            }
            None => state.taken -= 1,
        }
    }
}

/// The documents that were last used, by what they say.
pub(super) struct Kept(Mutex<LastUsed<Arc<TicketDocument>>>);

/// SHA-256 of everything that a document says. Documents of different tickets never have the same: their codes differ.
pub(super) type Key = [u8; 32];

impl Default for Kept {
    fn default() -> Self {
        Self(Mutex::new(LastUsed::new(MAX_KEPT_BYTES)))
    }
}

impl Kept {
    pub(super) fn key(file_name: &str, contents: &[Content]) -> Key {
        let mut digest = DigestOf(Sha256::new());
        (file_name, contents).hash(&mut digest);
        digest.0.finalize().into()
    }

    pub(super) fn get(&self, key: &Key) -> Option<TicketDocument> {
        let document = self.lock().get(key)?;
        Some(TicketDocument::clone(&document))
    }

    pub(super) fn put(&self, key: Key, document: TicketDocument) {
        let bytes = document.bytes.len() + size_of_val(&document.missing_glyphs[..]);
        self.lock().put(key, Arc::new(document), bytes);
    }

    fn lock(&self) -> MutexGuard<'_, LastUsed<Arc<TicketDocument>>> {
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

    fn organization(number: i64) -> OrganizationId {
        OrganizationId::from_raw(number)
    }

    #[test]
    fn the_third_document_at_a_time_is_refused_until_another_has_ended() {
        let turns = Turns::default();
        let wait = || turns.wait(organization(1));
        let first = wait().expect("the first");
        let _second = wait().expect("the second, also of the same organization");
        let refused = wait().unwrap_err();
        assert!(refused.is_retryable(), "{refused}");
        assert!(turns.lock().waiting.is_empty());
        drop(first);
        assert!(wait().is_ok());
    }

    #[test]
    fn a_document_of_another_organization_does_not_wait_behind_all_of_one() {
        let turns = Turns::default();
        let _first = turns.wait(organization(1)).expect("the first");
        let second = turns.wait(organization(1)).expect("the second");
        let mut state = turns.lock();
        for (number, waiting) in [(11, 1), (12, 1), (13, 1), (21, 2)] {
            state.waiting.push(organization(waiting), number);
        }
        drop(state);
        drop(second);
        assert_eq!(turns.lock().given, HashSet::from([11]));
        // The one that was given the turn ends it.
        drop(Turn(&turns));
        assert_eq!(turns.lock().given, HashSet::from([11, 21]), "it comes before those that wait longer");
        assert_eq!(turns.lock().taken, 2);
    }

    #[test]
    fn a_document_that_waits_is_given_the_turn_of_one_that_ends() {
        let turns = Turns::default();
        let first = turns.wait(organization(1)).expect("the first");
        let second = turns.wait(organization(2)).expect("the second");
        std::thread::scope(|scope| {
            let third = scope.spawn(|| turns.wait(organization(3)).is_ok());
            // It may also have given up, on a slow machine.
            while turns.lock().waiting.is_empty() && !third.is_finished() {
                std::thread::yield_now();
            }
            drop(first);
            let is_refused = !third.join().expect("no panic");
            assert!(turns.lock().given.is_empty() && turns.lock().waiting.is_empty());
            assert_eq!(turns.lock().taken, 1, "refused: {is_refused}");
        });
        drop(second);
        assert_eq!(turns.lock().taken, 0);
    }

    #[test]
    fn the_documents_that_were_last_used_are_kept_up_to_64_mebibytes() {
        let kept = Kept::default();
        let key = |name: &str| Kept::key(name, &[]);
        let document = |name: &str| TicketDocument::new(name.to_owned(), vec![7; 4 * 1024 * 1024], Vec::new());
        let used = document("used");
        kept.put(key("used"), used.clone());
        kept.put(key("unused"), document("unused"));
        for other in 0..15 {
            let found = kept.get(&key("used")).expect("it was just used");
            assert!(Arc::ptr_eq(&found.bytes, &used.bytes), "the file was copied");
            let other = format!("{other}");
            kept.put(key(&other), document(&other));
        }
        assert_eq!(kept.get(&key("used")), Some(used));
        assert_eq!(kept.get(&key("unused")), None);
    }

    #[test]
    fn a_document_of_more_than_8_mebibytes_is_not_kept() {
        let kept = Kept::default();
        let key = Kept::key("large", &[]);
        kept.put(key, TicketDocument::new("large".to_owned(), vec![7; 8 * 1024 * 1024 + 1], Vec::new()));
        assert_eq!(kept.get(&key), None);
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
