-- The seats of an order that was created with a limit for each customer; NULL without one.
ALTER TABLE orders ADD COLUMN limited_seats INTEGER CHECK (limited_seats > 0);
-- create_order with a limit for each customer: the pending orders of a customer for an event
CREATE INDEX orders_limited ON orders (customer_id, event_id) WHERE status = 'PENDING' AND limited_seats IS NOT NULL;
