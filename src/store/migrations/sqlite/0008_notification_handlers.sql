-- The notification handlers of the programs that use the database. A program registers them when it opens it.
CREATE TABLE notification_handlers (
    name TEXT NOT NULL PRIMARY KEY,
    -- The topics for which notifications are queued, as a JSON array.
    topics TEXT NOT NULL,
    -- When a program with this handler was last running, to the hour.
    seen_at INTEGER NOT NULL
) STRICT;

-- The queues of the handlers: one row for each notification and handler, until the handler has succeeded or is given up.
-- The organization has no REFERENCES, because a handler may be slower than the deletion of an organization.
CREATE TABLE handler_queue (
    id INTEGER PRIMARY KEY,
    handler TEXT NOT NULL REFERENCES notification_handlers (name),
    organization_id INTEGER NOT NULL,
    -- What happened, as JSON.
    body TEXT NOT NULL,
    -- Calls of the handler that were started.
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 8),
    -- The token of the call in progress, if there is one.
    claim INTEGER,
    -- When the handler is called next. During a call: when another process may call it.
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
-- the next notification for a handler
CREATE INDEX handler_queue_due ON handler_queue (handler, due_at);
