-- What is sent is stored once, and no longer in the row of each endpoint.

CREATE TABLE webhook_notifications (
    -- The id of the notification, as it is sent.
    id INTEGER PRIMARY KEY,
    -- What is sent, byte for byte.
    body TEXT NOT NULL,
    -- How many rows of the outbox send it. With the last of them, it is deleted.
    outbox_rows INTEGER NOT NULL CHECK (outbox_rows > 0)
) STRICT;
INSERT INTO webhook_notifications (id, body, outbox_rows)
    SELECT event_id, MIN(body), COUNT(*) FROM webhook_outbox GROUP BY event_id;
ALTER TABLE webhook_outbox DROP COLUMN body;
