-- An order may have several refunds, each with an id of its own. A stored refund keeps the id of its order, so that its
-- idempotency key stays the same. Ids of new refunds are greater.
CREATE TABLE new_refunds (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    order_id INTEGER NOT NULL REFERENCES orders (id),
    -- The event of the order.
    event_id INTEGER,
    source TEXT NOT NULL DEFAULT 'ORDER' CHECK (source IN ('ORDER', 'LATE_PAYMENT', 'OTHER_PAYMENT', 'OUTSIDE')),
    amount INTEGER NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    -- Why the organization refunds it.
    reason TEXT,
    -- The gateway's id of the refund.
    reference TEXT,
    -- The gateway's id of the payment, if it is not the one of the order.
    payment_reference TEXT,
    status TEXT NOT NULL CHECK (status IN ('DUE', 'DONE', 'REFUSED')),
    attempts INTEGER NOT NULL DEFAULT 0,
    -- The gateway is not asked before this time.
    next_attempt_at INTEGER NOT NULL,
    last_error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
INSERT INTO new_refunds (id, organization_id, order_id, event_id, source, amount, currency, status, attempts,
        next_attempt_at, last_error, created_at, updated_at)
    SELECT r.order_id, r.organization_id, r.order_id, r.event_id,
        CASE WHEN o.paid_by_gateway = 1 THEN 'ORDER' ELSE 'LATE_PAYMENT' END, r.amount, r.currency, r.status, r.attempts,
        r.next_attempt_at, r.last_error, r.created_at, r.updated_at
    FROM refunds r JOIN orders o ON o.id = r.order_id;
DROP TABLE refunds;
ALTER TABLE new_refunds RENAME TO refunds;
-- the refunds to attempt
CREATE INDEX refunds_due ON refunds (next_attempt_at) WHERE status = 'DUE';
-- the number of refunds that the gateway refused, among many that it did not
CREATE INDEX refunds_refused ON refunds (id) WHERE status = 'REFUSED';
-- list_refunds by status
CREATE INDEX refunds_by_status ON refunds (organization_id, status);
-- list_refunds of an event
CREATE INDEX refunds_by_event ON refunds (event_id, status);
-- list_refunds of an order; the sum of its refunds
CREATE INDEX refunds_by_order ON refunds (order_id, status);

-- What was decided to be given back of the price that an order was completed with, by the gateway or by hand: at most its
-- total, in minor units.
ALTER TABLE orders ADD COLUMN refunded INTEGER NOT NULL DEFAULT 0;
-- The part of it that is still to be given back by hand.
ALTER TABLE orders ADD COLUMN manual_refund_due INTEGER NOT NULL DEFAULT 0;
-- NULL if it was cancelled before this column existed.
ALTER TABLE orders ADD COLUMN cancelled_at INTEGER;
UPDATE orders SET refunded = total, manual_refund_due = CASE
        WHEN paid_by_gateway = 0 THEN total
        WHEN payment_status = 'COMPLETED'
            AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.order_id = orders.id AND r.status = 'DUE') THEN total
        ELSE 0 END
    WHERE status = 'CANCELLED' AND completed_at IS NOT NULL AND total > 0;

-- Refunds are counted in the ticket type of their order with the lowest id, because an amount of money belongs to no type.
UPDATE ticket_types SET refunded_total = 0, manual_refund_total = 0 WHERE refunded_total <> 0 OR manual_refund_total <> 0;
-- The lower 32 bits and the rest are summed apart, because the sum may exceed 64 bits.
UPDATE ticket_types SET
        refunded_total = CASE WHEN s.refunded_high + (s.refunded_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.refunded_high + (s.refunded_low >> 32)) << 32) + (s.refunded_low & 4294967295) END,
        manual_refund_total = CASE WHEN s.manual_high + (s.manual_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.manual_high + (s.manual_low >> 32)) << 32) + (s.manual_low & 4294967295) END
    FROM (SELECT first_type,
            CAST(SUM(refunded >> 32) AS BIGINT) AS refunded_high,
            CAST(SUM(refunded & 4294967295) AS BIGINT) AS refunded_low,
            CAST(SUM(manual >> 32) AS BIGINT) AS manual_high,
            CAST(SUM(manual & 4294967295) AS BIGINT) AS manual_low
        FROM (SELECT (SELECT MIN(i.ticket_type_id) FROM order_items i WHERE i.order_id = o.id) AS first_type,
                CASE WHEN o.paid_by_gateway = 1 AND o.payment_status = 'REFUNDED' THEN o.total ELSE 0 END AS refunded,
                o.manual_refund_due AS manual
            FROM orders o WHERE o.status = 'CANCELLED' AND o.completed_at IS NOT NULL AND o.total > 0) counted
        GROUP BY first_type) s
    WHERE ticket_types.id = s.first_type;
