//! What a transaction locks until it ends.

use crate::model::values::id::{DiscountId, EventId, OrderId, OrganizationId, TicketId, TicketTypeId};

/// How a query locks the rows that it returns, so that it sees their newest state, and no other transaction changes
/// them before this one ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum RowLock {
    /// The rows of this table are kept: other transactions can neither delete them nor lock them for
    /// [`Update`](Self::Update).
    Keep(&'static str),
    /// Other transactions wait that lock the rows, keep them, or change them.
    Update,
    /// Other transactions wait that lock the row of this table, or change it. Those that only keep it do not.
    Change(&'static str),
    /// Like [`Update`](Self::Update), without the rows that another transaction has locked: it does their work.
    UpdateUnlocked,
    /// Other transactions wait that lock the rows or change them. Without the rows that another one has locked like
    /// this.
    ChangeUnlocked,
}

/// The rows that a transaction locks, so that no other one changes them before it ends.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite locks nothing"))]
pub(in crate::store) enum Lock<'a> {
    /// An event, and with it its sale.
    Event(EventKey),
    /// An organization, and with it its API keys and webhook endpoints.
    Organization(OrganizationId),
    /// The list of organizations: none is added.
    Organizations,
    /// The webhook endpoints of an organization: none of them is deleted. Several transactions can hold this lock.
    Endpoints(OrganizationId),
    /// An idempotency key of an organization: no other request with it is executed.
    IdempotencyKey(OrganizationId, &'a str),
}

/// Names an event by its own id, or by the id of one of its orders, ticket types, tickets or discounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
