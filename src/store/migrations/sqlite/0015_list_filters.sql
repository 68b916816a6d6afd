-- Few tickets are CANCELLED, and before an event none is CHECKED_IN. A sale writes none of these indexes.
-- list_tickets with status CANCELLED
CREATE INDEX tickets_cancelled ON tickets (organization_id) WHERE status = 'CANCELLED';
-- list_tickets of an event with status CANCELLED
CREATE INDEX tickets_cancelled_of_event ON tickets (event_id) WHERE status = 'CANCELLED';
-- list_tickets of an event with status CHECKED_IN
CREATE INDEX tickets_checked_in_of_event ON tickets (event_id) WHERE status = 'CHECKED_IN';
-- list_tickets by the time of the first scan
CREATE INDEX tickets_by_first_scan ON tickets (organization_id, first_scan_at) WHERE first_scan_at IS NOT NULL;
-- list_orders by the time of creation: the orders whose id has a later time, because the clock was set back
CREATE INDEX orders_with_later_id ON orders (organization_id) WHERE created_at < (id >> 20) - 1000;
