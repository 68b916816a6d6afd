-- The endpoint's generation of the type when the row was queued. A row of an earlier generation is no longer for the
-- endpoint.
ALTER TABLE webhook_outbox ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
UPDATE webhook_outbox SET generation = COALESCE((
        SELECT json_extract(e.generations, '$."' || webhook_outbox.type || '"') FROM webhook_endpoints e
        WHERE e.id = webhook_outbox.endpoint_id), 0)
    WHERE state = 'WAITING' AND endpoint_id IN (SELECT id FROM webhook_endpoints WHERE generations <> '{}');
DROP INDEX webhook_outbox_waiting;
-- the sender: what is due of an endpoint, and which endpoints have something; the removal of what an endpoint is no longer
-- to get
CREATE INDEX webhook_outbox_waiting ON webhook_outbox (endpoint_id, type, generation, due_at) WHERE state = 'WAITING';

-- Endpoints that were deleted or unsubscribed from a type, and may still have WAITING rows of no use: these are removed in
-- batches. No REFERENCES, because the endpoint may be deleted.
CREATE TABLE webhook_removals (
    endpoint_id INTEGER PRIMARY KEY
) STRICT;
