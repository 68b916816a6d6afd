//! The signature of notifications: signing in the sender, verification in a receiver.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::model::values::timestamp::Timestamp;

/// The header with the signature, as [`sign`] returns it.
pub const SIGNATURE_HEADER: &str = "X-Service-Signature";
/// The header with the time of signing: Unix time in seconds.
pub const TIMESTAMP_HEADER: &str = "X-Service-Timestamp";
/// The header with the id of the notification, which is the same for every attempt and resend. A receiver uses it to
/// ignore repeated notifications.
pub const EVENT_ID_HEADER: &str = "X-Service-Event-Id";
/// The header with the type of the notification, such as `order.completed`.
pub const EVENT_TYPE_HEADER: &str = "X-Service-Event-Type";
/// The value of the sender's `User-Agent` header.
pub const USER_AGENT: &str = "Service-Webhooks/1.0";

/// The recommended maximum age of a notification: 5 minutes. It is the default of a [`Verifier`](super::Verifier).
pub const MAX_AGE: Duration = Duration::from_mins(5);

/// Why a notification was rejected by a [`Verifier`](super::Verifier) or by [`verify`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The timestamp is not a Unix time in plain digits.
    #[error("the timestamp is not a Unix time in seconds")]
    Timestamp,
    /// The timestamp differs from the current time by more than the maximum age.
    #[error("the timestamp is too old, or too far in the future")]
    Age,
    /// The signature does not match the body, the timestamp and the secret.
    #[error("the signature does not match")]
    Signature,
    /// A header that the signature needs is missing, or the request has it more than once. Only of a
    /// [`Verifier`](super::Verifier).
    #[error("the header {0} is missing or repeated")]
    Header(&'static str),
    /// The request is genuine, but its body is not a notification. Only of a [`Verifier`](super::Verifier).
    #[error("the body is not a notification: {0}")]
    Body(String),
}

/// Returns the signature of a body: HMAC-SHA256 of `<timestamp>.<body>` in hexadecimal. The key is the whole secret,
/// with its prefix `whsec_`.
///
/// ```
/// let signature = ticketing::webhook::sign("whsec_c2VjcmV0", 1_780_336_800, b"{}");
/// assert_eq!(signature, "eab2d4a06a59bed198bd61a5006b1e1f6d7d0818f70ca29a5885d27ed280418d");
/// ```
#[must_use]
pub fn sign(secret: &str, timestamp: i64, body: &[u8]) -> String {
    hex::encode(digest(secret, &timestamp.to_string(), body).finalize().into_bytes())
}

/// Verifies that a notification was signed with this secret, and no longer ago than `max_age`. A receiver should do
/// so before it trusts the body. A [`Verifier`](super::Verifier) does the same with the headers of a request, and reads
/// the notification.
///
/// `timestamp` and `signature` are the values of the headers [`TIMESTAMP_HEADER`] and [`SIGNATURE_HEADER`], and
/// `body` is the body as it was received, byte for byte: parsing and serializing JSON may change it. Signatures are
/// compared in constant time.
///
/// ```
/// use ticketing::webhook::{MAX_AGE, VerifyError, self};
///
/// let (secret, body) = ("whsec_c2VjcmV0", br#"{"id":"evt_1"}"#);
/// let signed_at: ticketing::Timestamp = "2026-06-01T18:00:00Z".parse()?;
/// let timestamp = signed_at.millis() / 1000;
/// let signature = webhook::sign(secret, timestamp, body);
///
/// let timestamp = timestamp.to_string();
/// let verify = |body: &[u8], now| webhook::verify(secret, &timestamp, &signature, body, now, MAX_AGE);
/// assert_eq!(verify(body, signed_at), Ok(()));
/// assert_eq!(verify(br#"{"id":"evt_2"}"#, signed_at), Err(VerifyError::Signature));
/// assert_eq!(verify(body, "2026-06-01T18:05:01Z".parse()?), Err(VerifyError::Age));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The reason why the notification must not be trusted.
pub fn verify(
    secret: &str,
    timestamp: &str,
    signature: &str,
    body: &[u8],
    now: Timestamp,
    max_age: Duration,
) -> Result<(), VerifyError> {
    if !timestamp.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(VerifyError::Timestamp);
    }
    let seconds: u64 = timestamp.parse().map_err(|_| VerifyError::Timestamp)?;
    let signature = hex::decode(signature).map_err(|_| VerifyError::Signature)?;
    digest(secret, timestamp, body).verify_slice(&signature).map_err(|_| VerifyError::Signature)?;
    let signed_at = Duration::from_secs(seconds);
    let now = Duration::from_millis(now.millis().unsigned_abs());
    if signed_at.abs_diff(now) > max_age { Err(VerifyError::Age) } else { Ok(()) }
}

#[expect(clippy::expect_used, reason = "an HMAC key may have any length")]
fn digest(secret: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length");
    mac.chain_update(timestamp).chain_update(b".").chain_update(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_c2VjcmV0";
    const SIGNED: i64 = 1_780_336_800;
    const BODY: &[u8] = br#"{"id":"evt_1"}"#;
    // printf '1780336800.{"id":"evt_1"}' | openssl dgst -sha256 -hmac whsec_c2VjcmV0
    const SIGNATURE: &str = "d3e40b1d4abf28d05d3f5fe1f0a282179ab04d3f11e929786c2c61a56adb4b58";

    fn seconds(seconds: i64) -> Timestamp {
        millis(seconds * 1000)
    }

    fn millis(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).expect("in the range")
    }

    #[test]
    fn signatures_agree_with_other_implementations() {
        assert_eq!(sign(SECRET, SIGNED, BODY), SIGNATURE);
        // Python: hmac.new(secret.encode(), message, hashlib.sha256).hexdigest(), the message being b"0." ...
        assert_eq!(
            sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 0, b""),
            "e08e3b234d55e695f064d71f5cb8dd382678d244a4ad2939f249dd786f778e03"
        );
        // ... b"1780336800." + bytes(range(256)) under the empty secret ...
        let every_byte: Vec<u8> = (0..=255).collect();
        assert_eq!(sign("", SIGNED, &every_byte), "bd36c7250b1468da6e14b34a8a1108620160f4feec70a1adb8bf7ede9b2f746b");
        // ... and '1780336800.{"name":"Ünal 🎫"}'.encode() under a secret longer than a block: "k" * 131.
        assert_eq!(
            sign(&"k".repeat(131), SIGNED, r#"{"name":"Ünal 🎫"}"#.as_bytes()),
            "049f658025fd02f6fdfbe78e546e40be23a6ad11e4f4f5e0ec8942a2be6308e8"
        );
    }

    #[test]
    fn a_notification_older_than_the_maximum_age_is_rejected() {
        let at = |now| verify(SECRET, "1780336800", SIGNATURE, BODY, now, MAX_AGE);
        assert_eq!(at(seconds(SIGNED)), Ok(()));
        assert_eq!(at(seconds(SIGNED + 300)), Ok(()));
        assert_eq!(at(seconds(SIGNED - 300)), Ok(()));
        assert_eq!(at(millis((SIGNED + 300) * 1000 + 1)), Err(VerifyError::Age));
        assert_eq!(at(millis((SIGNED - 300) * 1000 - 1)), Err(VerifyError::Age));
        assert_eq!(at(Timestamp::UNIX_EPOCH), Err(VerifyError::Age));
        assert_eq!(at(Timestamp::MAX), Err(VerifyError::Age));
        assert_eq!(verify(SECRET, "1780336800", SIGNATURE, BODY, Timestamp::MAX, Duration::MAX), Ok(()));
    }

    #[test]
    fn a_timestamp_is_plain_digits() {
        for timestamp in ["", "+1780336800", "-1", " 1780336800", "1780336800 ", "1780336800.0", "1e9", "١٧٨"] {
            let result = verify(SECRET, timestamp, SIGNATURE, BODY, seconds(SIGNED), MAX_AGE);
            assert_eq!(result, Err(VerifyError::Timestamp), "{timestamp:?}");
        }
        for timestamp in ["99999999999999999999", "0x6a1d7d60"] {
            let result = verify(SECRET, timestamp, SIGNATURE, BODY, seconds(SIGNED), MAX_AGE);
            assert_eq!(result, Err(VerifyError::Timestamp), "{timestamp:?}");
        }
        // The greatest number is a valid time, if signed correctly, but too far away.
        let greatest = u64::MAX.to_string();
        let signature = hex::encode(digest(SECRET, &greatest, BODY).finalize().into_bytes());
        let result = verify(SECRET, &greatest, &signature, BODY, seconds(SIGNED), MAX_AGE);
        assert_eq!(result, Err(VerifyError::Age));
    }

    #[test]
    fn any_change_invalidates_the_signature() {
        let check = |secret, timestamp, signature: &str, body| {
            verify(secret, timestamp, signature, body, seconds(SIGNED), MAX_AGE)
        };
        let mismatch = Err(VerifyError::Signature);
        assert_eq!(check("whsec_c2VjcmV1", "1780336800", SIGNATURE, BODY), mismatch);
        assert_eq!(check("c2VjcmV0", "1780336800", SIGNATURE, BODY), mismatch);
        assert_eq!(check(SECRET, "1780336801", SIGNATURE, BODY), mismatch);
        assert_eq!(check(SECRET, "01780336800", SIGNATURE, BODY), mismatch);
        assert_eq!(check(SECRET, "1780336800", SIGNATURE, br#"{"id":"evt_2"}"#), mismatch);
        assert_eq!(check(SECRET, "1780336800", SIGNATURE, br#"{"id": "evt_1"}"#), mismatch);
        for digit in 0..SIGNATURE.len() {
            let mut other = SIGNATURE.to_owned();
            other.replace_range(digit..=digit, if &SIGNATURE[digit..=digit] == "0" { "1" } else { "0" });
            assert_eq!(check(SECRET, "1780336800", &other, BODY), mismatch);
            assert_eq!(check(SECRET, "1780336800", &SIGNATURE[..digit], BODY), mismatch);
        }
        for other in [&format!("{SIGNATURE}00"), &format!(" {SIGNATURE}"), "zz", "ü"] {
            assert_eq!(check(SECRET, "1780336800", other, BODY), mismatch);
        }
    }
}
