-- A filtered list reads its newest rows from one or more ranges of an index, each in the order of the ids. So no filter
-- reads past rows that others have sold.

-- list_orders of an event, by status; whether an event has orders
CREATE INDEX orders_by_status ON orders (event_id, status);
DROP INDEX orders_by_event;
-- list_orders with a ticket type
CREATE INDEX order_items_by_ticket_type ON order_items (ticket_type_id, order_id);
-- list_orders by last change: orders that changed more than an hour after their creation. A sale changes none so late.
CREATE INDEX orders_changed_late ON orders (organization_id, updated_at) WHERE updated_at > created_at + 3600000;
-- list_orders completed or changed before a time: orders for which that was before their creation, because the clock was
-- set back
CREATE INDEX orders_changed_early ON orders (organization_id) WHERE completed_at < created_at OR updated_at < created_at;

-- list_tickets of an event or ticket type, by status; whether an event has tickets
CREATE INDEX tickets_by_status ON tickets (event_id, ticket_type_id, status);
DROP INDEX tickets_by_event;
DROP INDEX tickets_cancelled_of_event;
DROP INDEX tickets_checked_in_of_event;

-- list_events by status and visibility
CREATE INDEX events_by_status ON events (organization_id, status, is_public);
-- list_events by start
CREATE INDEX events_by_start ON events (organization_id, start_at);

-- The event of the order.
ALTER TABLE refunds ADD COLUMN event_id INTEGER;
UPDATE refunds SET event_id = (SELECT o.event_id FROM orders o WHERE o.id = refunds.order_id);
-- list_refunds by status
CREATE INDEX refunds_by_status ON refunds (organization_id, status);
DROP INDEX refunds_by_organization;
-- list_refunds of an event
CREATE INDEX refunds_by_event ON refunds (event_id, status);

-- list_discounts, enabled or not
CREATE INDEX discounts_by_activity ON discounts (organization_id, is_active);
DROP INDEX discounts_by_organization;
-- list_discounts of an event, enabled or not
CREATE INDEX discounts_by_event_and_activity ON discounts (event_id, is_active);
DROP INDEX discounts_by_event;
-- list_discounts with a code
CREATE INDEX discounts_by_code_in_organization ON discounts (organization_id, code_key);

-- list_webhook_deliveries by result and type
CREATE INDEX webhook_deliveries_by_result ON webhook_deliveries (endpoint_id, success, type);
DROP INDEX webhook_deliveries_by_endpoint;
