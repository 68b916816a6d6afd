//! Requests that a program drops before the service has answered: what they have begun goes on.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use ticketing::order::ListOrders;
use ticketing::organization::CreateApiKey;
use ticketing::server::{ServerOptions, router};
use tower::ServiceExt as _;

use crate::common::http::order_of;
use crate::common::webhooks::wait_until;
use crate::common::*;

#[test]
fn an_order_whose_request_is_dropped_is_created_and_gets_its_checkout() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let key = fixture.service.create_api_key(fixture.caller.organization(), CreateApiKey::new("Test")).expect("a key");
    let app: Router = router(fixture.service.clone(), &ServerOptions::default());
    let order = order_of(&ticket_type.event_id.to_string(), &ticket_type.id.to_string(), 1).to_string();
    let request = Request::post("/v1/orders")
        .header("X-Api-Key", key.key.expose())
        .header("Content-Type", "application/json")
        .body(Body::from(order))
        .expect("a request");
    let orders = || fixture.service.list_orders(&fixture.caller, ListOrders::default()).expect("a list").data;

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let database = fixture.database();
    database.run("BEGIN; UPDATE events SET revision = revision");
    let timeout = async { tokio::time::timeout(Duration::from_millis(500), app.oneshot(request)).await };
    assert!(runtime.block_on(timeout).is_err(), "it waits for the lock");
    assert_eq!(orders(), []);
    database.run("ROLLBACK");
    wait_until("the order and its checkout", || {
        let checkout = orders().first().map(|order| fixture.service.get_checkout(&fixture.caller, order.id));
        checkout.is_some_and(|found| found.is_ok_and(|checkout| checkout.reference.is_some()))
    });
}
