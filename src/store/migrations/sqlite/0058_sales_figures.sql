-- Figures of reports.

-- How many tickets were ordered, so that reports do not count them for each order. NULL for orders of earlier versions: their
-- tickets are counted.
ALTER TABLE orders ADD COLUMN ordered_seats INTEGER;
-- When a ticket was cancelled. NULL if it is not, or if an earlier version has cancelled it.
ALTER TABLE tickets ADD COLUMN cancelled_at INTEGER;
