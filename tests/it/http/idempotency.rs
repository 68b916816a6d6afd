//! The `Idempotency-Key` header: valid keys, the operations that use them, replayed responses and conflicts.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::common::http::{Client, EventOnSale, Response, Server, event_on_sale, id, order_of};
use crate::facade::operation::Resources;
use crate::http::operations::{routes, send};
use crate::http::walkthrough::Document;
use serde_json::{Value, json};
use ticketing::organization::Scope;
use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};

const JSON: &str = "Content-Type: application/json";

fn new_event(slug: &str) -> Value {
    json!({"title": "Jazz Night", "slug": slug, "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"})
}

/// Opens a connection and creates an event. Returns the client and the ids of the event and its ticket type.
fn client_with_event(server: &Server) -> (Client, String, String) {
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    (client, event, ticket_type)
}

fn is_replay(response: &Response) -> bool {
    let replayed = response.header("idempotent-replayed");
    assert!(matches!(replayed, None | Some("true")), "{replayed:?}");
    replayed.is_some()
}

/// The parts of a response that a replay repeats.
#[derive(Debug, PartialEq, Eq)]
struct Replayed<'a> {
    status: u16,
    content_type: Option<&'a str>,
    location: Option<&'a str>,
    body: &'a [u8],
}

fn replayed_parts(response: &Response) -> Replayed<'_> {
    Replayed {
        status: response.status,
        content_type: response.header("content-type"),
        location: response.header("location"),
        body: &response.body,
    }
}

fn new_webhook() -> Value {
    json!({"url": "https://example.com/hook", "events": ["ticket.issued"]})
}

#[test]
fn a_replay_repeats_the_first_response_byte_for_byte_and_is_marked_as_a_replay() {
    let document = Document::of(&Server::start());
    for operation in routes().filter(|operation| operation.keyed_call().is_some()) {
        let name = operation.name;
        let Resources { fixture, ids: [ids, _] } = Resources::new();
        let server = Server::of(fixture);
        let post =
            |key: &str| send(&mut server.client(), &document, operation, &ids, &[&format!("Idempotency-Key: {key}")]);
        let first = post("key").expect(operation.status);
        assert!(!is_replay(&first), "{name}");
        for _ in 0..2 {
            let again = post("key");
            assert!(is_replay(&again), "{name}");
            assert_eq!(replayed_parts(&again), replayed_parts(&first), "{name}");
            assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
            document.check(&document.operation(name), &again);
        }
        assert!(!is_replay(&post("another-key")), "{name}: another key is another request");
    }
}

#[test]
fn a_request_may_have_one_key_of_1_to_255_visible_ascii_characters() {
    let server = Server::start();
    let mut client = server.client();
    let longest = "k".repeat(255);
    let too_long = "k".repeat(256);
    for (number, key) in ["!", "~", "\"8e03978e-40d5-43dd\"", "a,b;c", &longest].iter().enumerate() {
        client.post_with_key(key, "/v1/events", &new_event(&format!("event-{number}"))).expect(201);
    }
    for key in ["", " ", "two words", "a\tb", "ümlaut", &too_long] {
        let rejected = client.post_with_key(key, "/v1/events", &new_event("never")).expect(400);
        assert_eq!(rejected.code(), "malformed-request", "{key:?}");
    }
    let twice = ["Idempotency-Key: a", "Idempotency-Key: a", JSON];
    let rejected = client.send("POST", "/v1/events", &twice, new_event("never").to_string().as_bytes()).expect(400);
    assert_eq!(rejected.code(), "malformed-request");
    assert_eq!(client.get("/v1/events?q=never").json()["data"], json!([]));
}

#[test]
fn page_views_secret_rotations_and_other_methods_than_post_ignore_the_key() {
    let server = Server::start();
    let (mut client, event, ticket_type) = client_with_event(&server);
    let path = format!("/v1/events/{event}");
    let views = format!("{path}/page-views");
    for key in ["same", "same", "two words"] {
        assert!(!is_replay(&client.post_with_key(key, &views, &Value::Null).expect(204)));
        for (method, path) in [("GET", &path), ("HEAD", &path), ("PATCH", &path)] {
            let title = format!("Title {key}");
            let body = if method == "PATCH" { json!({"title": title}).to_string() } else { String::new() };
            let lines = [JSON, &format!("Idempotency-Key: {key}")];
            let response = client.send(method, path, &lines, body.as_bytes()).expect(200);
            assert!(!is_replay(&response), "{method}");
        }
    }
    server.service.run_maintenance().expect("a run");
    assert_eq!(client.get(&path).json()["pageViews"], 3);
    let webhook = id(&client.post("/v1/webhooks", &new_webhook()).expect(201));
    let secrets = ["same", "same", "two words"].map(|key| {
        let rotated =
            client.post_with_key(key, &format!("/v1/webhooks/{webhook}/rotate-secret"), &Value::Null).expect(200);
        assert!(!is_replay(&rotated));
        rotated.json()["secret"].as_str().unwrap().to_owned()
    });
    assert!(secrets[0] != secrets[1] && secrets[1] != secrets[2]);
    let path = format!("/v1/ticket-types/{ticket_type}");
    client.send("DELETE", &path, &["Idempotency-Key: same"], b"").expect(204);
    client.send("DELETE", &path, &["Idempotency-Key: same"], b"").expect(404);
}

#[test]
fn a_key_that_was_used_with_another_request_is_rejected() {
    let server = Server::start();
    let (mut client, event, _) = client_with_event(&server);
    let first = client.post_with_key("key", "/v1/events", &new_event("jazz-night")).expect(201);
    let others = [
        ("/v1/events".to_owned(), new_event("late-night")),
        (format!("/v1/events/{event}/ticket-types"), json!({"name": "Box", "price": 1, "quantity": 1})),
        ("/v1/orders/order_0000000000001/cancel".to_owned(), Value::Null),
    ];
    for (path, body) in others {
        let rejected = client.post_with_key("key", &path, &body).expect(422);
        assert_eq!(rejected.code(), "idempotency-key-reused", "{path}");
        assert!(!is_replay(&rejected));
    }
    // A body that differs only in white space is the same request.
    let spaced = new_event("jazz-night").to_string().replace(',', " ,\n ");
    let again = client.send("POST", "/v1/events", &[JSON, "Idempotency-Key: key"], spaced.as_bytes());
    assert!(is_replay(&again));
    assert_eq!(replayed_parts(&again), replayed_parts(&first));
}

/// A gateway whose calls block until the test decides their outcome.
struct BlockingGateway {
    /// Sends the test a sender for each call: true makes the call succeed, and false makes it fail.
    calls: Mutex<Sender<Sender<bool>>>,
}

impl PaymentGateway for BlockingGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let (outcome_sender, outcome) = channel();
        self.calls.lock().unwrap().send(outcome_sender).unwrap();
        let reference = format!("pay-{}", request.order_id);
        match outcome.recv_timeout(Duration::from_secs(15)) {
            Ok(true) => Ok(Checkout::new(format!("https://pay.example/{reference}"), reference)),
            _ => Err(GatewayError::Unavailable("no connection".to_owned())),
        }
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

#[test]
fn a_concurrent_repetition_gets_409_and_one_after_a_502_is_carried_out() {
    let (call_sender, calls): (_, Receiver<Sender<bool>>) = channel();
    let gateway = BlockingGateway { calls: Mutex::new(call_sender) };
    let server = Server::with(|builder| builder.payment_gateway(gateway), |_| {});
    let (mut client, event, ticket_type) = client_with_event(&server);
    let order = order_of(&event, &ticket_type, 1);
    for (succeeds, status) in [(false, 502), (true, 201)] {
        std::thread::scope(|scope| {
            let first = scope.spawn(|| server.client().post_with_key("key", "/v1/orders", &order));
            let call = calls.recv_timeout(Duration::from_secs(15)).unwrap();
            let second = client.post_with_key("key", "/v1/orders", &order).expect(409);
            assert_eq!(second.code(), "idempotency-in-progress");
            assert_eq!(second.header("retry-after"), Some("1"));
            call.send(succeeds).unwrap();
            let first = first.join().unwrap().expect(status);
            assert!(!is_replay(&first));
            if succeeds {
                let again = client.post_with_key("key", "/v1/orders", &order);
                assert!(is_replay(&again));
                assert_eq!(replayed_parts(&again), replayed_parts(&first));
            } else {
                assert_eq!(first.code(), "payment-gateway-failed");
            }
        });
    }
    let orders = client.get("/v1/orders").json();
    let statuses: Vec<_> = orders["data"].as_array().unwrap().iter().map(|order| order["status"].clone()).collect();
    assert_eq!(statuses, ["PENDING", "CANCELLED"]);
}

#[test]
fn a_key_that_is_in_progress_is_free_for_other_api_keys() {
    let (call_sender, calls): (_, Receiver<Sender<bool>>) = channel();
    let gateway = BlockingGateway { calls: Mutex::new(call_sender) };
    let server = Server::with(|builder| builder.payment_gateway(gateway), |_| {});
    let (mut client, event, ticket_type) = client_with_event(&server);
    let order = order_of(&event, &ticket_type, 1);
    let other_key = server.key_with([Scope::EventsWrite]);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.client().post_with_key("key", "/v1/orders", &order));
        let call = calls.recv_timeout(Duration::from_secs(15)).unwrap();
        let event = new_event("jazz-night");
        let mut other = server.client_with(&other_key);
        assert!(!is_replay(&other.post_with_key("key", "/v1/events", &event).expect(201)));
        assert!(is_replay(&other.post_with_key("key", "/v1/events", &event).expect(201)));
        call.send(true).unwrap();
        first.join().unwrap().expect(201);
    });
    assert!(is_replay(&client.post_with_key("key", "/v1/orders", &order).expect(201)));
    let reused = client.post_with_key("key", "/v1/events", &new_event("late-night")).expect(422);
    assert_eq!(reused.code(), "idempotency-key-reused");
}
