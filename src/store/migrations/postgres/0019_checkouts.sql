-- What a gateway is asked about a checkout is work now: to close one whose order has ended, or for the outcome of one
-- whose payment was not reported. Until its claim ends, an attempt of an earlier version goes on.
INSERT INTO work (id, kind, key, organization_id, event_id, body, attempts, due_at, created_at)
    SELECT (SELECT COALESCE(MAX(id), 0) FROM work) + ROW_NUMBER() OVER (ORDER BY c.order_id),
        'checkout ' || CASE WHEN c.gateway IS NULL THEN '?' ELSE c.gateway || ' ' || c.mode END,
        c.order_id, o.organization_id, o.event_id, '', c.attempts, c.next_attempt_at, o.created_at
    FROM checkouts c JOIN orders o ON o.id = c.order_id
    WHERE c.next_attempt_at IS NOT NULL AND c.status <> 'CLOSED';
DROP INDEX checkouts_due;
ALTER TABLE checkouts DROP COLUMN next_attempt_at;
ALTER TABLE checkouts DROP COLUMN attempts;
CREATE INDEX checkouts_closing ON checkouts (order_id) WHERE status = 'CLOSING';
