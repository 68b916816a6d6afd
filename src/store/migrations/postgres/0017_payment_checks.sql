-- What a gateway is asked about a payment some time after a refund or a dispute is work now.
INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
    SELECT (SELECT COALESCE(MAX(id), 0) FROM work) + ROW_NUMBER() OVER (ORDER BY id),
        'check ' || CASE WHEN gateway IS NULL THEN '?' ELSE gateway || ' ' || mode END,
        id, organization_id, event_id, CAST(checks AS TEXT), check_at, created_at
    FROM payments WHERE check_at IS NOT NULL;
DROP INDEX payments_to_check;
ALTER TABLE payments DROP COLUMN check_at;
ALTER TABLE payments DROP COLUMN checks;
