-- The checkouts that a payment gateway was asked for: whether they still have to be closed, and when the gateway is asked
-- about them next.
CREATE TABLE checkouts (
    order_id INTEGER PRIMARY KEY REFERENCES orders (id),
    -- OPEN while the order waits for its payment; CLOSING after the order has ended, until the gateway has confirmed that
    -- nothing can be paid any more.
    status TEXT NOT NULL CHECK (status IN ('OPEN', 'CLOSING', 'CLOSED')),
    -- When the gateway ends the checkout by itself.
    expires_at INTEGER NOT NULL,
    -- NULL if the gateway is not asked again.
    next_attempt_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- The gateway's id of the payment. Its id of the checkout is in orders.payment_reference.
    payment_reference TEXT,
    -- The parameters of the request that change later, as JSON, so that it can be repeated. NULL before this migration.
    parameters TEXT,
    last_error TEXT
) STRICT;
-- the maintenance looks for checkouts to close, and for those to look up
CREATE INDEX checkouts_due ON checkouts (status, next_attempt_at, order_id) WHERE next_attempt_at IS NOT NULL;

INSERT INTO checkouts (order_id, status, expires_at, next_attempt_at)
    SELECT id, 'OPEN', hold_until, hold_until - 60000 FROM orders WHERE status = 'PENDING' AND payment_reference IS NOT NULL;
