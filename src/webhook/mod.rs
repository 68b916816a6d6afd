//! Webhooks on their way: the signature, and what sends them.

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
