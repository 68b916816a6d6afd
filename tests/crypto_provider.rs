//! What the webhook sender does if the program has not chosen an implementation of cryptography for TLS.
//!
//! The feature `ring` makes that choice, so these tests run without it: `cargo test --test crypto_provider`.
#![cfg(not(feature = "ring"))]

use ticketing::webhook::SenderOptions;
use ticketing::{Error, TicketingService};

/// Returns the path and the message of the only field error.
fn field_error(error: &Error) -> (&str, &str) {
    match error.fields() {
        [field] => (&field.path, &field.message),
        fields => panic!("{fields:?}"),
    }
}

#[cfg(feature = "webhooks")]
#[test]
fn without_a_provider_the_sender_fails_at_its_start_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ticketing.db");
    let with_sender = || TicketingService::builder(&path).webhook_sender(SenderOptions::default()).open();
    let error = with_sender().map(drop).unwrap_err();
    let (field, message) = field_error(&error);
    assert_eq!(field, "crypto_provider");
    for solution in ["feature `ring`", "CryptoProvider::install_default()", "HttpsTransportBuilder::crypto_provider"] {
        assert!(message.contains(solution), "{message}");
    }
    // A service that sends nothing needs no provider.
    let service = TicketingService::open(&path).unwrap();
    assert_eq!(service.start_webhook_sender(SenderOptions::default()).map(drop), Err(error));

    // The default of the process is used from then on.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    drop(service.start_webhook_sender(SenderOptions::default()).unwrap());
    drop(with_sender().unwrap());
}

#[cfg(not(feature = "webhooks"))]
#[test]
fn without_the_https_transport_the_sender_needs_another() {
    use std::time::Duration;
    use ticketing::webhook::{Transport, WebhookFailure, WebhookRequest, WebhookResponse};

    #[derive(Debug)]
    struct Accepting;
    impl Transport for Accepting {
        fn send(&self, _: &WebhookRequest, _: Duration) -> Result<WebhookResponse, WebhookFailure> {
            Ok(WebhookResponse::new(204, Vec::new()))
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let builder = || TicketingService::builder(folder.path().join("ticketing.db"));
    let error = builder().webhook_sender(SenderOptions::default()).open().map(drop).unwrap_err();
    let (field, message) = field_error(&error);
    assert_eq!(field, "webhook_transport");
    assert!(message.contains("feature `webhooks`"), "{message}");
    drop(builder().webhook_transport(Accepting).webhook_sender(SenderOptions::default()).open().unwrap());
}
