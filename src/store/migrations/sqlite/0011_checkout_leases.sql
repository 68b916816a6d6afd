-- Until when the process that created the order may wait for its checkout link. NULL before this migration.
ALTER TABLE idempotency_records ADD COLUMN lease_ends_at INTEGER;
