-- The schema of version 0.3.0.

CREATE TABLE organizations (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    currency TEXT NOT NULL,
    timezone TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    reference TEXT,
    suspended_at INTEGER
) STRICT;
CREATE UNIQUE INDEX organizations_by_reference ON organizations (reference) WHERE reference IS NOT NULL;
CREATE INDEX organizations_suspended ON organizations (suspended_at) WHERE suspended_at IS NOT NULL;

CREATE TABLE api_keys (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    key_hash BLOB NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at INTEGER,
    organization_suspended_at INTEGER,
    event_id INTEGER REFERENCES events (id)
) STRICT;
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (key_hash);
CREATE INDEX api_keys_by_organization ON api_keys (organization_id);
CREATE INDEX api_keys_usable ON api_keys (organization_id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_of_event ON api_keys (event_id) WHERE event_id IS NOT NULL;

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
    updated_at INTEGER NOT NULL,
    reference TEXT,
    metadata TEXT,
    has_scan_log INTEGER NOT NULL DEFAULT 0 CHECK (has_scan_log IN (0, 1)),
    cancelled_at INTEGER
) STRICT;
CREATE UNIQUE INDEX events_by_slug ON events (organization_id, slug);
CREATE INDEX events_by_organization ON events (organization_id);
CREATE INDEX events_open ON events (over_at) WHERE status IN ('PUBLISHED', 'SOLD_OUT');
CREATE INDEX events_by_reference ON events (organization_id, reference) WHERE reference IS NOT NULL;
CREATE INDEX events_by_status ON events (organization_id, status, is_public);
CREATE INDEX events_by_start ON events (organization_id, start_at);

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
    reference TEXT,
    metadata TEXT,
    pending_orders INTEGER NOT NULL DEFAULT 0,
    completed_orders INTEGER NOT NULL DEFAULT 0,
    cancelled_orders INTEGER NOT NULL DEFAULT 0,
    expired_orders INTEGER NOT NULL DEFAULT 0,
    checked_in_tickets INTEGER NOT NULL DEFAULT 0,
    cancelled_tickets INTEGER NOT NULL DEFAULT 0,
    revenue INTEGER NOT NULL DEFAULT 0,
    discount_total INTEGER NOT NULL DEFAULT 0,
    manual_payment_total INTEGER NOT NULL DEFAULT 0,
    refunded_total INTEGER NOT NULL DEFAULT 0,
    manual_refund_total INTEGER NOT NULL DEFAULT 0,
    manually_refunded_total INTEGER NOT NULL DEFAULT 0,
    owed_total INTEGER NOT NULL DEFAULT 0,
    disputed_total INTEGER NOT NULL DEFAULT 0,
    CHECK (sold + held <= quantity)
) STRICT;
CREATE INDEX ticket_types_by_event ON ticket_types (event_id, sort_order);

CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    email TEXT NOT NULL,
    -- The address in lower case.
    email_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    metadata TEXT
) STRICT;
CREATE UNIQUE INDEX customers_by_email ON customers (organization_id, email_key);

CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    event_id INTEGER NOT NULL REFERENCES events (id),
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    customer_name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status = 'PENDING' OR status = 'COMPLETED' OR status = 'CANCELLED' OR status = 'EXPIRED'),
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
    payment_status TEXT CHECK (payment_status = 'WAITING' OR payment_status = 'COMPLETED' OR payment_status = 'FAILED' OR payment_status = 'REFUNDED'),
    -- The gateway's own name for the payment.
    payment_reference TEXT,
    completed_at INTEGER,
    -- Whether the gateway's money is what completed it.
    paid_by_gateway INTEGER NOT NULL DEFAULT 0 CHECK (paid_by_gateway IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    discount_id INTEGER,
    reference TEXT,
    metadata TEXT,
    limited_seats INTEGER CHECK (limited_seats > 0),
    cancelled_at INTEGER,
    CHECK ((payment_link IS NULL) = (payment_status IS NULL)),
    CHECK (status <> 'PENDING' OR hold_until IS NOT NULL)
) STRICT;
CREATE INDEX orders_by_organization ON orders (organization_id);
CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE INDEX orders_pending ON orders (hold_until, event_id) WHERE status = 'PENDING';
CREATE UNIQUE INDEX orders_by_payment ON orders (payment_reference) WHERE payment_reference IS NOT NULL;
CREATE INDEX orders_by_completion ON orders (organization_id, completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX orders_by_discount ON orders (discount_id) WHERE discount_id IS NOT NULL;
CREATE INDEX orders_by_reference ON orders (organization_id, reference) WHERE reference IS NOT NULL;
CREATE INDEX orders_with_later_id ON orders (organization_id) WHERE created_at < (id >> 20) - 1000;
CREATE INDEX orders_by_status ON orders (event_id, status);
CREATE INDEX orders_changed_late ON orders (organization_id, updated_at) WHERE updated_at > created_at + 3600000;
CREATE INDEX orders_changed_early ON orders (organization_id) WHERE completed_at < created_at OR updated_at < created_at;
CREATE INDEX orders_held_by_event ON orders (event_id, hold_until) WHERE status = 'PENDING';
CREATE INDEX orders_held_by_discount ON orders (discount_id, hold_until)
    WHERE status = 'PENDING' AND discount_id IS NOT NULL;
CREATE INDEX orders_limited ON orders (customer_id, event_id, hold_until)
    WHERE status = 'PENDING' AND limited_seats IS NOT NULL;

CREATE TABLE order_items (
    id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders (id),
    -- No REFERENCES: deleting a type would look through every item. Its column `used` keeps it instead.
    ticket_type_id INTEGER NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    price INTEGER NOT NULL CHECK (price >= 0),
    discount INTEGER NOT NULL CHECK (discount BETWEEN 0 AND price * quantity)
) STRICT;
CREATE INDEX order_items_by_order ON order_items (order_id);
CREATE INDEX order_items_by_ticket_type ON order_items (ticket_type_id, order_id);

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
    status TEXT NOT NULL CHECK (status = 'CHECKED_IN' OR status = 'NOT_CHECKED_IN' OR status = 'CANCELLED'),
    check_in_at INTEGER,
    check_out_at INTEGER,
    checked_in_by INTEGER,
    first_scan_at INTEGER,
    last_scan_at INTEGER,
    scan_count INTEGER NOT NULL DEFAULT 0 CHECK (scan_count >= 0),
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    was_checked_in INTEGER,
    link_version INTEGER NOT NULL DEFAULT 0,
    locale TEXT,
    CHECK ((order_id IS NULL) = (order_item_id IS NULL)),
    CHECK (status <> 'CHECKED_IN' OR check_in_at IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX tickets_by_code ON tickets (code);
CREATE INDEX tickets_by_organization ON tickets (organization_id);
CREATE INDEX tickets_by_order ON tickets (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX tickets_by_customer ON tickets (customer_id);
CREATE INDEX tickets_cancelled ON tickets (organization_id) WHERE status = 'CANCELLED';
CREATE INDEX tickets_by_first_scan ON tickets (organization_id, first_scan_at) WHERE first_scan_at IS NOT NULL;
CREATE INDEX tickets_by_status ON tickets (event_id, ticket_type_id, status);

CREATE TABLE discounts (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    event_id INTEGER NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    code TEXT NOT NULL,
    -- The code in lower case.
    code_key TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('PERCENTAGE', 'FIXED_AMOUNT')),
    -- How much, as a number of units of which 10^value_decimals make one: a percentage, or an amount of the event's currency.
    value INTEGER NOT NULL CHECK (value >= 0),
    value_decimals INTEGER NOT NULL CHECK (value_decimals BETWEEN 0 AND 18),
    description TEXT,
    auto_apply INTEGER NOT NULL CHECK (auto_apply IN (0, 1)),
    usage_limit INTEGER CHECK (usage_limit >= 1),
    -- Orders stored as PENDING or COMPLETED with it.
    used_count INTEGER NOT NULL DEFAULT 0 CHECK (used_count >= 0),
    -- Whether any order ever used it: then it cannot be deleted.
    used INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),
    valid_from INTEGER NOT NULL,
    valid_to INTEGER NOT NULL CHECK (valid_to > valid_from),
    is_active INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    minimum_purchase INTEGER CHECK (minimum_purchase >= 0),
    -- Ids as a JSON array of numbers; empty for every type of the event.
    applicable_ticket_types TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX discounts_by_code ON discounts (event_id, code_key);
CREATE INDEX discounts_automatic ON discounts (event_id) WHERE auto_apply = 1;
CREATE INDEX discounts_by_activity ON discounts (organization_id, is_active);
CREATE INDEX discounts_by_event_and_activity ON discounts (event_id, is_active);
CREATE INDEX discounts_by_code_in_organization ON discounts (organization_id, code_key);
CREATE INDEX discounts_with_amounts ON discounts (event_id) WHERE type = 'FIXED_AMOUNT' OR minimum_purchase IS NOT NULL;

CREATE TABLE idempotency_records (
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    key TEXT NOT NULL,
    -- SHA-256 of what was asked for.
    fingerprint BLOB NOT NULL,
    -- The answer, as JSON; NULL while the order's checkout link is still to come.
    answer TEXT,
    order_id INTEGER,
    created_at INTEGER NOT NULL,
    lease_ends_at INTEGER,
    PRIMARY KEY (organization_id, key),
    CHECK (answer IS NOT NULL OR order_id IS NOT NULL)
) STRICT;
CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at);

CREATE TABLE webhook_endpoints (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    url TEXT NOT NULL,
    description TEXT,
    -- The types of notification that it wants, as a JSON array of their names.
    events TEXT NOT NULL,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    secret TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    generations TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX webhook_endpoints_by_organization ON webhook_endpoints (organization_id);

CREATE TABLE webhook_outbox (
    id INTEGER PRIMARY KEY,
    endpoint_id INTEGER NOT NULL,
    -- The notification's own id, the same for every endpoint and every resend.
    event_id INTEGER NOT NULL,
    type TEXT NOT NULL,
    -- What is sent, byte for byte.
    state TEXT NOT NULL CHECK (state = 'WAITING' OR state = 'DELIVERED' OR state = 'DEAD' OR state = 'REMOVED'),
    -- Attempts that ended.
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 8),
    -- How often the attempt that is to be made was cut off by the end of its process.
    cuts INTEGER NOT NULL DEFAULT 0 CHECK (cuts BETWEEN 0 AND 2),
    -- Whose the attempt is that is under way; NULL where none is.
    claim INTEGER,
    -- When the next attempt is to be made. While one is under way: when it counts as cut off.
    due_at INTEGER NOT NULL,
    finished_at INTEGER,
    created_at INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0,
    CHECK ((state = 'WAITING') = (finished_at IS NULL)),
    CHECK (state = 'WAITING' OR claim IS NULL)
) STRICT;
CREATE INDEX webhook_outbox_finished ON webhook_outbox (finished_at) WHERE state <> 'WAITING';
CREATE INDEX webhook_outbox_waiting ON webhook_outbox (endpoint_id, type, generation, due_at) WHERE state = 'WAITING';

CREATE TABLE webhook_deliveries (
    id INTEGER PRIMARY KEY,
    endpoint_id INTEGER NOT NULL,
    -- It holds what was sent, and goes after this row.
    outbox_id INTEGER NOT NULL,
    type TEXT NOT NULL,
    attempt INTEGER NOT NULL CHECK (attempt BETWEEN 1 AND 8),
    success INTEGER NOT NULL CHECK (success IN (0, 1)),
    response_status INTEGER,
    response_body TEXT,
    duration_ms INTEGER CHECK (duration_ms >= 0),
    error_message TEXT,
    created_at INTEGER NOT NULL,
    CHECK ((error_message IS NULL) = (success = 1))
) STRICT;
CREATE INDEX webhook_deliveries_by_result ON webhook_deliveries (endpoint_id, success, type);

CREATE TABLE notification_handlers (
    name TEXT NOT NULL PRIMARY KEY,
    -- The topics for which notifications are queued, as a JSON array.
    topics TEXT NOT NULL,
    -- When a program with this handler was last running, to the hour.
    seen_at INTEGER NOT NULL
) STRICT;

CREATE TABLE handler_queue (
    id INTEGER PRIMARY KEY,
    handler TEXT NOT NULL REFERENCES notification_handlers (name),
    organization_id INTEGER NOT NULL,
    -- What happened, as JSON.
    body TEXT NOT NULL,
    -- Calls of the handler that were started.
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 8),
    -- The token of the call in progress, if there is one.
    claim INTEGER,
    -- When the handler is called next. During a call: when another process may call it.
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX handler_queue_due ON handler_queue (handler, due_at);
CREATE INDEX handler_queue_by_organization ON handler_queue (handler, organization_id, due_at);

CREATE TABLE event_cancellations (
    event_id INTEGER PRIMARY KEY REFERENCES events (id) ON DELETE CASCADE
) STRICT;

CREATE TABLE maintenance_clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    believed_at INTEGER NOT NULL
) STRICT;

CREATE TABLE webhook_fan_outs (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    type TEXT NOT NULL,
    -- The endpoints that were enabled and wanted the type, each with its generation of the type: a JSON array of pairs.
    endpoints TEXT NOT NULL,
    -- The ids and bodies: a JSON array of pairs.
    notifications TEXT NOT NULL,
    -- The number of endpoints times the number of notifications.
    total INTEGER NOT NULL,
    -- How many of them are done.
    done INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    CHECK (done >= 0 AND done < total)
) STRICT;
CREATE INDEX webhook_fan_outs_by_organization ON webhook_fan_outs (organization_id);

CREATE TABLE webhook_removals (
    endpoint_id INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE checkouts (
    order_id INTEGER PRIMARY KEY REFERENCES orders (id),
    -- OPEN while the order waits for its payment; CLOSING after the order has ended, until the gateway has confirmed that
    -- nothing can be paid any more.
    status TEXT NOT NULL CHECK (status = 'OPEN' OR status = 'CLOSING' OR status = 'CLOSED'),
    -- When the gateway ends the checkout by itself.
    expires_at INTEGER NOT NULL,
    -- NULL if the gateway is not asked again.
    next_attempt_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- The gateway's id of the payment. Its id of the checkout is in orders.payment_reference.
    parameters TEXT,
    last_error TEXT,
    renewals INTEGER NOT NULL DEFAULT 0,
    lease_ends_at INTEGER,
    gateway TEXT,
    account TEXT,
    mode TEXT CHECK (mode = 'LIVE' OR mode = 'TEST')
) STRICT;
CREATE INDEX checkouts_due ON checkouts (status, next_attempt_at, order_id, gateway) WHERE next_attempt_at IS NOT NULL;

CREATE TABLE replaced_checkouts (
    order_id INTEGER NOT NULL REFERENCES orders (id),
    -- How often the checkout had been renewed before: 0 for the first one.
    renewals INTEGER NOT NULL CHECK (renewals >= 0),
    -- The gateway's id of the checkout.
    reference TEXT NOT NULL,
    PRIMARY KEY (order_id, renewals)
) STRICT;
CREATE UNIQUE INDEX replaced_checkouts_by_reference ON replaced_checkouts (reference);

CREATE TABLE link_secret (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    secret TEXT NOT NULL CHECK (LENGTH(secret) = 64)
) STRICT;

CREATE TABLE payments (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    order_id INTEGER NOT NULL REFERENCES orders (id),
    event_id INTEGER NOT NULL REFERENCES events (id),
    -- ORDER if it completed its order, LATE if it was for the order and completed nothing, and OTHER if it was a second one
    -- or of another amount or currency.
    purpose TEXT NOT NULL CHECK (purpose = 'ORDER' OR purpose = 'LATE' OR purpose = 'OTHER'),
    -- How it was taken by hand. NULL for a payment through a gateway.
    manual_method TEXT CHECK (manual_method = 'CASH' OR manual_method = 'TRANSFER' OR manual_method = 'OTHER'),
    -- The name of the gateway. NULL if it was taken by hand, or if that is not known.
    gateway TEXT,
    -- The account at the provider: empty for the gateway's own one, NULL if it is not known.
    account TEXT,
    mode TEXT NOT NULL CHECK (mode = 'LIVE' OR mode = 'TEST'),
    -- The gateway's ids of the checkout and of the payment.
    checkout_reference TEXT,
    reference TEXT,
    -- Amounts are in minor units of the currency.
    amount INTEGER NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    note TEXT,
    -- Sums of its refunds, disputes and movements: what went back, what banks have taken, what was decided to go back, what
    -- banks have not decided about, and what has to be given back by hand.
    returned INTEGER NOT NULL DEFAULT 0,
    taken INTEGER NOT NULL DEFAULT 0,
    promised INTEGER NOT NULL DEFAULT 0,
    disputed INTEGER NOT NULL DEFAULT 0,
    owed INTEGER NOT NULL DEFAULT 0,
    -- The API key that recorded it by hand.
    recorded_by INTEGER,
    backfilled INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    check_at INTEGER,
    checks INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX payments_by_organization ON payments (organization_id, id);
CREATE INDEX payments_with_later_id ON payments (organization_id) WHERE created_at < (id >> 20) - 1000;
CREATE INDEX payments_by_event ON payments (event_id, mode, id);
CREATE INDEX payments_by_order ON payments (order_id, id);
CREATE UNIQUE INDEX payments_by_reference ON payments (reference, order_id) WHERE reference IS NOT NULL;
CREATE INDEX payments_to_check ON payments (check_at, id) WHERE check_at IS NOT NULL;

CREATE TABLE refunds (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    order_id INTEGER NOT NULL REFERENCES orders (id),
    event_id INTEGER NOT NULL REFERENCES events (id),
    payment_id INTEGER NOT NULL REFERENCES payments (id),
    source TEXT NOT NULL CHECK (source IN ('ORDER', 'LATE_PAYMENT', 'OTHER_PAYMENT', 'OUTSIDE')),
    amount INTEGER NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    -- Why the organization refunds it.
    reason TEXT,
    -- The gateway's id of the newest refund that it made for this one.
    reference TEXT,
    status TEXT NOT NULL CHECK (status = 'DUE' OR status = 'DONE' OR status = 'REFUSED' OR status = 'WITHDRAWN'),
    -- Whether the gateway is asked for it, and whether it has refused.
    by_gateway INTEGER NOT NULL CHECK (by_gateway IN (0, 1)),
    refused INTEGER NOT NULL DEFAULT 0 CHECK (refused IN (0, 1)),
    -- What of the payment it counts as decided: its amount, less what was withdrawn, and more if more went back.
    promised INTEGER NOT NULL CHECK (promised >= 0),
    -- What went back for it.
    returned INTEGER NOT NULL DEFAULT 0 CHECK (returned >= 0),
    -- What is to be asked of the gateway, and what has to be given back by hand.
    to_ask INTEGER NOT NULL DEFAULT 0 CHECK (to_ask >= 0),
    owed INTEGER NOT NULL DEFAULT 0 CHECK (owed >= 0),
    attempts INTEGER NOT NULL DEFAULT 0,
    -- The gateway is not asked before this time. NULL if it is not asked.
    next_attempt_at INTEGER,
    -- Whether an attempt waits for the gateway until that time.
    is_asking INTEGER NOT NULL DEFAULT 0 CHECK (is_asking IN (0, 1)),
    last_error TEXT,
    -- When the gateway is next asked what became of a refund that it made, NULL if it is not asked again, and how many
    -- times it has answered.
    decided_by INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX refunds_due ON refunds (next_attempt_at, id) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX refunds_open ON refunds (id) WHERE status = 'DUE' AND by_gateway = 1;
CREATE INDEX refunds_by_status ON refunds (organization_id, status, id);
CREATE INDEX refunds_by_event ON refunds (event_id, status, id);
CREATE INDEX refunds_by_order ON refunds (order_id, status, id);
CREATE INDEX refunds_of_payment ON refunds (payment_id, id) WHERE promised > returned;
CREATE INDEX refunds_owed ON refunds (owed) WHERE owed > 0;

CREATE TABLE disputes (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    order_id INTEGER NOT NULL REFERENCES orders (id),
    event_id INTEGER NOT NULL REFERENCES events (id),
    -- NULL if the payment is not known.
    payment_id INTEGER REFERENCES payments (id),
    -- The gateway's id of the dispute.
    reference TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    -- What the gateway has taken for it and has not given back.
    taken INTEGER NOT NULL DEFAULT 0 CHECK (taken >= 0),
    currency TEXT NOT NULL,
    reason TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('OPEN', 'WON', 'LOST')),
    -- When the gateway is next asked what became of it. NULL if the bank has decided.
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX disputes_by_reference ON disputes (order_id, reference);
CREATE INDEX disputes_by_status ON disputes (organization_id, status, id);
CREATE INDEX disputes_by_event ON disputes (event_id, status, id);
CREATE INDEX disputes_by_order ON disputes (order_id, status, id);
CREATE INDEX disputes_open ON disputes (id) WHERE status = 'OPEN';

CREATE TABLE ledger_entries (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    order_id INTEGER NOT NULL,
    payment_id INTEGER NOT NULL REFERENCES payments (id),
    refund_id INTEGER,
    dispute_id INTEGER,
    -- The id of the refund or the dispute.
    subject_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'REFUND' OR kind = 'REFUND_FAILED' OR kind = 'DISPUTE' OR kind = 'DISPUTE_RETURNED'),
    -- In minor units of the currency.
    amount INTEGER NOT NULL CHECK (amount <> 0),
    currency TEXT NOT NULL,
    manual_method TEXT,
    gateway TEXT,
    account TEXT,
    mode TEXT NOT NULL,
    -- The gateway's id of the refund or the dispute.
    reference TEXT,
    -- The number of the movement among those of the same kind, subject and reference.
    occurrence INTEGER NOT NULL DEFAULT 1,
    note TEXT,
    happened_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    -- The API key that recorded it.
    recorded_by INTEGER,
    backfilled INTEGER NOT NULL DEFAULT 0,
    CHECK ((kind = 'REFUND_FAILED' OR kind = 'DISPUTE_RETURNED') = (amount > 0))
) STRICT;
CREATE INDEX ledger_entries_by_organization ON ledger_entries (organization_id, id);
CREATE INDEX ledger_entries_with_later_id ON ledger_entries (organization_id) WHERE recorded_at < (id >> 20) - 1000;
CREATE INDEX ledger_entries_by_event ON ledger_entries (event_id, id);
CREATE UNIQUE INDEX ledger_entries_by_payment ON ledger_entries (payment_id, kind, subject_id, reference, occurrence);

CREATE TABLE webhook_notifications (
    -- The id of the notification, as it is sent.
    id INTEGER PRIMARY KEY,
    -- What is sent, byte for byte.
    body TEXT NOT NULL,
    -- How many rows of the outbox send it. With the last of them, it is deleted.
    outbox_rows INTEGER NOT NULL CHECK (outbox_rows > 0)
) STRICT;

CREATE TABLE scans (
    -- Begins with the time of receipt.
    id INTEGER PRIMARY KEY,
    -- That of the event. No REFERENCES, so that an organization is deleted without a search here.
    organization_id INTEGER NOT NULL,
    -- The event at whose entrance the ticket was scanned.
    event_id INTEGER NOT NULL REFERENCES events (id),
    -- NULL if no ticket of the event has the code.
    ticket_id INTEGER REFERENCES tickets (id),
    -- The id that the device gave, a UUID. NULL if the server made the row.
    client_id TEXT CHECK (LENGTH(client_id) = 36),
    api_key_id INTEGER,
    device TEXT,
    -- BASE is the check-in of a ticket that was inside when its log began.
    kind TEXT NOT NULL CHECK (kind = 'IN' OR kind = 'OUT' OR kind = 'BASE' OR kind = 'CANCELLED'),
    scanned_at INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    -- What was decided at the entrance. NULL for BASE and CANCELLED.
    verdict TEXT CHECK (verdict = 'ADMITTED' OR verdict = 'REFUSED'),
    -- What the whole log says of it, and why.
    outcome TEXT,
    reason TEXT,
    is_override INTEGER NOT NULL DEFAULT 0 CHECK (is_override IN (0, 1)),
    -- Whether ticket.checked_in was sent.
    is_reported INTEGER NOT NULL DEFAULT 0 CHECK (is_reported IN (0, 1)),
    CHECK ((verdict IS NULL) = (kind = 'BASE' OR kind = 'CANCELLED')),
    CHECK ((outcome IS NULL) = (verdict IS NULL)),
    CHECK ((client_id IS NULL) OR device IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX scans_by_client_id ON scans (organization_id, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX scans_of_ticket ON scans (ticket_id, scanned_at) WHERE ticket_id IS NOT NULL;
CREATE INDEX scans_of_event ON scans (event_id);

CREATE VIEW ledger AS
    SELECT id, organization_id, event_id, order_id, id AS payment_id, CAST(NULL AS INTEGER) AS refund_id,
        CAST(NULL AS INTEGER) AS dispute_id, CAST('PAYMENT' AS TEXT) AS kind, amount, currency, manual_method, gateway, account, mode, reference, note,
        created_at AS happened_at, created_at AS recorded_at, recorded_by, backfilled
    FROM payments
    UNION ALL
    SELECT id, organization_id, event_id, order_id, payment_id, refund_id, dispute_id,
        kind, amount, currency, manual_method, gateway, account, mode, reference, note,
        happened_at, recorded_at, recorded_by, backfilled
    FROM ledger_entries;
