CREATE TABLE webhook_endpoints (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    url TEXT NOT NULL,
    description TEXT,
    -- The types of notification that it wants, as a JSON array of their names.
    events TEXT NOT NULL,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    secret TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
-- list_webhooks, and who wants to hear of a change
CREATE INDEX webhook_endpoints_by_organization ON webhook_endpoints (organization_id);

-- One row for each notification and each endpoint that it is for. What becomes of an endpoint that is deleted: its WAITING
-- rows go with it, the others when they are old. No REFERENCES, for deleting it would look through all of them.
CREATE TABLE webhook_outbox (
    id INTEGER PRIMARY KEY,
    endpoint_id INTEGER NOT NULL,
    -- The notification's own id, the same for every endpoint and every resend.
    event_id INTEGER NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('order.completed', 'order.cancelled', 'ticket.issued', 'ticket.checked_in')),
    -- What is sent, byte for byte.
    body TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('WAITING', 'DELIVERED', 'DEAD', 'REMOVED')),
    -- Attempts that ended.
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 8),
    -- How often the attempt that is to be made was cut off by the end of its process.
    cuts INTEGER NOT NULL DEFAULT 0 CHECK (cuts BETWEEN 0 AND 2),
    -- Whose the attempt is that is under way; NULL where none is.
    claim INTEGER,
    -- When the next attempt is to be made. While one is under way: when it counts as cut off.
    due_at INTEGER NOT NULL,
    finished_at INTEGER,
    created_at INTEGER NOT NULL,
    CHECK ((state = 'WAITING') = (finished_at IS NULL)),
    CHECK (state = 'WAITING' OR claim IS NULL)
) STRICT;
-- the sender: what is due of an endpoint, and which endpoints have something
CREATE INDEX webhook_outbox_waiting ON webhook_outbox (endpoint_id, due_at) WHERE state = 'WAITING';
-- run_maintenance: rows that are old enough to go
CREATE INDEX webhook_outbox_finished ON webhook_outbox (finished_at) WHERE state <> 'WAITING';

-- The history: one row for each attempt that ended.
CREATE TABLE webhook_deliveries (
    id INTEGER PRIMARY KEY,
    endpoint_id INTEGER NOT NULL,
    -- It holds what was sent, and goes after this row.
    outbox_id INTEGER NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('order.completed', 'order.cancelled', 'ticket.issued', 'ticket.checked_in')),
    attempt INTEGER NOT NULL CHECK (attempt BETWEEN 1 AND 8),
    success INTEGER NOT NULL CHECK (success IN (0, 1)),
    response_status INTEGER,
    response_body TEXT,
    duration_ms INTEGER CHECK (duration_ms >= 0),
    error_message TEXT,
    created_at INTEGER NOT NULL,
    CHECK ((error_message IS NULL) = (success = 1))
) STRICT;
-- list_webhook_deliveries
CREATE INDEX webhook_deliveries_by_endpoint ON webhook_deliveries (endpoint_id);
