-- The checks of the tables that are written most compare a text with one value after another. With IN and more than two
-- values, SQLite fills a temporary table with the values for each row that it checks: that costs more than writing the row.
--
-- This changes the text of the tables and not their rows, so that it takes no longer with many rows:
-- https://www.sqlite.org/lang_altertable.html#otheralter describes it for checks. The new checks accept the same rows.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = REPLACE(sql,
        'CHECK (status IN (''PENDING'', ''COMPLETED'', ''CANCELLED'', ''EXPIRED''))',
        'CHECK (status = ''PENDING'' OR status = ''COMPLETED'' OR status = ''CANCELLED'' OR status = ''EXPIRED'')')
    WHERE type = 'table' AND name = 'orders';
UPDATE sqlite_schema SET sql = REPLACE(sql,
        'CHECK (payment_status IN (''WAITING'', ''COMPLETED'', ''FAILED'', ''REFUNDED''))',
        'CHECK (payment_status = ''WAITING'' OR payment_status = ''COMPLETED'' OR payment_status = ''FAILED'''
        || ' OR payment_status = ''REFUNDED'')')
    WHERE type = 'table' AND name = 'orders';
UPDATE sqlite_schema SET sql = REPLACE(sql,
        'CHECK (status IN (''CHECKED_IN'', ''NOT_CHECKED_IN'', ''CANCELLED''))',
        'CHECK (status = ''CHECKED_IN'' OR status = ''NOT_CHECKED_IN'' OR status = ''CANCELLED'')')
    WHERE type = 'table' AND name = 'tickets';
UPDATE sqlite_schema SET sql = REPLACE(sql,
        'CHECK (status IN (''OPEN'', ''CLOSING'', ''CLOSED''))',
        'CHECK (status = ''OPEN'' OR status = ''CLOSING'' OR status = ''CLOSED'')')
    WHERE type = 'table' AND name = 'checkouts';
UPDATE sqlite_schema SET sql = REPLACE(sql,
        'CHECK (type IN (''order.completed'', ''order.cancelled'', ''ticket.issued'', ''ticket.checked_in''))',
        'CHECK (type = ''order.completed'' OR type = ''order.cancelled'' OR type = ''ticket.issued'''
        || ' OR type = ''ticket.checked_in'')')
    WHERE type = 'table' AND name = 'webhook_outbox';
UPDATE sqlite_schema SET sql = REPLACE(sql,
        'CHECK (state IN (''WAITING'', ''DELIVERED'', ''DEAD'', ''REMOVED''))',
        'CHECK (state = ''WAITING'' OR state = ''DELIVERED'' OR state = ''DEAD'' OR state = ''REMOVED'')')
    WHERE type = 'table' AND name = 'webhook_outbox';
UPDATE sqlite_schema SET sql = REPLACE(sql,
        'CHECK (type IN (''order.completed'', ''order.cancelled'', ''ticket.issued'', ''ticket.checked_in''))',
        'CHECK (type = ''order.completed'' OR type = ''order.cancelled'' OR type = ''ticket.issued'''
        || ' OR type = ''ticket.checked_in'')')
    WHERE type = 'table' AND name = 'webhook_deliveries';
PRAGMA writable_schema = RESET;
