//! The integrity check: it finds nothing after an ordinary history, and each violation by its name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ticketing::error::StoreErrorKind;
use ticketing::maintenance::{CheckProgress, CheckReport};
use ticketing::{Amount, TicketingService};

use crate::common::webhooks::wait_until;
use crate::common::*;
use crate::storage::history::fill;

/// Creates a database with rows of every kind, and closes its service.
fn history() -> (std::sync::Arc<tempfile::TempDir>, PathBuf) {
    let fixture = Fixture::new();
    fill(&fixture);
    let path = fixture.path();
    (fixture.close(), path)
}

fn open(path: &Path) -> TicketingService {
    database::builder(path).readers(1).open().expect("the database")
}

/// Returns the report of a check after `damage` to a copy of `path`.
fn found_after(path: &Path, damage: impl FnOnce(&Database)) -> CheckReport {
    let copy = path.with_file_name("damaged.db");
    database::copy(path, &copy);
    let connection = Database::open_without_constraints(&copy);
    damage(&connection);
    drop(connection);
    let report = open(&copy).check().expect("a report");
    database::delete(&copy);
    report
}

/// Like [`found_after`], without a copy, which takes longer with PostgreSQL. The rows of the damaged tables are put
/// back.
fn found_and_undone(
    service: &TicketingService,
    database: &Database,
    tables: &[&str],
    damage: impl FnOnce(&Database),
) -> CheckReport {
    for table in tables {
        database.run(&format!("CREATE TEMPORARY TABLE kept_{table} AS SELECT * FROM {table}"));
    }
    damage(database);
    let report = service.check().expect("a report");
    for table in tables {
        let (delete, insert) =
            (format!("DELETE FROM {table}"), format!("INSERT INTO {table} SELECT * FROM kept_{table}"));
        database.run(&format!("{delete}; {insert}; DROP TABLE kept_{table}"));
    }
    report
}

/// The table that a statement changes.
fn table_of(sql: &str) -> &str {
    let mut words =
        sql.split_whitespace().filter(|word| !["UPDATE", "DELETE", "INSERT", "FROM", "INTO"].contains(word));
    words.next().expect("a table")
}

fn names(report: &CheckReport) -> Vec<&str> {
    report.counts.keys().map(String::as_str).collect()
}

/// The names of invariants, and changes of one row each that violate them, and no others. `ORDER('paid')` selects what
/// belongs to the order of the customer of this name, `TICKET('paid')` the first ticket of it, and `ANOTHER` is another
/// organization. A line that is indented continues the one before.
const DAMAGE: &str = r#"
places-sold: UPDATE ticket_types SET sold = sold + 1 WHERE name = 'Seat'
places-held: UPDATE ticket_types SET held = held + 1 WHERE name = 'Seat'
summary-tickets: UPDATE ticket_types SET checked_in_tickets = checked_in_tickets + 1 WHERE name = 'Seat'
summary-tickets: UPDATE ticket_types SET cancelled_tickets = cancelled_tickets - 1 WHERE name = 'Seat'
summary-orders: UPDATE ticket_types SET pending_orders = pending_orders + 1 WHERE name = 'Unsold'
summary-orders: UPDATE ticket_types SET completed_orders = completed_orders + 1 WHERE name = 'Seat'
summary-orders: UPDATE ticket_types SET cancelled_orders = cancelled_orders - 1 WHERE name = 'Seat'
summary-orders: UPDATE ticket_types SET expired_orders = expired_orders + 1 WHERE name = 'Seat'
summary-amounts: UPDATE ticket_types SET revenue = 1 WHERE name = 'Unsold'
summary-amounts: UPDATE ticket_types SET revenue = revenue + 1 WHERE name = 'Seat'
summary-amounts: UPDATE ticket_types SET discount_total = discount_total + 1 WHERE name = 'Seat'
summary-amounts: UPDATE ticket_types SET manual_payment_total = manual_payment_total - 1 WHERE name = 'Seat'
summary-amounts: UPDATE ticket_types SET refunded_total = refunded_total - 1 WHERE name = 'Seat'
summary-amounts: UPDATE ticket_types SET manual_refund_total = 9223372036854775807 WHERE name = 'Seat'
summary-amounts: UPDATE ticket_types SET manually_refunded_total = 1 WHERE name = 'Seat'
summary-amounts: UPDATE ticket_types SET owed_total = owed_total + 1 WHERE name = 'Seat'
summary-amounts: UPDATE ticket_types SET disputed_total = disputed_total - 1 WHERE name = 'Seat'
integrity, places-oversold: UPDATE ticket_types SET quantity = 1 WHERE name = 'Seat'
ticket-type-used: UPDATE ticket_types SET used = 0 WHERE name = 'Seat'
ticket-type-event: UPDATE ticket_types SET organization_id = ANOTHER WHERE name = 'Unsold'
ticket-type-lists: UPDATE ticket_types SET allowed_dates = 'secret' WHERE name = 'Seat'
event-over-at: UPDATE events SET over_at = over_at + 1 WHERE title = 'Winter Night'
event-settings: UPDATE events SET day_starts_at = '24:00' WHERE title = 'Other'
event-over-at: UPDATE events SET over_at = over_at + 1 WHERE title = 'Other'
order-of-cancelled-event: UPDATE events SET status = 'CANCELLED' WHERE title = 'Summer Night'
event-search-text, event-slug: UPDATE events SET slug = 'Secret Slug' WHERE title = 'Other'
event-search-text: UPDATE events SET search_text = 'secret' WHERE title = 'Other'
event-settings: UPDATE events SET timezone = 'secret' WHERE title = 'Other'
event-settings: UPDATE events SET tags = 'secret' WHERE title = 'Other'
event-search-text: UPDATE events SET title = CAST(x'736563726574ff' AS TEXT) WHERE title = 'Other'
organization-settings: UPDATE organizations SET currency = 'secret' WHERE id = (SELECT MIN(id) FROM organizations)
organization-page: UPDATE organizations SET page_name = 'org_0000000000001' WHERE id = (SELECT MIN(id) FROM organizations)
organization-page: UPDATE organizations SET website = 'http://secret' WHERE id = (SELECT MIN(id) FROM organizations)
organization-page: UPDATE organizations SET imprint_url = 'secret' WHERE id = (SELECT MIN(id) FROM organizations)
organization-page: UPDATE organizations SET privacy_url = 'javascript:secret' WHERE id = (SELECT MIN(id) FROM organizations)
key-scopes: UPDATE api_keys SET scopes = 'secret' WHERE name = 'Entrance'
customer-email-key: UPDATE customers SET email_key = 'BOB@example.com' WHERE email_key = 'bob@example.com'
customer-metadata: UPDATE customers SET metadata = '["secret"]' WHERE email_key = 'bob@example.com'
event-settings: UPDATE events SET metadata = '{"a": 5}' WHERE title = 'Other'
ticket-type-lists: UPDATE ticket_types SET metadata = 'secret' WHERE id = (SELECT MIN(id) FROM ticket_types)
discount-used-count: UPDATE discounts SET used_count = used_count - 1
discount-used: UPDATE discounts SET used = 0
discount-event: UPDATE discounts SET organization_id = ANOTHER
discount-code-key: UPDATE discounts SET code_key = 'winter'
discount-values: UPDATE discounts SET value = 101, value_decimals = 0
order-discount: UPDATE discounts SET event_id = (SELECT id FROM events WHERE title = 'Winter Night')
api-key-suspended: UPDATE api_keys SET organization_suspended_at = 1 WHERE name = 'Entrance'
idempotency-record: INSERT INTO idempotency_records (organization_id, key, fingerprint, order_id, created_at) SELECT
    organization_id, 'secret', key_hash, 1, 0 FROM api_keys WHERE name = 'Entrance'
order-currency, payment-of-order: UPDATE orders SET currency = 'USD' WHERE customer_name = 'paid'
integrity, order-cancelled-at, order-status, summary-orders: UPDATE orders SET status = 'SECRET' WHERE customer_name = 'cancelled'
summary-orders, ticket-of-cancelled-order: UPDATE orders SET status = 'CANCELLED' WHERE customer_name = 'paid'
checkout-status, places-held, summary-orders: UPDATE orders SET status = 'EXPIRED' WHERE customer_name = 'pending'
discount-used-count, order-completed-at, summary-orders, ticket-of-cancelled-order: UPDATE orders SET status = 'EXPIRED'
    WHERE customer_name = 'discounted'
foreign-keys: UPDATE orders SET customer_id = 1 WHERE customer_name = 'cancelled'
order-organization: UPDATE orders SET customer_id = (SELECT MAX(id) FROM customers WHERE organization_id = ANOTHER)
    WHERE customer_name = 'cancelled'
order-total: UPDATE orders SET total = total + 1 WHERE customer_name = 'pending'
order-discounted-amount: UPDATE orders SET discounted_amount = discounted_amount + 1 WHERE customer_name = 'discounted'
order-discount: UPDATE orders SET discounted_amount = 0 WHERE customer_name = 'paid'
order-discount: UPDATE orders SET discount_code = NULL WHERE customer_name = 'discounted'
order-discount: UPDATE orders SET discount_code = 'secret' WHERE customer_name = 'discounted'
order-discount: UPDATE orders SET discount_id = 1 WHERE customer_name = 'discounted, cancelled'
order-limited-seats: UPDATE orders SET limited_seats = 99 WHERE customer_name = 'paid'
order-hold: UPDATE orders SET hold_until = NULL WHERE customer_name = 'paid'
item-tickets, order-completed-at: UPDATE orders SET completed_at = NULL WHERE customer_name = 'free'
order-completed-at: UPDATE orders SET completed_at = completed_at + 1 WHERE customer_name = 'free'
payment-of-order: UPDATE orders SET completed_at = completed_at + 1 WHERE customer_name = 'paid'
payment-of-order: UPDATE orders SET completed_at = completed_at - 1 WHERE customer_name = 'marked paid'
integrity, payment-of-order: UPDATE orders SET paid_by_gateway = 2 WHERE customer_name = 'free'
payment-of-order: UPDATE orders SET paid_by_gateway = 1 WHERE customer_name = 'pending'
order-details: UPDATE orders SET details = 'secret' WHERE customer_name = 'free'
order-details: UPDATE orders SET metadata = 'secret' WHERE customer_name = 'free'
integrity, payment-status: UPDATE orders SET payment_status = NULL WHERE customer_name = 'pending'
checkout-of-paid, payment-of-pending, payment-status-of-checkout: UPDATE orders SET payment_status = 'COMPLETED' WHERE
    customer_name = 'pending'
checkout-order: UPDATE checkouts SET expires_at = 0 WHERE ORDER('pending')
checkout-status: UPDATE checkouts SET status = 'CLOSING' WHERE ORDER('pending')
checkout-of-paid, checkout-status: UPDATE checkouts SET status = 'OPEN' WHERE ORDER('paid')
checkout-work: UPDATE checkouts SET status = 'CLOSED' WHERE ORDER('pending')
checkout-status, checkout-work: UPDATE checkouts SET status = 'CLOSING' WHERE ORDER('pending'); DELETE FROM work
    WHERE kind LIKE 'checkout %'
checkout-parameters: UPDATE checkouts SET parameters = 'secret' WHERE ORDER('pending')
checkout-gateway: UPDATE checkouts SET account = NULL WHERE ORDER('pending')
order-checkout: DELETE FROM checkouts WHERE ORDER('pending')
checkout-payment: UPDATE checkouts SET gateway = 'secret' WHERE ORDER('paid')
checkout-payment: UPDATE checkouts SET mode = CASE mode WHEN 'LIVE' THEN 'TEST' ELSE 'LIVE' END WHERE ORDER('late')
checkout-payment: UPDATE payments SET account = 'secret' WHERE ORDER('paid')
checkout-renewals: UPDATE checkouts SET renewals = 11 WHERE ORDER('pending')
checkout-renewals: INSERT INTO replaced_checkouts (order_id, renewals, reference) SELECT id, 0, 'other' FROM orders
    WHERE customer_name = 'pending'
replaced-checkout: INSERT INTO replaced_checkouts (order_id, renewals, reference) SELECT id, 0, 'other' FROM orders
    WHERE customer_name = 'free'
checkout-renewals, replaced-checkout: INSERT INTO replaced_checkouts (order_id, renewals, reference) SELECT f.id, 0,
    p.payment_reference FROM orders f JOIN orders p ON p.customer_name = 'paid' WHERE f.customer_name = 'pending'
payment-of-order, summary-amounts: UPDATE orders SET paid_by_gateway = 1 WHERE customer_name = 'marked paid'
payment-of-order, summary-amounts: UPDATE orders SET paid_by_gateway = 0 WHERE customer_name = 'paid'
payment-status-of-checkout: UPDATE orders SET payment_status = 'REFUNDED' WHERE customer_name = 'paid'
payment-status-of-checkout: UPDATE orders SET payment_status = 'COMPLETED' WHERE customer_name = 'refunded'
payment-status-of-checkout: UPDATE orders SET payment_status = 'FAILED' WHERE customer_name = 'late'
payment-of-order: UPDATE payments SET amount = amount + 1 WHERE ORDER('paid')
payment-of-order, payment-status-of-checkout: UPDATE payments SET manual_method = 'CASH', gateway = NULL, account =
    NULL, reference = NULL WHERE ORDER('paid')
payment-for-nothing, payment-of-order: UPDATE payments SET purpose = 'OTHER' WHERE ORDER('marked paid')
payment-for-nothing, payment-sums, refund-balance: UPDATE payments SET promised = promised - 1 WHERE purpose = 'LATE'
payment-order: UPDATE payments SET event_id = (SELECT id FROM events WHERE title = 'Winter Night') WHERE ORDER('paid')
payment-order: UPDATE payments SET mode = 'TEST' WHERE ORDER('marked paid')
ledger-payment, payment-status-of-checkout, payment-sums, summary-amounts: UPDATE payments SET returned = returned - 1
    WHERE ORDER('refunded')
payment-sums, summary-amounts: UPDATE payments SET owed = 1 WHERE ORDER('paid')
ledger-payment, payment-sums, summary-amounts: UPDATE payments SET taken = taken + 1 WHERE ORDER('refunded')
payment-sums: UPDATE payments SET disputed = 0 WHERE ORDER('refunded')
payment-of-order: INSERT INTO payments (id, organization_id, order_id, event_id, purpose, manual_method, mode, amount,
    currency, created_at) SELECT id + 1, organization_id, order_id, event_id, purpose, 'CASH', mode, amount, currency,
    created_at FROM payments WHERE ORDER('marked paid')
ledger-payment, ledger-refund: UPDATE ledger_entries SET amount = amount - 1 WHERE kind = 'REFUND' AND ORDER('refunded')
ledger-dispute, ledger-payment: UPDATE ledger_entries SET amount = amount - 1 WHERE kind = 'DISPUTE'
ledger-entry: UPDATE ledger_entries SET currency = 'USD' WHERE kind = 'DISPUTE'
ledger-entry: UPDATE ledger_entries SET mode = CASE mode WHEN 'LIVE' THEN 'TEST' ELSE 'LIVE' END WHERE kind = 'DISPUTE'
ledger-entry: UPDATE ledger_entries SET gateway = 'other' WHERE kind = 'DISPUTE'
ledger-entry, ledger-refund: UPDATE ledger_entries SET refund_id = NULL WHERE kind = 'REFUND'
ledger-entry: UPDATE ledger_entries SET account = 'secret' WHERE kind = 'DISPUTE'
payment-order: UPDATE payments SET account = 'secret' WHERE ORDER('marked paid')
ledger-dispute, ledger-entry: UPDATE ledger_entries SET dispute_id = NULL WHERE kind = 'DISPUTE'
ledger-dispute, ledger-entry: UPDATE ledger_entries SET dispute_id = dispute_id + 1 WHERE kind = 'DISPUTE'
ledger-entry: UPDATE ledger_entries SET subject_id = subject_id + 1 WHERE kind = 'DISPUTE'
ledger-entry: UPDATE ledger_entries SET reference = 'secret' WHERE kind = 'DISPUTE'
refund-reference: UPDATE ledger_entries SET reference = 'secret' WHERE kind = 'REFUND'
ledger-failure, ledger-payment, ledger-refund, refund-reference: UPDATE ledger_entries SET kind = 'REFUND_FAILED',
    amount = -amount WHERE kind = 'REFUND'
ledger-payment, ledger-refund, refund-reference: DELETE FROM ledger_entries WHERE kind = 'REFUND'
payment-sums: DELETE FROM refunds WHERE status = 'DUE'
refund-payment: UPDATE refunds SET event_id = (SELECT id FROM events WHERE title = 'Winter Night') WHERE status = 'DUE'
refund-amount: UPDATE refunds SET amount = amount + 1 WHERE status = 'DONE'
refund-amount: UPDATE refunds SET amount = amount + 1 WHERE status = 'DUE'
refund-amount: UPDATE refunds SET amount = amount - 1 WHERE status = 'DUE'
refund-reference: UPDATE refunds SET reference = 'secret' WHERE status = 'DONE'
refund-payment: UPDATE refunds SET currency = 'USD' WHERE status = 'DUE'
refund-payment: UPDATE refunds SET source = 'ORDER' WHERE status = 'DUE'
refund-status: UPDATE refunds SET status = 'DUE' WHERE status = 'DONE'
refund-status: UPDATE refunds SET status = 'DONE' WHERE status = 'DUE'
refund-status: UPDATE refunds SET status = 'WITHDRAWN' WHERE status = 'DUE'
refund-status: UPDATE refunds SET refused = 1 WHERE status = 'DUE'
refund-work: UPDATE work SET key = (SELECT MAX(id) FROM refunds WHERE status = 'DONE') WHERE kind LIKE 'refund %'
refund-work: DELETE FROM work WHERE kind LIKE 'refund %'
refund-balance, refund-status: UPDATE refunds SET to_ask = to_ask + 1 WHERE status = 'DUE'
ledger-refund, payment-sums, refund-status: UPDATE refunds SET returned = returned + 1 WHERE status = 'DONE'
payment-sums, refund-balance, refund-status: UPDATE refunds SET owed = 1 WHERE status = 'DONE'
dispute-order: UPDATE disputes SET event_id = (SELECT id FROM events WHERE title = 'Winter Night')
dispute-order, ledger-entry, payment-sums: UPDATE disputes SET payment_id = (SELECT p.id FROM payments p JOIN orders o
    ON o.id = p.order_id WHERE o.customer_name = 'paid')
ledger-dispute, payment-sums: UPDATE disputes SET taken = taken + 1
ledger-entry: UPDATE disputes SET reference = 'secret'
order-cancelled-at: UPDATE orders SET cancelled_at = 1 WHERE customer_name = 'paid'
order-items, order-total, summary-orders: DELETE FROM order_items WHERE ORDER('cancelled')
integrity, item-amounts, order-discounted-amount, order-total: UPDATE order_items SET discount = -1 WHERE ORDER('cancelled')
item-ticket-type, summary-orders: UPDATE order_items SET ticket_type_id = (SELECT id FROM ticket_types WHERE name =
    'Other') WHERE ORDER('cancelled')
item-tickets, summary-tickets: DELETE FROM tickets WHERE TICKET('refunded')
places-sold, summary-tickets, ticket-cancelled-at, ticket-of-cancelled-order: UPDATE tickets SET status = 'NOT_CHECKED_IN' WHERE TICKET('refunded')
ticket-order: UPDATE tickets SET customer_id = (SELECT id FROM customers WHERE email_key = 'bob@example.com') WHERE TICKET('paid')
integrity, item-tickets, ticket-item, ticket-order: UPDATE tickets SET order_item_id = NULL WHERE TICKET('paid')
summary-tickets, ticket-type: UPDATE tickets SET ticket_type_id = (SELECT id FROM ticket_types WHERE name = 'Other')
    WHERE order_id IS NULL AND status = 'CANCELLED'
ticket-customer: UPDATE tickets SET customer_id = (SELECT MAX(id) FROM customers WHERE organization_id = ANOTHER) WHERE
    order_id IS NULL AND status = 'CANCELLED'
integrity, summary-tickets, ticket-status: UPDATE tickets SET status = 'CHECKED_IN' WHERE order_id IS NULL AND
    customer_name = 'Ada' AND status <> 'CANCELLED' AND event_id = (SELECT id FROM events WHERE title = 'Winter Night')
ticket-holder: UPDATE tickets SET customer_name = NULL WHERE imported_code = '4006381333931'
ticket-holder: UPDATE tickets SET customer_id = NULL, customer_name = NULL WHERE TICKET('paid')
allocation-issued, ticket-holder: UPDATE tickets SET allocation_id = NULL WHERE label = 'Ada'
ticket-allocation: UPDATE allocations SET event_id = (SELECT MIN(id) FROM events), ticket_type_id = (SELECT MIN(id) FROM
    ticket_types) WHERE name = 'Guests'
allocation-issued, ticket-import: UPDATE allocations SET is_import = 1, quantity = 3 WHERE name = 'Guests'
summary-without-order, ticket-import: UPDATE tickets SET imported_code = NULL WHERE imported_code = '4006381333931'
ticket-code: UPDATE tickets SET imported_code = 'secret code' WHERE imported_code = '4006381333931'
ticket-code: UPDATE tickets SET imported_code = '0123456789-abcdefghjk' WHERE imported_code = '4006381333931'
summary-without-order: UPDATE ticket_types SET issued_tickets = issued_tickets + 1 WHERE name = 'Seat'
summary-without-order: UPDATE ticket_types SET imported_tickets = imported_tickets - 1 WHERE name = 'Set aside'
allocation-issued: UPDATE allocations SET issued = 1 WHERE name = 'Guests'
allocation-issued: UPDATE allocations SET quantity = 3 WHERE name = 'Box office'
allocation-issued, places-held: UPDATE allocations SET issued = 1 WHERE name = 'Press'
allocation-issued, allocation-labels-left, places-held: UPDATE allocations SET state = 'COMPLETE' WHERE name = 'Press'
allocation-organization: UPDATE allocations SET organization_id = ANOTHER WHERE name = 'Press'
allocation-work: DELETE FROM work WHERE kind = 'change allocation'
allocation-values: UPDATE allocations SET metadata = 'secret' WHERE name = 'Press'
allocation-labels: UPDATE allocation_labels SET labels = 'secret'
ticket-scans: UPDATE tickets SET scan_count = 0 WHERE status = 'CHECKED_IN'
ticket-scans: UPDATE tickets SET first_scan_at = NULL WHERE status = 'CHECKED_IN'
ticket-cancelled-at: UPDATE tickets SET cancelled_at = 1 WHERE status = 'CHECKED_IN'
order-seats: UPDATE orders SET ordered_seats = ordered_seats + 1 WHERE customer_name = 'paid'
report-link: INSERT INTO report_links (event_id, created_at) SELECT id, 0 FROM events WHERE title = 'Winter Night'
ticket-link: UPDATE tickets SET link_version = 1 WHERE status = 'CHECKED_IN'
ticket-code: UPDATE tickets SET code = LOWER(code) WHERE status = 'CHECKED_IN'
scan-event: INSERT INTO scans (id, organization_id, event_id, kind, scanned_at, received_at, verdict, outcome) SELECT 1,
    organization_id, id, 'IN', 0, 0, 'ADMITTED', 'UNKNOWN_CODE' FROM events WHERE title = 'Winter Night'
scan-outcome: UPDATE events SET has_scan_log = 1 WHERE title = 'Winter Night'; INSERT INTO scans (id, organization_id,
    event_id, kind, scanned_at, received_at, verdict, outcome) SELECT 1, organization_id, id, 'IN', 0, 0, 'ADMITTED',
    'LEFT' FROM events WHERE title = 'Winter Night'
scan-report: UPDATE events SET has_scan_log = 1 WHERE id = (SELECT event_id FROM tickets WHERE id = (SELECT MIN(id) FROM
    tickets WHERE status = 'CHECKED_IN')); INSERT INTO scans (id, organization_id, event_id, ticket_id, kind,
    scanned_at, received_at, verdict, outcome) SELECT id, organization_id, event_id, id, 'IN', check_in_at, check_in_at,
    'ADMITTED', 'ADMITTED' FROM tickets WHERE id = (SELECT MIN(id) FROM tickets WHERE status = 'CHECKED_IN')
scan-state: UPDATE events SET has_scan_log = 1 WHERE id = (SELECT event_id FROM tickets WHERE id = (SELECT MIN(id) FROM
    tickets WHERE status = 'CHECKED_IN')); INSERT INTO scans (id, organization_id, event_id, ticket_id, kind,
    scanned_at, received_at, verdict, outcome) SELECT id, organization_id, event_id, id, 'OUT', check_in_at,
    check_in_at, 'ADMITTED', 'LEFT' FROM tickets WHERE id = (SELECT MIN(id) FROM tickets WHERE status = 'CHECKED_IN')
scan-state: UPDATE scans SET scanned_at = scanned_at + 1 WHERE outcome = 'ADMITTED'
scan-state: UPDATE scans SET scanned_at = scanned_at - 1 WHERE outcome = 'LEFT'
scan-state: DELETE FROM scans WHERE outcome = 'ADMITTED'
scan-state: DELETE FROM scans WHERE outcome = 'LEFT'
scan-state: UPDATE tickets SET check_in_at = check_in_at + 1 WHERE id = (SELECT MIN(ticket_id) FROM scans)
scan-state: UPDATE tickets SET check_out_at = NULL WHERE id = (SELECT MIN(ticket_id) FROM scans)
scan-state: UPDATE tickets SET first_scan_at = first_scan_at + 1 WHERE id = (SELECT MIN(ticket_id) FROM scans)
scan-state: UPDATE tickets SET first_scan_at = first_scan_at - 1 WHERE id = (SELECT MIN(ticket_id) FROM scans)
scan-state: UPDATE tickets SET last_scan_at = last_scan_at - 1 WHERE id = (SELECT MIN(ticket_id) FROM scans)
webhook-settings, webhook-subscription: UPDATE webhook_endpoints SET events = '[]' WHERE id = 1
webhook-settings: UPDATE webhook_endpoints SET events = '["secret"]' WHERE id = 1
webhook-settings: UPDATE webhook_endpoints SET events = '["order.completed","order.completed"]' WHERE id = 2
webhook-settings: UPDATE webhook_endpoints SET secret = 'whsec_' || SUBSTR(secret, 8) WHERE id = 1
webhook-settings: UPDATE webhook_endpoints SET secret = REPLACE(secret, 'A=', 'B=') WHERE id = 1
webhook-endpoint: DELETE FROM webhook_endpoints WHERE id = 2
webhook-event: UPDATE webhook_endpoints SET organization_id = ANOTHER WHERE id = 2
webhook-body: UPDATE webhook_notifications SET body = 'secret' WHERE id = (SELECT MAX(event_id) FROM webhook_outbox
    WHERE type = 'ticket.issued')
webhook-notification-rows: UPDATE webhook_notifications SET outbox_rows = 9 WHERE id = (SELECT MAX(id) FROM webhook_notifications)
webhook-notification: DELETE FROM webhook_notifications WHERE id = (SELECT MAX(id) FROM webhook_notifications)
webhook-body: UPDATE webhook_outbox SET type = 'order.cancelled' WHERE id = (SELECT MAX(id) FROM webhook_outbox WHERE
    type = 'ticket.issued')
webhook-notification, webhook-notification-rows: UPDATE webhook_outbox SET event_id = event_id + 1 WHERE id = (SELECT
    MAX(id) FROM webhook_outbox WHERE type = 'ticket.issued')
webhook-subject: UPDATE webhook_notifications SET body = REPLACE(body, '"orderId":null',
    '"orderId":"order_0000000000001"') WHERE id = (SELECT MAX(event_id) FROM webhook_outbox WHERE type =
    'ticket.issued')
webhook-body: UPDATE webhook_notifications SET body = REPLACE(body, 'order.cancelled', 'order.completed') WHERE id =
    (SELECT MIN(event_id) FROM webhook_outbox WHERE type = 'order.cancelled'); UPDATE webhook_outbox SET type =
    'order.completed' WHERE id = (SELECT MIN(id) FROM webhook_outbox WHERE type = 'order.cancelled')
webhook-subject: UPDATE webhook_notifications SET body = REPLACE(REPLACE(body, 'ticket.issued', 'ticket.checked_in'),
    '"orderId":null', '"orderId":null,"checkInDate":"2026-06-01T12:00:00.000Z"') WHERE id = (SELECT MAX(event_id) FROM
    webhook_outbox WHERE type = 'ticket.issued'); UPDATE webhook_outbox SET type = 'ticket.checked_in' WHERE id =
    (SELECT MAX(id) FROM webhook_outbox WHERE type = 'ticket.issued')
cancellation-run: UPDATE cancellation_runs SET organization_id = ANOTHER
cancellation-run: DELETE FROM work WHERE kind = 'cancel completed orders'
cancellation-run-refunds: UPDATE refunds SET cancellation_run_id = (SELECT id FROM cancellation_runs) WHERE
    ORDER('refunded')
cancellation-run-failures: UPDATE cancellation_runs SET failures = 'secret'
webhook-body: UPDATE webhook_outbox SET type = 'secret' WHERE id = (SELECT MAX(id) FROM webhook_outbox WHERE type =
    'ticket.issued')
webhook-subject, webhook-subscription: UPDATE webhook_notifications SET body = REPLACE(REPLACE(body, 'ticket.issued',
    'refund.succeeded'), '"orderId":null', '"orderId":"order_0000000000001","refundId":"refund_0000000000001",
    "paymentId":null,"amount":1,"currency":"EUR","source":"ORDER"') WHERE id = (SELECT MAX(event_id) FROM webhook_outbox
    WHERE type = 'ticket.issued'); UPDATE webhook_outbox SET type = 'refund.succeeded' WHERE id = (SELECT MAX(id) FROM
    webhook_outbox WHERE type = 'ticket.issued')
webhook-subject, webhook-subscription: UPDATE webhook_notifications SET body = REPLACE(REPLACE(body, 'ticket.issued',
    'refund.failed'), '"orderId":null', '"orderId":"order_0000000000001","refundId":"refund_0000000000001",
    "paymentId":null,"amount":1,"currency":"EUR","source":"ORDER", "requiresManualRefund":true') WHERE id = (SELECT
    MAX(event_id) FROM webhook_outbox WHERE type = 'ticket.issued'); UPDATE webhook_outbox SET type = 'refund.failed'
    WHERE id = (SELECT MAX(id) FROM webhook_outbox WHERE type = 'ticket.issued')
webhook-subject, webhook-subscription: UPDATE webhook_notifications SET body = REPLACE(REPLACE(body, 'ticket.issued',
    'dispute.opened'), '"orderId":null', '"orderId":"order_0000000000001","disputeId":"dispute_0000000000001",
    "amount":1,"currency":"EUR","reason":"general","status":"OPEN"') WHERE id = (SELECT MAX(event_id) FROM
    webhook_outbox WHERE type = 'ticket.issued'); UPDATE webhook_outbox SET type = 'dispute.opened' WHERE id = (SELECT
    MAX(id) FROM webhook_outbox WHERE type = 'ticket.issued')
webhook-subject, webhook-subscription: UPDATE webhook_notifications SET body = REPLACE(REPLACE(body, 'ticket.issued',
    'payment.returned'), '"orderId":null', '"orderId":"order_0000000000001","paymentId":null,
    "amount":1,"currency":"EUR","reason":"LATE"') WHERE id = (SELECT MAX(event_id) FROM webhook_outbox WHERE type =
    'ticket.issued'); UPDATE webhook_outbox SET type = 'payment.returned' WHERE id = (SELECT MAX(id) FROM webhook_outbox
    WHERE type = 'ticket.issued')
webhook-event, webhook-subject: UPDATE webhook_endpoints SET organization_id = ANOTHER WHERE id = 1
webhook-body: UPDATE webhook_notifications SET type = 'order.completed' WHERE organization_id IS NOT NULL
webhook-body: UPDATE webhook_notifications SET type = 'secret' WHERE organization_id IS NOT NULL
webhook-subject: UPDATE webhook_notifications SET organization_id = ANOTHER WHERE organization_id IS NOT NULL
handler-notification: UPDATE work SET body = '{"topic": "secret"}' WHERE kind LIKE 'call %'
handler-notification: UPDATE work SET created_at = -1 WHERE kind LIKE 'call %'
payment-check: UPDATE work SET body = 'secret' WHERE kind LIKE 'check %'
mail-work: INSERT INTO mails (id, organization_id, kind, order_id, recipient, dedup_key, created_at) SELECT 1, organization_id,
    'TICKETS', id, 'x', 'x', 1 FROM orders WHERE customer_name = 'paid'
mail-kind: INSERT INTO mails (id, organization_id, kind, order_id, recipient, dedup_key, state, created_at, sent_at) SELECT 1,
    organization_id, 'secret', id, 'x', 'x', 'SENT', 1, 1 FROM orders WHERE customer_name = 'paid'
mail-order: INSERT INTO mails (id, organization_id, kind, order_id, recipient, dedup_key, state, created_at, sent_at) SELECT 1,
    ANOTHER, 'TICKETS', id, 'x', 'x', 'SENT', 1, 1 FROM orders WHERE customer_name = 'paid'
webhook-delivery, webhook-state: UPDATE webhook_outbox SET attempts = 7 WHERE state = 'DEAD'
integrity, webhook-state: UPDATE webhook_outbox SET claim = 1 WHERE state = 'DEAD'
webhook-attempts: UPDATE webhook_outbox SET attempts = 2 WHERE state = 'WAITING' AND attempts = 1
webhook-attempts: DELETE FROM webhook_deliveries WHERE attempt = 3
webhook-attempts: UPDATE webhook_deliveries SET attempt = 4 WHERE attempt = 3
webhook-delivery: UPDATE webhook_deliveries SET success = 0, error_message = 'secret' WHERE success = 1
webhook-delivery: UPDATE webhook_deliveries SET success = 1, error_message = NULL WHERE attempt = 8
webhook-delivery: UPDATE webhook_deliveries SET endpoint_id = 2 WHERE attempt = 8
webhook-delivery: UPDATE webhook_deliveries SET type = 'secret' WHERE attempt = 8
webhook-delivery, webhook-notification-rows: DELETE FROM webhook_outbox WHERE state = 'DEAD'
"#;

/// The names of the invariants in alphabetical order, and the statements, of each line of [`DAMAGE`].
fn damage() -> Vec<(Vec<&'static str>, String)> {
    let mut lines: Vec<(Vec<&str>, String)> = Vec::new();
    for line in DAMAGE.trim().lines() {
        match (line.strip_prefix("    "), lines.last_mut()) {
            (Some(rest), Some((_, sql))) => *sql = format!("{sql} {rest}"),
            _ => {
                let (names, sql) = line.split_once(": ").expect("names");
                lines.push((names.split(", ").collect(), sql.to_owned()));
            }
        }
    }
    let of_order = "order_id = (SELECT id FROM orders WHERE customer_name = ";
    let of_ticket = "id = (SELECT MIN(t.id) FROM tickets t JOIN orders o ON o.id = t.order_id WHERE o.customer_name = ";
    for (_, sql) in &mut lines {
        *sql = sql.replace("ORDER(", of_order).replace("TICKET(", of_ticket);
        *sql = sql.replace("ANOTHER", "(SELECT MAX(id) FROM organizations)");
    }
    lines
}

#[test]
fn a_database_is_clean_when_it_is_empty_and_after_a_mixed_history() {
    let (folder, path) = history();
    let report = open(&path).check().expect("a report");
    assert!(report.is_clean() && report.findings.is_empty());
    // The same, counted by another program.
    for (table, name) in [("orders", "orders"), ("tickets", "tickets"), ("webhook_outbox", "notifications")] {
        let counted: i64 = Database::open(&path).value(&format!("SELECT COUNT(*) FROM {table}"));
        assert_eq!(report.checked[name], u64::try_from(counted).expect("a number"), "{table}");
    }
    assert!(open(&folder.path().join("fresh.db")).check().expect("a report").is_clean());
}

#[test]
fn each_violation_is_found_by_its_name_and_nothing_else_is() {
    let (_folder, path) = history();
    let opened = (!database::is_file()).then(|| (open(&path), Database::open_without_constraints(&path)));
    for (expected, sql) in damage() {
        // A check does not repeat what PostgreSQL checks.
        let is_checked = |name: &&str| database::is_file() || !["integrity", "foreign-keys"].contains(name);
        let expected: Vec<_> = expected.into_iter().filter(is_checked).collect();
        let damage = |database: &Database| {
            for statement in sql.split(';') {
                let changed = database.execute(statement, []);
                assert!(changed == 1, "{changed} rows were changed: {statement}");
            }
        };
        let tables: Vec<_> = sql.split(';').map(table_of).collect();
        let report = match &opened {
            Some((service, database)) => found_and_undone(service, database, &tables, damage),
            None => found_after(&path, damage),
        };
        assert_eq!(names(&report), expected, "{sql}: {:#?}", report.findings);
        let json = serde_json::to_string(&report).expect("JSON").to_lowercase();
        assert!(!json.contains("secret") && !json.contains("@example"), "{json}");
        let of_the_file = |finding: &ticketing::maintenance::Finding| finding.invariant == "integrity";
        assert!(report.findings.iter().all(|finding| finding.row.is_some() || of_the_file(finding)), "{report:#?}");
    }
}

/// The names of all invariants, from the source of the check.
fn all_names() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/check");
    let files = std::fs::read_dir(folder).expect("the folder").map(|file| file.expect("a file").path());
    let texts: Vec<_> = files.map(|file| std::fs::read_to_string(file).expect("text")).collect();
    let named = texts.iter().flat_map(|text| text.split(" name: \"").skip(1));
    named.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

#[test]
fn there_is_damage_for_every_invariant() {
    let found: BTreeSet<_> = damage().into_iter().flat_map(|(names, _)| names).map(str::to_owned).collect();
    let all = all_names();
    assert!(all.len() > 30, "the invariants were found: {all:?}");
    assert_eq!(all.difference(&found).collect::<Vec<_>>(), [""; 0], "invariants without damage");
}

#[test]
fn a_finding_names_the_row_and_the_invariant() {
    let (_folder, path) = history();
    let file = Database::open(&path);
    let key: i64 = file.value("SELECT id FROM orders WHERE customer_name = 'pending'");
    drop(file);
    let report = found_after(&path, |file| {
        file.execute("UPDATE orders SET total = 1 WHERE id = ?1", [key]);
    });
    let finding = &report.findings[0];
    assert_eq!((finding.invariant.as_str(), finding.table.as_str()), ("order-total", "orders"));
    assert_eq!(finding.row, Some(key.to_string()));
    assert_eq!(finding.sentence, "the total of an order must be the sum of its items after their discounts");
}

#[test]
fn the_first_hundred_findings_are_listed_and_all_are_counted() {
    let (_folder, path) = history();
    let report = found_after(&path, |file| {
        let more = "INSERT INTO customers (id, organization_id, email, email_key, created_at)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
            SELECT i, (SELECT MIN(id) FROM organizations), 'C' || i || '@example.com', 'C' || i || '@example.com', 0 FROM n";
        assert_eq!(file.execute(more, []), 250);
    });
    assert_eq!(report.counts.into_iter().collect::<Vec<_>>(), [("customer-email-key".to_owned(), 250)]);
    assert_eq!(report.findings.len(), 100);
}

#[test]
fn an_overflowing_sum_is_a_finding_and_the_check_continues() {
    let (_folder, path) = history();
    let report = found_after(&path, |file| {
        let huge = "UPDATE order_items SET discount = 9223372036854775807 WHERE order_id IN
            (SELECT id FROM orders WHERE customer_name = 'pending')";
        let more = "INSERT INTO order_items SELECT id + 1, order_id, ticket_type_id, quantity, price, discount
            FROM order_items WHERE discount = 9223372036854775807";
        file.execute(huge, []);
        file.execute(more, []);
        file.execute("UPDATE ticket_types SET sold = sold + 1 WHERE name = 'Seat'", []);
    });
    let found = names(&report);
    for name in ["item-amounts", "order-discounted-amount", "places-sold"] {
        assert!(found.contains(&name), "{name}: {found:?}");
    }
}

#[test]
fn a_damaged_page_is_a_finding_and_the_check_continues() {
    if !database::is_file() {
        return skipped("it is about a database file");
    }
    let (_folder, path) = history();
    let file = Database::open(&path);
    let root = |index: &str| -> i64 {
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        file.value_with(sql, [index])
    };
    for table in ["refunds_by_status", "tickets"] {
        let report = found_after(&path, |copy| {
            copy.execute("UPDATE ticket_types SET held = held + 1 WHERE name = 'Seat'", []);
            copy.run("PRAGMA wal_checkpoint(TRUNCATE)");
            let damaged = path.with_file_name("damaged.db");
            let mut bytes = std::fs::read(&damaged).expect("the copy");
            let page = usize::try_from(root(table) - 1).expect("small") * 4096;
            bytes[page..page + 4096].fill(0x5a);
            std::fs::write(&damaged, bytes).expect("written");
        });
        let found = names(&report);
        assert!(found.contains(&"integrity") && found.contains(&"places-held"), "{table}: {found:?}");
    }
}

/// Runs a statement while SQLite does not know the index, which then keeps its entries as they were.
fn execute_without_index(file: &Database, index: &str, sql: &str) {
    file.run("PRAGMA writable_schema = ON");
    file.run("CREATE TEMP TABLE hidden AS SELECT * FROM sqlite_schema");
    assert_eq!(file.execute("DELETE FROM sqlite_schema WHERE name = ?1", [index]), 1);
    file.run("PRAGMA writable_schema = RESET");
    assert_eq!(file.execute(sql, []), 1, "{sql}");
    file.run("PRAGMA writable_schema = ON");
    file.execute("INSERT INTO sqlite_schema SELECT * FROM hidden WHERE name = ?1", [index]);
    file.run("PRAGMA writable_schema = RESET");
}

#[test]
fn an_index_whose_entries_are_not_those_of_its_rows_is_found() {
    if !database::is_file() {
        return skipped("it is about a database file");
    }
    let (_folder, path) = history();
    let set = "UPDATE orders SET reference = 'R-1' WHERE customer_name = 'paid'";
    let unset = "UPDATE orders SET reference = NULL WHERE customer_name = 'paid'";
    let no_change = "UPDATE orders SET reference = NULL WHERE customer_name = 'pending'";
    for (index, before, without_index) in [
        ("events_by_start", no_change, "UPDATE events SET start_at = start_at + 1 WHERE title = 'Other'"),
        // An entry is missing.
        ("orders_by_reference", no_change, set),
        // There is an entry that should not be there.
        ("orders_by_reference", set, unset),
    ] {
        let report = found_after(&path, |file| {
            assert_eq!(file.execute(before, []), 1);
            execute_without_index(file, index, without_index);
        });
        assert_eq!(names(&report), ["integrity"], "{index}: {without_index}");
        assert!(report.findings.iter().all(|finding| finding.sentence.contains(index)), "{report:#?}");
    }
}

#[test]
fn a_unique_index_with_the_same_key_twice_is_found() {
    if !database::is_file() {
        return skipped("it is about a database file");
    }
    let (_folder, path) = history();
    let report = found_after(&path, |file| {
        file.run("PRAGMA writable_schema = ON");
        let unique = "UPDATE sqlite_schema SET sql = REPLACE(sql, 'CREATE INDEX', 'CREATE UNIQUE INDEX')
            WHERE name = 'tickets_by_organization'";
        assert_eq!(file.execute(unique, []), 1);
    });
    assert_eq!(names(&report), ["integrity"]);
    assert!(report.findings[0].sentence.contains("non-unique entry"), "{report:#?}");
}

#[test]
fn an_index_whose_entries_are_not_in_order_is_found() {
    if !database::is_file() {
        return skipped("it is about a database file");
    }
    let (_folder, path) = history();
    let root: usize = Database::open(&path)
        .value::<i64>("SELECT rootpage FROM sqlite_schema WHERE name = 'tickets_by_code'")
        .try_into()
        .expect("a page");
    let report = found_after(&path, |copy| {
        copy.run("PRAGMA wal_checkpoint(TRUNCATE)");
        let damaged = path.with_file_name("damaged.db");
        let mut bytes = std::fs::read(&damaged).expect("the copy");
        let page = &mut bytes[(root - 1) * 4096..root * 4096];
        // A leaf of an index. The two bytes for each cell, in the order of the cells, follow the header of eight bytes.
        assert_eq!(page[0], 10);
        page[8..12].rotate_left(2);
        std::fs::write(&damaged, bytes).expect("written");
    });
    assert_eq!(names(&report), ["integrity"]);
    assert!(report.findings.iter().any(|finding| finding.sentence.contains("tickets_by_code")), "{report:#?}");
}

#[test]
fn a_check_sees_one_state_during_writes() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type_with(&fixture.event(), |new| {
        new.price = Amount::ZERO;
        new.quantity = 1_000_000;
    });
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sell = || {
            let mut sold = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                fixture.order(&ticket_type, 3);
                sold += 1;
            }
            sold
        };
        let seller = scope.spawn(sell);
        let check = |_| {
            std::thread::sleep(Duration::from_millis(5));
            fixture.service.check()
        };
        let reports: Vec<_> = (0..20).map(check).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(seller.join().expect("no panic") > 0);
        for report in reports {
            assert_eq!(report.expect("a report").counts, BTreeMap::new());
        }
    });
}

#[test]
fn the_progress_of_a_check_counts_its_steps_and_can_stop_it() {
    let (_folder, path) = history();
    for break_at in [None, Some(3)] {
        let mut seen = Vec::new();
        let report = |progress: CheckProgress| {
            seen.push((progress.steps, progress.total_steps));
            if break_at == Some(progress.steps) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let checked = match database::is_file() {
            true => TicketingService::check_file_with_progress(&path, report),
            false => open(&path).check_with_progress(report),
        };
        let total = seen[0].1;
        let done = break_at.unwrap_or(total);
        assert_eq!(seen, (1..=done).map(|step| (step, total)).collect::<Vec<_>>());
        match break_at {
            None => assert!(checked.expect("a report").is_clean()),
            Some(_) => assert_eq!(checked, Err(StoreErrorKind::CheckStopped.into())),
        }
    }
}

#[test]
fn the_write_ahead_log_is_emptied_between_the_steps_of_a_check() {
    if !database::is_file() {
        return skipped("it is about a database file");
    }
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 1_000_000);
    fixture.order(&ticket_type, 1);
    let length = || std::fs::metadata(fixture.path()).expect("the file").len();
    let mut first = None;
    let report = fixture.service.check_with_progress(|progress| {
        // What is sold between two steps is no finding.
        let sell = || fixture.order(&ticket_type, 1);
        sell();
        let first = *first.get_or_insert_with(length);
        if progress.steps == progress.total_steps / 2 {
            // The file gets what was sold in between.
            wait_until("the file grows", || {
                sell();
                length() > first
            });
        }
        ControlFlow::Continue(())
    });
    assert_eq!(report.expect("a report").counts, BTreeMap::new());
}
