//! Webhooks on their way: the signature, and what sends them.

mod attempt;
mod dial;
mod failure;
mod https;
mod lookups;
mod resolver;
mod signature;
mod transport;
mod wire;

pub use https::{CertificatesError, HttpsTransport, HttpsTransportBuilder};
pub use resolver::{Resolver, SystemResolver};
pub use signature::{
    EVENT_ID_HEADER, EVENT_TYPE_HEADER, MAX_AGE, SIGNATURE_HEADER, TIMESTAMP_HEADER, USER_AGENT, VerifyError, sign,
    verify,
};
pub use transport::{BODY_KEPT, Failure, FailureKind, Request, Response, Transport};
