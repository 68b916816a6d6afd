CREATE TABLE idempotency_records (
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    key TEXT NOT NULL,
    -- SHA-256 of what was asked for.
    fingerprint BLOB NOT NULL,
    -- The answer, as JSON; NULL while the order's checkout link is still to come.
    answer TEXT,
    order_id INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, key),
    CHECK (answer IS NOT NULL OR order_id IS NOT NULL)
) STRICT;
-- run_maintenance: records that are old enough to go
CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at);
