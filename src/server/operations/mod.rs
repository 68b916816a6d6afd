//! The operations of the API: a table for each resource.
//!
//! To add an operation, add it to the table of its resource. Everything else follows from the table: the route, the
//! checks, and the OpenAPI document.

mod discounts;
mod disputes;
#[cfg(feature = "documents")]
mod documents;
mod events;
mod ledger;
mod orders;
mod refunds;
mod ticket_types;
mod tickets;
mod webhooks;

use super::operation::Operation;

/// All operations.
pub(super) fn all() -> Vec<Operation> {
    let mut operations = events::operations();
    operations.extend(ticket_types::operations());
    operations.extend(orders::operations());
    operations.extend(refunds::operations());
    operations.extend(disputes::operations());
    operations.extend(ledger::operations());
    operations.extend(tickets::operations());
    #[cfg(feature = "documents")]
    operations.extend(documents::operations());
    operations.extend(discounts::operations());
    operations.extend(webhooks::operations());
    operations
}
