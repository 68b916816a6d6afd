-- Payments by card at a terminal, and the names of the callers that record payments.

-- The methods are one list in the program, which reads no other: the table does not repeat it.
ALTER TABLE payments DROP CONSTRAINT payments_manual_method_check;

-- The name of the caller that recorded it.
ALTER TABLE payments ADD COLUMN recorded_by_name TEXT COLLATE "C";
ALTER TABLE ledger_entries ADD COLUMN recorded_by_name TEXT COLLATE "C";

DROP VIEW ledger;
CREATE VIEW ledger AS
    SELECT id, organization_id, event_id, order_id, id AS payment_id, CAST(NULL AS BIGINT) AS refund_id,
        CAST(NULL AS BIGINT) AS dispute_id, CAST('PAYMENT' AS TEXT) COLLATE "C" AS kind, amount, currency, manual_method,
        gateway, account, mode, reference, note, created_at AS happened_at, created_at AS recorded_at, recorded_by,
        recorded_by_name, backfilled
    FROM payments
    UNION ALL
    SELECT id, organization_id, event_id, order_id, payment_id, refund_id,
        dispute_id, kind, amount, currency, manual_method,
        gateway, account, mode, reference, note, happened_at, recorded_at, recorded_by, recorded_by_name, backfilled
    FROM ledger_entries;
