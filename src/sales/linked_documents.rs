//! What the link of a ticket or of an order leads to. The token in the link authorizes the reader; a wrong one is
//! answered as one of a ticket or an order that does not exist.

use crate::error::{Error, Reason, ResourceKind, Result};
use crate::model::document_link::LinkToken;
use crate::model::id::{OrderId, OrganizationId, TicketId, TicketTypeId};
use crate::model::linked::{LinkedOrder, LinkedTicket};
use crate::model::ticket::IssuedTicket;
use crate::model::ticket_type::TicketType;
use crate::store::document_links::TicketOfLink;
use crate::store::{Transaction, document_links, events, order_details, orders, tickets};

/// Reads a ticket type: with its logo, or as if it had none.
pub(crate) type GetTicketType = fn(&Transaction<'_>, OrganizationId, TicketTypeId) -> Result<TicketType>;

/// Returns the organization and the id of the ticket that the token is of.
pub(crate) fn find_ticket(tx: &Transaction<'_>, token: &str) -> Result<(OrganizationId, TicketId)> {
    let found = check_ticket(tx, token)?;
    Ok((found.organization, found.id))
}

/// Returns the ticket that the token is of.
pub(crate) fn ticket(tx: &Transaction<'_>, token: &str, get_ticket_type: GetTicketType) -> Result<LinkedTicket> {
    let TicketOfLink { organization, id, event, ticket_type, order, locale, .. } = check_ticket(tx, token)?;
    Ok(LinkedTicket {
        ticket: tickets::get(tx, organization, id)?,
        ticket_type: get_ticket_type(tx, organization, ticket_type)?,
        event: events::get(tx, organization, event)?,
        order_id: order,
        language: match order {
            Some(order) => order_details::language(tx, organization, order)?,
            None => locale,
        },
    })
}

fn check_ticket(tx: &Transaction<'_>, token: &str) -> Result<TicketOfLink> {
    let unknown = || Error::NotFound(ResourceKind::Ticket);
    let links = tx.environment().links().ok_or_else(unknown)?;
    let token = LinkToken::parse(token).ok_or_else(unknown)?;
    let found = document_links::find_ticket(tx, token.ticket())?;
    // Also computed for an unknown id, so that it takes as long as for a wrong token.
    let is_right = links.is_of_ticket(token, found.as_ref().map_or(0, |found| found.version));
    found.filter(|_| is_right).ok_or_else(unknown)
}

/// Returns the organization and the id of the order that the token is of.
pub(crate) fn find_order(tx: &Transaction<'_>, token: &str) -> Result<(OrganizationId, OrderId)> {
    let unknown = || Error::NotFound(ResourceKind::Order);
    let links = tx.environment().links().ok_or_else(unknown)?;
    let token = LinkToken::parse(token).ok_or_else(unknown)?;
    // The token says all that its code depends on, so a wrong one costs no look-up.
    if !links.is_of_order(token) {
        return Err(unknown());
    }
    let organization = document_links::find_order(tx, token.order())?.ok_or_else(unknown)?;
    Ok((organization, token.order()))
}

/// Returns the order that the token is of.
pub(crate) fn order(tx: &Transaction<'_>, token: &str, get_ticket_type: GetTicketType) -> Result<LinkedOrder> {
    let (organization, id) = find_order(tx, token)?;
    completed_order(tx, organization, id, get_ticket_type)
}

/// Returns an order with its tickets, if it was completed.
fn completed_order(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: OrderId,
    get_ticket_type: GetTicketType,
) -> Result<LinkedOrder> {
    let order = orders::get(tx, organization, id)?;
    let details = order_details::get(tx, organization, id)?;
    if details.completed_at.is_none() {
        return Err(Error::conflict(Reason::OrderNotCompleted, "the order is not paid, and has no tickets"));
    }
    let tickets = tickets::of_order_with_holders(tx, organization, id)?;
    let mut types: Vec<_> = tickets.iter().map(|ticket| ticket.ticket_type_id).collect();
    types.sort_unstable();
    types.dedup();
    let types = types.into_iter().map(|ticket_type| get_ticket_type(tx, organization, ticket_type));
    Ok(LinkedOrder {
        event: events::get(tx, organization, order.event_id)?,
        order,
        ticket_types: types.collect::<Result<_>>()?,
        tickets,
        language: details.language.or(details.locale),
    })
}

/// Gives a ticket a new link, and returns the ticket with it.
pub(crate) fn renew(tx: &Transaction<'_>, organization: OrganizationId, ticket: TicketId) -> Result<IssuedTicket> {
    document_links::renew(tx, organization, ticket)?;
    tickets::get(tx, organization, ticket)
}
