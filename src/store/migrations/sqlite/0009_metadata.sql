-- What the organization attaches to a resource: a JSON object of strings, NULL if it is empty. A reference is its own name
-- for the resource.
ALTER TABLE events ADD COLUMN reference TEXT;
ALTER TABLE events ADD COLUMN metadata TEXT;
ALTER TABLE ticket_types ADD COLUMN reference TEXT;
ALTER TABLE ticket_types ADD COLUMN metadata TEXT;
ALTER TABLE customers ADD COLUMN metadata TEXT;
ALTER TABLE orders ADD COLUMN reference TEXT;
ALTER TABLE orders ADD COLUMN metadata TEXT;
-- list_events with a reference
CREATE INDEX events_by_reference ON events (organization_id, reference) WHERE reference IS NOT NULL;
-- list_orders with a reference
CREATE INDEX orders_by_reference ON orders (organization_id, reference) WHERE reference IS NOT NULL;
