//! All direct access to the database file: reading what the facade does not show, and writing what it never would.

use std::path::Path;
use std::time::Duration;

pub use rusqlite::Connection;
use rusqlite::Row;
use rusqlite::types::{FromSql, Value};

/// The name of the database file of a fixture.
pub const FILE: &str = "ticketing.db";

/// Opens a connection to the file, next to the service's.
pub fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    connection
}

/// Opens a connection that ignores the schema's CHECK and FOREIGN KEY constraints.
pub fn open_without_constraints(path: &Path) -> Connection {
    let connection = open(path);
    connection.execute_batch("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF").unwrap();
    connection
}

/// Returns the first column of the first row.
#[track_caller]
pub fn value<T: FromSql>(connection: &Connection, query: &str) -> T {
    connection.query_row(query, [], |row| row.get(0)).expect(query)
}

/// Returns the sold and the held seats of the only ticket type of a file.
pub fn sold_and_held(connection: &Connection) -> (i64, i64) {
    connection.query_row("SELECT sold, held FROM ticket_types", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

/// Returns every row of every table as text, except those kept for idempotency keys.
pub fn all_rows(path: &Path) -> Vec<String> {
    let connection = open(path);
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'idempotency_records' ORDER BY name";
    let mut tables = connection.prepare(tables).expect(tables);
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).expect("names").map(|name| name.expect("a name"));
    tables.flat_map(|table| rows(&connection, &table)).collect()
}

fn rows(connection: &Connection, table: &str) -> Vec<String> {
    let mut query = connection.prepare(&format!("SELECT * FROM {table}")).expect(table);
    let columns = query.column_count();
    let as_text = |row: &Row<'_>| {
        let values = (0..columns).map(|column| row.get::<_, Value>(column).expect("a value"));
        Ok(format!("{table}: {:?}", values.collect::<Vec<_>>()))
    };
    query.query_map([], as_text).expect(table).map(|row| row.expect("a row")).collect()
}

/// Queries that find violations of what must hold of the stored data at any time. Each must return no row.
const INVARIANTS: &[(&str, &str)] = &[
    (
        "sold is not the number of live tickets",
        "SELECT id FROM ticket_types t WHERE sold <>
        (SELECT COUNT(*) FROM tickets WHERE ticket_type_id = t.id AND status <> 'CANCELLED')",
    ),
    (
        "held is not the number of seats that pending orders reserve",
        "SELECT id FROM ticket_types t WHERE held <>
        (SELECT COALESCE(SUM(i.quantity), 0) FROM order_items i JOIN orders o ON o.id = i.order_id
            WHERE i.ticket_type_id = t.id AND o.status = 'PENDING')",
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
        "a payment refunded without a refund",
        "SELECT id FROM orders WHERE payment_status = 'REFUNDED'
        AND id NOT IN (SELECT order_id FROM refunds WHERE status = 'DONE')",
    ),
    (
        "a payment kept for an order that it did not complete",
        "SELECT id FROM orders WHERE payment_status = 'COMPLETED'
        AND NOT (status = 'COMPLETED' AND paid_by_gateway = 1) AND id NOT IN (SELECT order_id FROM refunds)",
    ),
    (
        "a refund of an order that the payment completed",
        "SELECT o.id FROM orders o JOIN refunds r ON r.order_id = o.id
        WHERE o.status = 'COMPLETED' AND o.paid_by_gateway = 1",
    ),
];

/// Asserts that the file is intact and that its counters agree with its orders and tickets.
pub fn assert_consistent(connection: &Connection) {
    assert_eq!(value::<String>(connection, "PRAGMA integrity_check"), "ok");
    let foreign: i64 = value(connection, "SELECT COUNT(*) FROM pragma_foreign_key_check");
    assert_eq!(foreign, 0, "dangling foreign keys");
    for (name, query) in INVARIANTS {
        let found: Vec<i64> =
            connection.prepare(query).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}
