-- The notifications of a type that is taken out of the events of an endpoint are removed before it can be added again, so
-- that rows need not tell how often that has happened. Of those that are left of earlier times, none is sent.
UPDATE webhook_outbox SET state = 'REMOVED', finished_at = UNIXEPOCH() * 1000, claim = NULL
    WHERE state = 'WAITING' AND EXISTS (SELECT 1 FROM webhook_endpoints e
        WHERE e.id = endpoint_id AND COALESCE(e.generations ->> ('$."' || type || '"'), 0) <> generation);
DROP INDEX webhook_outbox_waiting;
ALTER TABLE webhook_outbox DROP COLUMN generation;
ALTER TABLE webhook_endpoints DROP COLUMN generations;
CREATE INDEX webhook_outbox_waiting ON webhook_outbox (endpoint_id, type, due_at) WHERE state = 'WAITING';
