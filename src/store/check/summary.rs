//! Invariants of the figures that the summary of an event adds up: they are those of the orders and tickets.

use super::invariant::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "summary-tickets",
        table: "ticket_types",
        sentence: "the numbers of CHECKED_IN and of CANCELLED tickets of a ticket type must be those of its tickets",
        violations: "SELECT tt.id FROM ticket_types tt LEFT JOIN
                (SELECT ticket_type_id, COUNT(*) FILTER (WHERE status = 'CHECKED_IN') AS checked_in,
                    COUNT(*) FILTER (WHERE status = 'CANCELLED') AS cancelled
                    FROM tickets WHERE status <> 'NOT_CHECKED_IN' GROUP BY ticket_type_id) t
                ON t.ticket_type_id = tt.id
            WHERE tt.checked_in_tickets <> COALESCE(t.checked_in, 0) OR tt.cancelled_tickets <> COALESCE(t.cancelled, 0)",
    },
    Invariant {
        name: "summary-without-order",
        table: "ticket_types",
        sentence: "the numbers of issued and of imported tickets of a ticket type must be those of its tickets without an order that are not CANCELLED",
        violations: "SELECT tt.id FROM ticket_types tt LEFT JOIN
                (SELECT ticket_type_id, COUNT(*) FILTER (WHERE imported_code IS NULL) AS issued,
                    COUNT(*) FILTER (WHERE imported_code IS NOT NULL) AS imported
                    FROM tickets WHERE order_id IS NULL AND status <> 'CANCELLED' GROUP BY ticket_type_id) t
                ON t.ticket_type_id = tt.id
            WHERE tt.issued_tickets <> COALESCE(t.issued, 0) OR tt.imported_tickets <> COALESCE(t.imported, 0)",
    },
    Invariant {
        name: "summary-orders",
        table: "ticket_types",
        sentence: "the numbers of orders of a ticket type, by status, must be those of the orders of which it is the type with the lowest id",
        violations: "SELECT tt.id FROM ticket_types tt LEFT JOIN
                (SELECT first_type, COUNT(*) FILTER (WHERE status = 'PENDING') AS pending,
                    COUNT(*) FILTER (WHERE status = 'COMPLETED') AS completed,
                    COUNT(*) FILTER (WHERE status = 'CANCELLED') AS cancelled,
                    COUNT(*) FILTER (WHERE status = 'EXPIRED') AS expired
                    FROM (SELECT o.status, (SELECT MIN(i.ticket_type_id) FROM order_items i WHERE i.order_id = o.id) AS first_type
                        FROM orders o) counted
                    GROUP BY first_type) o
                ON o.first_type = tt.id
            WHERE tt.pending_orders <> COALESCE(o.pending, 0) OR tt.completed_orders <> COALESCE(o.completed, 0)
                OR tt.cancelled_orders <> COALESCE(o.cancelled, 0) OR tt.expired_orders <> COALESCE(o.expired, 0)",
    },
    Invariant {
        name: "summary-amounts",
        table: "ticket_types",
        sentence: "the revenue, discounts and manual payments of a ticket type must be the sums of its completed orders, and what went back, is owed or was taken by banks the sums of the payments in the same currency for the orders of which it is the type with the lowest id",
        // The lower 32 bits and the rest are summed apart, because the sum may exceed 64 bits.
        violations: "SELECT tt.id FROM ticket_types tt LEFT JOIN (SELECT ticket_type_id,
                    COALESCE(CAST(SUM(amount >> 32) AS BIGINT), 0) AS revenue_high,
                    COALESCE(CAST(SUM(amount & 4294967295) AS BIGINT), 0) AS revenue_low,
                    COALESCE(CAST(SUM(discount >> 32) AS BIGINT), 0) AS discount_high,
                    COALESCE(CAST(SUM(discount & 4294967295) AS BIGINT), 0) AS discount_low,
                    COALESCE(CAST(SUM(amount >> 32) FILTER (WHERE paid_by_hand = 1) AS BIGINT), 0) AS manual_payment_high,
                    COALESCE(CAST(SUM(amount & 4294967295) FILTER (WHERE paid_by_hand = 1) AS BIGINT), 0) AS manual_payment_low
                FROM (SELECT i.ticket_type_id, i.price * i.quantity - i.discount AS amount, i.discount,
                        CASE WHEN o.paid_by_gateway = 0 THEN 1 ELSE 0 END AS paid_by_hand
                    FROM orders o JOIN order_items i ON i.order_id = o.id WHERE o.completed_at IS NOT NULL) items
                GROUP BY ticket_type_id) s
                ON s.ticket_type_id = tt.id
            WHERE s.ticket_type_id IS NULL AND (tt.revenue <> 0 OR tt.discount_total <> 0 OR tt.manual_payment_total <> 0)
                OR tt.revenue <> CASE WHEN s.revenue_high + (s.revenue_low >> 32) > 2147483647 THEN 9223372036854775807
                    ELSE ((s.revenue_high + (s.revenue_low >> 32)) << 32) + (s.revenue_low & 4294967295) END
                OR tt.discount_total <> CASE WHEN s.discount_high + (s.discount_low >> 32) > 2147483647 THEN 9223372036854775807
                    ELSE ((s.discount_high + (s.discount_low >> 32)) << 32) + (s.discount_low & 4294967295) END
                OR tt.manual_payment_total <> CASE WHEN s.manual_payment_high + (s.manual_payment_low >> 32) > 2147483647 THEN 9223372036854775807
                    ELSE ((s.manual_payment_high + (s.manual_payment_low >> 32)) << 32) + (s.manual_payment_low & 4294967295) END
            UNION
            SELECT tt.id FROM ticket_types tt LEFT JOIN (SELECT first_type,
                    CAST(SUM(refunded >> 32) AS BIGINT) AS refunded_high, CAST(SUM(refunded & 4294967295) AS BIGINT) AS refunded_low,
                    CAST(SUM(hand >> 32) AS BIGINT) AS hand_high, CAST(SUM(hand & 4294967295) AS BIGINT) AS hand_low,
                    CAST(SUM(manual >> 32) AS BIGINT) AS manual_high, CAST(SUM(manual & 4294967295) AS BIGINT) AS manual_low,
                    CAST(SUM(owed >> 32) AS BIGINT) AS owed_high, CAST(SUM(owed & 4294967295) AS BIGINT) AS owed_low,
                    CAST(SUM(taken >> 32) AS BIGINT) AS taken_high, CAST(SUM(taken & 4294967295) AS BIGINT) AS taken_low
                FROM (SELECT (SELECT MIN(i.ticket_type_id) FROM order_items i WHERE i.order_id = p.order_id) AS first_type,
                        CASE WHEN p.purpose = 'ORDER' THEN p.returned - COALESCE(h.returned, 0) ELSE 0 END AS refunded,
                        CASE WHEN p.purpose = 'ORDER' THEN COALESCE(h.returned, 0) ELSE 0 END AS hand,
                        CASE WHEN p.purpose = 'ORDER' THEN p.owed ELSE 0 END AS manual, p.owed AS owed, p.taken AS taken
                    FROM payments p JOIN orders o ON o.id = p.order_id AND o.currency = p.currency
                    LEFT JOIN (SELECT payment_id, CAST(-SUM(amount) AS BIGINT) AS returned
                            FROM ledger_entries WHERE kind = 'REFUND' AND manual_method IS NOT NULL GROUP BY payment_id) h
                        ON h.payment_id = p.id
                    WHERE p.returned <> 0 OR p.owed <> 0 OR p.taken <> 0) money
                GROUP BY first_type) s
                ON s.first_type = tt.id
            WHERE tt.refunded_total <> COALESCE(CASE WHEN s.refunded_high + (s.refunded_low >> 32) > 2147483647
                    THEN 9223372036854775807
                    ELSE ((s.refunded_high + (s.refunded_low >> 32)) << 32) + (s.refunded_low & 4294967295) END, 0)
                OR tt.manually_refunded_total <> COALESCE(CASE WHEN s.hand_high + (s.hand_low >> 32) > 2147483647
                    THEN 9223372036854775807
                    ELSE ((s.hand_high + (s.hand_low >> 32)) << 32) + (s.hand_low & 4294967295) END, 0)
                OR tt.manual_refund_total <> COALESCE(CASE WHEN s.manual_high + (s.manual_low >> 32) > 2147483647
                    THEN 9223372036854775807
                    ELSE ((s.manual_high + (s.manual_low >> 32)) << 32) + (s.manual_low & 4294967295) END, 0)
                OR tt.owed_total <> COALESCE(CASE WHEN s.owed_high + (s.owed_low >> 32) > 2147483647
                    THEN 9223372036854775807
                    ELSE ((s.owed_high + (s.owed_low >> 32)) << 32) + (s.owed_low & 4294967295) END, 0)
                OR tt.disputed_total <> COALESCE(CASE WHEN s.taken_high + (s.taken_low >> 32) > 2147483647
                    THEN 9223372036854775807
                    ELSE ((s.taken_high + (s.taken_low >> 32)) << 32) + (s.taken_low & 4294967295) END, 0)",
    },
];
