//! `POST /gateway/notices`, and the checkout of an order.

use std::time::Duration;

use serde_json::json;
use ticketing::payment::{CheckoutState, GatewayEvent, GatewayNotice, GatewayPayment};

use crate::common::http::{Client, Server, event_on_sale, order_of};
use crate::common::{FakeGateway, Notice, eur};

const PATH: &str = "/gateway/notices";

fn send(client: &mut Client, signature: &str, body: &[u8]) -> crate::common::http::Response {
    client.send("POST", PATH, &[&format!("Fake-Signature: {signature}"), "Content-Type: application/json"], body)
}

#[test]
fn a_signed_notice_needs_no_key_and_completes_its_order() {
    let (server, mut client, order) = with_order();
    let checkout = client.get(&format!("{order}/checkout")).expect(200).json();
    let id = order.strip_prefix("/v1/orders/").expect("an order");
    assert_eq!((&checkout["status"], &checkout["reference"]), (&json!("OPEN"), &json!(format!("pay-{id}"))));
    assert_eq!(checkout["paymentReference"], json!(null));
    for _ in 0..3 {
        let received = send(&mut server.client_with(""), "evt_1", b"evt_1").expect(200);
        assert!(received.body.is_empty());
    }
    assert_eq!(client.get(&order).expect(200).json()["status"], "COMPLETED");
    let checkout = client.get(&format!("{order}/checkout")).expect(200).json();
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
        // It would be sent again for days.
        ("unreadable", b"unreadable", 200, ""),
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
fn a_notice_that_is_too_large_is_refused_before_it_has_arrived() {
    let server = Server::with(|builder| builder.payment_gateway(FakeGateway::new()), |_| {});
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: a\r\nFake-Signature: x\r\n");
    // Nothing of the body is sent.
    for length in [256 * 1024 + 1, 1_u64 << 40] {
        let mut client = server.client_with("");
        client.write(format!("{head}Content-Length: {length}\r\n\r\n").as_bytes());
        assert_eq!(client.read_response().unwrap().expect(413).code(), "payload-too-large", "{length}");
    }
    // The body has no end: the server counts the bytes that it receives.
    let mut client = server.client_with("");
    client.write(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes());
    for _ in 0..5 {
        client.write(b"10000\r\n");
        client.write(&vec![b'x'; 0x10000]);
        client.write(b"\r\n");
    }
    assert_eq!(client.read_response().unwrap().expect(413).code(), "payload-too-large");
}

#[test]
fn while_the_database_is_locked_a_notice_gets_503_and_retry_after_and_is_not_lost() {
    let (server, mut client, order) = with_order();
    let other = server.database();
    other.begin();
    let refused = send(&mut server.client_with(""), "evt_1", b"evt_1").expect(503);
    assert_eq!(refused.code(), "unavailable");
    assert!(refused.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok_and(|it| it > 0)));
    other.run("ROLLBACK");
    assert_eq!(client.get(&order).expect(200).json()["status"], "PENDING");
    send(&mut server.client_with(""), "evt_1", b"evt_1").expect(200);
    assert_eq!(client.get(&order).expect(200).json()["status"], "COMPLETED");
}

#[test]
fn a_server_without_a_gateway_has_no_notices() {
    let server = Server::with(|builder| builder, |_| {});
    server.client_with("").send("POST", PATH, &[], b"{}").expect(404);
}

#[test]
fn the_sandbox_refuses_every_notice() {
    let server = Server::start();
    for headers in [&[][..], &["Sandbox-Signature: 00"]] {
        let refused = server.client_with("").send("POST", PATH, headers, br#"{"checkout": "sandbox_x"}"#).expect(400);
        assert_eq!(refused.code(), "malformed-request");
    }
}

#[test]
fn a_notice_without_a_signature_is_refused_before_its_body_is_read() {
    let server = Server::start();
    for signature in ["", "Other-Signature: 00\r\n"] {
        let mut client = server.client_with("");
        let head = format!("POST /gateway/notices HTTP/1.1\r\nHost: a\r\n{signature}Content-Length: 1000\r\n\r\n");
        client.write(head.as_bytes());
        let refused = client.read_response().expect("a response without a body").expect(400);
        assert_eq!(refused.code(), "malformed-request");
    }
}

/// A server with an order, and a notice that says that it was paid.
fn with_order() -> (Server, Client, String) {
    let gateway = FakeGateway::new();
    let few_calls = |options: &mut ticketing::server::ServerOptions| options.calls = 4;
    let server = Server::with(|builder| builder.payment_gateway(gateway.clone()), few_calls);
    let mut client = server.client();
    let sale = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&sale.event, &sale.ticket_type, 1)).expect(201).json();
    let order = created["order"]["id"].as_str().expect("an id").to_owned();
    let event = GatewayEvent::Checkout(CheckoutState::Paid(GatewayPayment::new("pi_1", eur(1250), "EUR")));
    gateway.know(&Notice { notice: GatewayNotice::new("evt_1", event).order(order.parse().expect("an id")) });
    (server, client, format!("/v1/orders/{order}"))
}

/// Loopback addresses other than 127.0.0.1 need no configuration on Linux only.
#[cfg(target_os = "linux")]
#[test]
fn slow_forged_notices_from_many_addresses_delay_no_real_one() {
    let (server, mut client, order) = with_order();
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: a\r\nFake-Signature: x\r\nContent-Length: 262144\r\n\r\n");
    let mut slow: Vec<_> = (0..81).map(|number| server.client_from(1 + number % 9)).collect();
    for client in &mut slow {
        client.write(format!("{head}x").as_bytes());
    }
    let line = format!("ticketing_http_requests_under_way {}\n", slow.len() + 1);
    while !client.get("/metrics").expect(200).text().contains(&line) {}
    send(&mut server.client_from(1), "evt_1", b"evt_1").expect(200);
    assert!(client.get("/metrics").expect(200).text().contains(&line), "it did not wait for their end");
    assert_eq!(client.get(&order).expect(200).json()["status"], "COMPLETED");
    // They have five seconds.
    assert_eq!(slow[80].read_response().unwrap().expect(400).code(), "malformed-request");
}

#[test]
fn a_forged_notice_takes_no_permit_that_a_real_one_needs() {
    let (server, ..) = with_order();
    let other = server.database();
    other.begin();
    // Of these, one waits for the database with the only permit, and the other for the permit.
    let mut real = [server.client_with(""), server.client_with("")];
    for client in &mut real {
        client.write(
            format!("POST {PATH} HTTP/1.1\r\nHost: a\r\nFake-Signature: evt_1\r\nContent-Length: 5\r\n\r\nevt_1")
                .as_bytes(),
        );
    }
    std::thread::sleep(Duration::from_millis(500));
    send(&mut server.client_with(""), "evt_1", b"forged").expect(400);
    other.run("ROLLBACK");
    let mut statuses = real.map(|mut client| client.read_response().unwrap().status);
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 503]);
}
