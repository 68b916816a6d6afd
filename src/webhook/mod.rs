//! Webhooks on their way: the signature, and what sends them.

mod transport;

pub use transport::{BODY_KEPT, Failure, FailureKind, Request, Response, Transport};
