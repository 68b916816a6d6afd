//! Reads: a ticket by its code, a page of orders, and the caller of an API key.

use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, params};
use ticketing::order::ListOrders;

use crate::by_hand;
use crate::common::database::stored_id;
use crate::large_store::{LargeStore, TICKETS, code, scatter};
use crate::ratio::Bench;

pub fn bench(bench: &mut Bench) {
    let by_code = "get_ticket_by_code";
    let page = "list_orders, pages of 50";
    let key = "authenticate";
    if ![by_code, page, key].iter().any(|name| bench.includes(name)) {
        return;
    }
    let store = LargeStore::open();
    let LargeStore { fixture, key: hand_key, .. } = LargeStore::open();
    let (_folder, path) = fixture.into_file();
    let connection = by_hand::connect(&path);
    // With an empty WAL, SQLite drops its page cache after each transaction. The other store has a WAL, so this one
    // gets one too.
    connection.execute("UPDATE api_keys SET last_used_at = 0", []).expect("written");
    // The cache size of the crate's readers, which is SQLite's default. A larger cache is slower for random tickets.
    connection.execute_batch("PRAGMA cache_size = -2000").expect("a known pragma");
    let organization = stored_id(store.fixture.caller.organization());
    let next = AtomicU64::new(0);
    if bench.includes(by_code) {
        let random_code = || code(scatter(next.fetch_add(1, Ordering::Relaxed)) % TICKETS);
        bench.compare(
            by_code,
            20_000,
            |count| {
                (0..count).for_each(|_| {
                    drop(
                        store.fixture.service.get_ticket_by_code(&store.fixture.caller, &random_code()).expect("found"),
                    )
                })
            },
            |count| (0..count).for_each(|_| ticket(&connection, organization, &random_code()).expect("found")),
        );
    }
    if bench.includes(page) {
        let request = || ListOrders::default().limit(50);
        bench.compare(
            page,
            300,
            |count| {
                (0..count).for_each(|_| {
                    assert_eq!(
                        store.fixture.service.list_orders(&store.fixture.caller, request()).expect("found").data.len(),
                        50
                    )
                })
            },
            |count| (0..count).for_each(|_| assert_eq!(orders(&connection, organization).expect("found").len(), 50)),
        );
    }
    if bench.includes(key) {
        bench.compare(
            key,
            20_000,
            |count| (0..count).for_each(|_| assert!(store.fixture.service.authenticate(&store.key).is_ok())),
            |count| (0..count).for_each(|_| caller(&connection, &hand_key).expect("valid")),
        );
    }
}

/// The columns of a ticket as owned values, which a response needs.
#[derive(Debug)]
#[expect(dead_code, reason = "built, but not read")]
pub struct Ticket {
    pub ids: [Option<i64>; 4],
    pub code: String,
    pub status: String,
    pub instants: [Option<i64>; 8],
    pub scans: i64,
    pub event: i64,
    pub texts: [String; 3],
}

fn ticket(connection: &Connection, organization: i64, code: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT t.id, t.ticket_type_id, t.order_item_id, t.customer_id, t.code, t.status, t.check_in_at, t.check_out_at,
            t.checked_in_by, t.first_scan_at, t.expires_at, t.last_scan_at, t.scan_count, t.created_at, t.updated_at, t.event_id,
            tt.name, t.customer_name, c.email
        FROM tickets t JOIN ticket_types tt ON tt.id = t.ticket_type_id JOIN customers c ON c.id = t.customer_id
        WHERE t.code = ?1 AND t.organization_id = ?2",
    )?;
    let ticket = statement.query_row(params![code, organization], |row| {
        Ok(Ticket {
            ids: [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?],
            code: row.get(4)?,
            status: row.get(5)?,
            instants: [
                row.get(6)?,
                row.get(7)?,
                row.get(8)?,
                row.get(9)?,
                row.get(10)?,
                row.get(11)?,
                row.get(13)?,
                row.get(14)?,
            ],
            scans: row.get(12)?,
            event: row.get(15)?,
            texts: [row.get(16)?, row.get(17)?, row.get(18)?],
        })
    })?;
    std::hint::black_box(ticket);
    Ok(())
}

/// An order with its items.
#[derive(Debug)]
#[expect(dead_code, reason = "built, but not read")]
struct Order {
    numbers: [Option<i64>; 9],
    texts: [Option<String>; 11],
    items: Vec<[i64; 5]>,
    /// The items with cancelled tickets, and the number of these.
    cancelled: Vec<[i64; 2]>,
}

fn orders(connection: &Connection, organization: i64) -> rusqlite::Result<Vec<Order>> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let mut page = connection.prepare_cached(
        "SELECT o.id, o.organization_id, o.event_id, o.customer_id, o.customer_name, c.email, o.status, o.hold_until,
            o.currency, o.total, o.discounted_amount, o.discount_code, o.affiliate_code, o.reminder_sent, o.payment_link,
            o.payment_status, o.created_at, o.updated_at, o.reference, o.metadata, c.metadata
        FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.organization_id = ?1 ORDER BY o.id DESC LIMIT 51",
    )?;
    let rows = page.query_map([organization], |row| {
        Ok(Order {
            numbers: [
                row.get(0)?,
                row.get(2)?,
                row.get(3)?,
                row.get(7)?,
                row.get(9)?,
                row.get(10)?,
                row.get(13)?,
                row.get(16)?,
                row.get(17)?,
            ],
            texts: [
                row.get(4)?,
                row.get(5)?,
                row.get(6)?,
                row.get(8)?,
                row.get(11)?,
                row.get(12)?,
                row.get(14)?,
                row.get(15)?,
                row.get(18)?,
                row.get(19)?,
                row.get(20)?,
            ],
            items: Vec::new(),
            cancelled: Vec::new(),
        })
    })?;
    let mut orders: Vec<_> = rows.collect::<rusqlite::Result<_>>()?;
    orders.truncate(50);
    let mut items_of_order = connection.prepare_cached(
        "SELECT id, ticket_type_id, quantity, price, discount FROM order_items WHERE order_id = ?1 ORDER BY id",
    )?;
    let mut cancelled_of_order = connection.prepare_cached(
        "SELECT order_item_id, COUNT(*) FROM tickets
        WHERE order_id = ?1 AND status = 'CANCELLED' AND order_id IS NOT NULL GROUP BY order_item_id",
    )?;
    for order in &mut orders {
        let cancelled = cancelled_of_order.query_map([order.numbers[0]], |row| Ok([row.get(0)?, row.get(1)?]))?;
        order.cancelled = cancelled.collect::<rusqlite::Result<_>>()?;
        let items = items_of_order.query_map([order.numbers[0]], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
        })?;
        order.items = items.collect::<rusqlite::Result<_>>()?;
    }
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(orders)
}

fn caller(connection: &Connection, key: &str) -> rusqlite::Result<()> {
    use sha2::{Digest, Sha256};
    let hash: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    let mut statement = connection.prepare_cached(
        "SELECT id, organization_id, scopes FROM api_keys
        WHERE key_hash = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)",
    )?;
    let caller: (i64, i64, String) =
        statement.query_row(params![hash, by_hand::now()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    std::hint::black_box(caller);
    Ok(())
}
