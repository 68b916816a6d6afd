-- The transaction of a change stores its notifications only. They have their organization until the webhook sender has
-- inserted a row of the outbox for each endpoint. Until then, that counts as one row.
ALTER TABLE webhook_notifications ADD COLUMN organization_id BIGINT;
ALTER TABLE webhook_notifications ADD COLUMN type TEXT COLLATE "C";
CREATE INDEX webhook_notifications_stored ON webhook_notifications (organization_id, type, id)
    WHERE organization_id IS NOT NULL;

-- Inserts the rows that earlier versions would have inserted for their fan-outs. An id is a prefix and 13 digits to the base
-- 32.
CREATE TABLE old_notifications AS
    SELECT f.id AS fan_out_id, n.place - 1 AS place, n.value ->> 1 AS body,
        (SELECT CAST(SUM(CAST(STRPOS('0123456789ABCDEFGHJKMNPQRSTVWXYZ', SUBSTR(n.value ->> 0, 5 + i, 1)) - 1 AS BIGINT)
            << (60 - 5 * i)) AS BIGINT) FROM GENERATE_SERIES(0, 12) AS digits (i)) AS id
    FROM webhook_fan_outs f, JSON_ARRAY_ELEMENTS(CAST(f.notifications AS JSON)) WITH ORDINALITY AS n (value, place);
CREATE TABLE old_endpoints AS
    SELECT f.id AS fan_out_id, e.place - 1 AS place, CAST(e.value ->> 1 AS BIGINT) AS generation,
        JSON_ARRAY_LENGTH(CAST(f.endpoints AS JSON)) AS number,
        (SELECT CAST(SUM(CAST(STRPOS('0123456789ABCDEFGHJKMNPQRSTVWXYZ', SUBSTR(e.value ->> 0, 9 + i, 1)) - 1 AS BIGINT)
            << (60 - 5 * i)) AS BIGINT) FROM GENERATE_SERIES(0, 12) AS digits (i)) AS id
    FROM webhook_fan_outs f, JSON_ARRAY_ELEMENTS(CAST(f.endpoints AS JSON)) WITH ORDINALITY AS e (value, place);
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
