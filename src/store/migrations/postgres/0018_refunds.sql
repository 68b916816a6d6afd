-- What a gateway is asked about a refund is work now. Until its claim ends, an attempt of an earlier version goes on.
INSERT INTO work (id, kind, key, organization_id, event_id, body, claim, due_at, created_at)
    SELECT (SELECT COALESCE(MAX(id), 0) FROM work) + ROW_NUMBER() OVER (ORDER BY r.id),
        'refund ' || CASE WHEN p.gateway IS NULL THEN '?' ELSE p.gateway || ' ' || p.mode END,
        r.id, r.organization_id, r.event_id, '', CASE r.is_asking WHEN 1 THEN 1 END, r.next_attempt_at, r.created_at
    FROM refunds r JOIN payments p ON p.id = r.payment_id WHERE r.next_attempt_at IS NOT NULL AND r.to_ask > 0;
DROP INDEX refunds_due;
ALTER TABLE refunds DROP COLUMN next_attempt_at;
ALTER TABLE refunds DROP COLUMN is_asking;
