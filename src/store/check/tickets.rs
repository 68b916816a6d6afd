//! Invariants of issued tickets and their check-ins.

use super::invariant::{RowInvariant, RowInvariants};

/// Rules about a ticket and what it refers to.
pub(super) const TICKETS: RowInvariants = RowInvariants {
    table: "tickets",
    key: "t.id",
    rows: "tickets t LEFT JOIN ticket_types tt ON tt.id = t.ticket_type_id
        LEFT JOIN orders o ON o.id = t.order_id LEFT JOIN order_items i ON i.id = t.order_item_id
        LEFT JOIN allocations a ON a.id = t.allocation_id",
    rules: &[
        RowInvariant {
            name: "ticket-type",
            sentence: "a ticket must have the event and the organization of its ticket type",
            is_violated: "tt.id IS NULL OR tt.event_id <> t.event_id OR tt.organization_id <> t.organization_id",
        },
        RowInvariant {
            // The customer of a ticket with an order is that of the order (ticket-order, order-organization).
            name: "ticket-customer",
            sentence: "the customer of a ticket without an order must belong to its organization",
            is_violated: "t.order_id IS NULL
                AND (SELECT c.organization_id FROM customers c WHERE c.id = t.customer_id) <> t.organization_id",
        },
        RowInvariant {
            name: "ticket-holder",
            sentence: "a ticket must have a customer and a name, or neither, which only a ticket of an allocation may",
            is_violated: "(t.customer_id IS NULL) <> (t.customer_name IS NULL)
                OR t.customer_id IS NULL AND t.allocation_id IS NULL",
        },
        RowInvariant {
            name: "ticket-allocation",
            sentence: "a ticket of an allocation must have the ticket type, event and organization of the allocation, and no order",
            is_violated: "t.allocation_id IS NOT NULL AND (a.id IS NULL OR t.order_id IS NOT NULL
                OR a.ticket_type_id <> t.ticket_type_id OR a.event_id <> t.event_id OR a.organization_id <> t.organization_id)",
        },
        RowInvariant {
            name: "ticket-import",
            sentence: "a ticket must have either a code of its own or that of another seller, which the tickets of an import have",
            is_violated: "(t.code IS NULL) <> (t.imported_code IS NOT NULL)
                OR (t.imported_code IS NOT NULL) <> (COALESCE(a.is_import, 0) = 1)",
        },
        RowInvariant {
            name: "ticket-order",
            sentence: "a ticket must have the event, customer and organization of its order, and the ticket type of its order item",
            is_violated: "o.event_id <> t.event_id OR o.customer_id <> t.customer_id
                OR o.organization_id <> t.organization_id
                OR o.id IS NOT NULL AND (i.id IS NULL OR i.order_id <> t.order_id OR i.ticket_type_id <> t.ticket_type_id)",
        },
        RowInvariant {
            name: "ticket-item",
            sentence: "a ticket must have an order and an order item, or neither",
            is_violated: "(t.order_id IS NULL) <> (t.order_item_id IS NULL)",
        },
        RowInvariant {
            name: "ticket-of-cancelled-order",
            sentence: "a ticket of an order that is not COMPLETED must be CANCELLED",
            is_violated: "t.status <> 'CANCELLED' AND o.status <> 'COMPLETED'",
        },
        RowInvariant {
            name: "ticket-link",
            sentence: "if the link of a ticket was renewed, the text must be stored with which links are signed",
            is_violated: "t.link_version > 0 AND NOT EXISTS (SELECT 1 FROM link_secret)",
        },
        RowInvariant {
            name: "ticket-status",
            sentence: "the status of a ticket must be a known one, and a CHECKED_IN ticket must have a time of check-in",
            is_violated: "t.status NOT IN ('CHECKED_IN', 'NOT_CHECKED_IN', 'CANCELLED')
                OR t.status = 'CHECKED_IN' AND t.check_in_at IS NULL",
        },
        RowInvariant {
            name: "ticket-cancelled-at",
            sentence: "only a CANCELLED ticket may have a time of cancellation",
            is_violated: "t.cancelled_at IS NOT NULL AND t.status <> 'CANCELLED'",
        },
        RowInvariant {
            name: "ticket-scans",
            sentence: "a ticket with a scan or a check-in must have a scan count of at least 1, and one with a check-out a check-in",
            is_violated: "t.scan_count < 0
                OR (t.scan_count = 0) <> (t.last_scan_at IS NULL)
                OR (t.first_scan_at IS NULL) <> (t.check_in_at IS NULL)
                OR t.first_scan_at IS NOT NULL AND t.scan_count = 0
                OR t.check_in_at IS NULL
                    AND (t.check_out_at IS NOT NULL OR t.checked_in_by IS NOT NULL OR t.expires_at IS NOT NULL)",
        },
    ],
};
