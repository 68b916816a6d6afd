-- list_orders by the time of completion
CREATE INDEX orders_by_completion ON orders (organization_id, completed_at) WHERE completed_at IS NOT NULL;
-- list_orders of a discount
CREATE INDEX orders_by_discount ON orders (discount_id) WHERE discount_id IS NOT NULL;
