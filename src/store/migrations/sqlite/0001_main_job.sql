-- Ids, instants (milliseconds since 1970), amounts (minor units) and booleans are 64-bit integers.
-- Each index names the query it is for.

CREATE TABLE organizations (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    currency TEXT NOT NULL,
    timezone TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    key_hash BLOB NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at INTEGER
) STRICT;
-- authenticate
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (key_hash);
-- list_api_keys
CREATE INDEX api_keys_by_organization ON api_keys (organization_id);

CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    title TEXT NOT NULL,
    description TEXT,
    location TEXT,
    location_metadata TEXT NOT NULL DEFAULT 'null',
    currency TEXT NOT NULL,
    timezone TEXT NOT NULL,
    start_at INTEGER NOT NULL,
    end_at INTEGER CHECK (end_at >= start_at),
    -- When the event is over: end_at, or a day after its start.
    over_at INTEGER NOT NULL CHECK (over_at >= start_at),
    slug TEXT NOT NULL,
    cover_image TEXT,
    is_public INTEGER NOT NULL CHECK (is_public IN (0, 1)),
    status TEXT NOT NULL CHECK (status IN ('PUBLISHED', 'DRAFTED', 'EXPIRED', 'SOLD_OUT', 'CANCELLED')),
    delivery_method TEXT NOT NULL CHECK (delivery_method IN ('DIGITAL', 'PHYSICAL')),
    shipping_countries TEXT NOT NULL,
    accepts_company INTEGER NOT NULL CHECK (accepts_company IN (0, 1)),
    tags TEXT NOT NULL DEFAULT '[]',
    is_featured INTEGER NOT NULL DEFAULT 0 CHECK (is_featured IN (0, 1)),
    tracking_pixels TEXT NOT NULL DEFAULT 'null',
    disable_notifications INTEGER NOT NULL DEFAULT 0 CHECK (disable_notifications IN (0, 1)),
    page_views INTEGER NOT NULL DEFAULT 0 CHECK (page_views >= 0),
    -- Title and slug in lower case, for the search.
    search_text TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
-- the uniqueness of a slug
CREATE UNIQUE INDEX events_by_slug ON events (organization_id, slug);
-- list_events
CREATE INDEX events_by_organization ON events (organization_id);
-- run_maintenance: events that are over and not written so yet
CREATE INDEX events_open ON events (over_at) WHERE status IN ('PUBLISHED', 'SOLD_OUT');

CREATE TABLE ticket_types (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    event_id INTEGER NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    description TEXT,
    price INTEGER NOT NULL CHECK (price >= 0),
    quantity INTEGER NOT NULL CHECK (quantity >= 1),
    -- Tickets of completed orders, and issued ones, that are not cancelled.
    sold INTEGER NOT NULL DEFAULT 0 CHECK (sold >= 0),
    -- Places of the orders stored as PENDING.
    held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    -- Whether it was ever ordered or issued: then it cannot be deleted.
    used INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),
    status TEXT NOT NULL CHECK (status IN ('ON_SALE', 'DISPLAY_AS_SOLD_OUT', 'DISPLAY_AS_UNAVAILABLE', 'ONLY_VISIBLE_TO_OWNER')),
    display_remaining INTEGER NOT NULL CHECK (display_remaining IN (0, 1)),
    valid_from INTEGER,
    valid_until INTEGER CHECK (valid_until > valid_from),
    allowed_dates TEXT NOT NULL,
    validity_days INTEGER CHECK (validity_days > 0),
    validity_hours INTEGER CHECK (validity_hours > 0),
    access_areas TEXT NOT NULL,
    max_per_order INTEGER NOT NULL CHECK (max_per_order BETWEEN 1 AND 100),
    sale_start_at INTEGER,
    sale_end_at INTEGER CHECK (sale_end_at > sale_start_at),
    sort_order INTEGER NOT NULL,
    ticket_text TEXT,
    ticket_logo TEXT,
    revision INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK (sold + held <= quantity)
) STRICT;
-- list_ticket_types, and the sum of an event's unsold places
CREATE INDEX ticket_types_by_event ON ticket_types (event_id, sort_order);

CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    email TEXT NOT NULL,
    -- The address in lower case.
    email_key TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
-- the customer of an address, in orders and in filters
CREATE UNIQUE INDEX customers_by_email ON customers (organization_id, email_key);

CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    event_id INTEGER NOT NULL REFERENCES events (id),
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    customer_name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('PENDING', 'COMPLETED', 'CANCELLED', 'EXPIRED')),
    -- A PENDING order holds its places until this instant; an order that cost nothing never held any.
    hold_until INTEGER,
    currency TEXT NOT NULL,
    total INTEGER NOT NULL CHECK (total >= 0),
    discounted_amount INTEGER CHECK (discounted_amount >= 0),
    discount_code TEXT,
    affiliate_code TEXT,
    reminder_sent INTEGER NOT NULL DEFAULT 0 CHECK (reminder_sent IN (0, 1)),
    -- What else the request said, as JSON; NULL where it said nothing.
    details TEXT,
    payment_link TEXT,
    payment_status TEXT CHECK (payment_status IN ('WAITING', 'COMPLETED', 'FAILED', 'REFUNDED')),
    -- The gateway's own name for the payment.
    payment_reference TEXT,
    completed_at INTEGER,
    -- Whether the gateway's money is what completed it.
    paid_by_gateway INTEGER NOT NULL DEFAULT 0 CHECK (paid_by_gateway IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((payment_link IS NULL) = (payment_status IS NULL)),
    CHECK (status <> 'PENDING' OR hold_until IS NOT NULL)
) STRICT;
-- list_orders
CREATE INDEX orders_by_organization ON orders (organization_id);
-- list_orders of an event; whether an event has orders
CREATE INDEX orders_by_event ON orders (event_id);
-- list_orders of a customer
CREATE INDEX orders_by_customer ON orders (customer_id);
-- run_maintenance, and who needs a place: holds that have run out
CREATE INDEX orders_pending ON orders (hold_until, event_id) WHERE status = 'PENDING';
-- the hosted checkout page
CREATE UNIQUE INDEX orders_by_payment ON orders (payment_reference) WHERE payment_reference IS NOT NULL;

CREATE TABLE order_items (
    id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders (id),
    -- No REFERENCES: deleting a type would look through every item. Its column `used` keeps it instead.
    ticket_type_id INTEGER NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    price INTEGER NOT NULL CHECK (price >= 0),
    discount INTEGER NOT NULL CHECK (discount BETWEEN 0 AND price * quantity)
) STRICT;
-- the items of an order
CREATE INDEX order_items_by_order ON order_items (order_id);

CREATE TABLE tickets (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    event_id INTEGER NOT NULL REFERENCES events (id),
    -- No REFERENCES, as in order_items.
    ticket_type_id INTEGER NOT NULL,
    -- Both NULL where the organizer issued it.
    order_id INTEGER REFERENCES orders (id),
    order_item_id INTEGER,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    customer_name TEXT NOT NULL,
    code TEXT NOT NULL CHECK (LENGTH(code) = 20),
    status TEXT NOT NULL CHECK (status IN ('CHECKED_IN', 'NOT_CHECKED_IN', 'CANCELLED')),
    check_in_at INTEGER,
    check_out_at INTEGER,
    checked_in_by INTEGER,
    first_scan_at INTEGER,
    last_scan_at INTEGER,
    scan_count INTEGER NOT NULL DEFAULT 0 CHECK (scan_count >= 0),
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((order_id IS NULL) = (order_item_id IS NULL)),
    CHECK (status <> 'CHECKED_IN' OR check_in_at IS NOT NULL)
) STRICT;
-- a scan
CREATE UNIQUE INDEX tickets_by_code ON tickets (code);
-- list_tickets
CREATE INDEX tickets_by_organization ON tickets (organization_id);
-- list_tickets of an event or of one of its types
CREATE INDEX tickets_by_event ON tickets (event_id);
-- the tickets of an order
CREATE INDEX tickets_by_order ON tickets (order_id) WHERE order_id IS NOT NULL;
-- list_tickets of a customer
CREATE INDEX tickets_by_customer ON tickets (customer_id);

CREATE TABLE refunds (
    order_id INTEGER PRIMARY KEY REFERENCES orders (id),
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    amount INTEGER NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('DUE', 'DONE', 'REFUSED')),
    attempts INTEGER NOT NULL DEFAULT 0,
    -- Nobody asks the gateway again before this instant.
    next_attempt_at INTEGER NOT NULL,
    last_error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
-- the refunds to ask for
CREATE INDEX refunds_due ON refunds (next_attempt_at) WHERE status = 'DUE';
-- list_refunds
CREATE INDEX refunds_by_organization ON refunds (organization_id);
