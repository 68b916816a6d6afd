//! The locks of rows, by which transactions that change the same thing run one after another.
//!
//! An event and an organization are locked `FOR NO KEY UPDATE`, for which the checks of foreign keys do not wait: an order of
//! another transaction may refer to the organization in the meantime.

use crate::store::engine::lock::{EventKey, Lock};
use crate::store::engine::values::Bind;

/// The statement that takes a lock, and its parameter.
pub(super) fn statement(lock: Lock) -> (&'static str, Option<Bind<'static>>) {
    match lock {
        Lock::Event(event) => {
            let (sql, id) = event_statement(event);
            (sql, Some(id))
        }
        Lock::Organization(id) => ("SELECT id FROM organizations WHERE id = ?1 FOR NO KEY UPDATE", Some(id.into())),
        Lock::Organizations => ("LOCK TABLE organizations IN SHARE ROW EXCLUSIVE MODE", None),
        Lock::Endpoints(organization) => (
            "SELECT id FROM webhook_endpoints WHERE organization_id = ?1 ORDER BY id FOR KEY SHARE",
            Some(organization.into()),
        ),
    }
}

fn event_statement(event: EventKey) -> (&'static str, Bind<'static>) {
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
