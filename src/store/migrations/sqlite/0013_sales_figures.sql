-- The sales figures of a ticket type, which the summary of its event adds up. They change in the transactions that change
-- the orders and tickets. None has a CHECK: a wrong figure must not stop a sale or a scan; `check` reports it.
--
-- Orders are counted by stored status in their ticket type with the lowest id, so that each is counted once.
ALTER TABLE ticket_types ADD COLUMN pending_orders INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ticket_types ADD COLUMN completed_orders INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ticket_types ADD COLUMN cancelled_orders INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ticket_types ADD COLUMN expired_orders INTEGER NOT NULL DEFAULT 0;
-- Tickets that are CHECKED_IN, and CANCELLED. Those that were ever issued are the sold and the cancelled ones.
ALTER TABLE ticket_types ADD COLUMN checked_in_tickets INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ticket_types ADD COLUMN cancelled_tickets INTEGER NOT NULL DEFAULT 0;
-- Sums of the items of orders that were ever completed, in minor units; at most 2^63 - 1. The revenue is after discounts.
ALTER TABLE ticket_types ADD COLUMN revenue INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ticket_types ADD COLUMN discount_total INTEGER NOT NULL DEFAULT 0;
-- Of orders that were marked as paid.
ALTER TABLE ticket_types ADD COLUMN manual_payment_total INTEGER NOT NULL DEFAULT 0;
-- Of orders whose payment the gateway has refunded, and of cancelled ones whose payment it does not refund.
ALTER TABLE ticket_types ADD COLUMN refunded_total INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ticket_types ADD COLUMN manual_refund_total INTEGER NOT NULL DEFAULT 0;
-- Whether a CANCELLED ticket was CHECKED_IN when it was cancelled; NULL if it was cancelled before this column existed.
ALTER TABLE tickets ADD COLUMN was_checked_in INTEGER;

UPDATE ticket_types SET checked_in_tickets = t.checked_in, cancelled_tickets = t.cancelled
    FROM (SELECT ticket_type_id, COUNT(*) FILTER (WHERE status = 'CHECKED_IN') AS checked_in,
            COUNT(*) FILTER (WHERE status = 'CANCELLED') AS cancelled
        FROM tickets WHERE status <> 'NOT_CHECKED_IN' GROUP BY ticket_type_id) t
    WHERE ticket_types.id = t.ticket_type_id;

UPDATE ticket_types SET pending_orders = o.pending, completed_orders = o.completed, cancelled_orders = o.cancelled,
        expired_orders = o.expired
    FROM (SELECT first_type, COUNT(*) FILTER (WHERE status = 'PENDING') AS pending,
            COUNT(*) FILTER (WHERE status = 'COMPLETED') AS completed,
            COUNT(*) FILTER (WHERE status = 'CANCELLED') AS cancelled, COUNT(*) FILTER (WHERE status = 'EXPIRED') AS expired
        FROM (SELECT status, (SELECT MIN(i.ticket_type_id) FROM order_items i WHERE i.order_id = orders.id) AS first_type
            FROM orders) counted GROUP BY first_type) o
    WHERE ticket_types.id = o.first_type;

-- The lower 32 bits and the rest are summed apart, because the sum may exceed 64 bits.
UPDATE ticket_types SET
        revenue = CASE WHEN s.revenue_high + (s.revenue_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.revenue_high + (s.revenue_low >> 32)) << 32) + (s.revenue_low & 4294967295) END,
        discount_total = CASE WHEN s.discount_high + (s.discount_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.discount_high + (s.discount_low >> 32)) << 32) + (s.discount_low & 4294967295) END,
        manual_payment_total = CASE WHEN s.manual_payment_high + (s.manual_payment_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.manual_payment_high + (s.manual_payment_low >> 32)) << 32) + (s.manual_payment_low & 4294967295) END,
        refunded_total = CASE WHEN s.refunded_high + (s.refunded_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.refunded_high + (s.refunded_low >> 32)) << 32) + (s.refunded_low & 4294967295) END,
        manual_refund_total = CASE WHEN s.manual_refund_high + (s.manual_refund_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.manual_refund_high + (s.manual_refund_low >> 32)) << 32) + (s.manual_refund_low & 4294967295) END
    FROM (SELECT ticket_type_id,
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
    WHERE ticket_types.id = s.ticket_type_id;
