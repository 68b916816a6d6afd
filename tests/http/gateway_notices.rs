//! `POST /gateway/notices`, and the checkout of an order.

use serde_json::json;
use ticketing::id::OrderId;
use ticketing::payment::{CheckoutState, GatewayEvent, GatewayNotice, GatewayPayment};

use crate::common::http::{Client, Server, event_on_sale, order_of};
use crate::common::{FakeGateway, Notice, eur};

const PATH: &str = "/gateway/notices";

fn send(client: &mut Client, signature: &str, body: &[u8]) -> crate::common::http::Response {
    client.send("POST", PATH, &[&format!("Fake-Signature: {signature}"), "Content-Type: application/json"], body)
}

#[test]
fn a_signed_notice_needs_no_key_and_completes_its_order() {
    let gateway = FakeGateway::new();
    let server = Server::with(|builder| builder.payment_gateway(gateway.clone()), |_| {});
    let mut client = server.client();
    let sale = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&sale.event, &sale.ticket_type, 1)).expect(201).json();
    let order = created["order"]["id"].as_str().expect("an id").to_owned();

    let checkout = client.get(&format!("/v1/orders/{order}/checkout")).expect(200).json();
    assert_eq!((&checkout["status"], &checkout["reference"]), (&json!("OPEN"), &json!(format!("pay-{order}"))));
    assert_eq!(checkout["paymentReference"], json!(null));

    let total = created["order"]["total"].as_f64().expect("a number");
    #[expect(clippy::cast_possible_truncation, reason = "a few euros")]
    let total = eur((total * 100.0).round() as i64);
    let payment = GatewayPayment::new("pi_1", total, "EUR");
    let event = GatewayEvent::Checkout(CheckoutState::Paid(payment));
    let order_id: OrderId = order.parse().expect("an id");
    gateway.know(&Notice { notice: GatewayNotice::new("evt_1", event).order(order_id) });
    for _ in 0..3 {
        let received = send(&mut server.client_with(""), "evt_1", b"evt_1").expect(200);
        assert!(received.body.is_empty());
    }
    let paid = client.get(&format!("/v1/orders/{order}")).expect(200).json();
    assert_eq!(paid["status"], "COMPLETED");
    let checkout = client.get(&format!("/v1/orders/{order}/checkout")).expect(200).json();
    assert_eq!((&checkout["status"], &checkout["paymentReference"]), (&json!("CLOSED"), &json!("pi_1")));
}

#[test]
fn hostile_notices_are_refused_and_change_nothing() {
    let gateway = FakeGateway::new();
    let server = Server::with(|builder| builder.payment_gateway(gateway), |_| {});
    let mut client = server.client_with("");
    for (signature, body, status, code) in [
        ("evt_1", &b"evt_2"[..], 400, "malformed-request"),
        ("", b"", 200, ""),
        ("unreadable", b"unreadable", 400, "malformed-request"),
        ("unavailable", b"unavailable", 503, "unavailable"),
        ("panic", b"panic", 503, "unavailable"),
        ("something else", b"something else", 200, ""),
        ("unknown", b"unknown", 200, ""),
    ] {
        let response = send(&mut client, signature, body).expect(status);
        if status != 200 {
            let problem = response.problem();
            assert_eq!(problem["type"], format!("urn:ticketing:problem:{code}"), "{signature}");
            assert!(!response.text().contains("the test"), "the reason is for the log: {}", response.text());
        }
    }
    client.send("POST", PATH, &[], b"{}").expect(400);
    client.send("POST", PATH, &["Fake-Signature: \u{e9}"], "\u{e9}".as_bytes()).expect(400);
    client.get(PATH).expect(405);
    let large = vec![b'x'; 256 * 1024];
    client.send("POST", PATH, &["Fake-Signature: x"], &large).expect(400);
    let mut client = server.client_with("");
    let larger = vec![b'x'; 256 * 1024 + 1];
    assert_eq!(client.send("POST", PATH, &["Fake-Signature: x"], &larger).expect(413).code(), "payload-too-large");
}

#[test]
fn a_server_whose_gateway_sends_no_notices_has_none() {
    for server in [Server::with(|builder| builder, |_| {}), Server::start()] {
        server.client_with("").send("POST", PATH, &[], b"{}").expect(404);
    }
}

#[test]
fn an_order_without_a_checkout_has_none() {
    let server = Server::with(|builder| builder, |_| {});
    let mut client = server.client();
    let sale = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&sale.event, &sale.ticket_type, 1)).expect(201).json();
    let order = created["order"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(client.get(&format!("/v1/orders/{order}/checkout")).expect(404).code(), "not-found");
}
