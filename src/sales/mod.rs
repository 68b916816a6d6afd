//! What happens inside one transaction when tickets are sold and used: order creation, order lifecycle (payment,
//! cancellation, expiry), inventory, discount use, check-in, and the changes of events and ticket types that depend on
//! what was sold.
//!
//! Each function loads what it needs, decides with the pure functions of `rules`, and writes with the statements of
//! `store`; there is no SQL here. A function that reads before it writes calls
//! [`Transaction::lock_event`](crate::store::Transaction::lock_event) first. Rows are locked in one order everywhere:
//! the event, the order, ticket types by ascending id, the discount.
//!
//! To add an operation: write a function here that takes the transaction and the checked request, and call it from a
//! method in `service` within one `store.write`.

pub(crate) mod check_in;
pub(crate) mod checkout_links;
pub(crate) mod discount_changes;
mod discount_use;
pub(crate) mod event_changes;
pub(crate) mod holds;
pub(crate) mod hosted_checkout;
pub(crate) mod idempotency;
mod inventory;
pub(crate) mod order_creation;
pub(crate) mod order_lifecycle;
mod references;
pub(crate) mod refund_attempts;
pub(crate) mod ticket_issuing;
pub(crate) mod ticket_type_changes;
pub(crate) mod webhook_changes;
