-- A checkout can be renewed. The row of the order in checkouts, and orders.payment_reference, are then about the new one.
ALTER TABLE checkouts ADD COLUMN renewals INTEGER NOT NULL DEFAULT 0;
-- Until when a process may be waiting for the gateway to start the renewed checkout. NULL if none is.
ALTER TABLE checkouts ADD COLUMN lease_ends_at INTEGER;

-- The checkouts before the newest one, under which nothing can be paid any more. A payment that was reported late must
-- still find its order.
CREATE TABLE replaced_checkouts (
    order_id INTEGER NOT NULL REFERENCES orders (id),
    -- How often the checkout had been renewed before: 0 for the first one.
    renewals INTEGER NOT NULL CHECK (renewals >= 0),
    -- The gateway's id of the checkout.
    reference TEXT NOT NULL,
    PRIMARY KEY (order_id, renewals)
) STRICT;
-- a notice names its checkout by the gateway's id
CREATE UNIQUE INDEX replaced_checkouts_by_reference ON replaced_checkouts (reference);
