ALTER TABLE checkouts ADD COLUMN gateway TEXT COLLATE "C";
ALTER TABLE checkouts ADD COLUMN account TEXT COLLATE "C";
ALTER TABLE checkouts ADD COLUMN mode TEXT COLLATE "C" CHECK (mode = 'LIVE' OR mode = 'TEST');
UPDATE checkouts SET gateway = 'sandbox', account = '', mode = 'TEST' WHERE EXISTS
    (SELECT 1 FROM orders o WHERE o.id = checkouts.order_id AND SUBSTR(o.payment_reference, 1, 8) = 'sandbox_');
