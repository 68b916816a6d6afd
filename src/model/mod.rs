//! What a caller sees: resources, requests, ids, amounts, instants and pages, and how each is read from and written as
//! JSON. No input or output happens here.

pub(crate) mod amount;
pub(crate) mod backup;
pub(crate) mod caller;
pub(crate) mod check;
pub(crate) mod checkout;
pub(crate) mod customer;
pub(crate) mod discount;
pub(crate) mod event;
pub(crate) mod id;
pub(crate) mod idempotency;
pub(crate) mod notification;
pub(crate) mod order;
pub(crate) mod organization;
pub(crate) mod page;
pub(crate) mod refund;
#[cfg(feature = "server")]
mod schema;
pub(crate) mod secret;
pub(crate) mod statistics;
pub(crate) mod summary;
pub(crate) mod ticket;
pub(crate) mod ticket_type;
pub(crate) mod timestamp;
pub(crate) mod webhook;

pub(crate) use crate::{scope, text_enum};

/// The revision of what was just made, where it is read back from JSON, which does not carry it.
const fn first_revision() -> i64 {
    1
}
