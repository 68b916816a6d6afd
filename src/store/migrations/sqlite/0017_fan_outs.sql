-- How often each type was taken out of `events`, as a JSON object from types to numbers; a type that never was is missing.
-- Notifications that were queued before that are no longer for the endpoint, even if it wants the type again.
ALTER TABLE webhook_endpoints ADD COLUMN generations TEXT NOT NULL DEFAULT '{}';

-- Notifications of one type that were queued by one transaction, and the further endpoints that they are for. Their rows of
-- the outbox are inserted in batches, one notification after another; in its transaction, each notification has a row for
-- one endpoint only.
CREATE TABLE webhook_fan_outs (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    type TEXT NOT NULL CHECK (type IN ('order.completed', 'order.cancelled', 'ticket.issued', 'ticket.checked_in')),
    -- The endpoints that were enabled and wanted the type, each with its generation of the type: a JSON array of pairs.
    endpoints TEXT NOT NULL,
    -- The ids and bodies: a JSON array of pairs.
    notifications TEXT NOT NULL,
    -- The number of endpoints times the number of notifications.
    total INTEGER NOT NULL,
    -- How many of them are done.
    done INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    CHECK (done >= 0 AND done < total)
) STRICT;
-- the webhook sender: the organizations take turns
CREATE INDEX webhook_fan_outs_by_organization ON webhook_fan_outs (organization_id);
