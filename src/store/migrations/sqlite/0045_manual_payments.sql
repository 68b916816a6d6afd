-- Payments by card at a terminal, and the names of the callers that record payments.

-- The methods are one list in the program, which reads no other: the table does not repeat it. This changes the text of the
-- table and not its rows: https://www.sqlite.org/lang_altertable.html#otheralter describes it for checks.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = REPLACE(sql,
        ' CHECK (manual_method = ''CASH'' OR manual_method = ''TRANSFER'' OR manual_method = ''OTHER'')', '')
    WHERE type = 'table' AND name = 'payments';
PRAGMA writable_schema = RESET;

-- The name of the caller that recorded it.
ALTER TABLE payments ADD COLUMN recorded_by_name TEXT;
ALTER TABLE ledger_entries ADD COLUMN recorded_by_name TEXT;

DROP VIEW ledger;
-- Columns of a name have the same affinity: otherwise SQLite does not search in the indexes of both tables.
CREATE VIEW ledger AS
    SELECT id, organization_id, event_id, order_id, id AS payment_id, CAST(NULL AS INTEGER) AS refund_id,
        CAST(NULL AS INTEGER) AS dispute_id, CAST('PAYMENT' AS TEXT) AS kind, amount, currency, manual_method, gateway, account, mode, reference, note,
        created_at AS happened_at, created_at AS recorded_at, recorded_by, recorded_by_name, backfilled
    FROM payments
    UNION ALL
    SELECT id, organization_id, event_id, order_id, payment_id, refund_id, dispute_id,
        kind, amount, currency, manual_method, gateway, account, mode, reference, note,
        happened_at, recorded_at, recorded_by, recorded_by_name, backfilled
    FROM ledger_entries;
