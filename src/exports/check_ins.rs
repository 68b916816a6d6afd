//! The export of check-ins: a row for each scan in the log of an event, in the order of receipt, and then one for each
//! checked-in ticket without a log, sorted by ticket type.

use super::columns::{columns, id, instant, text};
use super::selection::{Selection, Statements};
use crate::model::values::id::EventId;
use crate::model::values::id::kind::Ticket;

columns! {
    COLUMNS, columns_doc!, Row(row) {
        "time" + "" Instant "When the ticket was scanned, or cancelled." => instant(row, "scanned_at")?;
        "ticketId" Text "The ticket. Empty if none of the event has the code." => id::<Ticket>(row, "ticket_id")?;
        "ticketTypeName" Text "The current name of the ticket type." => text(row, "ticket_type_name")?;
        "kind" Text "`IN`, `OUT`, `BASE` (a check-in before the log began) or `CANCELLED`." => text(row, "kind")?;
        "outcome" Text "What all scans of the ticket together say of it: `ADMITTED`, `LEFT`, `ADMITTED_TWICE`, `WOULD_BE_REFUSED`, `REFUSED` or `UNKNOWN_CODE`." => text(row, "outcome")?;
        "gate" Text "The name of the API key." => text(row, "gate")?;
        "device" Text "The name of the device." => text(row, "device")?;
        "reason" Text "Why the rules refuse it." => text(row, "reason")?;
    }
}

pub(super) fn statements(selection: &Selection) -> Statements {
    let event = selection.event.unwrap_or(EventId::UNKNOWN).raw();
    let logged = format!("scans s WHERE s.event_id = {event}");
    let others = "ticket_types y CROSS JOIN tickets t";
    let without_log = format!(
        "y.event_id = {event} AND t.event_id = {event} AND t.ticket_type_id = y.id AND t.status = 'CHECKED_IN'
            AND NOT EXISTS (SELECT 1 FROM scans s WHERE s.ticket_id = t.id)"
    );
    let of_log = format!(
        "SELECT s.scanned_at, s.ticket_id, y.name AS ticket_type_name, s.kind, s.outcome, k.name AS gate, s.device, s.reason,
            e.timezone
        FROM scans s JOIN events e ON e.id = s.event_id LEFT JOIN tickets t ON t.id = s.ticket_id
            LEFT JOIN ticket_types y ON y.id = t.ticket_type_id LEFT JOIN api_keys k ON k.id = s.api_key_id
        WHERE s.event_id = {event} ORDER BY s.id"
    );
    let of_others = format!(
        "SELECT t.check_in_at AS scanned_at, t.id AS ticket_id, y.name AS ticket_type_name, CAST('IN' AS TEXT) AS kind,
            CAST('ADMITTED' AS TEXT) AS outcome, k.name AS gate, CAST(NULL AS TEXT) AS device,
            CAST(NULL AS TEXT) AS reason, e.timezone
        FROM {others} CROSS JOIN events e LEFT JOIN api_keys k ON k.id = t.checked_in_by
        WHERE {without_log} AND e.id = t.event_id ORDER BY y.sort_order, y.id, t.id"
    );
    Statements { rows: vec![of_log, of_others], counted: vec![logged, format!("{others} WHERE {without_log}")] }
}
