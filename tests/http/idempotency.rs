//! The `Idempotency-Key` header: which are keys, where they count, and what a replay looks like.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::common::example_server;
use crate::common::http::{Client, Response, Server, event_on_sale, id, order_of, organization};
use crate::common::outbox;
use serde_json::{Value, json};
use ticketing::{Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest, Scope};

const JSON: &str = "Content-Type: application/json";

fn new_event(slug: &str) -> Value {
    json!({"title": "Jazz Night", "slug": slug, "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"})
}

fn issue(ticket_type: &str) -> Value {
    json!({"ticketId": ticket_type, "quantity": 2, "customer": {"name": "Zoë \"Z\"", "email": "zoe@example.com"}})
}

/// A client, an event on sale and its ticket type.
fn open(server: &Server) -> (Client, String, String) {
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    (client, event, seat)
}

fn is_replay(answer: &Response) -> bool {
    let replayed = answer.header("idempotent-replayed");
    assert!(matches!(replayed, None | Some("true")), "{replayed:?}");
    replayed.is_some()
}

/// What a replay repeats of the first answer.
fn told(answer: &Response) -> (u16, Option<&str>, Option<&str>, &[u8]) {
    (answer.status, answer.header("content-type"), answer.header("location"), &answer.body)
}

fn new_webhook() -> Value {
    json!({"url": "https://example.com/hook", "events": ["ticket.issued"]})
}

/// Every operation that is done once: its path, its body, and its status.
fn operations(server: &Server, client: &mut Client, event: &str, seat: &str) -> Vec<(String, Value, u16)> {
    let mut order = || {
        let placed = client.post("/v1/orders", &order_of(event, seat, 1)).expect(201).json();
        format!("/v1/orders/{}", placed["order"]["id"].as_str().unwrap())
    };
    let (cancelled, paid, reminded) = (order(), order(), order());
    let webhook = format!("/v1/webhooks/{}", id(&client.post("/v1/webhooks", &new_webhook()).expect(201)));
    let tickets = client.post("/v1/tickets/issue", &issue(seat)).expect(201).json();
    let database = server.database();
    outbox::record_attempt(&database, outbox::rows(&database)[0].id, 1, Some(500));
    client.patch(&webhook, &json!({"enabled": false})).expect(200);
    let deliveries = client.get(&format!("{webhook}/deliveries")).expect(200).json();
    let resend = format!("{webhook}/deliveries/{}/resend", deliveries["data"][0]["id"].as_str().unwrap());
    let scan = json!({"code": tickets["issuedTickets"][0]["code"], "eventId": event});
    let ticket = format!("/v1/tickets/{}/cancel", tickets["issuedTickets"][1]["id"].as_str().unwrap());
    let discount = json!({
        "eventId": event, "code": "Early", "type": "PERCENTAGE", "value": 12.5, "minimumPurchase": 0.1,
        "validFrom": "2020-01-01T00:00:00Z", "validTo": "9000-01-01T00:00:00Z",
    });
    let basket = json!({
        "eventId": event, "code": "EARLY", "orderAmount": 25,
        "ticketItems": [{"ticketId": seat, "quantity": 2, "price": 12.5}],
    });
    let with_location = json!({"name": "Box", "price": 99.90, "quantity": 4});
    vec![
        ("/v1/events".to_owned(), new_event("jazz-night"), 201),
        (format!("/v1/events/{event}/ticket-types"), with_location, 201),
        ("/v1/orders".to_owned(), order_of(event, seat, 3), 201),
        (format!("{cancelled}/cancel"), Value::Null, 200),
        (format!("{paid}/mark-paid"), json!({}), 200),
        (format!("{reminded}/reminder-sent"), Value::Null, 200),
        ("/v1/tickets/issue".to_owned(), issue(seat), 201),
        ("/v1/tickets/check-in".to_owned(), scan.clone(), 200),
        ("/v1/tickets/check-out".to_owned(), scan, 200),
        (ticket, Value::Null, 200),
        ("/v1/discounts".to_owned(), discount, 201),
        ("/v1/discounts/validate".to_owned(), basket, 200),
        ("/v1/webhooks".to_owned(), new_webhook(), 201),
        (resend, Value::Null, 202),
    ]
}

#[test]
fn a_replay_is_the_first_answer_byte_for_byte_and_says_that_it_is_one() {
    let server = Server::start();
    let (mut client, event, seat) = open(&server);
    for (path, body, status) in operations(&server, &mut client, &event, &seat) {
        let key = path.replace('/', "-");
        let first = client.post_with_key(&key, &path, &body).expect(status);
        assert!(!is_replay(&first), "{path}");
        let places = ["/v1/events", "/v1/orders", "/v1/discounts", "/v1/webhooks"];
        let has_place = places.contains(&path.as_str()) || path.ends_with("/ticket-types");
        assert_eq!(first.header("location").is_some(), has_place, "{path}");
        for _ in 0..2 {
            let again = server.client().post_with_key(&key, &path, &body);
            assert!(is_replay(&again), "{path}");
            assert_eq!(told(&again), told(&first), "{path}");
            assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
        }
        assert!(
            !is_replay(&client.post_with_key(&format!("{key}-2"), &path, &body)),
            "{path}: another key is another request"
        );
    }
}

#[test]
fn a_key_is_of_1_to_255_visible_ascii_characters_and_comes_once() {
    let server = Server::start();
    let mut client = server.client();
    let (longest, too_long) = ("k".repeat(255), "k".repeat(256));
    for (number, key) in ["!", "~", "\"8e03978e-40d5-43dd\"", "a,b;c", &longest].iter().enumerate() {
        client.post_with_key(key, "/v1/events", &new_event(&format!("event-{number}"))).expect(201);
    }
    for key in ["", " ", "two words", "a\tb", "ümlaut", &too_long] {
        let refused = client.post_with_key(key, "/v1/events", &new_event("never")).expect(400);
        assert_eq!(refused.code(), "malformed-request", "{key:?}");
    }
    let twice = ["Idempotency-Key: a", "Idempotency-Key: a", JSON];
    let refused = client.send("POST", "/v1/events", &twice, new_event("never").to_string().as_bytes()).expect(400);
    assert_eq!(refused.code(), "malformed-request");
    assert_eq!(client.get("/v1/events?q=never").json()["data"], json!([]));
}

#[test]
fn on_a_page_view_a_rotation_and_on_other_methods_the_header_is_ignored() {
    let server = Server::start();
    let (mut client, event, seat) = open(&server);
    let (views, path) = (format!("/v1/events/{event}/page-views"), format!("/v1/events/{event}"));
    for key in ["same", "same", "two words"] {
        assert!(!is_replay(&client.post_with_key(key, &views, &Value::Null).expect(204)));
        for (method, path) in [("GET", &path), ("HEAD", &path), ("PATCH", &path)] {
            let title = format!("Title {key}");
            let body = if method == "PATCH" { json!({"title": title}).to_string() } else { String::new() };
            let lines = [JSON, &format!("Idempotency-Key: {key}")];
            let answer = client.send(method, path, &lines, body.as_bytes()).expect(200);
            assert!(!is_replay(&answer), "{method}");
        }
    }
    assert_eq!(client.get(&path).json()["pageViews"], 3);
    let webhook = id(&client.post("/v1/webhooks", &new_webhook()).expect(201));
    let secrets = ["same", "same", "two words"].map(|key| {
        let rotated =
            client.post_with_key(key, &format!("/v1/webhooks/{webhook}/rotate-secret"), &Value::Null).expect(200);
        assert!(!is_replay(&rotated));
        rotated.json()["secret"].as_str().unwrap().to_owned()
    });
    assert!(secrets[0] != secrets[1] && secrets[1] != secrets[2]);
    let seat = format!("/v1/ticket-types/{seat}");
    client.send("DELETE", &seat, &["Idempotency-Key: same"], b"").expect(204);
    client.send("DELETE", &seat, &["Idempotency-Key: same"], b"").expect(404);
}

#[test]
fn a_key_that_came_with_another_request_is_refused() {
    let server = Server::start();
    let (mut client, event, _) = open(&server);
    let first = client.post_with_key("key", "/v1/events", &new_event("jazz-night")).expect(201);
    let others = [
        ("/v1/events".to_owned(), new_event("late-night")),
        (format!("/v1/events/{event}/ticket-types"), json!({"name": "Box", "price": 1, "quantity": 1})),
        ("/v1/orders/order_0000000000001/cancel".to_owned(), Value::Null),
    ];
    for (path, body) in others {
        let refused = client.post_with_key("key", &path, &body).expect(422);
        assert_eq!(refused.code(), "idempotency-key-reused", "{path}");
        assert!(!is_replay(&refused));
    }
    // The same request in other words is the same.
    let spaced = new_event("jazz-night").to_string().replace(',', " ,\n ");
    let again = client.send("POST", "/v1/events", &[JSON, "Idempotency-Key: key"], spaced.as_bytes());
    assert!(is_replay(&again));
    assert_eq!(told(&again), told(&first));
    // Another organization has keys of its own; another key of the same one has not.
    let (_, foreign) = organization(&server.service);
    let theirs = server.client_with(&foreign).post_with_key("key", "/v1/events", &new_event("jazz-night")).expect(201);
    assert!(!is_replay(&theirs) && id(&theirs) != id(&first));
    let colleague = server.key_with([Scope::EventsWrite]);
    assert!(is_replay(&server.client_with(&colleague).post_with_key("key", "/v1/events", &new_event("jazz-night"))));
    let reader = server.key_with([Scope::EventsRead]);
    server.client_with(&reader).post_with_key("key", "/v1/events", &new_event("jazz-night")).expect(403);
}

#[test]
fn refusals_are_not_kept() {
    let server = Server::start();
    let (mut client, _, _) = open(&server);
    for _ in 0..2 {
        let refused = client.post_with_key("key", "/v1/events", &new_event("Jazz Night"));
        assert!(!is_replay(&refused));
        assert_eq!(refused.paths(), ["slug"]);
        let refused = client.post_with_key("key", "/v1/events", &new_event("summer-night")).expect(409);
        assert_eq!((refused.problem()["reason"].as_str(), is_replay(&refused)), (Some("slug-taken"), false));
    }
    assert!(!is_replay(&client.post_with_key("key", "/v1/events", &new_event("jazz-night")).expect(201)));
}

/// A gateway each of whose calls waits until the test answers it.
struct Told(Mutex<Sender<Sender<bool>>>);

impl PaymentGateway for Told {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let (answer, answered) = channel();
        self.0.lock().unwrap().send(answer).unwrap();
        let reference = format!("pay-{}", request.order_id);
        match answered.recv_timeout(Duration::from_secs(15)) {
            Ok(true) => Ok(Checkout { link: format!("https://pay.example/{reference}"), reference }),
            _ => Err(GatewayError::Unavailable("closed for lunch".to_owned())),
        }
    }

    fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
        Ok(())
    }
}

#[test]
fn the_same_request_twice_at_once_is_in_progress_and_after_a_502_it_is_tried_anew() {
    let (calls, asked): (_, Receiver<Sender<bool>>) = channel();
    let server = Server::with(|builder| builder.payment_gateway(Told(Mutex::new(calls))), |_| {});
    let (mut client, event, seat) = open(&server);
    let order = order_of(&event, &seat, 1);
    for (helpful, status) in [(false, 502), (true, 201)] {
        std::thread::scope(|scope| {
            let first = scope.spawn(|| server.client().post_with_key("key", "/v1/orders", &order));
            let call = asked.recv_timeout(Duration::from_secs(15)).unwrap();
            let second = client.post_with_key("key", "/v1/orders", &order).expect(409);
            assert_eq!((second.code().as_str(), second.header("retry-after")), ("idempotency-in-progress", Some("1")));
            call.send(helpful).unwrap();
            let first = first.join().unwrap().expect(status);
            assert!(!is_replay(&first));
            if helpful {
                let again = client.post_with_key("key", "/v1/orders", &order);
                assert!(is_replay(&again));
                assert_eq!(told(&again), told(&first));
            } else {
                assert_eq!(first.code(), "payment-gateway-failed");
            }
        });
    }
    let orders = client.get("/v1/orders").json();
    let statuses: Vec<_> = orders["data"].as_array().unwrap().iter().map(|order| order["status"].clone()).collect();
    assert_eq!(statuses, ["PENDING", "CANCELLED"]);
}

/// The status line, the place and the body of an answer that came as one text.
fn parts(answer: &str) -> (&str, Option<&str>, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let place = head.lines().find(|line| line.to_lowercase().starts_with("location: "));
    (head.lines().next().unwrap(), place, body)
}

#[test]
fn an_answer_outlives_a_server_that_is_killed_right_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut key = String::new();
    let mut earlier: Vec<(String, String, String)> = Vec::new();
    for round in 0..3 {
        let server = example_server::ExampleServer::start(folder.path(), &[]);
        if round == 0 {
            key = server.key().to_owned();
        }
        let once = |name: &str, path: &str, body: &str| {
            server.send_with("POST", path, &key, &format!("Idempotency-Key: {name}\r\n"), body).1
        };
        for (name, path, answer) in &earlier {
            let body = new_event(name).to_string();
            let again = once(name, path, &body);
            assert!(again.to_lowercase().contains("\r\nidempotent-replayed: true\r\n"), "{again}");
            assert_eq!(parts(&again), parts(answer));
        }
        let name = format!("night-{round}");
        let answer = once(&name, "/v1/events", &new_event(&name).to_string());
        assert!(!server.stop("KILL").0.success());
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
        assert!(!answer.to_lowercase().contains("idempotent-replayed"));
        earlier.push((name, "/v1/events".to_owned(), answer));
    }
}
