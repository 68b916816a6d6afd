-- Idempotency keys of different API keys are different ones.
CREATE TABLE new_idempotency_records (
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    key TEXT NOT NULL,
    -- The API key that sent the request, 0 for a call of the program, or -1 for a request before this migration: it may be
    -- that of any caller of the organization. No REFERENCES: keys are deleted with their events.
    sender INTEGER NOT NULL DEFAULT -1,
    -- SHA-256 of the request.
    fingerprint BLOB NOT NULL,
    -- The result, as JSON; NULL until the order has a checkout link.
    answer TEXT,
    order_id INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, key, sender),
    CHECK (answer IS NOT NULL OR order_id IS NOT NULL)
) STRICT;
INSERT INTO new_idempotency_records (organization_id, key, fingerprint, answer, order_id, created_at)
    SELECT organization_id, key, fingerprint, answer, order_id, created_at FROM idempotency_records;
DROP TABLE idempotency_records;
ALTER TABLE new_idempotency_records RENAME TO idempotency_records;
-- run_maintenance: records that are old enough to go
CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at);
