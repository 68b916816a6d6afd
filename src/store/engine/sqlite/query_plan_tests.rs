//! Tests of the query plans: every index serves a query, and every list and frequent query uses the index that is meant
//! for it. The plans are checked on an empty store, with many rows, and after ANALYZE.

use std::collections::BTreeSet;

use crate::store::money::{checkout_attempts, checkouts, disputes, ledger, payments, reconciliation, refunds};
use crate::store::order::mails;
use crate::store::order::order_lists;
use crate::store::order::{order_status, orders};
use crate::store::sale::event_lists;
use crate::store::sale::event_sales;
use crate::store::sale::{
    cancellation_runs, customers, discounts, event_cancellations, event_figures, events, order_items, ticket_types,
};
use crate::store::tenants::{api_keys, idempotency_records, organization_usage, organizations};
#[cfg(feature = "documents")]
use crate::store::tickets::link_versions;
use crate::store::tickets::ticket_lists;
use crate::store::tickets::{
    allocations, arrivals, imported_tickets, issued_tickets, roster, scan_log, scans, ticket_codes,
};
use crate::store::webhooks::{
    attempt_results, attempts, deliveries, endpoints, expansion, outbox_backlog, outbox_rows, subscribed_endpoints,
    webhook_notifications, webhook_removals, webhook_retention,
};
use crate::store::{Bind, Query, Store, Transaction, work};

/// A statement and the indexes that its plan must use.
type Expected = (&'static str, &'static [&'static str]);

const STATEMENTS: &[Expected] = &[
    (api_keys::VALID, &["api_keys_by_hash"]),
    (api_keys::BY_ORGANIZATION, &["api_keys_by_organization"]),
    (organizations::BY_REFERENCE, &["organizations_by_reference"]),
    (organizations::BY_PAGE_NAME, &["organizations_by_page_name"]),
    (organizations::LIST_BY_REFERENCE, &["organizations_by_reference"]),
    (organization_usage::EVENTS, &["events_by_organization"]),
    (organization_usage::TICKET_TYPES, &["events_by_organization", "ticket_types_by_event"]),
    (organization_usage::CUSTOMERS, &["customers_by_email"]),
    (organization_usage::ORDERS, &["orders_by_organization"]),
    (organization_usage::TICKETS, &["tickets_by_organization"]),
    (organization_usage::SCANS, &["events_by_organization", "scans_of_event"]),
    (organization_usage::MAILS, &["mails_by_organization"]),
    (events::ALL, &["events_by_organization"]),
    (events::IDS, &["events_by_organization"]),
    (events::BY_SLUG, &["events_by_slug"]),
    (event_lists::OF_ORGANIZATION, &["events_by_organization"]),
    (event_lists::OF_STATUS, &["events_by_status"]),
    (event_lists::BY_START, &["events_by_start"]),
    (event_lists::NTH_START, &["events_by_start"]),
    (event_lists::BY_SLUG, &["events_by_slug"]),
    (event_lists::BY_REFERENCE, &["events_by_reference"]),
    (events::OVER, &["events_open"]),
    (events::HAS_ORDERS, &["orders_by_status"]),
    (events::HAS_TICKETS, &["tickets_by_status"]),
    (events::HAS_ALLOCATIONS, &["allocations_by_event"]),
    (events::HAS_LIVE_ORDERS, &["orders_by_status", "orders_held_by_event"]),
    (events::HAS_PRICES, &["ticket_types_by_event"]),
    (events::HAS_DISCOUNTS_WITH_AMOUNTS, &["discounts_with_amounts"]),
    (events::SOLD_OUT, &["ticket_types_by_event"]),
    (events::REOPEN, &["ticket_types_by_event"]),
    (event_figures::EXPIRED_ORDERS, &["orders_held_by_event"]),
    (event_figures::EXPIRED_SEATS, &["orders_held_by_event", "order_items_by_order"]),
    (event_figures::TYPES, &["ticket_types_by_event"]),
    (event_sales::SOLD, &["orders_by_status", "tickets_by_order"]),
    (event_sales::SOLD_IN_TESTS, &["payments_by_event", "tickets_by_order"]),
    (event_sales::CANCELLED, &["ticket_types_by_event", "tickets_by_status", "payments_by_order"]),
    #[cfg(feature = "server")]
    (event_sales::SOLD_BY_AFFILIATE, &["orders_by_status", "tickets_by_order"]),
    #[cfg(feature = "server")]
    (event_sales::DISCOUNTED, &["orders_by_discount", "tickets_by_order"]),
    #[cfg(feature = "server")]
    (event_sales::SOLD_BETWEEN, &["orders_by_completion", "tickets_by_order", "payments_by_order"]),
    (event_sales::REFUNDED, &["ledger_entries_by_event"]),
    (event_sales::ISSUED, &["tickets_issued"]),
    (arrivals::LOGGED, &["scans_of_event"]),
    (arrivals::WITHOUT_LOG, &["ticket_types_by_event", "tickets_by_status", "scans_of_ticket"]),
    (arrivals::MISSING, &["ticket_types_by_event", "tickets_by_status"]),
    (ticket_types::BY_ID, &["orders_held_by_event", "order_items_by_order"]),
    (ticket_types::NTH, &["ticket_types_by_event"]),
    (ticket_types::IDS, &["events_by_organization", "ticket_types_by_event"]),
    (ticket_types::IDS_OF_EVENT, &["ticket_types_by_event"]),
    (endpoints::NTH, &["webhook_endpoints_by_organization"]),
    (api_keys::NTH, &["api_keys_usable"]),
    (api_keys::SET_SUSPENDED, &["api_keys_usable"]),
    (api_keys::DELETE_OF_EVENT, &["api_keys_of_event"]),
    (api_keys::OF_EVENT, &["api_keys_of_event"]),
    (organizations::DELETE_IDEMPOTENCY_RECORDS, &["sqlite_autoindex_idempotency_records_1"]),
    (discounts::DELETE_OF_EVENT, &["discounts_by_event_and_activity"]),
    (discounts::NTH_AUTOMATIC, &["discounts_automatic"]),
    (ticket_types::LIST, &["ticket_types_by_event"]),
    #[cfg(feature = "event-pages")]
    (ticket_types::OF_PAGE, &["ticket_types_by_event"]),
    #[cfg(feature = "event-pages")]
    (events::PUBLISHED, &["events_by_status"]),
    #[cfg(feature = "event-pages")]
    (idempotency_records::OF_PROGRAM, &["sqlite_autoindex_idempotency_records_1"]),
    (customers::BY_EMAIL, &["customers_by_email"]),
    (orders::SEATS_WITH_LIMIT, &["orders_limited"]),
    (discounts::BY_ID, &["orders_held_by_discount"]),
    (discounts::BY_CODE, &["discounts_by_code"]),
    (discounts::AUTOMATIC, &["discounts_automatic"]),
    (events::SALE, &["discounts_automatic"]),
    (discounts::WITH_CODE, &["discounts_by_code_in_organization"]),
    (discounts::WITH_CODE_OF_EVENT, &["discounts_by_code"]),
    (discounts::OF_ACTIVITY, &["discounts_by_activity"]),
    (discounts::OF_EVENT, &["discounts_by_event_and_activity"]),
    (orders::ALL, &["orders_by_organization"]),
    (order_lists::OF_ORGANIZATION, &["orders_by_organization"]),
    (order_lists::OF_STATUS, &["orders_by_status"]),
    (order_lists::OF_TICKET_TYPE, &["order_items_by_ticket_type"]),
    (order_lists::OF_CUSTOMER, &["orders_by_customer"]),
    (order_lists::OF_DISCOUNT, &["orders_by_discount"]),
    (order_lists::BY_REFERENCE, &["orders_by_reference"]),
    (order_lists::COMPLETED, &["orders_by_completion"]),
    (order_lists::NTH_COMPLETED, &["orders_by_completion"]),
    (order_lists::CHANGED_LATE, &["orders_changed_late"]),
    (order_lists::NTH_CHANGED_LATE, &["orders_changed_late"]),
    (order_lists::CHANGED_EARLY, &["orders_changed_early"]),
    (order_lists::JUST_EXPIRED, &["orders_pending"]),
    (order_lists::LATER_ID, &["orders_with_later_id"]),
    (order_items::WITH_NAMES, &["order_items_by_order"]),
    (order_status::EXPIRED_HOLDS, &["orders_pending"]),
    (order_status::EXPIRED_HOLDS_OF_EVENT, &["orders_held_by_event"]),
    (order_status::EXPIRED_SEATS, &["orders_held_by_event", "order_items_by_ticket_type", "order_items_by_order"]),
    (order_status::EXPIRED_USES, &["orders_held_by_discount", "order_items_by_order"]),
    (order_status::IDS_OF_EXPIRED_USES, &["orders_held_by_discount"]),
    (event_cancellations::PENDING, &["orders_held_by_event"]),
    (cancellation_runs::NEWEST, &["cancellation_runs_of_event", "ticket_types_by_event", "refunds_of_run"]),
    (cancellation_runs::RUNNING, &["cancellation_runs_of_event"]),
    (cancellation_runs::COMPLETED, &["orders_by_status"]),
    (checkouts::BY_REFERENCE, &["orders_by_payment"]),
    (checkouts::BY_REPLACED_REFERENCE, &["replaced_checkouts_by_reference"]),
    (mails::OF_CAUSES, &["mails_by_cause"]),
    #[cfg(feature = "mail")]
    (mails::LIST, &["mails_by_organization"]),
    #[cfg(feature = "mail")]
    (mails::LIST_OF_ORDER, &["mails_by_order"]),
    #[cfg(feature = "mail")]
    (mails::OLD, &[]),
    #[cfg(feature = "mail")]
    (mails::DELETE_OLD, &[]),
    #[cfg(feature = "mail")]
    (mails::EARLIER, &["mails_by_order", "work_by_key"]),
    #[cfg(feature = "mail")]
    (mails::NTH_SENT, &["mails_sent"]),
    #[cfg(feature = "mail")]
    (mails::NTH_SENT_TO, &["mails_sent_to"]),
    (payments::ORDER_OF, &["payments_by_reference"]),
    (payments::BY_REFERENCE, &["payments_by_reference"]),
    (payments::OF_ORDER, &["payments_by_order"]),
    (payments::LIST, &["payments_by_organization"]),
    (payments::LIST_OF_EVENT, &["payments_by_event"]),
    (event_figures::HAS_MODE, &["payments_by_event"]),
    (event_figures::TEST_SALES, &["payments_by_event", "order_items_by_order"]),
    (event_figures::TEST_RETURNS, &["payments_by_event", "ledger_entries_by_payment"]),
    (payments::LIST_OF_ORDER, &["payments_by_order"]),
    (payments::LATER_ID, &["payments_with_later_id"]),
    (ledger::RETURNED_BY, &["ledger_entries_by_payment"]),
    (ledger::MADE_OF, &["ledger_entries_by_payment"]),
    (ledger::NET_OF_REFERENCE, &["ledger_entries_by_payment"]),
    (ledger::TAKEN_FOR, &["ledger_entries_by_payment"]),
    (ledger::LIST, &["ledger_entries_by_organization"]),
    (ledger::LIST_OF_EVENT, &["ledger_entries_by_event"]),
    (ledger::LIST_OF_ORDER, &["payments_by_order", "ledger_entries_by_payment"]),
    (ledger::LATER_ID, &["ledger_entries_with_later_id"]),
    (reconciliation::ENTRIES_OF_ORGANIZATION, &["payments_by_organization", "ledger_entries_by_organization"]),
    (issued_tickets::BY_CODE, &["tickets_by_code"]),
    (issued_tickets::OUTSIDE, &["tickets_of_allocation"]),
    (issued_tickets::CANCEL_UNSEEN, &["tickets_of_allocation"]),
    (ticket_codes::IMPORTED_OF_EVENT, &["tickets_by_imported_code"]),
    (ticket_codes::CANCELLED_OF_EVENT, &["tickets_by_cancelled_code"]),
    (ticket_codes::IMPORTED, &["tickets_by_imported_code"]),
    (ticket_codes::CANCELLED, &["tickets_by_cancelled_code"]),
    (allocations::BY_ID, &["tickets_of_allocation"]),
    (allocations::OF_TICKET_TYPE, &["allocations_by_ticket_type"]),
    (allocations::IN_STATE, &["allocations_by_state"]),
    (ticket_lists::OF_ALLOCATION, &["tickets_of_allocation"]),
    (issued_tickets::ALL, &["tickets_by_organization"]),
    (scan_log::BY_CLIENT_ID, &["scans_by_client_id"]),
    (scan_log::OF_TICKET, &["scans_of_ticket"]),
    (scan_log::END, &["scans_of_ticket"]),
    (scan_log::LIST, &["scans_of_event"]),
    (scan_log::DELETE_OF_EVENT, &["scans_of_event"]),
    (roster::TYPES, &["ticket_types_by_event"]),
    (roster::ALL, &["tickets_by_status"]),
    (roster::NEW, &["ticket_types_by_event", "tickets_by_status"]),
    (roster::CHANGED, &["scans_of_event"]),
    (roster::CONFLICTS, &["scans_of_event", "scans_of_ticket"]),
    (roster::OF_ORDER, &["tickets_by_order"]),
    (ticket_lists::OF_STATUS, &["tickets_by_status"]),
    (ticket_lists::CANCELLED, &["tickets_cancelled"]),
    (ticket_lists::BY_FIRST_SCAN, &["tickets_by_first_scan"]),
    (ticket_lists::NTH_FIRST_SCAN, &["tickets_by_first_scan"]),
    (ticket_lists::OF_ORDER, &["tickets_by_order"]),
    (ticket_lists::OF_CUSTOMER, &["tickets_by_customer"]),
    (issued_tickets::OF_ORDER, &["tickets_by_order"]),
    (issued_tickets::CANCEL_OF_ORDER, &["tickets_by_order"]),
    #[cfg(feature = "documents")]
    (issued_tickets::WHOLE_OF_ORDER, &["tickets_by_order"]),
    #[cfg(feature = "documents")]
    (link_versions::OF_ORDER, &["tickets_by_order", "order_items_by_order"]),
    #[cfg(feature = "documents")]
    (link_versions::LOGOS_OF_ORDER, &["order_items_by_order"]),
    (scans::BY_CODE, &["tickets_by_code"]),
    (checkout_attempts::COUNT_BY_GATEWAY, &[]),
    (checkout_attempts::ANY, &[]),
    (payments::COUNT_BY_GATEWAY, &[]),
    (refunds::OF_STATUS, &["refunds_by_status"]),
    (refunds::OF_EVENT, &["refunds_by_event"]),
    (refunds::OF_ORDER, &["refunds_by_order"]),
    (refunds::NOT_SETTLED, &["refunds_of_payment"]),
    (disputes::OF_STATUS, &["disputes_by_status"]),
    (disputes::OF_EVENT, &["disputes_by_event"]),
    (disputes::OF_ORDER, &["disputes_by_order"]),
    (disputes::BY_REFERENCE, &["disputes_by_reference"]),
    (idempotency_records::FIND, &["sqlite_autoindex_idempotency_records_1"]),
    (idempotency_records::DELETE_PENDING_ORDER, &["sqlite_autoindex_idempotency_records_1"]),
    (idempotency_records::DELETE_EXPIRED, &["idempotency_records_by_age"]),
    (endpoints::LIST, &["webhook_endpoints_by_organization"]),
    (webhook_removals::REMOVE_WAITING, &["webhook_outbox_waiting"]),
    (webhook_removals::DELETE_WAITING, &["webhook_outbox_waiting"]),
    (deliveries::OF_RESULT, &["webhook_deliveries_by_result"]),
    (attempts::DUE, &["webhook_outbox_waiting"]),
    (attempts::DUE_TOO_LATE, &["webhook_outbox_waiting"]),
    (attempts::NEXT_DUE, &["webhook_outbox_waiting"]),
    (attempts::NEXT_ENDPOINT, &["webhook_outbox_waiting"]),
    (attempts::LAST_ATTEMPT, &["webhook_deliveries_by_result"]),
    (subscribed_endpoints::ENABLED, &["webhook_endpoints_by_organization"]),
    (subscribed_endpoints::OF_ORGANIZATION, &["webhook_endpoints_by_organization"]),
    (expansion::NEXT, &["webhook_notifications_stored"]),
    (expansion::TAKE, &["webhook_notifications_stored"]),
    (outbox_backlog::COUNT_STORED, &["webhook_notifications_stored"]),
    (outbox_backlog::COUNT_STORED_OF, &["webhook_notifications_stored"]),
    (outbox_backlog::COUNT_OF_ENDPOINT, &["webhook_outbox_waiting"]),
    (work::DUE, &["work_due"]),
    (work::DUE_TOO_LATE, &["work_due"]),
    (work::ANY_DUE, &["work_due"]),
    (work::NEXT_ORGANIZATION, &["work_by_organization"]),
    (work::DUE_OF_ORGANIZATION, &["work_by_organization"]),
    (work::SET, &["work_by_key"]),
    (work::WAKE, &["work_by_key"]),
    (work::RESTART_ALL, &["work_by_key"]),
    (work::FORGET_ALL, &["work_by_key"]),
    (work::LATER_OF_KIND, &["work_due"]),
    (work::WITH_KEY, &["work_by_key"]),
    (work::POSTPONE, &["work_by_organization"]),
    (work::COUNT, &[]),
    (work::OLDEST_DUE, &["work_due"]),
    (work::ABANDONED, &["work_due"]),
    (work::DELETE_ABANDONED, &["work_due"]),
    (webhook_retention::OLD_DELIVERIES, &[]),
    (webhook_retention::DELETE_DELIVERIES, &[]),
    (webhook_retention::OLD_NOTIFICATIONS, &["webhook_outbox_finished"]),
    (webhook_retention::DELETE_NOTIFICATIONS, &["webhook_outbox_finished"]),
];

/// Counts and lists that read the whole of a partial index, which has few rows.
const COUNTS: &[Expected] = &[
    (organizations::ALL_SUSPENDED, &["organizations_suspended"]),
    (refunds::COUNT_DUE, &["refunds_open"]),
    (refunds::COUNT_OWED, &["refunds_owed"]),
    (disputes::COUNT_OPEN, &["disputes_open"]),
    (checkout_attempts::COUNT_CLOSING, &["checkouts_closing"]),
    (outbox_backlog::COUNT_WAITING, &["webhook_outbox_waiting"]),
];

/// Lists whose index finds few rows, in another order, and background work in which organizations take turns.
const SORTED: &[&str] = &[
    checkout_attempts::COUNT_BY_GATEWAY,
    payments::COUNT_BY_GATEWAY,
    ledger::MADE_OF,
    event_lists::BY_START,
    event_lists::BY_SLUG,
    order_lists::COMPLETED,
    order_lists::CHANGED_LATE,
    order_lists::JUST_EXPIRED,
    ledger::LIST_OF_ORDER,
    ticket_lists::BY_FIRST_SCAN,
    roster::NEW,
    roster::CONFLICTS,
    event_sales::SOLD,
    event_sales::SOLD_IN_TESTS,
    #[cfg(feature = "server")]
    event_sales::SOLD_BY_AFFILIATE,
    #[cfg(feature = "server")]
    event_sales::DISCOUNTED,
    event_sales::REFUNDED,
    event_sales::ISSUED,
    event_sales::CANCELLED,
    arrivals::LOGGED,
    arrivals::WITHOUT_LOG,
];

/// The numbers for the statements that insert rows.
const NUMBERS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)";

/// Ten organizations with 50 events, 4,000 orders, 4,000 mails and 8,000 tickets of 500 customers, and 200 webhook
/// endpoints with 8,000 notifications; most orders are completed, and most mails and notifications delivered.
const ROWS: &[&str] = &[
    "INSERT INTO organizations (id, name, currency, timezone, created_at)
        SELECT i, 'One', 'EUR', 'UTC', 0 FROM n WHERE i <= 10",
    "INSERT INTO api_keys (id, organization_id, key_hash, name, scopes, created_at)
        SELECT i, 1 + i % 10, CAST(i AS BLOB), 'key', 'all', 0 FROM n WHERE i <= 20",
    "INSERT INTO events (id, organization_id, title, currency, timezone, start_at, over_at, slug, is_public, status,
            delivery_method, shipping_countries, accepts_company, search_text, created_at, updated_at)
        SELECT i, 1 + i % 10, 'Event', 'EUR', 'UTC', i, i, 'e' || i, 1, CASE i % 3 WHEN 0 THEN 'PUBLISHED' ELSE 'EXPIRED' END,
            'DIGITAL', '[]', 0, 'event', 0, 0 FROM n WHERE i <= 50",
    "INSERT INTO ticket_types (id, organization_id, event_id, name, price, quantity, status, display_remaining,
            allowed_dates, access_areas, max_per_order, sort_order, created_at, updated_at)
        SELECT i, 1 + i % 10, 1 + i % 50, 'Seat', 1250, 1000, 'ON_SALE', 0, '[]', '[]', 10, 0, 0, 0 FROM n WHERE i <= 150",
    "INSERT INTO customers (id, organization_id, email, email_key, created_at)
        SELECT i, 1 + i % 10, 'c' || i, 'c' || i, 0 FROM n WHERE i <= 500",
    "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, hold_until, currency, total,
            payment_link, payment_status, payment_reference, discount_id, completed_at, created_at, updated_at)
        SELECT i, 1 + i % 10, 1 + i % 50, 1 + i % 500, 'Ada', CASE i % 40 WHEN 0 THEN 'PENDING' ELSE 'COMPLETED' END, i, 'EUR',
            1250, 'link', 'WAITING', 'p' || i, CASE i % 8 WHEN 0 THEN 1 + i % 500 END, CASE i % 40 WHEN 0 THEN NULL ELSE i END,
            i, i FROM n WHERE i <= 4000",
    "INSERT INTO discounts (id, organization_id, event_id, code, code_key, type, value, value_decimals, auto_apply,
            valid_from, valid_to, is_active, applicable_ticket_types, created_at, updated_at)
        SELECT i, 1 + i % 10, 1 + i % 50, 'CODE' || i, 'code' || i, 'PERCENTAGE', 10, 0, CASE i % 20 WHEN 0 THEN 1 ELSE 0 END,
            0, 1, 1, '[]', 0, 0 FROM n WHERE i <= 500",
    "INSERT INTO order_items (id, order_id, ticket_type_id, quantity, price, discount)
        SELECT id, id, 1 + id % 150, 2, 1250, 0 FROM orders",
    "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, order_id, order_item_id, customer_id,
            customer_name, code, status, created_at, updated_at)
        SELECT i, 1 + i % 10, 1 + i % 50, 1 + i % 150, 1 + i % 4000, 1 + i % 4000, 1 + i % 500, 'Ada',
            SUBSTR('00000000000000000000' || i, -20), 'NOT_CHECKED_IN', 0, 0 FROM n WHERE i <= 8000",
    "INSERT INTO allocations (id, organization_id, event_id, ticket_type_id, is_import, name, quantity, issued, state, created_at,
            updated_at)
        SELECT i, 1 + i % 10, 1 + i % 50, 1 + i % 150, i % 2, 'Guests', 10, 10, 'COMPLETE', 0, 0 FROM n WHERE i <= 200",
    "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, allocation_id, label, imported_code, status, created_at,
            updated_at)
        SELECT i + 10000, 1 + i % 10, 1 + i % 50, 1 + i % 150, 1 + i % 200, 'Row A', 'code-' || i,
            CASE i % 10 WHEN 0 THEN 'CANCELLED' ELSE 'NOT_CHECKED_IN' END, 0, 0 FROM n WHERE i <= 2000",
    "INSERT INTO scans (id, organization_id, event_id, ticket_id, client_id, device, kind, scanned_at, received_at, verdict, outcome)
        SELECT id, organization_id, event_id, id, SUBSTR('000000000000000000000000000000000000' || id, -36), 'Phone', 'IN', id, id,
            'ADMITTED', 'ADMITTED' FROM tickets",
    "INSERT INTO payments (id, organization_id, order_id, event_id, purpose, gateway, account, mode, reference, amount, currency,
            created_at)
        SELECT id, 1 + id % 10, id, 1 + id % 50, 'ORDER', 'stripe', '', 'LIVE', 'pi_' || id, 1250, 'EUR', id FROM orders
        WHERE status = 'COMPLETED'",
    "INSERT INTO mails (id, organization_id, kind, order_id, recipient, dedup_key, state, created_at, sent_at)
        SELECT id, organization_id, 'TICKETS', id, 'c' || customer_id, 'tickets:' || id,
            CASE id % 40 WHEN 1 THEN 'WAITING' ELSE 'SENT' END, id, CASE id % 40 WHEN 1 THEN NULL ELSE id END FROM orders",
    "INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
        SELECT id + 1000000, 'mail', id, organization_id, 1, '', id, id FROM mails WHERE state = 'WAITING'",
    "INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
        SELECT id, CASE id % 4 WHEN 0 THEN 'check stripe LIVE' WHEN 1 THEN 'refund stripe LIVE' ELSE 'call mail' END,
            CASE WHEN id % 4 < 2 THEN id END, organization_id, event_id, '0', id, 0 FROM payments",
    "INSERT INTO refunds (id, order_id, organization_id, event_id, payment_id, source, amount, currency, status, by_gateway,
            promised, returned, to_ask, created_at, updated_at)
        SELECT order_id, order_id, organization_id, event_id, id, 'ORDER', 1250, 'EUR',
            CASE id % 50 WHEN 0 THEN 'DUE' ELSE 'DONE' END, 1, 1250, CASE id % 50 WHEN 0 THEN 0 ELSE 1250 END,
            CASE id % 50 WHEN 0 THEN 1250 ELSE 0 END, 0, 0 FROM payments WHERE id % 4 = 0",
    "INSERT INTO disputes (id, order_id, organization_id, event_id, payment_id, reference, amount, currency, reason, status,
            created_at, updated_at)
        SELECT id, order_id, organization_id, event_id, id, 'd' || id, 1250, 'EUR', 'fraudulent',
            CASE id % 50 WHEN 0 THEN 'OPEN' ELSE 'WON' END, 0, 0 FROM payments WHERE id % 4 = 0",
    "INSERT INTO ledger_entries (id, organization_id, event_id, order_id, payment_id, kind, amount, currency, gateway, account, mode,
            reference, happened_at, recorded_at, subject_id)
        SELECT id + 1000000, organization_id, event_id, order_id, payment_id, 'REFUND', -returned, currency, 'stripe', '', 'LIVE',
            're_' || id, created_at, created_at, id FROM refunds WHERE returned > 0",
    "INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
        SELECT i, 1 + i % 10, 'https://receiver.example/', '[\"order.completed\"]', 1, 'whsec_', 0, 0 FROM n WHERE i <= 200",
    "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, attempts, due_at, finished_at, created_at)
        SELECT i, 1 + i % 200, i, 'order.completed', CASE i % 40 WHEN 0 THEN 'WAITING' ELSE 'DELIVERED' END, 1, i,
            CASE i % 40 WHEN 0 THEN NULL ELSE i END, i FROM n WHERE i <= 8000",
    "INSERT INTO webhook_notifications (id, body, outbox_rows) SELECT event_id, '{}', 1 FROM webhook_outbox",
    "INSERT INTO webhook_deliveries (id, endpoint_id, outbox_id, type, attempt, success, created_at)
        SELECT id, endpoint_id, id, type, 1, 1, created_at FROM webhook_outbox WHERE state = 'DELIVERED'",
];

fn plan(store: &Store, sql: &str) -> Vec<String> {
    explain(store, "EXPLAIN QUERY PLAN", "detail", sql)
}

/// Explains a statement, and returns a column of the explanation.
fn explain(store: &Store, command: &str, column: &'static str, sql: &str) -> Vec<String> {
    let parameters = (1..200).rev().find(|number| sql.contains(&format!("?{number}"))).unwrap_or(0);
    let binds = vec![Bind::Null; parameters];
    let explanation = format!("{command} {sql}");
    store.read(|tx| tx.query_all(Query::changing(&explanation), &binds, |row| row.get(column))).unwrap()
}

/// Asserts each plan. Returns the indexes that the lists above name.
fn assert_plans(store: &Store) -> BTreeSet<&'static str> {
    let children = format!("{} IN (?1, ?2) ORDER BY id", order_items::BY_ORDERS);
    let items = [(children.as_str(), ["order_items_by_order"].as_slice())];
    let pages =
        [&orders::PAGE, &issued_tickets::PAGE, &events::PAGE, &refunds::PAGE, &disputes::PAGE, &deliveries::PAGE];
    let mut pages: Vec<_> = pages.map(|page| (page.short(), [].as_slice())).into();
    let cancelled = order_items::CANCELLED.short();
    pages.push((cancelled, ["tickets_cancelled_by_order", "tickets_by_order"].as_slice()));
    pages.push((discounts::PAGE.short(), ["orders_held_by_discount"].as_slice()));
    pages.push((allocations::PAGE.short(), ["tickets_of_allocation"].as_slice()));
    pages.push((customers::BY_EMAILS.as_str(), ["customers_by_email"].as_slice()));
    pages.push((imported_tickets::TAKEN.as_str(), ["tickets_by_imported_code"].as_slice()));
    let mut named: BTreeSet<_> = COUNTS.iter().flat_map(|(_, indexes)| indexes.iter().copied()).collect();
    for (sql, indexes) in STATEMENTS.iter().copied().chain(items).chain(pages) {
        named.extend(indexes);
        let plan = plan(store, sql);
        for index in indexes {
            assert!(plan.iter().any(|step| step.contains(index)), "{index} is not used: {plan:#?}\n{sql}");
        }
        // Neither are all rows of an organization, to find some of them, unless that is the list.
        let is_listed = |step: &&String| indexes.iter().any(|index| step.contains(index));
        let reads_all =
            |step: &&String| step.contains("AUTOMATIC") || step.ends_with("_by_organization (organization_id=?)");
        let all_of_organization: Vec<_> = plan.iter().filter(|step| reads_all(step) && !is_listed(step)).collect();
        assert!(all_of_organization.is_empty(), "{all_of_organization:?}: {plan:#?}\n{sql}");
        // The rows that a subquery has found by its index are no table.
        let is_subquery = |name: &str| {
            let made = [format!("CO-ROUTINE {name}"), format!("MATERIALIZE {name}")];
            name.starts_with("(subquery") || plan.iter().any(|step| made.contains(step))
        };
        let is_table = |step: &&String| step.strip_prefix("SCAN ").is_none_or(|name| !is_subquery(name));
        let reads_table = plan.iter().filter(is_table).any(|step| step.starts_with("SCAN"));
        assert!(!reads_table, "a whole table is read: {plan:#?}\n{sql}");
        // Only groups and children may be sorted.
        let sorts = plan.iter().any(|step| step.contains("TEMP B-TREE") && !step.contains("FOR GROUP BY"));
        assert!(
            !sorts || sql == children || sql == cancelled || SORTED.contains(&sql),
            "rows are sorted: {plan:#?}\n{sql}"
        );
    }
    for (sql, indexes) in COUNTS {
        let plan = plan(store, sql);
        let counts = |step: &String| step.contains("COVERING INDEX") && step.contains(indexes[0]);
        // One row of another table for each group may be found by its key.
        let finds = |step: &String| step.contains("SCALAR SUBQUERY") || step.contains("USING INTEGER PRIMARY KEY");
        let all = plan.iter().any(counts) && plan.iter().all(|step| counts(step) || finds(step));
        assert!(all, "more is read than {}: {plan:#?}\n{sql}", indexes[0]);
    }
    named
}

#[test]
fn every_index_serves_a_query_and_every_list_has_its_index_before_and_after_analyze() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(&folder).unwrap();
    let named = assert_plans(&store);
    let insert_rows = |tx: &Transaction<'_>| {
        for sql in ROWS {
            tx.execute(&format!("{NUMBERS} {sql}"), &[])?;
        }
        Ok(())
    };
    store.write(None, insert_rows).unwrap();
    assert_plans(&store);
    store.write(None, |tx| tx.execute("ANALYZE", &[])).unwrap();
    drop(store);
    let store = Store::in_folder(&folder).unwrap();
    assert_plans(&store);

    let indexes = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name";
    let indexes: Vec<String> = store.read(|tx| tx.query_all(indexes, &[], |row| row.get("name"))).unwrap();
    let idle: Vec<_> = indexes.iter().map(String::as_str).filter(|index| !named.contains(index)).collect();
    assert!(idle.is_empty(), "{idle:?}");
}

/// Statements that write rows of the tables that are written most.
const FREQUENT_WRITES: &[&str] = &[
    orders::INSERT,
    issued_tickets::INSERT,
    attempts::CLAIM,
    attempt_results::FINISH,
    attempt_results::INSERT_DELIVERY,
];

#[test]
fn checks_of_frequently_written_rows_fill_no_temporary_tables() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(&folder).unwrap();
    let outbox = [1, 9].map(outbox_rows::statement);
    let notifications = [1, 9].map(webhook_notifications::statement);
    for sql in outbox.iter().chain(&notifications).map(String::as_str).chain(FREQUENT_WRITES.iter().copied()) {
        let opcodes = explain(&store, "EXPLAIN", "opcode", sql);
        assert!(opcodes.iter().any(|opcode| opcode == "MakeRecord"), "no row is written: {sql}");
        assert!(!opcodes.iter().any(|opcode| opcode == "OpenEphemeral"), "{sql}");
    }
}
