//! Invariants of the stored data, checked with SQL that belongs to the tests.
//!
//! `TicketingService::check` looks for more; these queries are independent of it.

use super::database::Database;

/// Queries that find violations of what must hold of the stored data at any time. Each must return no row.
const INVARIANTS: &[(&str, &str)] = &[
    (
        "sold is not the number of live tickets",
        "SELECT id FROM ticket_types t WHERE sold <>
        (SELECT COUNT(*) FROM tickets WHERE ticket_type_id = t.id AND status <> 'CANCELLED')",
    ),
    (
        "held is not the number of seats that pending orders and allocations that are being issued reserve",
        "SELECT id FROM ticket_types t WHERE held <>
        (SELECT COALESCE(SUM(i.quantity), 0) FROM order_items i JOIN orders o ON o.id = i.order_id
            WHERE i.ticket_type_id = t.id AND o.status = 'PENDING')
        + (SELECT COALESCE(SUM(quantity - issued), 0) FROM allocations WHERE ticket_type_id = t.id AND state = 'ISSUING')",
    ),
    (
        "used_count is not the number of orders that use the discount",
        "SELECT id FROM discounts d WHERE used_count <>
        (SELECT COUNT(*) FROM orders WHERE discount_id = d.id AND status IN ('PENDING', 'COMPLETED'))",
    ),
    (
        "the discount of an order is not the sum over its items",
        "SELECT id FROM orders o WHERE COALESCE(discounted_amount, 0) <>
        (SELECT SUM(discount) FROM order_items WHERE order_id = o.id)",
    ),
    (
        "an allocation has not as many tickets as it has issued",
        "SELECT id FROM allocations a WHERE issued <> (SELECT COUNT(*) FROM tickets WHERE allocation_id = a.id)",
    ),
    ("oversold", "SELECT id FROM ticket_types WHERE sold + held > quantity"),
    (
        "an order without items",
        "SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM order_items WHERE order_id = o.id)",
    ),
    (
        "a completed order without exactly its tickets",
        "SELECT i.id FROM order_items i JOIN orders o ON o.id = i.order_id
        WHERE o.status = 'COMPLETED' AND i.quantity <> (SELECT COUNT(*) FROM tickets WHERE order_id = o.id AND order_item_id = i.id)",
    ),
    (
        "an order that never completed with tickets",
        "SELECT t.id FROM tickets t JOIN orders o ON o.id = t.order_id
        WHERE o.completed_at IS NULL OR o.status IN ('PENDING', 'EXPIRED')",
    ),
    (
        "a cancelled order with a live ticket",
        "SELECT t.id FROM tickets t JOIN orders o ON o.id = t.order_id
        WHERE o.status = 'CANCELLED' AND t.status <> 'CANCELLED'",
    ),
    (
        "an order's total is not the sum of its items",
        "SELECT id FROM orders o WHERE total <>
        (SELECT SUM(price * quantity - discount) FROM order_items WHERE order_id = o.id)",
    ),
    ("an item without its order", "SELECT id FROM order_items WHERE order_id NOT IN (SELECT id FROM orders)"),
    (
        "a payment refunded without an entry in the ledger",
        "SELECT id FROM orders WHERE payment_status = 'REFUNDED'
        AND id NOT IN (SELECT order_id FROM ledger_entries WHERE kind = 'REFUND')",
    ),
    (
        "a payment kept for an order that it did not complete",
        "SELECT id FROM orders WHERE payment_status = 'COMPLETED'
        AND NOT (status = 'COMPLETED' AND paid_by_gateway = 1) AND id NOT IN (SELECT order_id FROM refunds)",
    ),
    (
        "more asked for or owed than is left of a payment",
        "SELECT p.id FROM payments p WHERE p.amount - p.taken - p.returned <
            (SELECT COALESCE(SUM(to_ask + owed), 0) FROM refunds r WHERE r.payment_id = p.id)
        AND 0 < (SELECT COALESCE(SUM(to_ask + owed), 0) FROM refunds r WHERE r.payment_id = p.id)",
    ),
    (
        "a payment whose entries in the ledger do not add up",
        "SELECT p.id FROM payments p WHERE p.amount - p.returned - p.taken <>
            (SELECT COALESCE(SUM(amount), 0) FROM ledger e WHERE e.payment_id = p.id)",
    ),
    (
        "a refund whose entries in the ledger do not add up",
        "SELECT r.id FROM refunds r WHERE r.returned <>
            (SELECT COALESCE(-SUM(amount), 0) FROM ledger_entries e WHERE e.refund_id = r.id)",
    ),
];

/// Asserts that the file is intact and that its counters agree with its orders and tickets.
#[track_caller]
pub fn assert_consistent(database: &Database) {
    if database.is_file() {
        assert_eq!(database.value::<String>("PRAGMA integrity_check"), "ok");
        assert_eq!(database.value::<i64>("SELECT COUNT(*) FROM pragma_foreign_key_check"), 0, "dangling foreign keys");
    }
    for (name, query) in INVARIANTS {
        let found: Vec<i64> = database.column(query);
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}
