//! The signature of Stripe's notices: the header `Stripe-Signature`.

use std::time::Duration;

use crate::model::values::secret::Secret;
use crate::model::values::timestamp::Timestamp;
use crate::webhook::{MAX_AGE, VerifyError, verify};

/// The header with the time of signing and the signatures: `t=1492774577,v1=5257a8…,v1=…,v0=…`.
pub(super) const HEADER: &str = "Stripe-Signature";

/// How many signatures of a header are tried. Stripe sends one for each secret of the endpoint that is valid, which are
/// two while a secret is rolled.
const MAX_SIGNATURES: usize = 8;

/// The time of a header, and its signatures. `None` unless it has one time.
fn parts(header: &str) -> Option<(&str, Vec<&str>)> {
    let (mut times, mut signatures) = (Vec::new(), Vec::new());
    for (name, value) in header.split(',').filter_map(|item| item.split_once('=')) {
        match name.trim() {
            "t" => times.push(value),
            "v1" => signatures.push(value),
            _ => {}
        }
    }
    let [time] = times[..] else { return None };
    Some((time, signatures))
}

/// Whether there may be a body that the header signs: it has one time, which differs from `now` by at most 5 minutes,
/// and a signature.
pub(super) fn may_be_valid(header: &str, now: Timestamp) -> bool {
    let Some((time, signatures)) = parts(header) else { return false };
    let seconds = time.bytes().all(|byte| byte.is_ascii_digit()).then(|| time.parse().ok()).flatten();
    let now = Duration::from_millis(now.millis().unsigned_abs());
    !signatures.is_empty() && seconds.is_some_and(|seconds| Duration::from_secs(seconds).abs_diff(now) <= MAX_AGE)
}

/// Whether the header signs this body with one of the secrets, at a time that differs from `now` by at most 5 minutes.
///
/// Stripe signs as the webhooks of this crate do: HMAC-SHA256 of `<timestamp>.<body>` in hexadecimal, with the whole
/// secret as the key. Only signatures of the scheme `v1` count. Each is compared in constant time.
pub(super) fn is_valid(header: &str, body: &[u8], secrets: &[Secret], now: Timestamp) -> bool {
    let Some((timestamp, signatures)) = parts(header) else { return false };
    for signature in signatures.into_iter().take(MAX_SIGNATURES) {
        for secret in secrets {
            match verify(secret.expose(), timestamp, signature, body, now, MAX_AGE) {
                Ok(()) => return true,
                Err(VerifyError::Timestamp | VerifyError::Age) => return false,
                Err(_) => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_test_secret";
    const BODY: &[u8] = br#"{"id": "evt_test_webhook", "object": "event"}"#;
    // WebhookSignature.generate_signature_header(BODY, SECRET, 1492774577) of the PyPI package stripe 16.1.0.
    const SIGNATURE: &str = "c137b1b62277d523cf8fed4dfbd0170a9a5b8a380e00cc3711d4bf0652f2ce7a";
    const SIGNED: i64 = 1_492_774_577;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000).expect("in the range")
    }

    fn check(header: &str, secrets: &[&str], now: i64) -> bool {
        let secrets: Vec<Secret> = secrets.iter().map(|secret| Secret::from(*secret)).collect();
        is_valid(header, BODY, &secrets, at(now))
    }

    #[test]
    fn headers_that_no_body_can_make_valid_are_known_without_a_body() {
        let header = format!("t={SIGNED},v1=00");
        for now in [SIGNED, SIGNED + 300, SIGNED - 300] {
            assert!(may_be_valid(&header, at(now)), "{now}");
        }
        for now in [SIGNED + 301, SIGNED - 301, 0] {
            assert!(!may_be_valid(&header, at(now)), "{now}");
        }
        for header in
            ["", "t=1", "v1=00", "t=x,v1=00", &format!("t={SIGNED},t={SIGNED},v1=00"), &format!("t={SIGNED},v0=00")]
        {
            assert!(!may_be_valid(header, at(SIGNED)), "{header}");
        }
    }

    #[test]
    fn any_v1_signature_and_any_secret_counts() {
        let wrong = "0".repeat(64);
        for header in [
            format!("t={SIGNED},v1={wrong},v1={SIGNATURE}"),
            format!("v1={SIGNATURE},v0={wrong},t={SIGNED}"),
            format!("t={SIGNED}, v1={SIGNATURE}, scheme=x"),
        ] {
            assert!(check(&header, &[SECRET], SIGNED), "{header}");
            assert!(check(&header, &["whsec_old", SECRET], SIGNED), "{header}");
            assert!(check(&header, &[SECRET, "whsec_new"], SIGNED), "{header}");
            assert!(!check(&header, &["whsec_old", "whsec_new"], SIGNED), "{header}");
            assert!(!check(&header, &[], SIGNED), "{header}");
        }
    }
}
