-- The name of the gateway that has the checkout. NULL, as the next two columns, if an earlier version asked for it.
ALTER TABLE checkouts ADD COLUMN gateway TEXT;
-- The provider's id of the account that has it. Empty for the account of the gateway itself.
ALTER TABLE checkouts ADD COLUMN account TEXT;
-- Whether the customer pays real money.
ALTER TABLE checkouts ADD COLUMN mode TEXT CHECK (mode = 'LIVE' OR mode = 'TEST');

-- The checkouts of the sandbox are known by their references. In ASCII, the character after _ is `.
UPDATE checkouts SET gateway = 'sandbox', account = '', mode = 'TEST' WHERE order_id IN
    (SELECT id FROM orders WHERE payment_reference >= 'sandbox_' AND payment_reference < 'sandbox`');

-- the maintenance leaves out the checkouts of a gateway that the program does not have, and counts them
DROP INDEX checkouts_due;
CREATE INDEX checkouts_due ON checkouts (status, next_attempt_at, order_id, gateway) WHERE next_attempt_at IS NOT NULL;
