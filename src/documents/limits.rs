//! Limits of rendering: how many documents are rendered at the same time, and which are kept.

use std::hash::{Hash, Hasher};
use std::sync::Mutex;
use std::time::Duration;

use hashlink::LruCache;
use sha2::{Digest, Sha256};

use super::TicketDocument;
use super::last_used::LastUsed;
use crate::environment::Locked;
use crate::error::{Error, Result, Unavailable};
use crate::fair::{Limits, Permit, Semaphore};
use crate::model::tickets::linked::LinkVersion;
use crate::model::values::id::OrganizationId;

/// The documents that are rendered at the same time.
const MAX_RENDERING: usize = 2;
/// How long a document waits for its permit: longer than the largest one takes, so that the next turn comes in time.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// The documents that are kept, in bytes.
const MAX_KEPT_BYTES: usize = 64 * 1024 * 1024;
/// The documents with missing characters that are remembered, so that each is reported once.
const MAX_REPORTED: usize = 4096;

/// SHA-256 of the id of a ticket or an order, the version of what it says, and the digests of its logos at URLs.
pub(super) type Key = [u8; 32];

pub(super) fn key(id: &str, version: &LinkVersion, logos: &[Option<[u8; 32]>]) -> Key {
    let LinkVersion { organizer, event, ticket_types, cancelled_tickets, assigned_tickets, .. } = version;
    let mut digest = DigestOf(Sha256::new());
    (id, organizer, event, ticket_types, cancelled_tickets, assigned_tickets, logos).hash(&mut digest);
    digest.0.finalize().into()
}

pub(super) struct RenderingLimits {
    /// One organization may render as many documents as it wants, but those that wait take turns.
    permits: Semaphore,
    /// The documents that were last used, by the version of what they say.
    kept: Mutex<LastUsed<TicketDocument>>,
    /// The documents with characters that no font has, by the version of what they say.
    reported: Mutex<LruCache<Key, ()>>,
}

impl Default for RenderingLimits {
    fn default() -> Self {
        Self {
            permits: Semaphore::with(Limits { one_may_use_all: true, ..Limits::new(MAX_RENDERING) }),
            kept: Mutex::new(LastUsed::new(MAX_KEPT_BYTES)),
            reported: Mutex::new(LruCache::new(MAX_REPORTED)),
        }
    }
}

impl RenderingLimits {
    /// Waits until fewer than two documents are being rendered, for at most two seconds. The permit is for one document.
    pub(super) fn wait(&self, organization: OrganizationId) -> Result<Permit> {
        let permit = self.permits.acquire(Some(organization), MAX_WAIT, || false);
        permit.ok_or(Error::Unavailable(Unavailable::TooManyDocuments))
    }

    pub(super) fn kept(&self, key: &Key) -> Option<TicketDocument> {
        self.kept.locked().get(key)
    }

    pub(super) fn keep(&self, key: Key, document: TicketDocument) {
        let bytes = document.bytes.len() + size_of_val(&document.missing_glyphs[..]);
        self.kept.locked().put(key, document, bytes);
    }

    /// Remembers a document with characters that no font has. Returns whether it is new.
    pub(super) fn is_new(&self, key: Key) -> bool {
        self.reported.locked().insert(key, ()).is_none()
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
        let limits = RenderingLimits::default();
        let wait = || limits.wait(OrganizationId::from_raw(1));
        let first = wait().expect("the first");
        let _second = wait().expect("the second, also of the same organization");
        let refused = wait().unwrap_err();
        assert!(refused.is_retryable(), "{refused}");
        drop(first);
        assert!(wait().is_ok());
    }

    #[test]
    fn documents_of_64_mebibytes_in_all_are_kept() {
        let limits = RenderingLimits::default();
        for number in 0..17 {
            let file = vec![7; 4 * 1024 * 1024];
            limits.keep([number; 32], TicketDocument::new("ticket.pdf".to_owned(), file, Vec::new()));
        }
        let is_kept = |number: u8| limits.kept(&[number; 32]).is_some();
        assert!(!is_kept(0), "a seventeenth document of 4 MiB takes the place of the first");
        assert!((1..17).all(is_kept));
    }

    #[test]
    fn a_document_is_reported_once_while_it_is_remembered() {
        let limits = RenderingLimits::default();
        let is_new = |number: usize| limits.is_new(Sha256::digest(number.to_le_bytes()).into());
        assert_eq!([0, 0].map(is_new), [true, false]);
        assert!((1..=MAX_REPORTED).all(is_new));
        assert!(is_new(0));
    }
}
