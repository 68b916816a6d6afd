//! What is printed on tickets.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Transaction, events, order_details, orders, ticket_types, tickets};
use crate::error::{Error, Reason, ResourceKind, Result};
use crate::model::event::{Event, EventStatus};
use crate::model::id::{OrderId, OrganizationId, TicketId};
use crate::model::order::OrderStatus;
use crate::model::ticket::{IssuedTicket, TicketStatus};
use crate::model::ticket_type::TicketType;

const ORDER_AND_LOCALE: &str = "SELECT order_id, locale FROM tickets WHERE id = ?1";

/// A ticket, with the resources that say what is printed on it.
#[derive(Debug)]
pub(crate) struct PrintedTicket {
    pub(crate) event: Arc<Event>,
    pub(crate) ticket_type: Arc<TicketType>,
    pub(crate) ticket: IssuedTicket,
    pub(crate) order: Option<OrderId>,
    /// The language of the order, else the locale of the holder.
    pub(crate) language: Option<String>,
}

/// Returns a ticket that is valid.
pub(crate) fn of_ticket(tx: &Transaction<'_>, organization: OrganizationId, id: TicketId) -> Result<PrintedTicket> {
    let ticket = tickets::get(tx, organization, id)?;
    let event = events::get(tx, organization, ticket.ticket_type.event_id)?;
    if ticket.status == TicketStatus::Cancelled {
        return Err(Error::Gone(ResourceKind::Ticket));
    }
    require_to_take_place(&event)?;
    let ticket_type = ticket_types::get(tx, organization, ticket.ticket_type_id)?;
    let found = tx.query_opt(ORDER_AND_LOCALE, &[id.into()], |row| Ok((row.get("order_id")?, row.get("locale")?)))?;
    let (order, locale) = found.unwrap_or_default();
    let language = match order {
        Some(order) => order_details::language(tx, organization, order)?,
        None => locale,
    };
    Ok(PrintedTicket { event: Arc::new(event), ticket_type: Arc::new(ticket_type), ticket, order, language })
}

/// Returns the valid tickets of an order, in the order in which they were issued. There is at least one.
pub(crate) fn of_order(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<Vec<PrintedTicket>> {
    let order = orders::get(tx, organization, id)?;
    match order.status {
        OrderStatus::Completed => {}
        OrderStatus::Pending => {
            return Err(Error::conflict(Reason::OrderNotCompleted, "the order is not paid: it has no tickets yet"));
        }
        OrderStatus::Cancelled | OrderStatus::Expired => return Err(Error::Gone(ResourceKind::Order)),
    }
    let event = Arc::new(events::get(tx, organization, order.event_id)?);
    require_to_take_place(&event)?;
    let language = order_details::language(tx, organization, id)?;
    let mut types = HashMap::new();
    let mut printed = Vec::new();
    for issued in order.tickets().filter(|ticket| ticket.status != TicketStatus::Cancelled) {
        let ticket_type = match types.get(&issued.ticket_type_id) {
            Some(known) => Arc::clone(known),
            None => {
                let found = Arc::new(ticket_types::get(tx, organization, issued.ticket_type_id)?);
                types.insert(issued.ticket_type_id, Arc::clone(&found));
                found
            }
        };
        printed.push(PrintedTicket {
            event: Arc::clone(&event),
            ticket_type,
            ticket: tickets::get(tx, organization, issued.id)?,
            order: Some(id),
            language: language.clone(),
        });
    }
    if printed.is_empty() { Err(Error::Gone(ResourceKind::Order)) } else { Ok(printed) }
}

fn require_to_take_place(event: &Event) -> Result<()> {
    if event.status == EventStatus::Cancelled { Err(Error::Gone(ResourceKind::Event)) } else { Ok(()) }
}
