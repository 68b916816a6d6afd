//! The summary of an event of 100,000 tickets in a database of a million, from the figures that the schema keeps.

use std::path::Path;

use rusqlite::{Connection, params};

use crate::by_hand;
use crate::common::database::stored_id;
use crate::large_store::LargeStore;
use crate::ratio::Bench;

pub fn bench(bench: &mut Bench) {
    let name = "get_event_summary, 100,000 tickets";
    if !bench.includes(name) {
        return;
    }
    let store = LargeStore::open();
    let (_folder, path) = LargeStore::open().fixture.into_file();
    let event = stored_id(store.event);
    for path in [&store.fixture.path(), &path] {
        merge_two_events(path, event).expect("written");
    }
    let connection = by_hand::connect(&path);
    // The same cache size as the crate's readers.
    connection.execute_batch("PRAGMA cache_size = -2000").expect("a known pragma");
    let organization = stored_id(store.fixture.caller.organization());
    bench.compare(
        name,
        5,
        |count| {
            (0..count).for_each(|_| {
                let summary =
                    store.fixture.service.get_event_summary(&store.fixture.caller, store.event).expect("the summary");
                assert_eq!((summary.tickets_issued, summary.ticket_types.len()), (100_000, 2));
            })
        },
        |count| {
            (0..count).for_each(|_| {
                let summary = summary(&connection, organization, event).expect("the summary");
                assert_eq!((summary.tickets, summary.types.len()), (100_000, 2));
            })
        },
    );
}

/// Moves the ticket type of another event to this one, and sets figures as they would be after a sale.
fn merge_two_events(path: &Path, event: i64) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    let other: i64 = connection.query_row("SELECT MAX(id) FROM events WHERE id < ?1", [event], |row| row.get(0))?;
    for sql in [
        "UPDATE orders SET event_id = ?1 WHERE event_id IN (?1, ?2)",
        "UPDATE tickets SET event_id = ?1 WHERE event_id IN (?1, ?2)",
        "UPDATE ticket_types SET event_id = ?1, revenue = 62500000, refunded_total = 6250000, checked_in_tickets = sold / 3
        WHERE event_id IN (?1, ?2)",
    ] {
        connection.execute(sql, [event, other])?;
    }
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    // With an empty log, SQLite would drop its page cache after each transaction.
    connection.execute("UPDATE api_keys SET last_used_at = 0", []).map(drop)
}

/// The figures of all statements.
#[derive(Debug)]
#[expect(dead_code, reason = "only the tickets are read")]
struct Summary {
    currency: String,
    /// Orders and seats of holds that have expired.
    expired: [i64; 2],
    tickets: i64,
    types: Vec<Type>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "the fields are never read")]
struct Type {
    name: String,
    figures: [i64; 14],
}

fn summary(connection: &Connection, organization: i64, event: i64) -> rusqlite::Result<Summary> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let now = by_hand::now();
    let currency = connection
        .prepare_cached("SELECT currency FROM events WHERE id = ?1 AND organization_id = ?2")?
        .query_row(params![event, organization], |row| row.get(0))?;
    let mut expired = connection.prepare_cached(
        "SELECT COUNT(DISTINCT o.id), COALESCE(SUM(i.quantity), 0)
        FROM orders o JOIN order_items i ON i.order_id = o.id
        WHERE o.status = 'PENDING' AND o.hold_until <= ?2 AND +o.event_id = ?1",
    )?;
    let expired = expired.query_row(params![event, now], |row| Ok([row.get(0)?, row.get(1)?]))?;
    let mut types = connection.prepare_cached(
        "SELECT name, quantity, sold, held, pending_orders, completed_orders, cancelled_orders, expired_orders,
            checked_in_tickets, cancelled_tickets, revenue, discount_total, manual_payment_total, refunded_total,
            manual_refund_total
        FROM ticket_types WHERE event_id = ?1 ORDER BY sort_order, id",
    )?;
    let types = types.query_map([event], |row| {
        let mut figures = [0; 14];
        for (index, figure) in figures.iter_mut().enumerate() {
            *figure = row.get(index + 1)?;
        }
        Ok(Type { name: row.get(0)?, figures })
    })?;
    let types = types.collect::<rusqlite::Result<Vec<_>>>()?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    // Sold and cancelled.
    let tickets = types.iter().map(|ticket_type| ticket_type.figures[1] + ticket_type.figures[8]).sum();
    Ok(Summary { currency, expired, tickets, types })
}
