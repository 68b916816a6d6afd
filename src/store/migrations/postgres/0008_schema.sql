-- The schema of version 0.3.0. The constraints of disputes, ledger_entries and refunds are named after the first names of
-- these tables, because databases that 0.3.0 has made have them like this.

CREATE TABLE organizations (
    id BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    timezone TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    reference TEXT COLLATE "C",
    suspended_at BIGINT
);
CREATE UNIQUE INDEX organizations_by_reference ON organizations (reference) WHERE reference IS NOT NULL;
CREATE INDEX organizations_suspended ON organizations (suspended_at, id) WHERE suspended_at IS NOT NULL;

CREATE TABLE events (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    title TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C",
    location TEXT COLLATE "C",
    location_metadata TEXT COLLATE "C" NOT NULL DEFAULT 'null',
    currency TEXT COLLATE "C" NOT NULL,
    timezone TEXT COLLATE "C" NOT NULL,
    start_at BIGINT NOT NULL,
    end_at BIGINT CHECK (end_at >= start_at),
    -- When the event is over: end_at, or a day after its start.
    over_at BIGINT NOT NULL CHECK (over_at >= start_at),
    slug TEXT COLLATE "C" NOT NULL,
    cover_image TEXT COLLATE "C",
    is_public BIGINT NOT NULL CHECK (is_public IN (0, 1)),
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('PUBLISHED', 'DRAFTED', 'EXPIRED', 'SOLD_OUT', 'CANCELLED')),
    delivery_method TEXT COLLATE "C" NOT NULL CHECK (delivery_method IN ('DIGITAL', 'PHYSICAL')),
    shipping_countries TEXT COLLATE "C" NOT NULL,
    accepts_company BIGINT NOT NULL CHECK (accepts_company IN (0, 1)),
    tags TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    is_featured BIGINT NOT NULL DEFAULT 0 CHECK (is_featured IN (0, 1)),
    tracking_pixels TEXT COLLATE "C" NOT NULL DEFAULT 'null',
    disable_notifications BIGINT NOT NULL DEFAULT 0 CHECK (disable_notifications IN (0, 1)),
    page_views BIGINT NOT NULL DEFAULT 0 CHECK (page_views >= 0),
    -- Title and slug in lower case, for the search.
    search_text TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    reference TEXT COLLATE "C",
    metadata TEXT COLLATE "C",
    has_scan_log BIGINT NOT NULL DEFAULT 0 CHECK (has_scan_log IN (0, 1)),
    cancelled_at BIGINT
);
CREATE UNIQUE INDEX events_by_slug ON events (organization_id, slug);
CREATE INDEX events_by_organization ON events (organization_id, id);
CREATE INDEX events_open ON events (over_at, id) WHERE status IN ('PUBLISHED', 'SOLD_OUT');
CREATE INDEX events_by_reference ON events (organization_id, reference, id) WHERE reference IS NOT NULL;
CREATE INDEX events_by_status ON events (organization_id, status, is_public, id);
CREATE INDEX events_by_start ON events (organization_id, start_at, id);

CREATE TABLE api_keys (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    key_hash BYTEA NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    scopes TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT,
    organization_suspended_at BIGINT,
    event_id BIGINT REFERENCES events (id)
);
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (key_hash);
CREATE INDEX api_keys_by_organization ON api_keys (organization_id, id);
CREATE INDEX api_keys_usable ON api_keys (organization_id, id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_of_event ON api_keys (event_id) WHERE event_id IS NOT NULL;

CREATE TABLE ticket_types (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    event_id BIGINT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    name TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C",
    price BIGINT NOT NULL CHECK (price >= 0),
    quantity BIGINT NOT NULL CHECK (quantity >= 1),
    -- Tickets of completed orders, and issued ones, that are not cancelled.
    sold BIGINT NOT NULL DEFAULT 0 CHECK (sold >= 0),
    -- Places of the orders stored as PENDING.
    held BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0),
    -- Whether it was ever ordered or issued: then it cannot be deleted.
    used BIGINT NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('ON_SALE', 'DISPLAY_AS_SOLD_OUT', 'DISPLAY_AS_UNAVAILABLE', 'ONLY_VISIBLE_TO_OWNER')),
    display_remaining BIGINT NOT NULL CHECK (display_remaining IN (0, 1)),
    valid_from BIGINT,
    valid_until BIGINT CHECK (valid_until > valid_from),
    allowed_dates TEXT COLLATE "C" NOT NULL,
    validity_days BIGINT CHECK (validity_days > 0),
    validity_hours BIGINT CHECK (validity_hours > 0),
    access_areas TEXT COLLATE "C" NOT NULL,
    max_per_order BIGINT NOT NULL CHECK (max_per_order BETWEEN 1 AND 100),
    sale_start_at BIGINT,
    sale_end_at BIGINT CHECK (sale_end_at > sale_start_at),
    sort_order BIGINT NOT NULL,
    ticket_text TEXT COLLATE "C",
    ticket_logo TEXT COLLATE "C",
    revision BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    reference TEXT COLLATE "C",
    metadata TEXT COLLATE "C",
    pending_orders BIGINT NOT NULL DEFAULT 0,
    completed_orders BIGINT NOT NULL DEFAULT 0,
    cancelled_orders BIGINT NOT NULL DEFAULT 0,
    expired_orders BIGINT NOT NULL DEFAULT 0,
    checked_in_tickets BIGINT NOT NULL DEFAULT 0,
    cancelled_tickets BIGINT NOT NULL DEFAULT 0,
    revenue BIGINT NOT NULL DEFAULT 0,
    discount_total BIGINT NOT NULL DEFAULT 0,
    manual_payment_total BIGINT NOT NULL DEFAULT 0,
    refunded_total BIGINT NOT NULL DEFAULT 0,
    manual_refund_total BIGINT NOT NULL DEFAULT 0,
    manually_refunded_total BIGINT NOT NULL DEFAULT 0,
    owed_total BIGINT NOT NULL DEFAULT 0,
    disputed_total BIGINT NOT NULL DEFAULT 0,
    CHECK (sold + held <= quantity)
);
CREATE INDEX ticket_types_by_event ON ticket_types (event_id, sort_order, id);

CREATE TABLE customers (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    email TEXT COLLATE "C" NOT NULL,
    -- The address in lower case.
    email_key TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    metadata TEXT COLLATE "C"
);
CREATE UNIQUE INDEX customers_by_email ON customers (organization_id, email_key);

CREATE TABLE orders (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    event_id BIGINT NOT NULL REFERENCES events (id),
    customer_id BIGINT NOT NULL REFERENCES customers (id),
    customer_name TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('PENDING', 'COMPLETED', 'CANCELLED', 'EXPIRED')),
    -- A PENDING order holds its places until this instant; an order that cost nothing never held any.
    hold_until BIGINT,
    currency TEXT COLLATE "C" NOT NULL,
    total BIGINT NOT NULL CHECK (total >= 0),
    discounted_amount BIGINT CHECK (discounted_amount >= 0),
    discount_code TEXT COLLATE "C",
    affiliate_code TEXT COLLATE "C",
    reminder_sent BIGINT NOT NULL DEFAULT 0 CHECK (reminder_sent IN (0, 1)),
    -- What else the request said, as JSON; NULL where it said nothing.
    details TEXT COLLATE "C",
    payment_link TEXT COLLATE "C",
    payment_status TEXT COLLATE "C" CHECK (payment_status IN ('WAITING', 'COMPLETED', 'FAILED', 'REFUNDED')),
    -- The gateway's own name for the payment.
    payment_reference TEXT COLLATE "C",
    completed_at BIGINT,
    -- Whether the gateway's money is what completed it.
    paid_by_gateway BIGINT NOT NULL DEFAULT 0 CHECK (paid_by_gateway IN (0, 1)),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    discount_id BIGINT,
    reference TEXT COLLATE "C",
    metadata TEXT COLLATE "C",
    limited_seats BIGINT CHECK (limited_seats > 0),
    cancelled_at BIGINT,
    CHECK ((payment_link IS NULL) = (payment_status IS NULL)),
    CHECK (status <> 'PENDING' OR hold_until IS NOT NULL)
);
CREATE INDEX orders_by_organization ON orders (organization_id, id);
CREATE INDEX orders_by_customer ON orders (customer_id, id);
CREATE INDEX orders_pending ON orders (hold_until, event_id, id) WHERE status = 'PENDING';
CREATE UNIQUE INDEX orders_by_payment ON orders (payment_reference) WHERE payment_reference IS NOT NULL;
CREATE INDEX orders_by_completion ON orders (organization_id, completed_at, id) WHERE completed_at IS NOT NULL;
CREATE INDEX orders_by_discount ON orders (discount_id, id) WHERE discount_id IS NOT NULL;
CREATE INDEX orders_by_reference ON orders (organization_id, reference, id) WHERE reference IS NOT NULL;
CREATE INDEX orders_with_later_id ON orders (organization_id, id) WHERE created_at < (id >> 20) - 1000;
CREATE INDEX orders_by_status ON orders (event_id, status, id);
CREATE INDEX orders_changed_late ON orders (organization_id, updated_at, id) WHERE updated_at > created_at + 3600000;
CREATE INDEX orders_changed_early ON orders (organization_id, id)
    WHERE completed_at < created_at OR updated_at < created_at;
CREATE INDEX orders_held_by_event ON orders (event_id, hold_until, id) WHERE status = 'PENDING';
CREATE INDEX orders_held_by_discount ON orders (discount_id, hold_until, id)
    WHERE status = 'PENDING' AND discount_id IS NOT NULL;
CREATE INDEX orders_limited ON orders (customer_id, event_id, hold_until, id)
    WHERE status = 'PENDING' AND limited_seats IS NOT NULL;

CREATE TABLE order_items (
    id BIGINT PRIMARY KEY,
    order_id BIGINT NOT NULL REFERENCES orders (id),
    -- No REFERENCES: deleting a type would look through every item. Its column `used` keeps it instead.
    ticket_type_id BIGINT NOT NULL,
    quantity BIGINT NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    price BIGINT NOT NULL CHECK (price >= 0),
    discount BIGINT NOT NULL CHECK (discount BETWEEN 0 AND price * quantity)
);
CREATE INDEX order_items_by_order ON order_items (order_id, id);
CREATE INDEX order_items_by_ticket_type ON order_items (ticket_type_id, order_id, id);

CREATE TABLE tickets (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    event_id BIGINT NOT NULL REFERENCES events (id),
    -- No REFERENCES, as in order_items.
    ticket_type_id BIGINT NOT NULL,
    -- Both NULL where the organizer issued it.
    order_id BIGINT REFERENCES orders (id),
    order_item_id BIGINT,
    customer_id BIGINT NOT NULL REFERENCES customers (id),
    customer_name TEXT COLLATE "C" NOT NULL,
    code TEXT COLLATE "C" NOT NULL CHECK (LENGTH(code) = 20),
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('CHECKED_IN', 'NOT_CHECKED_IN', 'CANCELLED')),
    check_in_at BIGINT,
    check_out_at BIGINT,
    checked_in_by BIGINT,
    first_scan_at BIGINT,
    last_scan_at BIGINT,
    scan_count BIGINT NOT NULL DEFAULT 0 CHECK (scan_count >= 0),
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    was_checked_in BIGINT,
    link_version BIGINT NOT NULL DEFAULT 0,
    locale TEXT COLLATE "C",
    CHECK ((order_id IS NULL) = (order_item_id IS NULL)),
    CHECK (status <> 'CHECKED_IN' OR check_in_at IS NOT NULL)
);
CREATE UNIQUE INDEX tickets_by_code ON tickets (code);
CREATE INDEX tickets_by_organization ON tickets (organization_id, id);
CREATE INDEX tickets_by_order ON tickets (order_id, id) WHERE order_id IS NOT NULL;
CREATE INDEX tickets_by_customer ON tickets (customer_id, id);
CREATE INDEX tickets_cancelled ON tickets (organization_id, id) WHERE status = 'CANCELLED';
CREATE INDEX tickets_by_first_scan ON tickets (organization_id, first_scan_at, id) WHERE first_scan_at IS NOT NULL;
CREATE INDEX tickets_by_status ON tickets (event_id, ticket_type_id, status, id);

CREATE TABLE discounts (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    event_id BIGINT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    code TEXT COLLATE "C" NOT NULL,
    -- The code in lower case.
    code_key TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL CHECK (type IN ('PERCENTAGE', 'FIXED_AMOUNT')),
    -- How much, as a number of units of which 10^value_decimals make one: a percentage, or an amount of the event's currency.
    value BIGINT NOT NULL CHECK (value >= 0),
    value_decimals BIGINT NOT NULL CHECK (value_decimals BETWEEN 0 AND 18),
    description TEXT COLLATE "C",
    auto_apply BIGINT NOT NULL CHECK (auto_apply IN (0, 1)),
    usage_limit BIGINT CHECK (usage_limit >= 1),
    -- Orders stored as PENDING or COMPLETED with it.
    used_count BIGINT NOT NULL DEFAULT 0 CHECK (used_count >= 0),
    -- Whether any order ever used it: then it cannot be deleted.
    used BIGINT NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),
    valid_from BIGINT NOT NULL,
    valid_to BIGINT NOT NULL CHECK (valid_to > valid_from),
    is_active BIGINT NOT NULL CHECK (is_active IN (0, 1)),
    minimum_purchase BIGINT CHECK (minimum_purchase >= 0),
    -- Ids as a JSON array of numbers; empty for every type of the event.
    applicable_ticket_types TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX discounts_by_code ON discounts (event_id, code_key);
CREATE INDEX discounts_automatic ON discounts (event_id, id) WHERE auto_apply = 1;
CREATE INDEX discounts_by_activity ON discounts (organization_id, is_active, id);
CREATE INDEX discounts_by_event_and_activity ON discounts (event_id, is_active, id);
CREATE INDEX discounts_by_code_in_organization ON discounts (organization_id, code_key, id);
CREATE INDEX discounts_with_amounts ON discounts (event_id, id)
    WHERE type = 'FIXED_AMOUNT' OR minimum_purchase IS NOT NULL;

CREATE TABLE idempotency_records (
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    key TEXT COLLATE "C" NOT NULL,
    -- SHA-256 of what was asked for.
    fingerprint BYTEA NOT NULL,
    -- The answer, as JSON; NULL while the order's checkout link is still to come.
    answer TEXT COLLATE "C",
    order_id BIGINT,
    created_at BIGINT NOT NULL,
    lease_ends_at BIGINT,
    PRIMARY KEY (organization_id, key),
    CHECK (answer IS NOT NULL OR order_id IS NOT NULL)
);
CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at);

CREATE TABLE webhook_endpoints (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    url TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C",
    -- The types of notification that it wants, as a JSON array of their names.
    events TEXT COLLATE "C" NOT NULL,
    enabled BIGINT NOT NULL CHECK (enabled IN (0, 1)),
    secret TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    generations TEXT COLLATE "C" NOT NULL DEFAULT '{}'
);
CREATE INDEX webhook_endpoints_by_organization ON webhook_endpoints (organization_id, id);

CREATE TABLE webhook_outbox (
    id BIGINT PRIMARY KEY,
    endpoint_id BIGINT NOT NULL,
    -- The notification's own id, the same for every endpoint and every resend.
    event_id BIGINT NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    -- What is sent, byte for byte.
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('WAITING', 'DELIVERED', 'DEAD', 'REMOVED')),
    -- Attempts that ended.
    attempts BIGINT NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 8),
    -- How often the attempt that is to be made was cut off by the end of its process.
    cuts BIGINT NOT NULL DEFAULT 0 CHECK (cuts BETWEEN 0 AND 2),
    -- Whose the attempt is that is under way; NULL where none is.
    claim BIGINT,
    -- When the next attempt is to be made. While one is under way: when it counts as cut off.
    due_at BIGINT NOT NULL,
    finished_at BIGINT,
    created_at BIGINT NOT NULL,
    generation BIGINT NOT NULL DEFAULT 0,
    CHECK ((state = 'WAITING') = (finished_at IS NULL)),
    CHECK (state = 'WAITING' OR claim IS NULL)
);
CREATE INDEX webhook_outbox_finished ON webhook_outbox (finished_at, id) WHERE state <> 'WAITING';
CREATE INDEX webhook_outbox_waiting ON webhook_outbox (endpoint_id, type, generation, due_at, id)
    WHERE state = 'WAITING';

CREATE TABLE webhook_deliveries (
    id BIGINT PRIMARY KEY,
    endpoint_id BIGINT NOT NULL,
    -- It holds what was sent, and goes after this row.
    outbox_id BIGINT NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL CHECK (attempt BETWEEN 1 AND 8),
    success BIGINT NOT NULL CHECK (success IN (0, 1)),
    response_status BIGINT,
    response_body TEXT COLLATE "C",
    duration_ms BIGINT CHECK (duration_ms >= 0),
    error_message TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    CHECK ((error_message IS NULL) = (success = 1))
);
CREATE INDEX webhook_deliveries_by_result ON webhook_deliveries (endpoint_id, success, type, id);

CREATE TABLE notification_handlers (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- The topics for which notifications are queued, as a JSON array.
    topics TEXT COLLATE "C" NOT NULL,
    -- When a program with this handler was last running, to the hour.
    seen_at BIGINT NOT NULL
);

CREATE TABLE handler_queue (
    id BIGINT PRIMARY KEY,
    handler TEXT COLLATE "C" NOT NULL REFERENCES notification_handlers (name),
    organization_id BIGINT NOT NULL,
    -- What happened, as JSON.
    body TEXT COLLATE "C" NOT NULL,
    -- Calls of the handler that were started.
    attempts BIGINT NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 8),
    -- The token of the call in progress, if there is one.
    claim BIGINT,
    -- When the handler is called next. During a call: when another process may call it.
    due_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX handler_queue_due ON handler_queue (handler, due_at, id);
CREATE INDEX handler_queue_by_organization ON handler_queue (handler, organization_id, due_at, id);

CREATE TABLE event_cancellations (
    event_id BIGINT PRIMARY KEY REFERENCES events (id) ON DELETE CASCADE
);

CREATE TABLE maintenance_clock (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    believed_at BIGINT NOT NULL
);

CREATE TABLE webhook_fan_outs (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    type TEXT COLLATE "C" NOT NULL,
    -- The endpoints that were enabled and wanted the type, each with its generation of the type: a JSON array of pairs.
    endpoints TEXT COLLATE "C" NOT NULL,
    -- The ids and bodies: a JSON array of pairs.
    notifications TEXT COLLATE "C" NOT NULL,
    -- The number of endpoints times the number of notifications.
    total BIGINT NOT NULL,
    -- How many of them are done.
    done BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    CHECK (done >= 0 AND done < total)
);
CREATE INDEX webhook_fan_outs_by_organization ON webhook_fan_outs (organization_id, id);

CREATE TABLE webhook_removals (
    endpoint_id BIGINT PRIMARY KEY
);

CREATE TABLE checkouts (
    order_id BIGINT PRIMARY KEY REFERENCES orders (id),
    -- OPEN while the order waits for its payment; CLOSING after the order has ended, until the gateway has confirmed that
    -- nothing can be paid any more.
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('OPEN', 'CLOSING', 'CLOSED')),
    -- When the gateway ends the checkout by itself.
    expires_at BIGINT NOT NULL,
    -- NULL if the gateway is not asked again.
    next_attempt_at BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    -- The gateway's id of the payment. Its id of the checkout is in orders.payment_reference.
    parameters TEXT COLLATE "C",
    last_error TEXT COLLATE "C",
    renewals BIGINT NOT NULL DEFAULT 0,
    lease_ends_at BIGINT,
    gateway TEXT COLLATE "C",
    account TEXT COLLATE "C",
    mode TEXT COLLATE "C" CHECK (mode = 'LIVE' OR mode = 'TEST')
);
CREATE INDEX checkouts_due ON checkouts (status, next_attempt_at, order_id, gateway) WHERE next_attempt_at IS NOT NULL;

CREATE TABLE replaced_checkouts (
    order_id BIGINT NOT NULL REFERENCES orders (id),
    -- How often the checkout had been renewed before: 0 for the first one.
    renewals BIGINT NOT NULL CHECK (renewals >= 0),
    -- The gateway's id of the checkout.
    reference TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (order_id, renewals)
);
CREATE UNIQUE INDEX replaced_checkouts_by_reference ON replaced_checkouts (reference);

CREATE TABLE link_secret (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    secret TEXT COLLATE "C" NOT NULL CHECK (LENGTH(secret) = 64)
);

CREATE TABLE payments (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    order_id BIGINT NOT NULL REFERENCES orders (id),
    event_id BIGINT NOT NULL REFERENCES events (id),
    -- ORDER if it completed its order, LATE if it was for the order and completed nothing, and OTHER if it was a second one
    -- or of another amount or currency.
    purpose TEXT COLLATE "C" NOT NULL CHECK (purpose = 'ORDER' OR purpose = 'LATE' OR purpose = 'OTHER'),
    -- How it was taken by hand. NULL for a payment through a gateway.
    manual_method TEXT COLLATE "C" CHECK (manual_method = 'CASH' OR manual_method = 'TRANSFER' OR manual_method = 'OTHER'),
    -- The name of the gateway. NULL if it was taken by hand, or if that is not known.
    gateway TEXT COLLATE "C",
    -- The account at the provider: empty for the gateway's own one, NULL if it is not known.
    account TEXT COLLATE "C",
    mode TEXT COLLATE "C" NOT NULL CHECK (mode = 'LIVE' OR mode = 'TEST'),
    -- The gateway's ids of the checkout and of the payment.
    checkout_reference TEXT COLLATE "C",
    reference TEXT COLLATE "C",
    -- Amounts are in minor units of the currency.
    amount BIGINT NOT NULL CHECK (amount > 0),
    currency TEXT COLLATE "C" NOT NULL,
    note TEXT COLLATE "C",
    -- Sums of its refunds, disputes and movements: what went back, what banks have taken, what was decided to go back, what
    -- banks have not decided about, and what has to be given back by hand.
    returned BIGINT NOT NULL DEFAULT 0,
    taken BIGINT NOT NULL DEFAULT 0,
    promised BIGINT NOT NULL DEFAULT 0,
    disputed BIGINT NOT NULL DEFAULT 0,
    owed BIGINT NOT NULL DEFAULT 0,
    -- The API key that recorded it by hand.
    recorded_by BIGINT,
    backfilled BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    check_at BIGINT,
    checks BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX payments_by_organization ON payments (organization_id, id);
CREATE INDEX payments_with_later_id ON payments (organization_id, id) WHERE created_at < (id >> 20) - 1000;
CREATE INDEX payments_by_event ON payments (event_id, mode, id);
CREATE INDEX payments_by_order ON payments (order_id, id);
CREATE UNIQUE INDEX payments_by_reference ON payments (reference, order_id) WHERE reference IS NOT NULL;
CREATE INDEX payments_to_check ON payments (check_at, id) WHERE check_at IS NOT NULL;

CREATE TABLE new_refunds (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    order_id BIGINT NOT NULL REFERENCES orders (id),
    event_id BIGINT NOT NULL REFERENCES events (id),
    payment_id BIGINT NOT NULL REFERENCES payments (id),
    source TEXT COLLATE "C" NOT NULL CHECK (source IN ('ORDER', 'LATE_PAYMENT', 'OTHER_PAYMENT', 'OUTSIDE')),
    amount BIGINT NOT NULL CHECK (amount > 0),
    currency TEXT COLLATE "C" NOT NULL,
    -- Why the organization refunds it.
    reason TEXT COLLATE "C",
    -- The gateway's id of the newest refund that it made for this one.
    reference TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL CHECK (status = 'DUE' OR status = 'DONE' OR status = 'REFUSED' OR status = 'WITHDRAWN'),
    -- Whether the gateway is asked for it, and whether it has refused.
    by_gateway BIGINT NOT NULL CHECK (by_gateway IN (0, 1)),
    refused BIGINT NOT NULL DEFAULT 0 CHECK (refused IN (0, 1)),
    -- What of the payment it counts as decided: its amount, less what was withdrawn, and more if more went back.
    promised BIGINT NOT NULL CHECK (promised >= 0),
    -- What went back for it.
    returned BIGINT NOT NULL DEFAULT 0 CHECK (returned >= 0),
    -- What is to be asked of the gateway, and what has to be given back by hand.
    to_ask BIGINT NOT NULL DEFAULT 0 CHECK (to_ask >= 0),
    owed BIGINT NOT NULL DEFAULT 0 CHECK (owed >= 0),
    attempts BIGINT NOT NULL DEFAULT 0,
    -- The gateway is not asked before this time. NULL if it is not asked.
    next_attempt_at BIGINT,
    -- Whether an attempt waits for the gateway until that time.
    is_asking BIGINT NOT NULL DEFAULT 0 CHECK (is_asking IN (0, 1)),
    last_error TEXT COLLATE "C",
    -- When the gateway is next asked what became of a refund that it made, NULL if it is not asked again, and how many
    -- times it has answered.
    decided_by BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
ALTER TABLE new_refunds RENAME TO refunds;
CREATE INDEX refunds_due ON refunds (next_attempt_at, id) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX refunds_open ON refunds (id) WHERE status = 'DUE' AND by_gateway = 1;
CREATE INDEX refunds_by_status ON refunds (organization_id, status, id);
CREATE INDEX refunds_by_event ON refunds (event_id, status, id);
CREATE INDEX refunds_by_order ON refunds (order_id, status, id);
CREATE INDEX refunds_of_payment ON refunds (payment_id, id) WHERE promised > returned;
CREATE INDEX refunds_owed ON refunds (owed) WHERE owed > 0;

CREATE TABLE new_disputes (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    order_id BIGINT NOT NULL REFERENCES orders (id),
    event_id BIGINT NOT NULL REFERENCES events (id),
    -- NULL if the payment is not known.
    payment_id BIGINT REFERENCES payments (id),
    -- The gateway's id of the dispute.
    reference TEXT COLLATE "C" NOT NULL,
    amount BIGINT NOT NULL CHECK (amount >= 0),
    -- What the gateway has taken for it and has not given back.
    taken BIGINT NOT NULL DEFAULT 0 CHECK (taken >= 0),
    currency TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('OPEN', 'WON', 'LOST')),
    -- When the gateway is next asked what became of it. NULL if the bank has decided.
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
ALTER TABLE new_disputes RENAME TO disputes;
CREATE UNIQUE INDEX disputes_by_reference ON disputes (order_id, reference);
CREATE INDEX disputes_by_status ON disputes (organization_id, status, id);
CREATE INDEX disputes_by_event ON disputes (event_id, status, id);
CREATE INDEX disputes_by_order ON disputes (order_id, status, id);
CREATE INDEX disputes_open ON disputes (id) WHERE status = 'OPEN';

CREATE TABLE new_ledger_entries (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    order_id BIGINT NOT NULL,
    payment_id BIGINT NOT NULL REFERENCES payments (id),
    refund_id BIGINT,
    dispute_id BIGINT,
    -- The id of the refund or the dispute.
    subject_id BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind = 'REFUND' OR kind = 'REFUND_FAILED' OR kind = 'DISPUTE' OR kind = 'DISPUTE_RETURNED'),
    -- In minor units of the currency.
    amount BIGINT NOT NULL CHECK (amount <> 0),
    currency TEXT COLLATE "C" NOT NULL,
    manual_method TEXT COLLATE "C",
    gateway TEXT COLLATE "C",
    account TEXT COLLATE "C",
    mode TEXT COLLATE "C" NOT NULL,
    -- The gateway's id of the refund or the dispute.
    reference TEXT COLLATE "C",
    -- The number of the movement among those of the same kind, subject and reference.
    occurrence BIGINT NOT NULL DEFAULT 1,
    note TEXT COLLATE "C",
    happened_at BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    -- The API key that recorded it.
    recorded_by BIGINT,
    backfilled BIGINT NOT NULL DEFAULT 0,
    CHECK ((kind = 'REFUND_FAILED' OR kind = 'DISPUTE_RETURNED') = (amount > 0))
);
ALTER TABLE new_ledger_entries RENAME TO ledger_entries;
CREATE INDEX ledger_entries_by_organization ON ledger_entries (organization_id, id);
CREATE INDEX ledger_entries_with_later_id ON ledger_entries (organization_id, id) WHERE recorded_at < (id >> 20) - 1000;
CREATE INDEX ledger_entries_by_event ON ledger_entries (event_id, id);
CREATE UNIQUE INDEX ledger_entries_by_payment ON ledger_entries (payment_id, kind, subject_id, reference, occurrence);

CREATE TABLE webhook_notifications (
    -- The id of the notification, as it is sent.
    id BIGINT PRIMARY KEY,
    -- What is sent, byte for byte.
    body TEXT COLLATE "C" NOT NULL,
    -- How many rows of the outbox send it. With the last of them, it is deleted.
    outbox_rows BIGINT NOT NULL CHECK (outbox_rows > 0)
);

CREATE TABLE scans (
    -- Begins with the time of receipt.
    id BIGINT PRIMARY KEY,
    -- That of the event. No REFERENCES, so that an organization is deleted without a search here.
    organization_id BIGINT NOT NULL,
    -- The event at whose entrance the ticket was scanned.
    event_id BIGINT NOT NULL REFERENCES events (id),
    -- NULL if no ticket of the event has the code.
    ticket_id BIGINT REFERENCES tickets (id),
    -- The id that the device gave, a UUID. NULL if the server made the row.
    client_id TEXT COLLATE "C" CHECK (LENGTH(client_id) = 36),
    api_key_id BIGINT,
    device TEXT COLLATE "C",
    -- BASE is the check-in of a ticket that was inside when its log began.
    kind TEXT COLLATE "C" NOT NULL CHECK (kind = 'IN' OR kind = 'OUT' OR kind = 'BASE' OR kind = 'CANCELLED'),
    scanned_at BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    -- What was decided at the entrance. NULL for BASE and CANCELLED.
    verdict TEXT COLLATE "C" CHECK (verdict = 'ADMITTED' OR verdict = 'REFUSED'),
    -- What the whole log says of it, and why.
    outcome TEXT COLLATE "C",
    reason TEXT COLLATE "C",
    is_override BIGINT NOT NULL DEFAULT 0 CHECK (is_override IN (0, 1)),
    -- Whether ticket.checked_in was sent.
    is_reported BIGINT NOT NULL DEFAULT 0 CHECK (is_reported IN (0, 1)),
    CHECK ((verdict IS NULL) = (kind = 'BASE' OR kind = 'CANCELLED')),
    CHECK ((outcome IS NULL) = (verdict IS NULL)),
    CHECK ((client_id IS NULL) OR device IS NOT NULL)
);
CREATE UNIQUE INDEX scans_by_client_id ON scans (organization_id, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX scans_of_ticket ON scans (ticket_id, scanned_at, id) WHERE ticket_id IS NOT NULL;
CREATE INDEX scans_of_event ON scans (event_id, id);

CREATE TABLE transaction_tokens (
    began_at BIGINT NOT NULL,
    token BIGINT NOT NULL,
    undone BOOLEAN NOT NULL,
    PRIMARY KEY (began_at, token)
);

CREATE VIEW ledger AS
    SELECT id, organization_id, event_id, order_id, id AS payment_id, CAST(NULL AS BIGINT) AS refund_id,
        CAST(NULL AS BIGINT) AS dispute_id, CAST('PAYMENT' AS TEXT) COLLATE "C" AS kind, amount, currency, manual_method,
        gateway, account, mode, reference, note, created_at AS happened_at, created_at AS recorded_at, recorded_by, backfilled
    FROM payments
    UNION ALL
    SELECT id, organization_id, event_id, order_id, payment_id, refund_id,
        dispute_id, kind, amount, currency, manual_method,
        gateway, account, mode, reference, note, happened_at, recorded_at, recorded_by, backfilled
    FROM ledger_entries;
