//! The export of check-ins: a row for each ticket of an event that is checked in, sorted by ticket type.
//!
//! There is no log of scans. With one, an event that has it gets a row for each of its scans, and the columns that only
//! a scan has come after these.

use super::columns::{columns, id, instant, text};
use super::selection::{Selection, Statements};
use crate::model::values::id::EventId;
use crate::model::values::id::kind::Ticket;

columns! {
    COLUMNS, columns_doc!, Row(row) {
        "time" + "" Instant "When the ticket was last checked in." => instant(row, "check_in_at")?;
        "ticketId" Text "The ticket." => id::<Ticket>(row, "id")?;
        "ticketTypeName" Text "The current name of the ticket type." => text(row, "ticket_type_name")?;
    }
}

pub(super) fn statements(selection: &Selection) -> Statements {
    let event = selection.event.unwrap_or(EventId::UNKNOWN).raw();
    let from = "ticket_types y CROSS JOIN tickets t";
    let range = format!(
        "y.event_id = {event} AND t.event_id = {event} AND t.ticket_type_id = y.id AND t.status = 'CHECKED_IN'"
    );
    Statements {
        rows: format!(
            "SELECT t.id, t.check_in_at, y.name AS ticket_type_name, e.timezone FROM {from} CROSS JOIN events e
            WHERE {range} AND e.id = t.event_id ORDER BY y.sort_order, y.id, t.id"
        ),
        count: format!("SELECT COUNT(*) AS number FROM {from} WHERE {range}"),
    }
}
