-- a refund that the gateway reports again
CREATE UNIQUE INDEX refunds_by_reference ON refunds (order_id, reference) WHERE reference IS NOT NULL;

CREATE TABLE disputes (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    order_id INTEGER NOT NULL REFERENCES orders (id),
    -- The event of the order.
    event_id INTEGER NOT NULL REFERENCES events (id),
    -- The gateway's id of the dispute.
    reference TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    currency TEXT NOT NULL,
    reason TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('OPEN', 'WON', 'LOST')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
-- a dispute that the gateway reports again
CREATE UNIQUE INDEX disputes_by_reference ON disputes (order_id, reference);
-- list_disputes by status
CREATE INDEX disputes_by_status ON disputes (organization_id, status);
-- list_disputes of an event
CREATE INDEX disputes_by_event ON disputes (event_id, status);
-- list_disputes of an order
CREATE INDEX disputes_by_order ON disputes (order_id, status);
-- the number of open disputes, among many that are decided
CREATE INDEX disputes_open ON disputes (id) WHERE status = 'OPEN';
