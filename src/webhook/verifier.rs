//! Verification of a whole request in a receiver: headers and body.

use std::sync::Arc;
use std::time::Duration;

use super::signature::{MAX_AGE, SIGNATURE_HEADER, TIMESTAMP_HEADER, VerifyError, verify};
use crate::environment::{Clock, SystemClock};
use crate::model::notifications::notification::WebhookNotification;
use crate::model::values::secret::Secret;

/// Verifies the webhook requests that a receiver gets.
///
/// It checks the signature and the age of a request, and reads the notification in its body. A receiver creates one
/// verifier and uses it for all requests. Its clones share the clock.
///
/// This is a receiver with axum:
///
/// ```
/// # #[cfg(feature = "server")] {
/// use axum::Router;
/// use axum::body::Bytes;
/// use axum::extract::State;
/// use axum::http::{HeaderMap, StatusCode};
/// use axum::routing::post;
/// use ticketing::webhook::Verifier;
///
/// async fn receive(State(verifier): State<Verifier>, headers: HeaderMap, body: Bytes) -> StatusCode {
///     let Ok(notification) = verifier.verify(&headers, &body) else { return StatusCode::UNAUTHORIZED };
///     // Here the receiver stores the notification, unless it knows its id already.
///     println!("{notification:?}");
///     StatusCode::NO_CONTENT
/// }
///
/// let router: Router = Router::new().route("/", post(receive)).with_state(Verifier::new("whsec_c2VjcmV0"));
/// # drop(router);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Verifier {
    secrets: Vec<Secret>,
    tolerance: Duration,
    clock: Arc<dyn Clock>,
}

impl Verifier {
    /// Creates a verifier for requests that are signed with `secret`: the whole secret of the endpoint, with its prefix
    /// `whsec_`. An empty secret accepts no request.
    #[must_use]
    pub fn new(secret: impl Into<Secret>) -> Self {
        Self { secrets: vec![secret.into()], tolerance: MAX_AGE, clock: Arc::new(SystemClock) }
    }

    /// Accepts requests that are signed with this secret too.
    ///
    /// After [`rotate_webhook_secret`](crate::TicketingService::rotate_webhook_secret) requests are signed with the new
    /// secret only. To accept requests from before and after the rotation, configure both secrets for a
    /// while.
    ///
    /// ```
    /// use ticketing::webhook::Verifier;
    /// let verifier = Verifier::new("whsec_bmV3").or_secret("whsec_b2xk");
    /// // No secret is printed.
    /// assert!(!format!("{verifier:?}").contains("whsec_"));
    /// ```
    #[must_use]
    pub fn or_secret(mut self, secret: impl Into<Secret>) -> Self {
        self.secrets.push(secret.into());
        self
    }

    /// Sets how much the time of signing may differ from the current time. Default: [`MAX_AGE`], 5 minutes.
    #[must_use]
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sets the clock. Default: the [system clock](SystemClock).
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Verifies a request and returns the notification in its body.
    ///
    /// `headers` are pairs of a name and a value, or references to such pairs, in any order; names are compared without
    /// regard to case. So a reference to an `http::HeaderMap`, to a `HashMap`, or to the headers of a
    /// [`WebhookRequest`](super::WebhookRequest) will do. `body` is the body as it was received, byte for byte: parsing
    /// and serializing JSON may change it.
    ///
    /// A receiver must still ignore notifications that it has processed before, because delivery is at least once.
    ///
    /// ```
    /// use ticketing::environment::ManualClock;
    /// use ticketing::webhook::{self, SIGNATURE_HEADER, TIMESTAMP_HEADER, Verifier, VerifyError};
    ///
    /// let signed_at: ticketing::Timestamp = "2026-06-01T18:00:00Z".parse()?;
    /// let verifier = Verifier::new("whsec_c2VjcmV0").clock(ManualClock::new(signed_at));
    ///
    /// let body = r#"{"id": "evt_1NR6E9XB00000", "type": "ticket.issued", "createdAt": "2026-06-01T18:00:00.000Z",
    ///     "data": {"issuedTicketId": "ticket_1NR6E9XB00001", "ticketId": "type_1NR6E9XB00002",
    ///              "eventId": "event_1NR6E9XB00003", "orderId": null}}"#;
    /// let seconds = signed_at.millis() / 1000;
    /// let signature = webhook::sign("whsec_c2VjcmV0", seconds, body.as_bytes());
    /// let headers = [(TIMESTAMP_HEADER, seconds.to_string()), (SIGNATURE_HEADER, signature)];
    ///
    /// let notification = verifier.verify(&headers, body)?;
    /// assert_eq!(notification.id.to_string(), "evt_1NR6E9XB00000");
    /// assert_eq!(verifier.verify(&headers, body.replace("ticket.issued", "ticket.lost")), Err(VerifyError::Signature));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The reason why the notification must not be trusted, or [`VerifyError::Body`] if the request is genuine, but its
    /// body is not a notification that this version of the crate knows.
    pub fn verify(
        &self,
        headers: impl IntoIterator<Item: HeaderPair>,
        body: impl AsRef<[u8]>,
    ) -> Result<WebhookNotification, VerifyError> {
        let (mut timestamps, mut signatures) = (Vec::new(), Vec::new());
        for header in headers {
            // Valid values are ASCII. Invalid UTF-8 becomes U+FFFD, which fails the verification.
            let value = || String::from_utf8_lossy(header.value()).into_owned();
            if header.name().eq_ignore_ascii_case(TIMESTAMP_HEADER) {
                timestamps.push(value());
            } else if header.name().eq_ignore_ascii_case(SIGNATURE_HEADER) {
                signatures.push(value());
            }
        }
        let [timestamp] = &timestamps[..] else { return Err(VerifyError::Header(TIMESTAMP_HEADER)) };
        let [signature] = &signatures[..] else { return Err(VerifyError::Header(SIGNATURE_HEADER)) };
        let body = body.as_ref();
        self.verify_signature(timestamp, signature, body)?;
        serde_json::from_slice(body).map_err(|error| VerifyError::Body(error.to_string()))
    }

    fn verify_signature(&self, timestamp: &str, signature: &str, body: &[u8]) -> Result<(), VerifyError> {
        let now = self.clock.now();
        for secret in self.secrets.iter().filter(|secret| !secret.expose().is_empty()) {
            match verify(secret.expose(), timestamp, signature, body, now, self.tolerance) {
                Err(VerifyError::Signature) => {}
                verified => return verified,
            }
        }
        Err(VerifyError::Signature)
    }
}

/// A header of a request, for [`Verifier::verify`]: a pair of a name and a value, or a reference to one.
///
/// The trait is sealed: no other type implements it.
pub trait HeaderPair: sealed::Sealed {
    /// The name, in any case.
    fn name(&self) -> &str;

    /// The value.
    fn value(&self) -> &[u8];
}

impl<N: AsRef<str>, V: AsRef<[u8]>> HeaderPair for (N, V) {
    fn name(&self) -> &str {
        self.0.as_ref()
    }

    fn value(&self) -> &[u8] {
        self.1.as_ref()
    }
}

impl<P: HeaderPair> HeaderPair for &P {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn value(&self) -> &[u8] {
        (**self).value()
    }
}

mod sealed {
    pub trait Sealed {}
    impl<N, V> Sealed for (N, V) {}
    impl<P: Sealed> Sealed for &P {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::ManualClock;
    use crate::model::values::timestamp::Timestamp;
    use crate::webhook::transport::WebhookRequest;

    const SECRET: &str = "whsec_c2VjcmV0";
    const SIGNED: i64 = 1_780_336_800;
    // The HMAC-SHA256 of `1780336800.` and the body, with the key `whsec_c2VjcmV0`, by `openssl dgst`.
    const SIGNATURE: &str = "3f816960b099b4b36fb4b8c67072222e425d59fd6cd86c7abe83c7eb6f117bef";
    const BODY: &str = concat!(
        r#"{"id":"evt_1NR6E9XB00000","type":"order.cancelled","createdAt":"2026-06-01T18:00:00.000Z","#,
        r#""data":{"orderId":"order_1NR6E9XB00001","eventId":"event_1NR6E9XB00002","customerId":"c"#,
        r#"ustomer_1NR6E9XB00003","requiresManualRefund":false}}"#,
    );

    fn verifier(secret: &str) -> Verifier {
        let now = Timestamp::from_millis(SIGNED * 1000).expect("in the range");
        Verifier::new(secret).clock(ManualClock::new(now))
    }

    fn headers() -> Vec<(&'static str, &'static str)> {
        vec![("X-Service-Timestamp", "1780336800"), ("X-Service-Signature", SIGNATURE)]
    }

    #[test]
    fn a_genuine_request_is_verified_whatever_the_case_and_order_of_its_headers() {
        let mut upper: Vec<_> = headers().into_iter().map(|(name, value)| (name.to_uppercase(), value)).collect();
        upper.insert(0, ("HOST".to_owned(), "example.com"));
        upper.reverse();
        let notification = verifier(SECRET).verify(upper, BODY).expect("genuine");
        assert_eq!(notification.id.to_string(), "evt_1NR6E9XB00000");
        assert_eq!(verifier(SECRET).verify(&headers(), BODY).as_ref(), Ok(&notification));
        assert_eq!(verifier(SECRET).verify(&headers()[..], BODY).as_ref(), Ok(&notification));
        let map: std::collections::HashMap<&str, &str> = headers().into_iter().collect();
        assert_eq!(verifier(SECRET).verify(&map, BODY).as_ref(), Ok(&notification));
        let owned = headers().into_iter().map(|(name, value)| (name, value.to_owned()));
        let request = WebhookRequest::new("https://example.com/", owned, BODY);
        assert_eq!(verifier(SECRET).verify(&request.headers, &request.body).as_ref(), Ok(&notification));
        let lower = headers().into_iter().map(|(name, value)| (name.to_lowercase(), value.as_bytes().to_vec()));
        assert_eq!(verifier(SECRET).verify(lower, BODY.as_bytes()), Ok(notification));
    }

    #[test]
    fn a_header_that_is_missing_or_repeated_is_named() {
        for index in 0..2 {
            let name = headers()[index].0;
            let mut without = headers();
            without.remove(index);
            assert_eq!(verifier(SECRET).verify(without, BODY), Err(VerifyError::Header(name)));
            for times in 2..4 {
                let mut repeated = headers();
                repeated.extend(vec![headers()[index]; times - 1]);
                assert_eq!(verifier(SECRET).verify(repeated, BODY), Err(VerifyError::Header(name)), "{times}");
            }
        }
        let none: [(&str, &str); 0] = [];
        assert_eq!(verifier(SECRET).verify(none, BODY), Err(VerifyError::Header("X-Service-Timestamp")));
    }

    #[test]
    fn each_of_several_secrets_is_accepted_and_no_other() {
        let other = "whsec_b3RoZXI";
        assert!(verifier(other).or_secret(SECRET).verify(headers(), BODY).is_ok());
        assert!(verifier(SECRET).or_secret(other).verify(headers(), BODY).is_ok());
        let wrong = verifier(other).or_secret("whsec_");
        assert_eq!(wrong.verify(headers(), BODY), Err(VerifyError::Signature));
    }

    #[test]
    fn an_empty_secret_verifies_nothing() {
        let signature = super::super::signature::sign("", SIGNED, BODY.as_bytes());
        let headers = [("X-Service-Timestamp", "1780336800"), ("X-Service-Signature", &signature)];
        assert_eq!(verifier("").verify(headers, BODY), Err(VerifyError::Signature));
    }

    #[test]
    fn the_tolerance_decides_how_old_a_request_may_be() {
        let at = |seconds: i64| {
            let now = Timestamp::from_millis((SIGNED + seconds) * 1000).expect("in the range");
            Verifier::new(SECRET).clock(ManualClock::new(now))
        };
        assert!(at(300).verify(headers(), BODY).is_ok());
        assert_eq!(at(301).verify(headers(), BODY), Err(VerifyError::Age));
        assert_eq!(at(-301).verify(headers(), BODY), Err(VerifyError::Age));
        assert!(at(3600).tolerance(Duration::from_hours(1)).verify(headers(), BODY).is_ok());
        assert_eq!(at(31).tolerance(Duration::from_secs(30)).verify(headers(), BODY), Err(VerifyError::Age));
        // The system clock, which is the default, shows another second.
        assert_eq!(Verifier::new(SECRET).tolerance(Duration::ZERO).verify(headers(), BODY), Err(VerifyError::Age));
    }

    #[test]
    fn values_that_are_not_text_are_not_valid() {
        let timestamp = ("X-Service-Timestamp", b"1780336800".as_slice());
        let signature = ("X-Service-Signature", SIGNATURE.as_bytes());
        let not_text = b"\xff\xfe".as_slice();
        let verify = |headers: [(&str, &[u8]); 2]| verifier(SECRET).verify(headers, BODY);
        assert!(verify([timestamp, signature]).is_ok());
        assert_eq!(verify([("X-Service-Timestamp", not_text), signature]), Err(VerifyError::Timestamp));
        assert_eq!(verify([timestamp, ("X-Service-Signature", not_text)]), Err(VerifyError::Signature));
    }

    #[test]
    fn a_genuine_body_that_is_not_a_notification_is_told_apart_from_a_forged_one() {
        for body in ["", "{}", "[1]", "not json"] {
            let signature = super::super::signature::sign(SECRET, SIGNED, body.as_bytes());
            let headers = [("X-Service-Timestamp", "1780336800"), ("X-Service-Signature", &signature)];
            let result = verifier(SECRET).verify(headers, body);
            assert!(matches!(result, Err(VerifyError::Body(_))), "{body}: {result:?}");
            assert_eq!(verifier("whsec_b3RoZXI").verify(headers, body), Err(VerifyError::Signature));
        }
    }
}
