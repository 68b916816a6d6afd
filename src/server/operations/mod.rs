//! The operations of the API: a table for each resource.
//!
//! To add an operation, add it to the table of its resource. Everything else follows from the table: the route, the
//! checks, and the OpenAPI document.

use operation::Operation;

pub(super) fn all() -> Vec<Operation> {
    let mut operations = event_operations::operations();
    operations.extend(ticket_type_operations::operations());
    operations.extend(order_operations::operations());
    operations.extend(refund_operations::operations());
    operations.extend(ledger_operations::operations());
    operations.extend(ticket_operations::operations());
    operations.extend(allocation_operations::operations());
    #[cfg(feature = "documents")]
    operations.extend(document_operations::operations());
    #[cfg(feature = "exports")]
    operations.extend(export_operations::operations());
    operations.extend(discount_operations::operations());
    #[cfg(feature = "mail")]
    operations.extend(mail_operations::operations());
    operations.extend(webhook_operations::operations());
    operations
}
pub(super) mod allocation_operations;
pub(in crate::server) mod conditions;
pub(super) mod discount_operations;
#[cfg(feature = "documents")]
pub(super) mod document_operations;
pub(super) mod event_operations;
#[cfg(feature = "exports")]
pub(super) mod export_operations;
pub(super) mod ledger_operations;
#[cfg(feature = "mail")]
pub(super) mod mail_operations;
pub(in crate::server) mod middleware;
pub(super) mod operation;
mod operation_kinds;
pub(super) mod operation_routes;
pub(super) mod order_operations;
pub(super) mod refund_operations;
pub(in crate::server) mod request;
pub(super) mod ticket_operations;
pub(super) mod ticket_type_operations;
pub(super) mod webhook_operations;
