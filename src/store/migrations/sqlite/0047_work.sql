-- One queue for the work that is done later, whatever its kind. Calls of functions come first.
CREATE TABLE work (
    id INTEGER PRIMARY KEY,
    -- What is to be done: for a call of a function, 'call ' and its name.
    kind TEXT NOT NULL,
    -- The id of the row that it is about. NULL if it is about nothing that changes.
    key INTEGER,
    organization_id INTEGER NOT NULL,
    -- The event whose sale it is about.
    event_id INTEGER,
    -- What it is about, as its kind writes it.
    body TEXT NOT NULL,
    -- Attempts that were started.
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- The token of the attempt in progress, if there is one.
    claim INTEGER,
    -- When the next attempt is made. During an attempt: when another process may make one.
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX work_due ON work (kind, due_at, id);
CREATE INDEX work_by_organization ON work (kind, organization_id, due_at, id);
CREATE UNIQUE INDEX work_by_key ON work (key, kind) WHERE key IS NOT NULL;

INSERT INTO work (id, kind, organization_id, body, attempts, claim, due_at, created_at)
    SELECT id, 'call ' || handler, organization_id, body, attempts, claim, due_at, created_at FROM handler_queue;
DROP TABLE handler_queue;
