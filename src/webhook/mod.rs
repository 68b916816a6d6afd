//! Webhooks: sending signed notifications, and verifying them in a receiver.
//!
//! Endpoints are registered with [`create_webhook`](crate::TicketingService::create_webhook). A sender
//! ([`Builder::webhook_sender`](crate::Builder::webhook_sender)) sends the notifications that are queued for them over
//! a [`Transport`], by default an [`HttpsTransport`].
//!
//! Each notification is a POST with a JSON body, a [`WebhookNotification`], and these headers:
//!
//! | Header | Value |
//! |---|---|
//! | [`X-Service-Signature`](SIGNATURE_HEADER) | hexadecimal HMAC-SHA256 of `<timestamp>.<body>`, keyed with the secret |
//! | [`X-Service-Timestamp`](TIMESTAMP_HEADER) | the time of signing, in Unix seconds |
//! | [`X-Service-Event-Id`](EVENT_ID_HEADER) | the id of the notification, the same for every attempt and resend |
//! | [`X-Service-Event-Type`](EVENT_TYPE_HEADER) | the type of the notification, such as `order.completed` |
//! | `User-Agent` | [`Service-Webhooks/1.0`](USER_AGENT) |
//!
//! A receiver should [verify](Verifier) the signature, ignore notifications whose id it has processed before, and
//! respond with a 2xx status within 10 seconds, before it does any long work. Any other status, a redirect included, is
//! a failed attempt, and so is a response that comes too late.
//!
//! # Sending
//!
//! [`HttpsTransport`] needs the feature `webhooks`, which is on by default, and an implementation of cryptography for
//! TLS: a `CryptoProvider` of `rustls`. This crate enables none by default, so that it disturbs no program that has
//! one. There are three ways to provide it:
//!
//! - Enable the feature `ring` of this crate. This is the simplest way for a program that does not use rustls itself.
//! - Call `rustls::crypto::CryptoProvider::install_default` at the start of the program, as rustls recommends.
//! - Pass one to [`HttpsTransportBuilder::crypto_provider`], and the transport to
//!   [`Builder::webhook_transport`](crate::Builder::webhook_transport).
//!
//! Without a provider the sender does not start, and the error says so.
//!
//! Without the feature `webhooks` everything else in this module remains: endpoints and the outbox, signing and
//! verification, and the sender, which then needs a [`Transport`] of your own.

#[cfg(feature = "webhooks")]
mod https_failure;
#[cfg(feature = "webhooks")]
mod https_transport;
mod sender;
mod signature;
mod transport;
mod verifier;

#[cfg(feature = "webhooks")]
pub use crate::https::resolver::{Resolver, SystemResolver};
pub use crate::model::notifications::notification::WebhookNotification;
pub use crate::model::notifications::notification_data::*;
pub use crate::model::notifications::notification_types::{DeliveryEventType, EventType, NotificationData};
pub use crate::model::notifications::webhook::{
    CreateWebhook, CreatedWebhookEndpoint, ListWebhookDeliveries, ListWebhooks, ResentWebhookDelivery,
    RotatedWebhookSecret, UpdateWebhook, WebhookDelivery, WebhookEndpoint,
};
#[cfg(feature = "webhooks")]
pub use https_transport::{CertificatesError, HttpsTransport, HttpsTransportBuilder};
pub(crate) use sender::deliver_due;
pub use sender::{SenderOptions, WebhookSenderGuard};
pub use signature::{
    EVENT_ID_HEADER, EVENT_TYPE_HEADER, MAX_AGE, SIGNATURE_HEADER, TIMESTAMP_HEADER, USER_AGENT, VerifyError, sign,
    verify,
};
pub use transport::{BODY_KEPT, FailureKind, Transport, WebhookFailure, WebhookRequest, WebhookResponse};
pub use verifier::{HeaderPair, Verifier};
