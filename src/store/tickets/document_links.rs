//! The secret of the links of tickets and orders, and what a link leads to.

use std::sync::Arc;

use crate::environment::Environment;
use crate::error::{Error, ResourceKind, Result};
use crate::model::tickets::document_link::{DocumentLinks, LinkSecret};
use crate::model::values::id::{OrderId, OrganizationId, TicketId};
use crate::store::Transaction;
use crate::store::columns::row_struct;

const SECRET: &str = "SELECT secret FROM link_secret WHERE id = 1";
const INSERT_SECRET: &str = "INSERT INTO link_secret (id, secret) VALUES (1, ?1) ON CONFLICT (id) DO NOTHING";
const TICKET: &str = "SELECT id, organization_id, link_version FROM tickets WHERE id = ?1";
const ORDER: &str = "SELECT id, organization_id FROM orders WHERE id = ?1";
const RENEW: &str = "UPDATE tickets SET link_version = link_version + 1, updated_at = ?3
    WHERE id = ?1 AND organization_id = ?2";

/// Returns the environment with the links of this store, if documents are switched on. Makes the secret that they need
/// if there is none.
pub(in crate::store) fn open_links(tx: &Transaction<'_>) -> Result<Environment> {
    let environment = tx.environment().clone();
    let Some(pages_url) = &environment.pages_url else { return Ok(environment) };
    let found = secret(tx)?;
    let secret = match found {
        Some(secret) => secret,
        None => {
            tx.execute(INSERT_SECRET, &[hex::encode(environment.random::<32>()).into()])?;
            // Another process may have been first.
            let made = secret(tx)?;
            made.ok_or_else(|| Error::Internal("the secret of the links was not stored".to_owned()))?
        }
    };
    #[cfg_attr(not(feature = "event-pages"), expect(unused_mut, reason = "without event pages, nothing is set"))]
    let mut links = DocumentLinks::new(secret, pages_url);
    #[cfg(feature = "event-pages")]
    {
        links.has_event_pages = environment.has_event_pages;
    }
    Ok(Environment { links: Some(Arc::new(links)), ..environment })
}

/// Returns the secret of the store. `None` if documents were never switched on.
fn secret(tx: &Transaction<'_>) -> Result<Option<LinkSecret>> {
    let parse = |text: &str| {
        let mut secret = [0; 32];
        hex::decode_to_slice(text, &mut secret).ok().map(|()| LinkSecret(secret))
    };
    tx.query_opt(SECRET, &[], |row| row.parsed("secret", parse, "is not 32 bytes in hexadecimal"))
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
