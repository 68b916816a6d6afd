-- Idempotency keys of different API keys are different ones.

-- The API key that sent the request, 0 for a call of the program, or -1 for a request before this migration: it may be that
-- of any caller of the organization. No REFERENCES: keys are deleted with their events.
ALTER TABLE idempotency_records ADD COLUMN sender BIGINT NOT NULL DEFAULT -1;
ALTER TABLE idempotency_records DROP CONSTRAINT idempotency_records_pkey;
ALTER TABLE idempotency_records ADD PRIMARY KEY (organization_id, key, sender);
ALTER TABLE idempotency_records DROP COLUMN lease_ends_at;
