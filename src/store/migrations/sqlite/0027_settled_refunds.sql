-- How the money of a REFUSED refund went back in another way: by hand, or at the gateway. NULL while somebody owes it.
ALTER TABLE refunds ADD COLUMN settled_by TEXT CHECK (settled_by IN ('HAND', 'GATEWAY'));
-- When the gateway is next asked what became of a DONE refund. NULL if it is not asked again.
ALTER TABLE refunds ADD COLUMN check_at INTEGER;
-- How many times it has answered.
ALTER TABLE refunds ADD COLUMN checks INTEGER NOT NULL DEFAULT 0;
UPDATE refunds SET settled_by = 'HAND' WHERE status = 'REFUSED' AND source IN ('ORDER', 'OUTSIDE')
    AND EXISTS (SELECT 1 FROM orders o WHERE o.id = refunds.order_id AND o.manual_refund_due = 0);

-- the number of refunds that have to be made by hand, among many that were made
DROP INDEX refunds_refused;
CREATE INDEX refunds_owed ON refunds (id, settled_by) WHERE status = 'REFUSED' AND settled_by IS NULL;
-- the refunds to ask the gateway about
CREATE INDEX refunds_to_check ON refunds (check_at, id) WHERE check_at IS NOT NULL;
