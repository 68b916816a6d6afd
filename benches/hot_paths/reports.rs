//! The figures of a report of an event with 100,000 orders, half of a million, beside the statement by hand that reads each of
//! these orders.

use rusqlite::Connection;
use ticketing::event::{GetEventSales, SalesInterval};

use crate::common::database::stored_id;
use crate::large_store::LargeStore;
use crate::ratio::Bench;

/// The tickets of a database with 100,000 orders.
const TICKETS: u64 = 200_000;

pub fn bench(bench: &mut Bench) {
    let name = "get_event_sales, 100,000 orders";
    if !bench.includes(name) {
        return;
    }
    let store = LargeStore::of(TICKETS);
    let connection = Connection::open(store.fixture.path()).expect("the file");
    // All orders are of one event, and spread over a month. Every fifth has the code of one of 37 affiliates.
    let (event, ticket_type) = (stored_id(store.event), stored_id(store.ticket_type));
    connection
        .execute_batch(&format!(
            "BEGIN;
            UPDATE orders SET event_id = {event}, ordered_seats = 2,
                completed_at = created_at + ((created_at - (SELECT MIN(created_at) FROM orders)) * 519);
            UPDATE orders SET affiliate_code = 'radio' || (id / 1048576 / 50 % 37) WHERE id / 1048576 / 50 % 5 = 0;
            UPDATE order_items SET ticket_type_id = {ticket_type};
            UPDATE tickets SET event_id = {event}, ticket_type_id = {ticket_type};
            COMMIT; ANALYZE"
        ))
        .expect("updated");
    let mut query = connection
        .prepare("SELECT SUM(completed_at), SUM(total), SUM(ordered_seats), COUNT(affiliate_code) FROM orders WHERE event_id = ?1")
        .expect("a statement");
    let days = || {
        let request = GetEventSales::new().interval(SalesInterval::Day);
        let sales = store.fixture.service.get_event_sales(&store.fixture.caller, store.event, request).expect("sales");
        assert_eq!(sales.items.iter().map(|item| item.orders).sum::<i64>(), 100_000);
    };
    let mut by_hand = || {
        let tickets: i64 = query.query_row([event], |row| row.get(2)).expect("a row");
        assert_eq!(tickets, 200_000);
    };
    bench.compare_as(
        name,
        ("ours", "each order read once"),
        3,
        |count| (0..count).for_each(|_| days()),
        |count| (0..count).for_each(|_| by_hand()),
    );
}
