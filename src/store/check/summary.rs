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
        sentence: "the revenue, discounts, manual payments, refunds and manual refunds of a ticket type must be the sums of its completed orders",
        // The lower 32 bits and the rest are summed apart, because the sum may exceed 64 bits.
        violations: "SELECT tt.id FROM ticket_types tt LEFT JOIN (SELECT ticket_type_id,
                    COALESCE(CAST(SUM(amount >> 32) AS BIGINT), 0) AS revenue_high,
                    COALESCE(CAST(SUM(amount & 4294967295) AS BIGINT), 0) AS revenue_low,
                    COALESCE(CAST(SUM(discount >> 32) AS BIGINT), 0) AS discount_high,
                    COALESCE(CAST(SUM(discount & 4294967295) AS BIGINT), 0) AS discount_low,
                    COALESCE(CAST(SUM(amount >> 32) FILTER (WHERE paid_by_hand = 1) AS BIGINT), 0) AS manual_payment_high,
                    COALESCE(CAST(SUM(amount & 4294967295) FILTER (WHERE paid_by_hand = 1) AS BIGINT), 0) AS manual_payment_low,
                    COALESCE(CAST(SUM(amount >> 32) FILTER (WHERE refunded = 1) AS BIGINT), 0) AS refunded_high,
                    COALESCE(CAST(SUM(amount & 4294967295) FILTER (WHERE refunded = 1) AS BIGINT), 0) AS refunded_low,
                    COALESCE(CAST(SUM(amount >> 32) FILTER (WHERE refunded_by_hand = 1) AS BIGINT), 0) AS manual_refund_high,
                    COALESCE(CAST(SUM(amount & 4294967295) FILTER (WHERE refunded_by_hand = 1) AS BIGINT), 0) AS manual_refund_low
                FROM (SELECT i.ticket_type_id, i.price * i.quantity - i.discount AS amount, i.discount,
                        CASE WHEN o.paid_by_gateway = 0 THEN 1 ELSE 0 END AS paid_by_hand,
                        CASE WHEN o.paid_by_gateway = 1 AND o.payment_status = 'REFUNDED' THEN 1 ELSE 0 END AS refunded,
                        CASE WHEN o.status = 'CANCELLED' AND (o.paid_by_gateway = 0 OR o.payment_status = 'COMPLETED'
                                AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.order_id = o.id AND r.status = 'DUE'))
                            THEN 1 ELSE 0 END AS refunded_by_hand
                    FROM orders o JOIN order_items i ON i.order_id = o.id WHERE o.completed_at IS NOT NULL) items
                GROUP BY ticket_type_id) s
                ON s.ticket_type_id = tt.id
            WHERE s.ticket_type_id IS NULL AND (tt.revenue <> 0 OR tt.discount_total <> 0 OR tt.manual_payment_total <> 0
                    OR tt.refunded_total <> 0 OR tt.manual_refund_total <> 0)
                OR tt.revenue <> CASE WHEN s.revenue_high + (s.revenue_low >> 32) > 2147483647 THEN 9223372036854775807
                    ELSE ((s.revenue_high + (s.revenue_low >> 32)) << 32) + (s.revenue_low & 4294967295) END
                OR tt.discount_total <> CASE WHEN s.discount_high + (s.discount_low >> 32) > 2147483647 THEN 9223372036854775807
                    ELSE ((s.discount_high + (s.discount_low >> 32)) << 32) + (s.discount_low & 4294967295) END
                OR tt.manual_payment_total <> CASE WHEN s.manual_payment_high + (s.manual_payment_low >> 32) > 2147483647 THEN 9223372036854775807
                    ELSE ((s.manual_payment_high + (s.manual_payment_low >> 32)) << 32) + (s.manual_payment_low & 4294967295) END
                OR tt.refunded_total <> CASE WHEN s.refunded_high + (s.refunded_low >> 32) > 2147483647 THEN 9223372036854775807
                    ELSE ((s.refunded_high + (s.refunded_low >> 32)) << 32) + (s.refunded_low & 4294967295) END
                OR tt.manual_refund_total <> CASE WHEN s.manual_refund_high + (s.manual_refund_low >> 32) > 2147483647 THEN 9223372036854775807
                    ELSE ((s.manual_refund_high + (s.manual_refund_low >> 32)) << 32) + (s.manual_refund_low & 4294967295) END",
    },
];
