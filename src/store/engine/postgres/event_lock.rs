//! The lock of an event's row, by which transactions that change its sale run one after another.
//!
//! It is `FOR NO KEY UPDATE`, for which the checks of foreign keys do not wait: an order of another transaction may refer to
//! the event in the meantime.

use crate::store::engine::event_key::EventKey;
use crate::store::engine::values::Bind;

/// The statement that locks an event, and its parameter.
pub(super) fn statement(event: EventKey) -> (&'static str, Bind<'static>) {
    match event {
        EventKey::Event(id) => ("SELECT id FROM events WHERE id = ?1 FOR NO KEY UPDATE", id.into()),
        EventKey::Order(id) => (
            "SELECT e.id FROM orders o JOIN events e ON e.id = o.event_id WHERE o.id = ?1 FOR NO KEY UPDATE OF e",
            id.into(),
        ),
        EventKey::TicketType(id) => (
            "SELECT e.id FROM ticket_types t JOIN events e ON e.id = t.event_id WHERE t.id = ?1
                FOR NO KEY UPDATE OF e",
            id.into(),
        ),
        EventKey::Ticket(id) => (
            "SELECT e.id FROM tickets t JOIN events e ON e.id = t.event_id WHERE t.id = ?1 FOR NO KEY UPDATE OF e",
            id.into(),
        ),
        EventKey::Discount(id) => (
            "SELECT e.id FROM discounts d JOIN events e ON e.id = d.event_id WHERE d.id = ?1 FOR NO KEY UPDATE OF e",
            id.into(),
        ),
    }
}
