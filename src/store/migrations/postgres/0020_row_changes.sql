-- The pending orders of cancelled events are work now, and the queued notifications of endpoints that were deleted or
-- unsubscribed. An endpoint that was deleted has no organization any more.
INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
    SELECT (SELECT COALESCE(MAX(id), 0) FROM work) + ROW_NUMBER() OVER (ORDER BY e.id),
        'cancel orders', e.id, e.organization_id, e.id, '', e.updated_at, e.updated_at
    FROM event_cancellations c JOIN events e ON e.id = c.event_id;
DROP TABLE event_cancellations;
INSERT INTO work (id, kind, key, organization_id, body, due_at, created_at)
    SELECT (SELECT COALESCE(MAX(id), 0) FROM work) + ROW_NUMBER() OVER (ORDER BY r.endpoint_id),
        'remove notifications', r.endpoint_id, COALESCE(e.organization_id, 0), '', 0, 0
    FROM webhook_removals r LEFT JOIN webhook_endpoints e ON e.id = r.endpoint_id;
DROP TABLE webhook_removals;
