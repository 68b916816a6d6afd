//! What happens inside one transaction: the operations that read before they write.
//!
//! Each function loads what it needs, decides with the pure functions of `rules`, and writes with the statements of
//! `store`. There is no SQL here, and no call to a gateway or a webhook endpoint: no transaction is open while the
//! network is used.
//!
//! # Locking
//!
//! A function that changes the sale of an event takes the [`LockedEvent`](crate::store::LockedEvent), so that it reads
//! nothing about the sale before. Jobs get it from [`Store::write_event`](crate::store::Store::write_event). Rows are
//! locked in one order everywhere: the event, the order, the customer, ticket types by ascending id, the discount. Seats, discount
//! uses and statuses are claimed by conditional UPDATEs nevertheless, so that a mistake cannot oversell.
//!
//! A transaction may run more than once: its function must not have effects outside the database. What is logged about
//! it is passed to [`Transaction::after_commit`](crate::store::Transaction::after_commit).
//!
//! # Adding to it
//!
//! - An operation: write a function that takes the transaction and the request, in the file of its subject, and call it
//!   from a method of `service`.
//! - A rule: write it as a pure function in `rules`, and call it between loading and writing.
//! - A status of an order, or a way in which an order ends: `order_lifecycle`.
//! - Something that takes seats or uses of a discount: it gets a `ReleaseLimit`, and `service` calls it through
//!   `with_expired_holds`.
//! - A notification: report it with `outbox::enqueue` in the function that makes the change. A new type of notification:
//!   see `model::notifications::notification_types`.

pub(crate) mod catalog;
pub(crate) mod checkouts;
mod each_row;
pub(crate) mod idempotent_operation;
mod mail_causes;
pub(crate) mod money;
pub(crate) mod orders;
pub(crate) mod tickets;

pub(crate) use each_row::EachRow;
