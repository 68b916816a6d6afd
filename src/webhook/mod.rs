//! Webhooks on their way: the signature, and what sends them.

mod attempt;
mod clerk;
mod delivery;
mod dial;
mod failure;
mod https;
mod lines;
mod lookout;
mod lookups;
mod options;
mod resolver;
mod sender;
mod signature;
mod transport;
mod wire;

pub use https::{CertificatesError, HttpsTransport, HttpsTransportBuilder};
pub use options::SenderOptions;
pub use resolver::{Resolver, SystemResolver};
pub use sender::WebhookSender;
pub use signature::{
    EVENT_ID_HEADER, EVENT_TYPE_HEADER, MAX_AGE, SIGNATURE_HEADER, TIMESTAMP_HEADER, USER_AGENT, VerifyError, sign,
    verify,
};
pub use transport::{BODY_KEPT, Failure, FailureKind, Request, Response, Transport};
