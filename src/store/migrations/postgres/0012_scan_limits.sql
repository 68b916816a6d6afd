-- A limit for what an API key can report of codes that no ticket has, and lists of the keys of an event.

-- How many scans without a ticket the key has added to the log. Scans before this column was added do not count.
ALTER TABLE api_keys ADD COLUMN scans_without_ticket BIGINT NOT NULL DEFAULT 0;

DROP INDEX api_keys_of_event;
-- the keys of an event: its door links, and when it is deleted
CREATE INDEX api_keys_of_event ON api_keys (event_id, id) WHERE event_id IS NOT NULL;
