//! The page of an event, on which customers buy, as data.

use super::event::{Event, EventStatus};
use super::new_order::MAX_ITEM_QUANTITY;
use super::ticket_type::{SaleState, TicketType, TicketTypeStatus};
use crate::model::tenants::organization::Organization;
use crate::model::values::amount::Amount;
use crate::model::values::id::TicketTypeId;

/// What the page of an event shows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EventPage {
    /// The event: PUBLISHED, `SOLD_OUT`, EXPIRED or CANCELLED, and public.
    pub event: Event,
    /// The organization that sells.
    pub organization: Organization,
    /// The ticket types that customers see, in their sort order, without their logos.
    pub ticket_types: Vec<TicketType>,
}

impl EventPage {
    /// Whether tickets can be chosen: the event is on sale.
    #[must_use]
    pub fn is_on_sale(&self) -> bool {
        self.event.status == EventStatus::Published
    }

    /// How many tickets of a type an order may contain now: 0 if it is not on sale.
    #[must_use]
    pub fn most(&self, ticket_type: &TicketType) -> i64 {
        match ticket_type.sale_state {
            SaleState::OnSale => ticket_type.max_per_order.min(ticket_type.available).clamp(0, MAX_ITEM_QUANTITY),
            _ => 0,
        }
    }

    /// The ticket type with this id, if customers see it.
    #[must_use]
    pub fn ticket_type(&self, id: TicketTypeId) -> Option<&TicketType> {
        self.ticket_types.iter().find(|ticket_type| ticket_type.id == id)
    }
}

/// Whether the page of an event exists: the event is public and not a draft.
pub(crate) fn is_shown(event: &Event) -> bool {
    event.is_public && event.status != EventStatus::Drafted
}

/// Whether customers see a ticket type.
pub(crate) fn is_offered(ticket_type: &TicketType) -> bool {
    ticket_type.status != TicketTypeStatus::OnlyVisibleToOwner
}

/// The price of tickets that a customer has chosen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quote {
    /// Each type with its quantity and the sum of its full prices.
    pub(crate) items: Vec<QuotedItem>,
    /// What the discount takes off.
    pub(crate) discounted: Amount,
    pub(crate) total: Amount,
    /// The code of the discount that applies. `None` for an automatic one.
    pub(crate) code: Option<String>,
}

/// Tickets of one type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QuotedItem {
    pub(crate) ticket_type_id: TicketTypeId,
    pub(crate) name: String,
    pub(crate) quantity: i64,
    pub(crate) price: Amount,
    pub(crate) subtotal: Amount,
}
