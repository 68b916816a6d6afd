//! A retry of `create_order` with the same idempotency key, and the same look-up by hand: the stored result is found by the
//! key, compared by the hash of the request, and read.

use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};
use ticketing::order::CreateOrder;

use crate::by_hand;
use crate::common::database::stored_id;
use crate::large_store::LargeStore;
use crate::orders::request;
use crate::ratio::Bench;

pub fn bench(bench: &mut Bench) {
    let name = "create_order asked for again";
    if !bench.includes(name) {
        return;
    }
    let store = LargeStore::open();
    let caller = store.fixture.caller.with_idempotency_key("basket-1");
    let request = request(&store);
    let created = store.fixture.service.create_order(&caller, request.clone()).expect("created").value;
    let connection = by_hand::connect(&store.fixture.path());
    let organization = stored_id(store.fixture.caller.organization());
    let id = created.order.id.to_string();
    let retry = || {
        let repeated = store.fixture.service.create_order(&caller, request.clone()).expect("the stored response");
        assert_eq!(repeated.value.order.id, created.order.id);
    };
    bench.compare(
        name,
        10_000,
        |count| (0..count).for_each(|_| retry()),
        |count| {
            for _ in 0..count {
                let repeated = repeat(&connection, organization, &request).expect("the stored response");
                assert_eq!(repeated["order"]["id"].as_str(), Some(&*id));
            }
        },
    );
}

fn repeat(
    connection: &Connection,
    organization: i64,
    request: &CreateOrder,
) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let hash: [u8; 32] = Sha256::digest(serde_json::to_vec(request)?).into();
    let mut find = connection.prepare_cached(
        "SELECT answer, fingerprint FROM idempotency_records
        WHERE organization_id = ?1 AND key = ?2 AND sender = 0 AND created_at > ?3",
    )?;
    let expired = by_hand::now() - 24 * 3_600_000;
    let (answer, fingerprint): (String, [u8; 32]) =
        find.query_row(params![organization, "basket-1", expired], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // The hash of the service has more in it than that of the request.
    assert_eq!(std::hint::black_box(hash).len(), fingerprint.len());
    Ok(serde_json::from_str(&answer)?)
}
