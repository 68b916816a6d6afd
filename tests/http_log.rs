//! The log lines that the server writes for requests. They are a separate binary because they capture the process's
//! log.
#![cfg(feature = "http")]

mod common;

use common::http::{EventOnSale, Server, event_on_sale, order_of};
use common::log;
use serde_json::json;

#[test]
fn each_request_has_a_log_line_without_personal_data_or_secrets() {
    let log = log::capture();
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
    let checkout_url = created["checkoutUrl"].as_str().unwrap();
    let token = checkout_url.rsplit_once('/').unwrap().1;
    client.send("POST", &format!("/checkout/{token}"), &[], b"outcome=success").expect(303);
    let order = client.get(&format!("/v1/orders/{}", created["order"]["id"].as_str().unwrap())).json();
    let code = order["items"][0]["issuedTickets"][0]["code"].as_str().unwrap();
    client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200);
    client.get("/v1/orders?customerEmail=ada@example.com").expect(200);
    let response = client.send("GET", &format!("/v1/events/{event}"), &["X-Request-Id: my-id"], b"").expect(200);
    assert_eq!(response.header("x-request-id"), Some("my-id"));
    client.get(&format!("/v1/nothing/{code}")).expect(404);

    let lines = log.lines();
    let server_lines: Vec<_> = lines.iter().filter(|line| line.starts_with("ticketing::request")).collect();
    assert_eq!(server_lines.len(), 9, "{lines:#?}");
    let line = server_lines.iter().find(|line| line.contains(r#"request_id="my-id""#)).unwrap();
    for part in ["method=GET", r#"route="/v1/events/{eventId}""#, "status=200", "milliseconds="] {
        assert!(line.contains(part), "{part}: {line}");
    }
    log.assert_clean(&[&server.key, token, code, "ada@example.com", "Ada"]);
}
