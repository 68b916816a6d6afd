-- The runs that cancel the completed orders of a cancelled event, and the refunds that they decide.
CREATE TABLE cancellation_runs (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    event_id BIGINT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    refund BIGINT NOT NULL CHECK (refund IN (0, 1)),
    reason TEXT COLLATE "C",
    -- The API key that started it.
    decided_by BIGINT,
    -- The last order that was cancelled or has failed. The others follow in the order of their ids.
    last_order BIGINT NOT NULL DEFAULT 0,
    cancelled BIGINT NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    failed BIGINT NOT NULL DEFAULT 0 CHECK (failed >= 0),
    -- The first orders that have failed, as JSON.
    failures TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    started_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX cancellation_runs_of_event ON cancellation_runs (event_id, id);
ALTER TABLE refunds ADD COLUMN cancellation_run_id BIGINT REFERENCES cancellation_runs (id);
CREATE INDEX refunds_of_run ON refunds (cancellation_run_id, status, owed) WHERE cancellation_run_id IS NOT NULL;
