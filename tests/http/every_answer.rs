//! What every answer under `/v1` carries, whatever its status: that it is not to be kept, and where the key stands.

use crate::common::http::{Response, Server, event_on_sale, order_of};
use serde_json::{Value, json};
use ticketing::{Builder, Checkout, CheckoutRequest, GatewayError, ManualClock, PaymentGateway, RefundRequest, Scope};

struct Refusing;

impl PaymentGateway for Refusing {
    fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        Err(GatewayError::Refused("closed".to_owned()))
    }

    fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
        Ok(())
    }
}

const LIMIT: u32 = 30;

/// An answer of every status, in the order in which they were asked for, by a key that began with `LIMIT` requests.
fn answers(server: &Server) -> Vec<Response> {
    let mut client = server.client();
    let event = json!({
        "title": "Summer Night", "slug": "summer-night", "startDate": "9000-06-01T18:00:00Z",
        "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
    });
    let created = client.post("/v1/events", &event).expect(201);
    let path = created.header("location").unwrap().to_owned();
    let id = created.json()["id"].as_str().unwrap().to_owned();
    let seat = client.post(&format!("{path}/ticket-types"), &json!({"name": "Seat", "price": 5, "quantity": 9}));
    let order = order_of(&id, seat.json()["id"].as_str().unwrap(), 1);
    let json = "Content-Type: application/json";
    let mut answers = vec![created, seat.expect(201)];
    answers.push(client.get(&path).expect(200));
    answers.push(client.get("/v1/events").expect(200));
    answers.push(client.send("HEAD", &path, &[], b"").expect(200));
    answers.push(client.post_empty(&format!("{path}/page-views")).expect(204));
    answers.push(client.post_with_key("key", "/v1/discounts/validate", &validation(&id)).expect(200));
    answers.push(client.post_with_key("key", "/v1/discounts/validate", &validation(&id)).expect(200));
    answers.push(client.send("POST", "/v1/events", &[json], b"{").expect(400));
    answers.push(client.get("/v1/events?q=%").expect(400));
    answers.push(client.get("/v1/nothing").expect(404));
    answers.push(client.get("/v1").expect(404));
    answers.push(client.get("/v1/events/nothing").expect(404));
    answers.push(client.send("PUT", "/v1/events", &[], b"").expect(405));
    answers.push(client.post("/v1/events", &event).expect(409));
    answers.push(client.send("DELETE", &path, &["If-Match: \"9\""], b"").expect(412));
    answers.push(client.send("POST", "/v1/events", &["Content-Type: text/plain"], b"{}").expect(415));
    answers.push(client.post("/v1/events", &json!({})).expect(422));
    answers.push(client.post_with_key("key", "/v1/events", &event).expect(422));
    answers.push(client.post("/v1/orders", &order).expect(502));
    answers.push(client.send("POST", "/v1/events", &[json], &vec![b' '; 1024 * 1024 + 1]).expect(413));
    // Without having read such a body, the server closes the connection.
    let mut client = server.client();
    while answers.len() < LIMIT as usize {
        answers.push(client.get("/v1/orders").expect(200));
    }
    answers.push(client.get("/v1/events").expect(429));
    answers.push(client.get("/v1/nothing").expect(429));
    answers
}

fn validation(event: &str) -> Value {
    json!({"eventId": event, "code": "NONE", "orderAmount": 1, "ticketItems": []})
}

fn assert_not_to_be_kept(answer: &Response) {
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
}

#[test]
fn an_answer_to_a_key_says_what_remains_to_it_and_is_not_to_be_kept() {
    let limit = |options: &mut ticketing::server::ServerOptions| options.rate_limit = Some(LIMIT);
    let clock = ManualClock::at("2026-06-01T12:00:00Z".parse().unwrap());
    let server = Server::with(|builder: Builder| builder.payment_gateway(Refusing).clock(clock), limit);
    let answers = answers(&server);
    for (number, answer) in answers.iter().enumerate() {
        assert_not_to_be_kept(answer);
        let remaining = (LIMIT as usize).saturating_sub(number + 1).to_string();
        let told = ["limit", "remaining", "reset"].map(|name| answer.header(&format!("x-ratelimit-{name}")));
        assert_eq!(told, [Some("30"), Some(remaining.as_str()), Some("1780315260")], "{number}: {answer:?}");
        assert_eq!(answer.header("retry-after"), (answer.status == 429).then_some("60"), "{answer:?}");
    }
    let forbidden = server.key_with([Scope::OrdersRead]);
    let forbidden = server.client_with(&forbidden).get("/v1/events").expect(403);
    assert_not_to_be_kept(&forbidden);
    assert_eq!(forbidden.header("x-ratelimit-remaining"), Some("29"));
}

#[test]
fn an_answer_to_nobody_is_not_to_be_kept_either_and_tells_no_limit() {
    let server = Server::with(|builder| builder, |options| options.failed_authentications = 3);
    let mut nobody = server.client_with("");
    for (path, status) in [("/v1/events", 401), ("/v1", 401), ("/v1/nothing", 401), ("/v1/events", 429)] {
        let answer = nobody.get(path).expect(status);
        assert_not_to_be_kept(&answer);
        assert!(answer.headers.iter().all(|(name, _)| !name.to_lowercase().starts_with("x-ratelimit")), "{answer:?}");
    }
}

#[test]
fn a_checkout_page_and_a_probe_know_no_limit() {
    let server = Server::with(Builder::sandbox_gateway, |options| options.rate_limit = Some(4));
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let placed = client.post("/v1/orders", &order_of(&event, &seat, 1)).expect(201).json();
    let page = format!("/{}", placed["checkoutUrl"].as_str().unwrap().splitn(4, '/').nth(3).unwrap());
    client.get("/v1/events").expect(200);
    client.get("/v1/events").expect(429);
    for path in [page.as_str(), "/health/live", "/health/ready"] {
        let answer = client.get(path).expect(200);
        assert_eq!(answer.header("x-ratelimit-limit"), None, "{path}");
    }
}
