//! What a transaction locks until it ends.

use crate::model::values::id::{
    AllocationId, DiscountId, EventId, NotificationId, OrderId, OrganizationId, TicketId, TicketTypeId,
};

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
pub(crate) enum Lock<'a> {
    /// An event, and with it its sale.
    Event(EventKey),
    /// An organization, and with it its API keys and webhook endpoints.
    Organization(OrganizationId),
    /// The list of organizations: none is added.
    Organizations,
    /// A notification of webhook endpoints: other transactions wait that add or remove rows of the outbox with it.
    WebhookNotification(NotificationId),
    /// An idempotency key of a sender: other transactions that execute a request with it wait.
    IdempotencyKey(OrganizationId, i64, &'a str),
}

macro_rules! event_keys {
    ($($name:ident($id:ident)),+) => {
        /// Names an event by its own id, or by the id of one of its orders, ticket types, tickets or discounts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum EventKey {
            $($name($id),)+
        }

        $(
            impl From<$id> for EventKey {
                fn from(id: $id) -> Self {
                    Self::$name(id)
                }
            }
        )+
    };
}

event_keys!(
    Event(EventId),
    Order(OrderId),
    TicketType(TicketTypeId),
    Ticket(TicketId),
    Discount(DiscountId),
    Allocation(AllocationId)
);

/// A statement about the event `e` that a key names, and its parameter. `$select` ends with FROM.
macro_rules! event_statement {
    ($key:expr, $select:literal, $end:literal) => {
        match $key {
            EventKey::Event(id) => (concat!($select, "events e WHERE e.id = ?1", $end), id.raw()),
            EventKey::Order(id) => event_statement!("orders", id, $select, $end),
            EventKey::TicketType(id) => event_statement!("ticket_types", id, $select, $end),
            EventKey::Ticket(id) => event_statement!("tickets", id, $select, $end),
            EventKey::Discount(id) => event_statement!("discounts", id, $select, $end),
            EventKey::Allocation(id) => event_statement!("allocations", id, $select, $end),
        }
    };
    ($table:literal, $id:ident, $select:literal, $end:literal) => {
        (concat!($select, $table, " k JOIN events e ON e.id = k.event_id WHERE k.id = ?1", $end), $id.raw())
    };
}
pub(in crate::store) use event_statement;
