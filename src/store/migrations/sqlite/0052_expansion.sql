-- The transaction of a change stores its notifications only. They have their organization until the webhook sender has
-- inserted a row of the outbox for each endpoint. Until then, that counts as one row.
ALTER TABLE webhook_notifications ADD COLUMN organization_id INTEGER;
ALTER TABLE webhook_notifications ADD COLUMN type TEXT;
CREATE INDEX webhook_notifications_stored ON webhook_notifications (organization_id, type, id)
    WHERE organization_id IS NOT NULL;

-- Inserts the rows that earlier versions would have inserted for their fan-outs. An id is a prefix and 13 digits to the base
-- 32.
CREATE TABLE old_notifications AS
    WITH RECURSIVE digits (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM digits WHERE i < 12)
    SELECT f.id AS fan_out_id, n.key AS place, n.value ->> 1 AS body,
        (SELECT SUM((INSTR('0123456789ABCDEFGHJKMNPQRSTVWXYZ', SUBSTR(n.value ->> 0, 5 + i, 1)) - 1) << (60 - 5 * i))
            FROM digits) AS id
    FROM webhook_fan_outs f, json_each(f.notifications) n;
CREATE TABLE old_endpoints AS
    WITH RECURSIVE digits (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM digits WHERE i < 12)
    SELECT f.id AS fan_out_id, e.key AS place, e.value ->> 1 AS generation, json_array_length(f.endpoints) AS number,
        (SELECT SUM((INSTR('0123456789ABCDEFGHJKMNPQRSTVWXYZ', SUBSTR(e.value ->> 0, 9 + i, 1)) - 1) << (60 - 5 * i))
            FROM digits) AS id
    FROM webhook_fan_outs f, json_each(f.endpoints) e;
INSERT INTO webhook_notifications (id, body, outbox_rows) SELECT id, body, 1 FROM old_notifications WHERE TRUE
    ON CONFLICT (id) DO NOTHING;
INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, generation, state, due_at, created_at)
    SELECT (SELECT MAX(id) FROM (SELECT MAX(id) AS id FROM webhook_outbox
            UNION ALL SELECT MAX(id) AS id FROM webhook_notifications) AS both_tables)
            + ROW_NUMBER() OVER (ORDER BY f.id, n.place, e.place),
        w.id, n.id, f.type, e.generation, 'WAITING', f.created_at, f.created_at
    FROM webhook_fan_outs f JOIN old_notifications n ON n.fan_out_id = f.id
        JOIN old_endpoints e ON e.fan_out_id = f.id JOIN webhook_endpoints w ON w.id = e.id
    WHERE n.place * e.number + e.place >= f.done AND w.events LIKE '%"' || f.type || '"%';
UPDATE webhook_notifications SET outbox_rows = o.number
    FROM (SELECT event_id, COUNT(*) AS number FROM webhook_outbox
        WHERE event_id IN (SELECT id FROM old_notifications) GROUP BY event_id) o
    WHERE o.event_id = webhook_notifications.id;
DELETE FROM webhook_notifications
    WHERE id IN (SELECT id FROM old_notifications) AND id NOT IN (SELECT event_id FROM webhook_outbox);
DROP TABLE old_notifications;
DROP TABLE old_endpoints;
DROP TABLE webhook_fan_outs;
