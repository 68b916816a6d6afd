-- A payment is its own entry in the ledger, so that what was paid is stored once. The table has the movements that follow a
-- payment, and the view has all of them. No row is ever changed or removed.
CREATE TABLE new_ledger_entries (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    order_id BIGINT NOT NULL,
    payment_id BIGINT NOT NULL REFERENCES payments (id),
    refund_id BIGINT,
    dispute_id BIGINT,
    -- The id of the refund or the dispute.
    subject_id BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL
        CHECK (kind = 'REFUND' OR kind = 'REFUND_FAILED' OR kind = 'DISPUTE' OR kind = 'DISPUTE_RETURNED'),
    -- In minor units of the currency.
    amount BIGINT NOT NULL CHECK (amount <> 0),
    currency TEXT COLLATE "C" NOT NULL,
    manual_method TEXT COLLATE "C",
    gateway TEXT COLLATE "C",
    account TEXT COLLATE "C",
    mode TEXT COLLATE "C" NOT NULL,
    -- The gateway's id of the refund or the dispute.
    reference TEXT COLLATE "C",
    -- The number of the movement among those of the same kind, subject and reference.
    occurrence BIGINT NOT NULL DEFAULT 1,
    note TEXT COLLATE "C",
    happened_at BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    -- The API key that recorded it.
    recorded_by BIGINT,
    backfilled BIGINT NOT NULL DEFAULT 0,
    CHECK ((kind = 'REFUND_FAILED' OR kind = 'DISPUTE_RETURNED') = (amount > 0))
);
INSERT INTO new_ledger_entries (id, organization_id, event_id, order_id, payment_id, refund_id, dispute_id, subject_id, kind,
        amount, currency, manual_method, gateway, account, mode, reference, occurrence, note, happened_at, recorded_at,
        recorded_by, backfilled)
    SELECT id, organization_id, event_id, order_id, payment_id, refund_id, dispute_id, subject_id, kind, amount, currency,
        manual_method, gateway, account, mode, reference, occurrence, note, happened_at, recorded_at, recorded_by, backfilled
    FROM ledger_entries WHERE kind <> 'PAYMENT';
DROP TABLE ledger_entries;
ALTER TABLE new_ledger_entries RENAME TO ledger_entries;
-- list_ledger_entries
CREATE INDEX ledger_entries_by_organization ON ledger_entries (organization_id, id);
-- list_ledger_entries by time: the exceptions from the rule that an id begins with the time of recording
CREATE INDEX ledger_entries_with_later_id ON ledger_entries (organization_id, id) WHERE recorded_at < (id >> 20) - 1000;
-- list_ledger_entries of an event
CREATE INDEX ledger_entries_by_event ON ledger_entries (event_id, id);
-- the movements of a payment; a movement that the gateway reports again
CREATE UNIQUE INDEX ledger_entries_by_payment ON ledger_entries (payment_id, kind, subject_id, reference, occurrence);

CREATE VIEW ledger AS
    SELECT id, organization_id, event_id, order_id, id AS payment_id, CAST(NULL AS BIGINT) AS refund_id,
        CAST(NULL AS BIGINT) AS dispute_id, CAST('PAYMENT' AS TEXT) COLLATE "C" AS kind, amount, currency, manual_method,
        gateway, account, mode, reference, note, created_at AS happened_at, created_at AS recorded_at, recorded_by, backfilled
    FROM payments
    UNION ALL
    SELECT id, organization_id, event_id, order_id, payment_id, refund_id,
        dispute_id, kind, amount, currency, manual_method,
        gateway, account, mode, reference, note, happened_at, recorded_at, recorded_by, backfilled
    FROM ledger_entries;
