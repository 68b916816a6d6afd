-- Reports of events.

-- the tickets of an event that were issued without an order, by time
CREATE INDEX tickets_issued ON tickets (event_id, created_at) WHERE order_id IS NULL;
-- The link to the report of an event. Revoking it keeps the row, so that the next one has another version.
CREATE TABLE report_links (
    event_id BIGINT PRIMARY KEY REFERENCES events (id) ON DELETE CASCADE,
    -- How many links of the event there were before.
    version BIGINT NOT NULL DEFAULT 0 CHECK (version >= 0),
    created_at BIGINT NOT NULL,
    -- NULL if the link is valid.
    revoked_at BIGINT
);
