//! Webhooks on their way: what sends them, and what a receiver checks.
//!
//! Endpoints are registered with [`create_webhook`](crate::TicketingService::create_webhook). A [`WebhookSender`] sends what
//! is queued for them over a [`Transport`], which is an [`HttpsTransport`] where the program brings none of its own.
//!
//! Each notification is a POST with a JSON body, a [`Notification`](crate::Notification), and these headers:
//!
//! | Header | What it holds |
//! |---|---|
//! | [`X-Service-Signature`](SIGNATURE_HEADER) | HMAC-SHA256 of `<timestamp>.<body>` under the endpoint's secret, in hexadecimal |
//! | [`X-Service-Timestamp`](TIMESTAMP_HEADER) | when it was signed, in Unix seconds |
//! | [`X-Service-Event-Id`](EVENT_ID_HEADER) | the notification's id, the same in every attempt and resend |
//! | [`X-Service-Event-Type`](EVENT_TYPE_HEADER) | what it reports, such as `order.completed` |
//! | `User-Agent` | [`Service-Webhooks/1.0`](USER_AGENT) |
//!
//! A receiver believes it where [`verify`] does, tells a repetition by its id, and answers with a 2xx status within 10
//! seconds, before it does the work. Any other status, a redirect too, and no answer in time, count as failed.

mod https;
mod sender;
mod signature;
mod transport;

pub use https::{CertificatesError, HttpsTransport, HttpsTransportBuilder, Resolver, SystemResolver};
pub use sender::{SenderOptions, WebhookSender};
pub use signature::{
    EVENT_ID_HEADER, EVENT_TYPE_HEADER, MAX_AGE, SIGNATURE_HEADER, TIMESTAMP_HEADER, USER_AGENT, VerifyError, sign,
    verify,
};
pub use transport::{BODY_KEPT, FailureKind, Transport, WebhookFailure, WebhookRequest, WebhookResponse};
