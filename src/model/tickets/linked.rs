//! What a link leads to: a ticket, or an order with its tickets.

use crate::model::sale::event::{Event, EventStatus};
use crate::model::sale::order::Order;
#[cfg(feature = "server")]
use crate::model::sale::receipt::Receipt;
use crate::model::sale::ticket::{IssuedTicket, TicketStatus};
use crate::model::sale::ticket_type::TicketType;
use crate::model::values::amount::Amount;
use crate::model::values::id::OrderId;

/// A ticket with what its page and its document say.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LinkedTicket {
    /// The ticket.
    pub ticket: IssuedTicket,
    /// Its type.
    pub ticket_type: TicketType,
    /// The event that it is for.
    pub event: Event,
    /// The order that it was bought with. Not set if the organizer issued it without an order.
    pub order_id: Option<OrderId>,
    /// The language tag of the buyer, such as `de-AT`: the language of the order, or else the locale of the customer.
    /// For a ticket that the organizer issued without an order, the locale of its holder.
    pub language: Option<String>,
    /// The name of the organization that sells the ticket.
    pub organizer: String,
    /// What was paid for the ticket, with its discount. Not set without an order, and if the tickets of its type in the
    /// order did not all cost the same.
    pub price: Option<Amount>,
    /// The number of the ticket in its order, from 1. A ticket without an order is the only one.
    pub number: usize,
    /// How many tickets the order has, also cancelled ones.
    pub tickets_of_order: usize,
}

impl LinkedTicket {
    /// Whether the ticket, or its event, is cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        is_cancelled(&self.ticket, &self.event)
    }
}

/// An order with what its page and its document say.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LinkedOrder {
    /// The order. It was completed, and may have been cancelled since then.
    pub order: Order,
    /// The event.
    pub event: Event,
    /// The types of the tickets.
    pub ticket_types: Vec<TicketType>,
    /// All tickets of the order, also cancelled ones, in the order in which they were issued.
    pub tickets: Vec<IssuedTicket>,
    /// The language tag of the buyer, such as `de-AT`: the language of the order, or else the locale of the customer.
    pub language: Option<String>,
    /// The name of the organization that sells the tickets.
    pub organizer: String,
}

impl LinkedOrder {
    /// Each ticket with its type.
    pub fn tickets_with_types(&self) -> impl Iterator<Item = (&IssuedTicket, &TicketType)> {
        self.tickets.iter().filter_map(|ticket| {
            let of_ticket = self.ticket_types.iter().find(|ticket_type| ticket_type.id == ticket.ticket_type_id);
            of_ticket.map(|ticket_type| (ticket, ticket_type))
        })
    }

    /// Whether this ticket of the order, or the event, is cancelled.
    #[must_use]
    pub fn is_cancelled(&self, ticket: &IssuedTicket) -> bool {
        is_cancelled(ticket, &self.event)
    }
}

/// Tickets of an allocation with what their document says.
#[derive(Debug)]
pub(crate) struct LinkedAllocation {
    pub(crate) event: Event,
    pub(crate) ticket_type: TicketType,
    /// Those that are not cancelled, in the order in which they were issued.
    pub(crate) tickets: Vec<IssuedTicket>,
    /// The name of the organization.
    pub(crate) organizer: String,
}

fn is_cancelled(ticket: &IssuedTicket, event: &Event) -> bool {
    ticket.status == TicketStatus::Cancelled || event.status == EventStatus::Cancelled
}

/// The version of what the link of a ticket or an order shows: it changes whenever that changes. Sums are enough,
/// because each number only grows, and an order keeps its tickets and their types.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LinkVersion {
    /// The name of the organization.
    pub(crate) organizer: String,
    /// The revision of the event, and its status.
    pub(crate) event: (i64, &'static str),
    /// The sum of the revisions of the ticket types.
    pub(crate) ticket_types: i64,
    pub(crate) cancelled_tickets: i64,
    /// How many tickets of an allocation were given to a customer.
    pub(crate) assigned_tickets: i64,
    pub(crate) scans_and_renewals: i64,
    /// The sum of the `updated_at` times of the tickets, and of the order and its refunds if the link is that of an
    /// order.
    pub(crate) changes: i64,
}

/// The version of a document, for its cache key. Documents do not show scans or links, so the key leaves out
/// `scans_and_renewals` and `changes`.
#[derive(Debug)]
pub(crate) struct DocumentVersion {
    pub(crate) link: LinkVersion,
    /// The logos at URLs, which can change while the ticket types do not.
    pub(crate) logo_urls: Vec<String>,
}

/// A part of an order's page.
#[cfg(feature = "server")]
#[derive(Debug)]
pub(crate) struct OrderPart {
    /// The order with the tickets of this part, in the order in which they are shown.
    pub(crate) linked: LinkedOrder,
    pub(crate) receipt: Receipt,
    /// The numbers of these tickets in the order, from 1.
    pub(crate) numbers: Vec<usize>,
    /// The number of the part, and how many there are.
    pub(crate) part: usize,
    pub(crate) parts: usize,
    /// How many tickets the order has.
    pub(crate) tickets_of_order: usize,
    /// The first ticket that is not cancelled. `None` if the order or its event is cancelled.
    pub(crate) first_valid: Option<IssuedTicket>,
}
