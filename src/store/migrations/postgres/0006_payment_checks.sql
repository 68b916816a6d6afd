-- The gateway is asked what it lists of a payment, in place of each of its refunds and disputes.

-- When the gateway is next asked. NULL if it is not asked.
ALTER TABLE payments ADD COLUMN check_at BIGINT;
-- How many times it has answered since the newest fact.
ALTER TABLE payments ADD COLUMN checks BIGINT NOT NULL DEFAULT 0;
UPDATE payments SET check_at = s.check_at, checks = s.checks
    FROM (SELECT payment_id, MIN(check_at) AS check_at, MIN(checks) AS checks
        FROM (SELECT payment_id, check_at, checks FROM refunds WHERE check_at IS NOT NULL
            UNION ALL SELECT payment_id, check_at, 0 FROM disputes WHERE check_at IS NOT NULL AND payment_id IS NOT NULL) due
        GROUP BY payment_id) s
    WHERE payments.id = s.payment_id;
DROP INDEX refunds_to_check;
ALTER TABLE refunds DROP COLUMN check_at;
ALTER TABLE refunds DROP COLUMN checks;
DROP INDEX disputes_to_check;
ALTER TABLE disputes DROP COLUMN check_at;
-- the payments to ask the gateway about
CREATE INDEX payments_to_check ON payments (check_at, id) WHERE check_at IS NOT NULL;
