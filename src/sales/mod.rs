//! What happens inside one transaction: the operations that read before they write.
//!
//! Each function loads what it needs, decides with the pure functions of `rules`, and writes with the statements of
//! `store`. There is no SQL here, and no call to a gateway or a webhook endpoint: no transaction is open while the
//! network is used.
//!
//! # Locking
//!
//! A function that changes the sales of an event calls
//! [`Transaction::lock_event`](crate::store::Transaction::lock_event) before it reads anything about the sale. Rows are
//! locked in one order everywhere: the event, the order, ticket types by ascending id, the discount. Seats, discount
//! uses and statuses are claimed by conditional UPDATEs nevertheless, so that a mistake cannot oversell.
//!
//! A transaction may run more than once: its function must not have effects outside the database.
//!
//! # Adding to it
//!
//! - An operation: write a function that takes the transaction and the request, in the file of its subject, and call it
//!   from a method of `service`.
//! - A rule: write it as a pure function in `rules`, and call it between loading and writing.
//! - A status of an order, or a way in which an order ends: `order_lifecycle`.
//! - Something that takes seats or uses of a discount: it gets a `ReleaseBudget`, and `service` calls it through
//!   `with_expired_holds`.
//! - A notification: report it with `outbox::report` in the function that makes the change. A new type of notification:
//!   see `model::notification_types`.

pub(crate) mod check_in;
pub(crate) mod checkout_attempts;
pub(crate) mod checkout_links;
pub(crate) mod checkout_renewal;
pub(crate) mod discount_changes;
mod discount_use;
mod each_row;
pub(crate) mod event_changes;
pub(crate) mod gateway_facts;
pub(crate) mod hold_releases;
pub(crate) mod holds;
pub(crate) mod hosted_checkout;
pub(crate) mod idempotent_operation;
mod inventory;
#[cfg(feature = "documents")]
pub(crate) mod linked_documents;
pub(crate) mod manual_payments;
pub(crate) mod manual_refunds;
mod money_notifications;
pub(crate) mod order_balances;
pub(crate) mod order_creation;
pub(crate) mod order_lifecycle;
pub(crate) mod organizations;
pub(crate) mod partial_refunds;
pub(crate) mod payment_checks;
pub(crate) mod received_payments;
pub(crate) mod reconciliation;
mod references;
pub(crate) mod refund_attempts;
pub(crate) mod refunds;
pub(crate) mod ticket_issuing;
pub(crate) mod ticket_type_changes;
pub(crate) mod webhook_changes;

pub(crate) use each_row::EachRow;
