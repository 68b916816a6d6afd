-- The runs that cancel the completed orders of a cancelled event, and the refunds that they decide.
CREATE TABLE cancellation_runs (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    event_id INTEGER NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    refund INTEGER NOT NULL CHECK (refund IN (0, 1)),
    reason TEXT,
    -- The API key that started it.
    decided_by INTEGER,
    -- The last order that was cancelled or has failed. The others follow in the order of their ids.
    last_order INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    failed INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
    -- The first orders that have failed, as JSON.
    failures TEXT NOT NULL DEFAULT '[]',
    started_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;
CREATE INDEX cancellation_runs_of_event ON cancellation_runs (event_id, id);
ALTER TABLE refunds ADD COLUMN cancellation_run_id INTEGER REFERENCES cancellation_runs (id);
CREATE INDEX refunds_of_run ON refunds (cancellation_run_id, status, owed) WHERE cancellation_run_id IS NOT NULL;
