//! What a caller sees: resources, requests, ids, amounts, instants and pages, and how each is read from and written as
//! JSON. No input or output happens here.

pub(crate) mod amount;
pub(crate) mod backup;
pub(crate) mod caller;
pub(crate) mod change;
pub(crate) mod check;
pub(crate) mod customer;
#[cfg(feature = "server")]
pub(crate) mod describe;
pub(crate) mod discount;
pub(crate) mod event;
pub(crate) mod fields;
pub(crate) mod id;
pub(crate) mod idempotency;
pub(crate) mod json;
pub(crate) mod notification;
pub(crate) mod order;
pub(crate) mod organization;
pub(crate) mod page;
pub(crate) mod refund;
pub(crate) mod request;
pub(crate) mod scope;
pub(crate) mod secret;
pub(crate) mod statistics;
pub(crate) mod summary;
pub(crate) mod text_enum;
pub(crate) mod ticket;
pub(crate) mod ticket_type;
pub(crate) mod timestamp;
pub(crate) mod webhook;

/// The revision of what was just made, where it is read back from JSON, which does not carry it.
const fn first_revision() -> i64 {
    1
}
