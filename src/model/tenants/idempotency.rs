//! Idempotency keys.

use std::fmt;
use std::str::FromStr;

/// A key that identifies the retries of one request: 1 to 255 visible ASCII characters, chosen by the client. Each API
/// key has idempotency keys of its own, and so has the program for each organization.
///
/// ```
/// use ticketing::request::IdempotencyKey;
/// let key = IdempotencyKey::try_from(format!("basket-{}", 4711))?;
/// assert_eq!(key, "basket-4711".parse()?);
/// assert!(IdempotencyKey::try_from("two words").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The string is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("an idempotency key must have 1 to 255 visible ASCII characters")]
#[non_exhaustive]
pub struct ParseIdempotencyKeyError;

impl FromStr for IdempotencyKey {
    type Err = ParseIdempotencyKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for IdempotencyKey {
    type Error = ParseIdempotencyKeyError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let valid = (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if valid { Ok(Self(text)) } else { Err(ParseIdempotencyKeyError) }
    }
}

impl TryFrom<&str> for IdempotencyKey {
    type Error = ParseIdempotencyKeyError;

    fn try_from(text: &str) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl AsRef<str> for IdempotencyKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The result of an operation that was called with an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayable<T> {
    /// The result of the operation.
    pub value: T,
    /// Whether this is the stored result of an earlier call with the same key, so that this call has changed nothing.
    pub replayed: bool,
}

impl<T> Replayable<T> {
    /// The result of an operation that was executed now.
    pub(crate) const fn executed(value: T) -> Self {
        Self { value, replayed: false }
    }

    /// The stored result of an earlier call.
    pub(crate) const fn replayed(value: T) -> Self {
        Self { value, replayed: true }
    }

    /// Converts the result.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Replayable<U> {
        Replayable { value: convert(self.value), replayed: self.replayed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_1_to_255_visible_ascii_characters() {
        for text in ["!", "~", &"k".repeat(255), "8e03978e-40d5-43dd-bc93-6894a57f9324"] {
            let key: IdempotencyKey = text.parse().expect(text);
            assert_eq!((key.as_str(), key.to_string().as_str()), (text, text));
            let json = serde_json::to_string(&key).expect("JSON");
            assert_eq!((json.clone(), serde_json::from_str(&json).ok()), (format!("{text:?}"), Some(key)));
        }
        for text in ["", " ", "a b", "a\tb", "\u{7f}", "ö", &"k".repeat(256)] {
            assert!(text.parse::<IdempotencyKey>().is_err(), "{text:?}");
            assert!(serde_json::from_value::<IdempotencyKey>(text.into()).is_err(), "{text:?}");
        }
    }
}
