//! The keys by which a transaction names the event that it locks.

use crate::model::id::{DiscountId, EventId, OrderId, TicketId, TicketTypeId};

/// Names an event by its own id, or by the id of one of its orders, ticket types, tickets or discounts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EventKey {
    Event(EventId),
    Order(OrderId),
    TicketType(TicketTypeId),
    Ticket(TicketId),
    Discount(DiscountId),
}

impl From<EventId> for EventKey {
    fn from(id: EventId) -> Self {
        Self::Event(id)
    }
}

impl From<OrderId> for EventKey {
    fn from(id: OrderId) -> Self {
        Self::Order(id)
    }
}

impl From<TicketTypeId> for EventKey {
    fn from(id: TicketTypeId) -> Self {
        Self::TicketType(id)
    }
}

impl From<TicketId> for EventKey {
    fn from(id: TicketId) -> Self {
        Self::Ticket(id)
    }
}

impl From<DiscountId> for EventKey {
    fn from(id: DiscountId) -> Self {
        Self::Discount(id)
    }
}
