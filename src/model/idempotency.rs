//! Idempotency keys.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A key that identifies the retries of one request: 1 to 255 visible ASCII characters, chosen by the client. Keys of
/// different organizations are independent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The string is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an idempotency key must have 1 to 255 visible ASCII characters")]
pub struct ParseIdempotencyKeyError;

impl FromStr for IdempotencyKey {
    type Err = ParseIdempotencyKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if valid { Ok(Self(text.to_owned())) } else { Err(ParseIdempotencyKeyError) }
    }
}

/// The idempotency key of a caller, and whether its last operation returned a stored result. Clones share the flag.
#[derive(Debug, Clone)]
pub(crate) struct IdempotentCall {
    pub(crate) key: IdempotencyKey,
    replayed: Arc<AtomicBool>,
}

impl IdempotentCall {
    pub(super) fn new(key: IdempotencyKey) -> Self {
        Self { key, replayed: Arc::default() }
    }

    pub(crate) fn set_replayed(&self, replayed: bool) {
        self.replayed.store(replayed, Ordering::Relaxed);
    }

    pub(super) fn was_replayed(&self) -> bool {
        self.replayed.load(Ordering::Relaxed)
    }
}

impl PartialEq for IdempotentCall {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl Eq for IdempotentCall {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_1_to_255_visible_ascii_characters() {
        for text in ["!", "~", &"k".repeat(255), "8e03978e-40d5-43dd-bc93-6894a57f9324"] {
            assert_eq!(text.parse::<IdempotencyKey>().map(|key| key.as_str().to_owned()), Ok(text.to_owned()));
        }
        for text in ["", " ", "a b", "a\tb", "\u{7f}", "ö", &"k".repeat(256)] {
            assert!(text.parse::<IdempotencyKey>().is_err(), "{text:?}");
        }
    }
}
