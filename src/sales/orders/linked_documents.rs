//! What the link of a ticket or of an order leads to. The token in the link authorizes the reader; a wrong one is
//! answered as one of a ticket or an order that does not exist.

#[cfg(feature = "server")]
use super::receipts;
use crate::error::{Error, Reason, ResourceKind, Result};
use crate::form::accepted::preferred_language;
use crate::model::sale::allocation::AllocationState;
use crate::model::sale::event::{Event, EventStatus};
use crate::model::sale::order::{Order, OrderDetails, OrderStatus};
use crate::model::sale::ticket::{IssuedTicket, TicketStatus};
use crate::model::sale::ticket_type::TicketType;
use crate::model::tickets::link_token::LinkToken;
#[cfg(feature = "server")]
use crate::model::tickets::linked::OrderPart;
use crate::model::tickets::linked::{LinkedAllocation, LinkedOrder, LinkedTicket};
use crate::model::values::id::{AllocationId, OrderId, OrganizationId, TicketId, TicketTypeId};
use crate::rules::ticket::check_own;
use crate::store::Transaction;
use crate::store::order::printed_tickets;
use crate::store::order::{order_details, orders};
use crate::store::sale::{events, ticket_types};
use crate::store::tenants::organizations;
use crate::store::tickets::{allocations, document_links, issued_tickets};

/// Reads a ticket type: with its logo, with a small one only, or as if it had none.
pub(crate) type GetTicketType = fn(&Transaction<'_>, OrganizationId, TicketTypeId) -> Result<TicketType>;

/// Returns the organization and the id of the ticket that the token is of.
pub(crate) fn find_ticket(tx: &Transaction<'_>, token: &str) -> Result<(OrganizationId, TicketId)> {
    let unknown = || Error::NotFound(ResourceKind::Ticket);
    let links = tx.environment().links.as_ref().ok_or_else(unknown)?;
    let token = LinkToken::parse(token).ok_or_else(unknown)?;
    let found = document_links::find_ticket(tx, token.ticket())?;
    // Also computed for an unknown id, so that it takes as long as for a wrong token.
    let is_right = links.is_of_ticket(token, found.as_ref().map_or(0, |found| found.version));
    let found = found.filter(|_| is_right).ok_or_else(unknown)?;
    Ok((found.organization, found.id))
}

pub(crate) fn ticket(tx: &Transaction<'_>, token: &str, get_ticket_type: GetTicketType) -> Result<LinkedTicket> {
    let (organization, id) = find_ticket(tx, token)?;
    get_ticket(tx, organization, id, get_ticket_type)
}

/// Returns a ticket for a mail: without the logo.
#[cfg(feature = "mail")]
pub(crate) fn without_logo(tx: &Transaction<'_>, organization: OrganizationId, id: TicketId) -> Result<LinkedTicket> {
    get_ticket(tx, organization, id, ticket_types::get_without_logo)
}

fn get_ticket(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: TicketId,
    get_ticket_type: GetTicketType,
) -> Result<LinkedTicket> {
    let ticket = issued_tickets::get(tx, organization, id)?;
    let facts = printed_tickets::facts(tx, organization, id)?;
    Ok(LinkedTicket {
        ticket_type: get_ticket_type(tx, organization, ticket.ticket_type_id)?,
        event: events::get(tx, organization, ticket.ticket_type.event_id)?,
        ticket,
        order_id: facts.order,
        language: preferred_language(facts.language),
        organizer: facts.organizer,
        price: facts.price,
        number: facts.number,
        tickets_of_order: facts.tickets_of_order,
    })
}

/// Returns a ticket that has a document: it is not cancelled, and neither is its event, and nobody else has sold it.
pub(crate) fn printed_ticket(tx: &Transaction<'_>, organization: OrganizationId, id: TicketId) -> Result<LinkedTicket> {
    let linked = get_ticket(tx, organization, id, ticket_types::get)?;
    check_own(&linked.ticket)?;
    if linked.ticket.status == TicketStatus::Cancelled {
        return Err(Error::Gone(ResourceKind::Ticket));
    }
    require_to_take_place(&linked.event)?;
    Ok(linked)
}

/// The greatest number of tickets in a document of an allocation.
const MAX_OF_ALLOCATION: i64 = 500;

/// Returns tickets of an allocation that have a document together: those from the number `from` on, from 1, that are not
/// cancelled.
pub(crate) fn printed_allocation(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: AllocationId,
    from: i64,
) -> Result<LinkedAllocation> {
    let allocation = allocations::get(tx, organization, id)?;
    if allocation.imported {
        return Err(Error::conflict(Reason::TicketImported, "its tickets were sold by another seller"));
    }
    if allocation.state == AllocationState::Issuing {
        return Err(Error::conflict(Reason::AllocationNotComplete, "its tickets are being issued"));
    }
    let ids = issued_tickets::ids_of_allocation(tx, id, from.saturating_sub(1), MAX_OF_ALLOCATION)?;
    if ids.is_empty() && from > 1 {
        return Err(Error::field("from", "must be at most the number of tickets"));
    }
    let event = events::get(tx, organization, allocation.event_id)?;
    require_to_take_place(&event)?;
    let tickets = issued_tickets::of_ids(tx, &ids)?.into_iter();
    let tickets: Vec<_> = tickets.filter(|ticket| ticket.status != TicketStatus::Cancelled).collect();
    if tickets.is_empty() {
        return Err(Error::Gone(ResourceKind::Allocation));
    }
    let ticket_type = ticket_types::get(tx, organization, allocation.ticket_type_id)?;
    Ok(LinkedAllocation { event, ticket_type, tickets, organizer: organizations::get(tx, organization)?.name })
}

/// Returns an order that has a document: at least one of its tickets is not cancelled, and neither is its event.
pub(crate) fn printed_order(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<LinkedOrder> {
    let order = orders::get(tx, organization, id)?;
    if matches!(order.status, OrderStatus::Cancelled | OrderStatus::Expired) {
        return Err(Error::Gone(ResourceKind::Order));
    }
    let linked = completed_order(tx, organization, order, ticket_types::get)?;
    require_to_take_place(&linked.event)?;
    if linked.tickets.iter().all(|ticket| ticket.status == TicketStatus::Cancelled) {
        return Err(Error::Gone(ResourceKind::Order));
    }
    Ok(linked)
}

fn require_to_take_place(event: &Event) -> Result<()> {
    if event.status == EventStatus::Cancelled { Err(Error::Gone(ResourceKind::Event)) } else { Ok(()) }
}

/// Returns the organization and the id of the order that the token is of.
pub(crate) fn find_order(tx: &Transaction<'_>, token: &str) -> Result<(OrganizationId, OrderId)> {
    let unknown = || Error::NotFound(ResourceKind::Order);
    let links = tx.environment().links.as_ref().ok_or_else(unknown)?;
    let token = LinkToken::parse(token).ok_or_else(unknown)?;
    // The token says all that its code depends on, so a wrong one costs no look-up.
    if !links.is_of_order(token) {
        return Err(unknown());
    }
    let organization = document_links::find_order(tx, token.order())?.ok_or_else(unknown)?;
    Ok((organization, token.order()))
}

pub(crate) fn order(tx: &Transaction<'_>, token: &str, get_ticket_type: GetTicketType) -> Result<LinkedOrder> {
    let (organization, id) = find_order(tx, token)?;
    completed_order(tx, organization, orders::get(tx, organization, id)?, get_ticket_type)
}

/// Returns an order with its tickets, if it was completed.
fn completed_order(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: Order,
    get_ticket_type: GetTicketType,
) -> Result<LinkedOrder> {
    let tickets = issued_tickets::of_order_with_holders(tx, organization, order.id)?;
    let details = order_details::get(tx, organization, order.id)?;
    with_tickets(tx, organization, order, &details, tickets, get_ticket_type)
}

/// Returns an order with these of its tickets, if it was completed.
fn with_tickets(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: Order,
    details: &OrderDetails,
    tickets: Vec<IssuedTicket>,
    get_ticket_type: GetTicketType,
) -> Result<LinkedOrder> {
    if details.completed_at.is_none() {
        return Err(Error::conflict(Reason::OrderNotCompleted, "the order is not paid, and has no tickets"));
    }
    let mut types: Vec<_> = tickets.iter().map(|ticket| ticket.ticket_type_id).collect();
    types.sort_unstable();
    types.dedup();
    let types = types.into_iter().map(|ticket_type| get_ticket_type(tx, organization, ticket_type));
    Ok(LinkedOrder {
        event: events::get(tx, organization, order.event_id)?,
        order,
        ticket_types: types.collect::<Result<_>>()?,
        tickets,
        language: preferred_language(details.language.clone().or_else(|| details.locale.clone())),
        organizer: organizations::get(tx, organization)?.name,
    })
}

/// Returns a part of the page of the order that the token is of: `size` of its tickets, cancelled ones last. `part` is
/// a number from 1.
#[cfg(feature = "server")]
pub(crate) fn order_part(tx: &Transaction<'_>, token: &str, part: usize, size: usize) -> Result<OrderPart> {
    let (organization, id) = find_order(tx, token)?;
    let order = orders::get(tx, organization, id)?;
    let issued = order.items.iter().flat_map(|item| &item.issued_tickets);
    let mut issued: Vec<_> = issued.map(|ticket| (ticket.id, ticket.status == TicketStatus::Cancelled)).collect();
    issued.sort_unstable();
    let mut shown: Vec<_> = (1..).zip(issued).collect();
    shown.sort_by_key(|(_, (_, is_cancelled))| *is_cancelled);
    let tickets_of_order = shown.len();
    let parts = tickets_of_order.div_ceil(size);
    let part = part.clamp(1, parts.max(1));
    let first = shown.first().filter(|(_, (_, is_cancelled))| !is_cancelled).map(|(_, (ticket, _))| *ticket);
    let of_part = || shown.iter().skip((part - 1) * size).take(size);
    let ids: Vec<_> = of_part().map(|(_, (ticket, _))| *ticket).collect();
    let tickets = issued_tickets::of_ids(tx, &ids)?;
    let receipt = receipts::get(tx, organization, id)?;
    let get_ticket_type = ticket_types::get_without_logo;
    let linked = with_tickets(tx, organization, order, &receipt.details, tickets, get_ticket_type)?;
    let is_live = linked.order.status != OrderStatus::Cancelled && linked.event.status != EventStatus::Cancelled;
    let first_valid =
        first.filter(|_| is_live).map(|ticket| issued_tickets::get(tx, organization, ticket)).transpose()?;
    let numbers = of_part().map(|(number, _)| *number).collect();
    Ok(OrderPart { linked, receipt, numbers, part, parts, tickets_of_order, first_valid })
}

/// Gives a ticket a new link, and returns the ticket with it.
pub(crate) fn renew(tx: &Transaction<'_>, organization: OrganizationId, ticket: TicketId) -> Result<IssuedTicket> {
    document_links::renew(tx, organization, ticket)?;
    let ticket = issued_tickets::get(tx, organization, ticket)?;
    check_own(&ticket)?;
    Ok(ticket)
}
