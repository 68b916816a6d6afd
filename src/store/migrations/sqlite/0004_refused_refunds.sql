-- the number of refunds that the gateway refused, among many that it did not
CREATE INDEX refunds_refused ON refunds (order_id) WHERE status = 'REFUSED';
