//! The summary of an event of 100,000 tickets in a database of a million.

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

/// Moves all rows of another event to this one, sets prices, and makes some of the orders expired, cancelled or
/// refunded and some of the tickets checked in or cancelled.
fn merge_two_events(path: &Path, event: i64) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    let other: i64 = connection.query_row("SELECT MAX(id) FROM events WHERE id < ?1", [event], |row| row.get(0))?;
    // The upper bits of an id are a time.
    for sql in [
        "UPDATE orders SET event_id = ?1, total = 2500, hold_until = created_at,
            status = CASE created_at / 50 / 20 % 10 WHEN 0 THEN 'EXPIRED' WHEN 1 THEN 'CANCELLED' ELSE status END,
            completed_at = CASE created_at / 50 / 20 % 10 WHEN 0 THEN NULL ELSE completed_at END,
            payment_status = CASE created_at / 50 / 20 % 10 WHEN 1 THEN 'REFUNDED' END,
            payment_link = CASE created_at / 50 / 20 % 10 WHEN 1 THEN '' END
        WHERE event_id IN (?1, ?2)",
        "UPDATE order_items SET price = 1250
        WHERE ticket_type_id IN (SELECT id FROM ticket_types WHERE event_id IN (?1, ?2))",
        "UPDATE tickets SET event_id = ?1, check_in_at = created_at,
            status = CASE created_at / 50 / 20 % 3 WHEN 0 THEN 'CHECKED_IN' WHEN 1 THEN 'CANCELLED' ELSE status END
        WHERE event_id IN (?1, ?2)",
        "UPDATE ticket_types SET event_id = ?1 WHERE event_id IN (?1, ?2)",
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
    orders: [i64; 4],
    refunded: i64,
    tickets: i64,
    types: Vec<Type>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "the fields are never read")]
struct Type {
    name: String,
    seats: [i64; 2],
    orders_by_type: [i64; 3],
    issued: [i64; 3],
}

fn summary(connection: &Connection, organization: i64, event: i64) -> rusqlite::Result<Summary> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let now = by_hand::now();
    let currency = connection
        .prepare_cached("SELECT currency FROM events WHERE id = ?1 AND organization_id = ?2")?
        .query_row(params![event, organization], |row| row.get(0))?;
    let mut counted = connection.prepare_cached(
        "SELECT COUNT(*) FILTER (WHERE status = 'PENDING' AND hold_until > ?2),
            COUNT(*) FILTER (WHERE status = 'COMPLETED'),
            COUNT(*) FILTER (WHERE status = 'CANCELLED'),
            COUNT(*) FILTER (WHERE status = 'EXPIRED' OR status = 'PENDING' AND hold_until <= ?2),
            COALESCE(SUM(total) FILTER (WHERE payment_status = 'REFUNDED' AND completed_at IS NOT NULL), 0)
        FROM orders WHERE event_id = ?1",
    )?;
    let (orders, refunded) = counted.query_row(params![event, now], |row| {
        Ok(([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?], row.get(4)?))
    })?;
    let mut items = connection.prepare_cached(
        "SELECT i.ticket_type_id, COALESCE(SUM(i.quantity) FILTER (WHERE o.status = 'PENDING' AND o.hold_until > ?2), 0),
            COALESCE(SUM(i.price * i.quantity - i.discount) FILTER (WHERE o.completed_at IS NOT NULL), 0),
            COALESCE(SUM(i.discount) FILTER (WHERE o.completed_at IS NOT NULL), 0)
        FROM orders o JOIN order_items i ON i.order_id = o.id WHERE o.event_id = ?1 GROUP BY i.ticket_type_id",
    )?;
    let orders_by_type = items
        .query_map(params![event, now], |row| Ok((row.get::<_, i64>(0)?, [row.get(1)?, row.get(2)?, row.get(3)?])))?;
    let orders_by_type: Vec<(i64, [i64; 3])> = orders_by_type.collect::<rusqlite::Result<_>>()?;
    let mut tickets = connection.prepare_cached(
        "SELECT ticket_type_id, COUNT(*), COUNT(*) FILTER (WHERE status = 'CHECKED_IN'),
            COUNT(*) FILTER (WHERE status = 'CANCELLED')
        FROM tickets WHERE event_id = ?1 GROUP BY ticket_type_id",
    )?;
    let issued =
        tickets.query_map([event], |row| Ok((row.get::<_, i64>(0)?, [row.get(1)?, row.get(2)?, row.get(3)?])))?;
    let issued: Vec<(i64, [i64; 3])> = issued.collect::<rusqlite::Result<_>>()?;
    let mut types = connection.prepare_cached(
        "SELECT id, name, quantity, sold FROM ticket_types WHERE event_id = ?1 ORDER BY sort_order, id",
    )?;
    let of = |figures: &[(i64, [i64; 3])], id: i64| {
        figures.iter().find(|(known, _)| *known == id).map_or([0; 3], |(_, figures)| *figures)
    };
    let types = types.query_map([event], |row| {
        let id = row.get(0)?;
        let seats = [row.get(2)?, row.get(3)?];
        Ok(Type { name: row.get(1)?, seats, orders_by_type: of(&orders_by_type, id), issued: of(&issued, id) })
    })?;
    let types = types.collect::<rusqlite::Result<_>>()?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(Summary { currency, orders, refunded, tickets: issued.iter().map(|(_, [all, ..])| all).sum(), types })
}
