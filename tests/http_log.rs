//! What the server writes into the log about a request.
#![cfg(feature = "server")]

mod common;

use common::http::{Server, event_on_sale, order_of};
use common::log;
use serde_json::json;

#[test]
fn the_log_has_a_line_for_each_request_and_nothing_personal_or_secret() {
    let kept = log::capture();
    let server = Server::start();
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let placed = client.post("/v1/orders", &order_of(&event, &seat, 1)).expect(201).json();
    let link = placed["checkoutUrl"].as_str().unwrap();
    let token = link.rsplit_once('/').unwrap().1;
    client.send("POST", &format!("/checkout/{token}"), &[], b"outcome=success").expect(303);
    let order = client.get(&format!("/v1/orders/{}", placed["order"]["id"].as_str().unwrap())).json();
    let code = order["items"][0]["issuedTickets"][0]["code"].as_str().unwrap();
    client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200);
    client.get("/v1/orders?customerEmail=ada@example.com").expect(200);
    let read = client.send("GET", &format!("/v1/events/{event}"), &["X-Request-Id: mine"], b"").expect(200);
    assert_eq!(read.header("x-request-id"), Some("mine"));
    client.get(&format!("/v1/nothing/{code}")).expect(404);

    let lines = kept.lines();
    let of_server: Vec<_> = lines.iter().filter(|line| line.starts_with("ticketing::server::middleware")).collect();
    assert_eq!(of_server.len(), 9, "{lines:#?}");
    let line = of_server.iter().find(|line| line.contains(r#"request_id="mine""#)).unwrap();
    for part in ["method=GET", r#"route="/v1/events/{eventId}""#, "status=200", "milliseconds="] {
        assert!(line.contains(part), "{part}: {line}");
    }
    kept.assert_clean(&[&server.key, token, code, "ada@example.com", "Ada"]);
}
