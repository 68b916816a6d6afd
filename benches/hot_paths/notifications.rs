//! What notifications cost an order: two tickets for nothing, with three endpoints that listen to everything, beside the
//! same without endpoints.

use rusqlite::{Connection, params};

use crate::common::database::stored_id;
use crate::large_store::LargeStore;
use crate::orders::{order, spread};
use crate::ratio::Bench;

const ENDPOINTS: i64 = 3;

pub fn bench(bench: &mut Bench) {
    let (many, one) = ("create_order with three endpoints, 64 callers", "create_order with three endpoints, 1 caller");
    if ![many, one].iter().any(|name| bench.wants(name)) {
        return;
    }
    let (told, silent) = (LargeStore::open(), LargeStore::open());
    listen(&told);
    let names = ("told", "silent");
    if bench.wants(many) {
        let work = |shop| move |count| spread(64, count, |_| order(shop));
        bench.compare_as(many, names, 64 * 80, work(&told), work(&silent));
    }
    if bench.wants(one) {
        let work = |shop| move |count| (0..count).for_each(|_| order(shop));
        bench.compare_as(one, names, 400, work(&told), work(&silent));
    }
}

/// Registers the endpoints. Nothing is sent to them: no sender runs.
fn listen(shop: &LargeStore) {
    let file = Connection::open(shop.fixture.path()).expect("the copy");
    for number in 1..=ENDPOINTS {
        file.execute(
            "INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
                VALUES (?1, ?2, 'https://receiver.example/', ?3, 1, 'whsec_', 0, 0)",
            params![
                number,
                stored_id(shop.fixture.caller.organization()),
                r#"["order.completed","order.cancelled","ticket.issued","ticket.checked_in"]"#,
            ],
        )
        .expect("registered");
    }
}
