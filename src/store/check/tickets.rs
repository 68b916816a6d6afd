//! Invariants of issued tickets and their check-ins.

use super::invariant::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "ticket-type",
        table: "tickets",
        sentence: "a ticket must have the event and the organization of its ticket type",
        violations: "SELECT t.id FROM tickets t LEFT JOIN ticket_types tt ON tt.id = t.ticket_type_id
            WHERE tt.id IS NULL OR tt.event_id <> t.event_id OR tt.organization_id <> t.organization_id",
    },
    Invariant {
        // The customer of a ticket with an order is that of the order (ticket-order, order-organization).
        name: "ticket-customer",
        table: "tickets",
        sentence: "the customer of a ticket without an order must belong to its organization",
        violations: "SELECT t.id FROM tickets t JOIN customers c ON c.id = t.customer_id
            WHERE t.order_id IS NULL AND c.organization_id <> t.organization_id",
    },
    Invariant {
        name: "ticket-order",
        table: "tickets",
        sentence: "a ticket must have the event, customer and organization of its order, and the ticket type of its order item",
        violations: "SELECT t.id FROM tickets t JOIN orders o ON o.id = t.order_id
                LEFT JOIN order_items i ON i.id = t.order_item_id
            WHERE o.event_id <> t.event_id OR o.customer_id <> t.customer_id OR o.organization_id <> t.organization_id
                OR i.id IS NULL OR i.order_id <> t.order_id OR i.ticket_type_id <> t.ticket_type_id",
    },
    Invariant {
        name: "ticket-item",
        table: "tickets",
        sentence: "a ticket must have an order and an order item, or neither",
        violations: "SELECT id FROM tickets WHERE (order_id IS NULL) <> (order_item_id IS NULL)",
    },
    Invariant {
        name: "ticket-of-cancelled-order",
        table: "tickets",
        sentence: "a ticket of an order that is not COMPLETED must be CANCELLED",
        violations: "SELECT t.id FROM tickets t JOIN orders o ON o.id = t.order_id
            WHERE t.status <> 'CANCELLED' AND o.status <> 'COMPLETED'",
    },
    Invariant {
        name: "ticket-status",
        table: "tickets",
        sentence: "the status of a ticket must be a known one, and a CHECKED_IN ticket must have a time of check-in",
        violations: "SELECT id FROM tickets WHERE status NOT IN ('CHECKED_IN', 'NOT_CHECKED_IN', 'CANCELLED')
            OR status = 'CHECKED_IN' AND check_in_at IS NULL",
    },
    Invariant {
        name: "ticket-scans",
        table: "tickets",
        sentence: "a ticket with a scan or a check-in must have a scan count of at least 1, and one with a check-out a check-in",
        violations: "SELECT id FROM tickets WHERE scan_count < 0
            OR (scan_count = 0) <> (last_scan_at IS NULL)
            OR (first_scan_at IS NULL) <> (check_in_at IS NULL)
            OR first_scan_at IS NOT NULL AND scan_count = 0
            OR check_in_at IS NULL AND (check_out_at IS NOT NULL OR checked_in_by IS NOT NULL OR expires_at IS NOT NULL)",
    },
];
