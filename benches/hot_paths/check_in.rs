//! `check_in_ticket` with 32 callers, for events whose scans are logged and for others.

use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, params};
use ticketing::event::ListEvents;
use ticketing::ticket::CheckInTicket;

use crate::by_hand;
use crate::common::Fixture;
use crate::common::database::stored_id;
use crate::large_store::{LargeStore, TICKETS, code, scatter};
use crate::orders::spread;
use crate::ratio::Bench;

pub fn bench(bench: &mut Bench) {
    compare(bench, "check_in_ticket, 32 callers", false);
    compare(bench, "check_in_ticket with a log of scans, 32 callers", true);
}

fn compare(bench: &mut Bench, name: &str, is_logged: bool) {
    if !bench.includes(name) {
        return;
    }
    let ours = LargeStore::open();
    let hand = LargeStore::open();
    if is_logged {
        [&ours, &hand].into_iter().for_each(start_logs);
    }
    let connection = by_hand::connect(&hand.fixture.path());
    let organization = stored_id(hand.fixture.caller.organization());
    let _folder = hand.fixture.close();
    // Every ticket is scanned once, in an order that is independent of their order in the file.
    let next_ours = AtomicU64::new(0);
    let mut next_hand = 0;
    bench.compare(
        name,
        32 * 150,
        |count| {
            spread(32, count, |_| {
                let ticket = nth(next_ours.fetch_add(1, Ordering::Relaxed));
                ours.fixture
                    .service
                    .check_in_ticket(&ours.fixture.caller, CheckInTicket::new(code(ticket)))
                    .expect("accepted");
            });
        },
        |count| {
            let mut left = count;
            while left > 0 {
                connection.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([])).expect("begun");
                for _ in 0..left.min(32) {
                    check_in(&connection, organization, &code(nth(next_hand)), is_logged).expect("accepted");
                    next_hand += 1;
                }
                connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])).expect("committed");
                left -= left.min(32);
            }
        },
    );
}

/// Lets scans of all events be logged.
fn start_logs(store: &LargeStore) {
    let Fixture { service, caller, .. } = &store.fixture;
    for event in service.list_events(caller, ListEvents::default().limit(100)).expect("readable").data {
        store.fixture.gate(&event);
    }
}

/// Returns the `number`th ticket in a random order. An odd factor visits every number below a power of two once.
pub fn nth(number: u64) -> u64 {
    const CYCLE: u64 = 1 << 19;
    const { assert!(CYCLE <= TICKETS) };
    (number % CYCLE).wrapping_mul(scatter(1) | 1) % CYCLE
}

fn check_in(connection: &Connection, organization: i64, code: &str, is_logged: bool) -> rusqlite::Result<()> {
    let now = by_hand::now();
    let mut find = connection.prepare_cached(
        "SELECT t.id, t.ticket_type_id, t.order_item_id, t.customer_id, t.code, t.status, t.check_in_at, t.check_out_at,
            t.checked_in_by, t.first_scan_at, t.expires_at, t.last_scan_at, t.scan_count, t.created_at, t.updated_at, t.event_id,
            tt.name, t.customer_name, c.email, e.status, e.timezone, tt.valid_from, tt.valid_until, tt.allowed_dates,
            tt.validity_days, tt.validity_hours
        FROM tickets t JOIN ticket_types tt ON tt.id = t.ticket_type_id JOIN customers c ON c.id = t.customer_id
            JOIN events e ON e.id = t.event_id
        WHERE t.code = ?1 AND t.organization_id = ?2",
    )?;
    let (id, ticket_type, status, event): (i64, i64, String, String) =
        find.query_row(params![code, organization], |row| {
            let _: (Option<i64>, Option<i64>, String) = (row.get(21)?, row.get(22)?, row.get(23)?);
            let _: (String, String, String, String) = (row.get(4)?, row.get(16)?, row.get(17)?, row.get(18)?);
            Ok((row.get(0)?, row.get(1)?, row.get(5)?, row.get(19)?))
        })?;
    assert!(status == "NOT_CHECKED_IN" && event == "PUBLISHED", "the ticket is valid");
    let mut update = connection.prepare_cached(
        "UPDATE tickets SET status = 'CHECKED_IN', check_in_at = ?2, first_scan_at = COALESCE(first_scan_at, ?2),
            last_scan_at = ?2, scan_count = scan_count + 1, updated_at = ?2
        WHERE id = ?1 AND status = 'NOT_CHECKED_IN'",
    )?;
    assert_eq!(update.execute(params![id, now])?, 1, "accepted");
    let mut count = connection
        .prepare_cached("UPDATE ticket_types SET checked_in_tickets = checked_in_tickets + 1 WHERE id = ?1")?;
    assert_eq!(count.execute([ticket_type])?, 1, "counted");
    if is_logged {
        let mut log = connection.prepare_cached(
            "INSERT INTO scans (organization_id, event_id, ticket_id, kind, scanned_at, received_at, verdict, outcome,
                is_reported)
            SELECT organization_id, event_id, id, 'IN', ?2, ?2, 'ADMITTED', 'ADMITTED', 1 FROM tickets WHERE id = ?1",
        )?;
        assert_eq!(log.execute(params![id, now])?, 1, "logged");
    }
    Ok(())
}
