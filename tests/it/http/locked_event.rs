//! Requests that wait for the lock of an event: those of one organization leave room for its reads and for the others.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::common::http::{Client, EventOnSale, Server, event_on_sale, order_of, other_organization_key};

/// More than the server works on at the same time.
const WAITING: usize = 300;

#[test]
fn a_tenant_whose_event_is_locked_delays_neither_others_nor_health_checks() {
    let server = Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None);
    let mut heavy = server.client();
    let EventOnSale { event: locked, .. } = event_on_sale(&mut heavy, "locked");
    let mut light = server.client_with(&other_organization_key(&server.service));
    let EventOnSale { event, ticket_type } = event_on_sale(&mut light, "light");

    // A transaction that somebody has forgotten. On SQLite it keeps all others from writing.
    let database = server.database();
    database.run("BEGIN; UPDATE events SET revision = revision WHERE slug = 'locked'");
    let mut waiting: Vec<Client> = (0..WAITING).map(|_| server.client()).collect();
    let body = json!({"title": "Another title"}).to_string();
    for client in &mut waiting {
        let head = format!("PATCH /v1/events/{locked} HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}", server.key);
        let length = body.len();
        let head = format!("{head}\r\nContent-Type: application/json\r\nContent-Length: {length}");
        client.write(format!("{head}\r\n\r\n{body}").as_bytes());
    }
    // Give them time to arrive.
    std::thread::sleep(Duration::from_millis(500));
    for _ in 0..20 {
        light.get(&format!("/v1/events/{event}")).expect(200);
        light.get("/v1/orders").expect(200);
        heavy.get(&format!("/v1/events/{locked}")).expect(200);
    }
    if std::env::var_os("TICKETING_TEST_POSTGRES").is_some() {
        server.client_with("").get("/health/ready").expect(200);
        light.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201);
    }
    database.run("ROLLBACK");

    let statuses = waiting.iter_mut().map(|client| client.read_response().expect("a response").status);
    let statuses: BTreeSet<u16> = statuses.collect();
    assert_eq!(statuses, BTreeSet::from([200, 503]), "some wait, and there is no room for the others");
    heavy.patch(&format!("/v1/events/{locked}"), &json!({"title": "The last title"})).expect(200);
}
