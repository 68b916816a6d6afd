//! The export of attendees: a row for each issued ticket. Those of an event are sorted by ticket type and status,
//! others by the time at which they were issued.

use super::columns::{columns, flag, id, in_currency, instant, number, text};
use super::selection::{Selection, Statements};
use crate::error::Result;
use crate::model::values::amount::Amount;
use crate::model::values::id::kind::{Event, Order, Ticket, TicketType};
use crate::rules::money::pricing::ItemPrice;
use crate::rules::money::refund_share::ticket_share;
use crate::store::Row;

/// The column that is only there on request.
pub(super) const CODE: &str = "code";

columns! {
    COLUMNS, columns_doc!, Row(row) {
        "ticketId" Text "The ticket." => id::<Ticket>(row, "id")?;
        "code" Text "The code that is scanned at check-in. Only with `codes=true`." => text(row, "code")?;
        "status" Text "`CHECKED_IN`, `NOT_CHECKED_IN` or `CANCELLED`." => text(row, "status")?;
        "ticketTypeId" Text "The ticket type." => id::<TicketType>(row, "ticket_type_id")?;
        "ticketTypeName" Text "The current name of the ticket type." => text(row, "ticket_type_name")?;
        "customerName" Text "The name of the holder." => text(row, "customer_name")?;
        "customerEmail" Text "The e-mail address of the holder." => text(row, "email")?;
        "orderId" Text "The order. Empty if the organizer issued the ticket without one." => id::<Order>(row, "order_id")?;
        "orderReference" Text "The organization's own name for the order." => text(row, "order_reference")?;
        "isInternal" Flag "Whether the organizer issued the ticket without an order." => flag(row, "is_internal")?;
        "pricePaid" Amount "The ticket's share of the final amount of its item." => price_paid(row)?;
        "created" + "At" Instant "When the ticket was issued. Dates select by it." => instant(row, "created_at")?;
        "checkIn" + "Date" Instant "When it was last checked in." => instant(row, "check_in_at")?;
        "checkOut" + "Date" Instant "When it was last checked out." => instant(row, "check_out_at")?;
        "firstScan" + "Date" Instant "When it was first checked in." => instant(row, "first_scan_at")?;
        "scanCount" Number "How often it was scanned, including refused scans." => number(row, "scan_count")?;
        "expires" + "At" Instant "The ticket is refused from this time on." => instant(row, "expires_at")?;
        "accessAreas" Text "The areas that it gives access to." => row.json::<Vec<String>>("access_areas")?.join(", ");
        "currency" Text "The currency of the price." => text(row, "currency")?;
        "eventId" Text "The event." => id::<Event>(row, "event_id")?;
        "allocation" Text "The name of its allocation: that of an imported ticket is the channel over which it was sold." => text(row, "allocation")?;
        "ticketLabel" Text "What distinguishes it from others of its allocation." => text(row, "label")?;
        "imported" Flag "Whether another seller has sold it." => flag(row, "is_imported")?;
    }
}

/// The shares of the tickets of an item add up to its final amount.
fn price_paid(row: &Row<'_>) -> Result<Amount> {
    let Some(quantity) = row.get("quantity")? else { return in_currency(row, 0) };
    let item = ItemPrice { quantity, price: row.get("price")?, discount: row.get("discount")? };
    let position = usize::try_from(row.get::<i64>("position")?).unwrap_or(usize::MAX);
    in_currency(row, ticket_share(item, position, 1))
}

pub(super) fn statements(selection: &Selection) -> Statements {
    let dates = selection.dates("t.created_at");
    let (from, range, order) = match selection.event {
        Some(event) => (
            "ticket_types y CROSS JOIN tickets t",
            format!("y.event_id = {0} AND t.event_id = {0} AND t.ticket_type_id = y.id{dates}", event.raw()),
            "y.sort_order, y.id, t.status, t.id",
        ),
        None => (
            "tickets t CROSS JOIN ticket_types y",
            format!("{} AND y.id = t.ticket_type_id{dates}", selection.ids("t", None)),
            "t.id",
        ),
    };
    // The position is needed only if the tickets of an item have different shares.
    let rows = format!(
        "SELECT t.id, COALESCE(t.code, t.imported_code) AS code, t.status, t.ticket_type_id, y.name AS ticket_type_name, t.customer_name, c.email, t.order_id,
            o.reference AS order_reference, CASE WHEN t.order_item_id IS NULL THEN 1 ELSE 0 END AS is_internal,
            COALESCE(o.currency, e.currency) AS currency, i.quantity, i.price, i.discount,
            CASE WHEN (i.price * i.quantity - i.discount) % i.quantity = 0 THEN 0
                ELSE (SELECT COUNT(*) FROM tickets x
                    WHERE x.order_id = t.order_id AND x.order_item_id = t.order_item_id AND x.id < t.id) END AS position,
            e.timezone, t.created_at, t.check_in_at, t.check_out_at, t.first_scan_at, t.scan_count, t.expires_at,
            y.access_areas, t.event_id, a.name AS allocation, t.label,
            CASE WHEN t.imported_code IS NULL THEN 0 ELSE 1 END AS is_imported
        FROM {from} CROSS JOIN events e LEFT JOIN customers c ON c.id = t.customer_id
            LEFT JOIN allocations a ON a.id = t.allocation_id LEFT JOIN orders o ON o.id = t.order_id LEFT JOIN order_items i ON i.id = t.order_item_id
        WHERE {range} AND e.id = t.event_id ORDER BY {order}"
    );
    Statements { rows: vec![rows], counted: vec![format!("{from} WHERE {range}")] }
}
