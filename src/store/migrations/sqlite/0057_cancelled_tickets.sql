-- Lists of orders.

-- the orders with cancelled tickets: a list reads the tickets of no others
CREATE INDEX tickets_cancelled_by_order ON tickets (order_id) WHERE status = 'CANCELLED' AND order_id IS NOT NULL;
