//! Webhooks on their way: the signature, and what sends them.

mod attempt;
mod clerk;
mod lines;
mod lookout;
mod options;
mod sender;
mod signature;
mod transport;

pub use options::SenderOptions;
pub use sender::WebhookSender;
pub use signature::{
    EVENT_ID_HEADER, EVENT_TYPE_HEADER, MAX_AGE, SIGNATURE_HEADER, TIMESTAMP_HEADER, USER_AGENT, VerifyError, sign,
    verify,
};
pub use transport::{BODY_KEPT, Failure, FailureKind, Request, Response, Transport};
