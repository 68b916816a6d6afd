-- Check-in on phones: keys of one event, and the log of the scans of events that have such a key.

-- The only event whose tickets the key checks in. NULL if it is not restricted to one.
ALTER TABLE api_keys ADD COLUMN event_id BIGINT REFERENCES events (id);
-- the keys of an event that is deleted
CREATE INDEX api_keys_of_event ON api_keys (event_id) WHERE event_id IS NOT NULL;

-- Whether scans of the tickets of the event are logged.
ALTER TABLE events ADD COLUMN has_scan_log BIGINT NOT NULL DEFAULT 0 CHECK (has_scan_log IN (0, 1));
-- When the event was cancelled. NULL also if that was before this column was added.
ALTER TABLE events ADD COLUMN cancelled_at BIGINT;

CREATE TABLE scans (
    -- Begins with the time of receipt.
    id BIGINT PRIMARY KEY,
    -- That of the event. No REFERENCES, so that an organization is deleted without a search here.
    organization_id BIGINT NOT NULL,
    -- The event at whose entrance the ticket was scanned.
    event_id BIGINT NOT NULL REFERENCES events (id),
    -- NULL if no ticket of the event has the code.
    ticket_id BIGINT REFERENCES tickets (id),
    -- The id that the device gave, a UUID. NULL if the server made the row.
    client_id TEXT COLLATE "C" CHECK (LENGTH(client_id) = 36),
    api_key_id BIGINT,
    device TEXT COLLATE "C",
    -- BASE is the check-in of a ticket that was inside when its log began.
    kind TEXT COLLATE "C" NOT NULL CHECK (kind = 'IN' OR kind = 'OUT' OR kind = 'BASE' OR kind = 'CANCELLED'),
    scanned_at BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    -- What was decided at the entrance. NULL for BASE and CANCELLED.
    verdict TEXT COLLATE "C" CHECK (verdict = 'ADMITTED' OR verdict = 'REFUSED'),
    -- What the whole log says of it, and why.
    outcome TEXT COLLATE "C",
    reason TEXT COLLATE "C",
    is_override BIGINT NOT NULL DEFAULT 0 CHECK (is_override IN (0, 1)),
    -- Whether ticket.checked_in was sent.
    is_reported BIGINT NOT NULL DEFAULT 0 CHECK (is_reported IN (0, 1)),
    CHECK ((verdict IS NULL) = (kind = 'BASE' OR kind = 'CANCELLED')),
    CHECK ((outcome IS NULL) = (verdict IS NULL)),
    CHECK ((client_id IS NULL) OR device IS NOT NULL)
);
-- a scan that a device sends again
CREATE UNIQUE INDEX scans_by_client_id ON scans (organization_id, client_id) WHERE client_id IS NOT NULL;
-- the log of a ticket
CREATE INDEX scans_of_ticket ON scans (ticket_id, scanned_at, id) WHERE ticket_id IS NOT NULL;
-- list_scans, and the changes of a roster
CREATE INDEX scans_of_event ON scans (event_id, id);
