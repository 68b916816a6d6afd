//! Organizations, their keys, and the callers that act for them.

pub(crate) mod caller;
pub(crate) mod door_link;
pub(crate) mod idempotency;
pub(crate) mod organization;
pub(crate) mod suspended;
