-- The types of notifications are one list in the program, which reads no other: the tables do not repeat it.
--
-- This changes the text of the tables and not their rows, so that it takes no longer with many rows:
-- https://www.sqlite.org/lang_altertable.html#otheralter describes it for checks. A table without a check accepts the same
-- rows.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = REPLACE(sql,
        ' CHECK (type = ''order.completed'' OR type = ''order.cancelled'' OR type = ''ticket.issued'''
        || ' OR type = ''ticket.checked_in'')', '')
    WHERE type = 'table' AND (name = 'webhook_outbox' OR name = 'webhook_deliveries');
UPDATE sqlite_schema SET sql = REPLACE(sql,
        ' CHECK (type IN (''order.completed'', ''order.cancelled'', ''ticket.issued'', ''ticket.checked_in''))', '')
    WHERE type = 'table' AND name = 'webhook_fan_outs';
PRAGMA writable_schema = RESET;
