//! The links of tickets and orders, and what a link leads to.

use std::sync::Arc;

use super::link_secret;
use crate::environment::Environment;
use crate::error::{Error, ResourceKind, Result};
use crate::model::tickets::document_link::DocumentLinks;
use crate::model::values::id::{OrderId, OrganizationId, TicketId};
use crate::store::Transaction;
use crate::store::columns::row_struct;

const TICKET: &str = "SELECT id, organization_id, link_version FROM tickets WHERE id = ?1";
const ORDER: &str = "SELECT id, organization_id FROM orders WHERE id = ?1";
const RENEW: &str = "UPDATE tickets SET link_version = link_version + 1, updated_at = ?3
    WHERE id = ?1 AND organization_id = ?2";

/// Returns the environment with the links of this store, if documents are switched on. Makes the secret that they need
/// if there is none.
pub(in crate::store) fn open_links(tx: &Transaction<'_>) -> Result<Environment> {
    let environment = tx.environment().clone();
    let Some(pages_url) = &environment.pages_url else { return Ok(environment) };
    let secret = link_secret::get_or_make(tx)?;
    #[cfg_attr(not(feature = "event-pages"), expect(unused_mut, reason = "without event pages, nothing is set"))]
    let mut links = DocumentLinks::new(secret, pages_url);
    #[cfg(feature = "event-pages")]
    {
        links.has_event_pages = environment.has_event_pages;
    }
    Ok(Environment { links: Some(Arc::new(links)), ..environment })
}

row_struct! {
    /// The ticket that a link may lead to.
    pub(crate) struct TicketOfLink(row) {
        pub(crate) id: TicketId,
        pub(crate) organization: OrganizationId => organization_id,
        /// How often the link was renewed.
        pub(crate) version: i64 => link_version,
    }
}

/// Looks up the ticket of a token, of any organization.
pub(crate) fn find_ticket(tx: &Transaction<'_>, ticket: TicketId) -> Result<Option<TicketOfLink>> {
    tx.query_opt(TICKET, &[ticket.into()], TicketOfLink::read)
}

/// Looks up the organization of the order of a token.
pub(crate) fn find_order(tx: &Transaction<'_>, order: OrderId) -> Result<Option<OrganizationId>> {
    tx.query_opt(ORDER, &[order.into()], |row| row.get("organization_id"))
}

/// Gives a ticket a new link. The one before is dead.
pub(crate) fn renew(tx: &Transaction<'_>, organization: OrganizationId, ticket: TicketId) -> Result<()> {
    match tx.execute_counted(RENEW, &[ticket.into(), organization.into(), tx.now().into()])? {
        0 => Err(Error::NotFound(ResourceKind::Ticket)),
        _ => Ok(()),
    }
}
