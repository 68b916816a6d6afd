-- Expired holds are looked for by event, by discount and by customer: those of others cost nothing, however many there
-- are.

-- create_order with a sold-out ticket type; the sales figures of an event; cancelling the orders of an event
CREATE INDEX orders_held_by_event ON orders (event_id, hold_until) WHERE status = 'PENDING';
-- create_order with a discount that is used up; the number of its uses
CREATE INDEX orders_held_by_discount ON orders (discount_id, hold_until)
    WHERE status = 'PENDING' AND discount_id IS NOT NULL;
-- create_order with a limit for each customer: without the expired holds of the customer
DROP INDEX orders_limited;
CREATE INDEX orders_limited ON orders (customer_id, event_id, hold_until)
    WHERE status = 'PENDING' AND limited_seats IS NOT NULL;
