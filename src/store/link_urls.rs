//! The URLs of the documents of tickets and orders, in the rows that are read. Without the feature `documents`, and
//! where documents are not switched on, there are none.

#[cfg(feature = "documents")]
pub(in crate::store) use super::tickets::document_links::open_links;
use super::{Row, Transaction};
#[cfg(not(feature = "documents"))]
use crate::environment::Environment;
use crate::error::Result;
use crate::model::values::id::{OrderId, TicketId};

#[cfg(not(feature = "documents"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature `documents`, the store may be damaged")]
pub(in crate::store) fn open_links(tx: &Transaction<'_>) -> Result<Environment> {
    Ok(tx.environment().clone())
}

/// The URL of the document of a ticket, whose row has the column `link_version`.
#[cfg(feature = "documents")]
pub(in crate::store) fn of_ticket(tx: &Transaction<'_>, row: &Row<'_>, ticket: TicketId) -> Result<Option<String>> {
    let Some(links) = &tx.environment().links else { return Ok(None) };
    Ok(Some(links.ticket_document(ticket, row.get("link_version")?)))
}

#[cfg(not(feature = "documents"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature `documents`, the row may be damaged")]
pub(in crate::store) const fn of_ticket(_: &Transaction<'_>, _: &Row<'_>, _: TicketId) -> Result<Option<String>> {
    Ok(None)
}

/// The URL of the page of an order.
#[cfg(feature = "documents")]
pub(in crate::store) fn of_order(tx: &Transaction<'_>, order: OrderId) -> Option<String> {
    tx.environment().links.as_ref().map(|links| links.order(order))
}

#[cfg(not(feature = "documents"))]
pub(in crate::store) const fn of_order(_: &Transaction<'_>, _: OrderId) -> Option<String> {
    None
}
