-- A limit for what an API key can report of codes that no ticket has.

-- How many scans without a ticket the key has added to the log. Scans before this column was added do not count.
ALTER TABLE api_keys ADD COLUMN scans_without_ticket INTEGER NOT NULL DEFAULT 0;
