//! The headers that every response under `/v1` has, with any status: `Cache-Control` and the state of the rate limit.

use crate::common::gateway::{FakeGateway, GatewayBehavior};
use crate::common::http::{EventOnSale, Response, Server, event_on_sale, order_of};
use serde_json::{Value, json};
use ticketing::Builder;
use ticketing::environment::ManualClock;
use ticketing::organization::Scope;

/// The rate limit of the server.
const LIMIT: u32 = 30;

/// Sends requests with a new key until its limit is exceeded, and returns the responses: at least one of each status.
fn responses(server: &Server) -> Vec<Response> {
    let mut client = server.client();
    let event = json!({
        "title": "Summer Night", "slug": "summer-night", "startDate": "9000-06-01T18:00:00Z",
        "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
    });
    let created = client.post("/v1/events", &event).expect(201);
    let path = created.header("location").unwrap().to_owned();
    let id = created.json()["id"].as_str().unwrap().to_owned();
    let ticket_type = client.post(&format!("{path}/ticket-types"), &json!({"name": "Seat", "price": 5, "quantity": 9}));
    let order = order_of(&id, ticket_type.json()["id"].as_str().unwrap(), 1);
    let json = "Content-Type: application/json";
    let mut responses = vec![created, ticket_type.expect(201)];
    responses.push(client.get(&path).expect(200));
    responses.push(client.get("/v1/events").expect(200));
    responses.push(client.send("HEAD", &path, &[], b"").expect(200));
    responses.push(client.post_empty(&format!("{path}/page-views")).expect(204));
    responses.push(client.post_with_key("key", "/v1/discounts/validate", &validation(&id)).expect(200));
    responses.push(client.post_with_key("key", "/v1/discounts/validate", &validation(&id)).expect(200));
    responses.push(client.send("POST", "/v1/events", &[json], b"{").expect(400));
    responses.push(client.get("/v1/events?q=%").expect(400));
    responses.push(client.get("/v1/nothing").expect(404));
    responses.push(client.get("/v1").expect(404));
    responses.push(client.get("/v1/events/nothing").expect(404));
    responses.push(client.send("PUT", "/v1/events", &[], b"").expect(405));
    responses.push(client.post("/v1/events", &event).expect(409));
    responses.push(client.send("DELETE", &path, &["If-Match: \"9\""], b"").expect(412));
    responses.push(client.send("POST", "/v1/events", &["Content-Type: text/plain"], b"{}").expect(415));
    responses.push(client.post("/v1/events", &json!({})).expect(422));
    responses.push(client.post_with_key("key", "/v1/events", &event).expect(422));
    responses.push(client.post("/v1/orders", &order).expect(502));
    responses.push(client.send("POST", "/v1/events", &[json], &vec![b' '; 1024 * 1024 + 1]).expect(413));
    // The server closes the connection, because it did not read the body.
    let mut client = server.client();
    while responses.len() < LIMIT as usize {
        responses.push(client.get("/v1/orders").expect(200));
    }
    responses.push(client.get("/v1/events").expect(429));
    responses.push(client.get("/v1/nothing").expect(429));
    responses
}

fn validation(event: &str) -> Value {
    json!({"eventId": event, "code": "NONE", "orderAmount": 1, "ticketItems": []})
}

fn assert_not_cacheable(response: &Response) {
    assert_eq!(response.header("cache-control"), Some("no-store"), "{response:?}");
}

#[test]
fn a_response_to_a_key_states_its_rate_limit_and_is_not_cacheable() {
    let limit = |options: &mut ticketing::server::ServerOptions| options.rate_limit = Some(LIMIT);
    let clock = ManualClock::new("2026-06-01T12:00:00Z".parse().unwrap());
    let gateway = FakeGateway::new();
    gateway.on_checkout(GatewayBehavior::Refuse);
    let server = Server::with(|builder: Builder| builder.payment_gateway(gateway).clock(clock), limit);
    for (number, response) in responses(&server).iter().enumerate() {
        assert_not_cacheable(response);
        let remaining = (LIMIT as usize).saturating_sub(number + 1).to_string();
        assert_eq!(response.header("x-ratelimit-limit"), Some("30"), "{number}: {response:?}");
        assert_eq!(response.header("x-ratelimit-remaining"), Some(remaining.as_str()), "{number}: {response:?}");
        assert_eq!(response.header("x-ratelimit-reset"), Some("1780315260"), "{number}: {response:?}");
        assert_eq!(response.header("retry-after"), (response.status == 429).then_some("60"), "{response:?}");
    }
    let orders_key = server.key_with([Scope::OrdersRead]);
    let forbidden = server.client_with(&orders_key).get("/v1/events").expect(403);
    assert_not_cacheable(&forbidden);
    assert_eq!(forbidden.header("x-ratelimit-remaining"), Some("29"));
}

#[test]
fn a_response_to_an_invalid_key_has_no_rate_limit_and_is_not_cacheable() {
    let server = Server::with(|builder| builder, |options| options.failed_authentications = 3);
    let mut client = server.client_with("");
    for (path, status) in [("/v1/events", 401), ("/v1", 401), ("/v1/nothing", 401), ("/v1/events", 429)] {
        let response = client.get(path).expect(status);
        assert_not_cacheable(&response);
        assert!(
            response.headers.iter().all(|(name, _)| !name.to_lowercase().starts_with("x-ratelimit")),
            "{response:?}"
        );
    }
}

#[test]
fn checkout_pages_and_health_checks_have_no_rate_limit() {
    let server = Server::with(Builder::sandbox_gateway, |options| options.rate_limit = Some(4));
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
    let page = format!("/{}", created["checkoutUrl"].as_str().unwrap().splitn(4, '/').nth(3).unwrap());
    client.get("/v1/events").expect(200);
    client.get("/v1/events").expect(429);
    for path in [page.as_str(), "/health/live", "/health/ready"] {
        let response = client.get(path).expect(200);
        assert_eq!(response.header("x-ratelimit-limit"), None, "{path}");
    }
}
