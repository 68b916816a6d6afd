//! Invariants of ticket types, events, discounts and idempotency records: above all, that the counts of seats and of
//! discount uses are those of the tickets and orders.

use super::invariant::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "places-sold",
        table: "ticket_types",
        sentence: "the sold seats of a ticket type must be the number of its tickets that are not CANCELLED",
        violations: "SELECT tt.id FROM ticket_types tt LEFT JOIN
                (SELECT ticket_type_id, COUNT(*) AS live FROM tickets WHERE status <> 'CANCELLED' GROUP BY ticket_type_id) t
                ON t.ticket_type_id = tt.id
            WHERE tt.sold <> COALESCE(t.live, 0)",
    },
    Invariant {
        name: "places-held",
        table: "ticket_types",
        sentence: "the reserved seats of a ticket type must be the sum of its quantities in PENDING orders, and of the tickets of ISSUING allocations that are not issued",
        violations: "SELECT tt.id FROM ticket_types tt LEFT JOIN
                (SELECT +i.ticket_type_id AS ticket_type_id, CAST(SUM(i.quantity) AS BIGINT) AS waiting
                    FROM orders o JOIN order_items i ON i.order_id = o.id
                    WHERE o.status = 'PENDING' GROUP BY +i.ticket_type_id) p
                ON p.ticket_type_id = tt.id LEFT JOIN
                (SELECT ticket_type_id, CAST(SUM(quantity - issued) AS BIGINT) AS waiting
                    FROM allocations WHERE state = 'ISSUING' GROUP BY ticket_type_id) a
                ON a.ticket_type_id = tt.id
            WHERE tt.held <> COALESCE(p.waiting, 0) + COALESCE(a.waiting, 0)",
    },
    Invariant {
        name: "places-oversold",
        table: "ticket_types",
        sentence: "the sold and reserved seats of a ticket type must not be negative or exceed its quantity",
        violations: "SELECT id FROM ticket_types WHERE sold < 0 OR held < 0 OR sold + held > quantity",
    },
    Invariant {
        name: "ticket-type-used",
        table: "ticket_types",
        sentence: "a ticket type that was ever ordered or issued must be marked as used, so that it cannot be deleted",
        violations: "SELECT tt.id FROM ticket_types tt WHERE tt.used = 0 AND tt.id IN
            (SELECT ticket_type_id FROM order_items UNION SELECT ticket_type_id FROM tickets)",
    },
    Invariant {
        name: "ticket-type-event",
        table: "ticket_types",
        sentence: "a ticket type must belong to the organization of its event",
        violations: "SELECT tt.id FROM ticket_types tt JOIN events e ON e.id = tt.event_id
            WHERE e.organization_id <> tt.organization_id",
    },
    Invariant {
        name: "event-over-at",
        table: "events",
        sentence: "an event must be over at its end, or 24 hours after its start if it has no end",
        // 253402300799999 is the greatest timestamp: 9999-12-31T23:59:59.999Z.
        violations: "SELECT id FROM events WHERE over_at <> CASE
                WHEN end_at IS NOT NULL THEN end_at
                WHEN start_at + 86400000 > 253402300799999 THEN 253402300799999
                ELSE start_at + 86400000 END",
    },
    Invariant {
        name: "report-link",
        table: "report_links",
        sentence: "if there is a link to a report, the text must be stored with which links are signed",
        violations: "SELECT l.event_id AS id FROM report_links l WHERE NOT EXISTS (SELECT 1 FROM link_secret)",
    },
    Invariant {
        name: "discount-used-count",
        table: "discounts",
        sentence: "the use count of a discount must be the number of PENDING and COMPLETED orders with it",
        violations: "SELECT d.id FROM discounts d LEFT JOIN
                (SELECT discount_id, COUNT(*) AS live FROM orders
                    WHERE discount_id IS NOT NULL AND status IN ('PENDING', 'COMPLETED') GROUP BY discount_id) o
                ON o.discount_id = d.id
            WHERE d.used_count <> COALESCE(o.live, 0)",
    },
    Invariant {
        name: "discount-used",
        table: "discounts",
        sentence: "a discount that was ever used by an order must be marked as used, so that it cannot be deleted",
        violations: "SELECT id FROM discounts
            WHERE used = 0 AND id IN (SELECT discount_id FROM orders WHERE discount_id IS NOT NULL)",
    },
    Invariant {
        name: "discount-event",
        table: "discounts",
        sentence: "a discount must belong to the organization of its event",
        violations: "SELECT d.id FROM discounts d JOIN events e ON e.id = d.event_id
            WHERE e.organization_id <> d.organization_id",
    },
    Invariant {
        name: "api-key-suspended",
        table: "api_keys",
        sentence: "an API key must be suspended since the same time as its organization",
        violations: "SELECT k.id FROM api_keys k JOIN organizations o ON o.id = k.organization_id
            WHERE k.revoked_at IS NULL AND COALESCE(k.organization_suspended_at, -1) <> COALESCE(o.suspended_at, -1)",
    },
    Invariant {
        name: "idempotency-record",
        table: "idempotency_records",
        sentence: "an idempotency key must have a stored response or an order of its organization (the row is the organization)",
        violations: "SELECT r.organization_id AS id FROM idempotency_records r LEFT JOIN orders o ON o.id = r.order_id
            WHERE r.answer IS NULL AND r.order_id IS NULL
                OR r.order_id IS NOT NULL AND (o.id IS NULL OR o.organization_id <> r.organization_id)",
    },
    Invariant {
        name: "cancellation-run",
        table: "cancellation_runs",
        sentence: "a run that cancels the orders of an event must be of its organization, the event must be CANCELLED, and there must be work for the newest run while it goes on, and only for this one",
        violations: "SELECT r.id FROM cancellation_runs r JOIN events e ON e.id = r.event_id
            WHERE r.organization_id <> e.organization_id OR e.status <> 'CANCELLED'
                OR r.ended_at IS NULL AND (NOT EXISTS (SELECT 1 FROM work w
                        WHERE w.kind = 'cancel completed orders' AND w.key = r.event_id)
                    OR EXISTS (SELECT 1 FROM cancellation_runs n WHERE n.event_id = r.event_id AND n.id > r.id))",
    },
    Invariant {
        name: "cancellation-run-refunds",
        table: "cancellation_runs",
        sentence: "the refunds of a run must be of CANCELLED orders of its event, at most one for each order that it has cancelled, and none if it does not refund",
        violations: "SELECT r.id FROM cancellation_runs r JOIN
                (SELECT f.cancellation_run_id, COUNT(*) AS refunds, COUNT(DISTINCT f.order_id) AS orders,
                    MIN(f.event_id) AS first_event, MAX(f.event_id) AS last_event,
                    COUNT(*) FILTER (WHERE o.status = 'CANCELLED') AS cancelled
                FROM refunds f JOIN orders o ON o.id = f.order_id
                WHERE f.cancellation_run_id IS NOT NULL GROUP BY f.cancellation_run_id) s
                ON s.cancellation_run_id = r.id
            WHERE r.refund = 0 OR s.refunds > r.cancelled OR s.refunds <> s.orders OR s.cancelled <> s.refunds
                OR s.first_event <> r.event_id OR s.last_event <> r.event_id",
    },
];
