//! The cost of notifications for orders: free orders of two tickets, with endpoints that are subscribed to every
//! type, compared with the same orders without endpoints.

use crate::common::database::{params, stored_id};
use crate::large_store::LargeStore;
use crate::orders::{create_order, spread};
use crate::ratio::Bench;

pub fn bench(bench: &mut Bench) {
    for (endpoints, number) in [("three", 3), ("ten", 10)] {
        of_number(bench, endpoints, number);
    }
}

fn of_number(bench: &mut Bench, endpoints: &str, number: i64) {
    let many = format!("create_order with {endpoints} endpoints, 64 callers");
    let one = format!("create_order with {endpoints} endpoints, 1 caller");
    if ![&many, &one].iter().any(|name| bench.includes(name)) {
        return;
    }
    let with_endpoints = LargeStore::open();
    let without_endpoints = LargeStore::open();
    insert_endpoints(&with_endpoints, number);
    let names = ("with endpoints", "without endpoints");
    if bench.includes(&many) {
        let work = |store| move |count| spread(64, count, |_| create_order(store));
        bench.compare_as(&many, names, 64 * 80, work(&with_endpoints), work(&without_endpoints));
    }
    if bench.includes(&one) {
        let work = |store| move |count| (0..count).for_each(|_| create_order(store));
        bench.compare_as(&one, names, 400, work(&with_endpoints), work(&without_endpoints));
    }
}

/// Inserts the endpoints. Nothing is sent to them, as no sender runs.
fn insert_endpoints(store: &LargeStore, endpoints: i64) {
    let database = store.fixture.database();
    let organization = stored_id(store.fixture.caller.organization());
    let types = r#"["order.completed","order.cancelled","ticket.issued","ticket.checked_in"]"#;
    let sql =
        "INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
        VALUES (?1, ?2, 'https://receiver.example/', ?3, 1, 'whsec_', 0, 0)";
    for number in 1..=endpoints {
        database.execute(sql, params![number, organization, types]);
    }
}
