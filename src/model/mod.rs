//! The types of the public API: resources, requests, ids, amounts, timestamps and pages, with their JSON. No I/O.
//!
//! How to add a field is described in [`crate::form`].

pub(crate) mod amount;
mod amount_arithmetic;
pub(crate) mod amounts;
pub(crate) mod backup;
pub(crate) mod caller;
pub(crate) mod cancellation;
pub(crate) mod check;
pub(crate) mod checkout;
pub(crate) mod currency;
pub(crate) mod customer;
pub(crate) mod discount;
pub(crate) mod discount_value;
pub(crate) mod dispute;
#[cfg(feature = "documents")]
pub(crate) mod document_link;
pub(crate) mod event;
pub(crate) mod gateway_account;
pub(crate) mod gateway_report;
pub(crate) mod handler_notification;
pub(crate) mod id;
pub(crate) mod idempotency;
pub(crate) mod ledger;
#[cfg(feature = "documents")]
pub(crate) mod linked;
pub(crate) mod maintenance;
pub(crate) mod metadata;
pub(crate) mod new_order;
pub(crate) mod notice;
pub(crate) mod notification;
pub(crate) mod notification_data;
pub(crate) mod notification_types;
pub(crate) mod order;
pub(crate) mod order_balance;
pub(crate) mod organization;
pub(crate) mod page;
pub(crate) mod percentage;
pub(crate) mod received_payment;
pub(crate) mod reconciliation;
pub(crate) mod refund;
#[cfg(feature = "http")]
mod response_schema;
pub(crate) mod secret;
mod shared_fields;
pub(crate) mod statement;
pub(crate) mod statistics;
pub(crate) mod summary;
pub(crate) mod suspended;
pub(crate) mod ticket;
pub(crate) mod ticket_type;
pub(crate) mod timestamp;
mod timestamp_arithmetic;
pub(crate) mod webhook;

/// The revision of a resource in JSON that version 0.1 wrote, which does not contain the revision.
const fn first_revision() -> i64 {
    1
}
