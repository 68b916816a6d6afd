//! Problem responses: their members, their codes, and which one is returned when several apply.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::common::http::{EventOnSale, Response, Server, event_on_sale, order_of};
use serde_json::{Value, json};
use ticketing::Builder;
use ticketing::organization::Scope;
use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};

const NO_EVENT: &str = "/v1/events/event_0000000000001";

/// Asserts the status and the problem code of a response, and returns its body.
fn expect(response: Response, status: u16, code: &str) -> Value {
    let response = response.expect(status);
    assert_eq!(response.code(), code);
    response.json()
}

#[test]
fn a_problem_describes_the_error_and_names_the_request() {
    let server = Server::start();
    let response = server.client().get(&format!("{NO_EVENT}/ticket-types?limit=1")).expect(404);
    let id = response.header("x-request-id").unwrap().to_owned();
    assert_eq!(
        response.problem(),
        json!({
            "type": "urn:ticketing:problem:not-found", "title": response.json()["title"], "status": 404,
            "detail": "there is no such event", "instance": format!("{NO_EVENT}/ticket-types"), "requestId": id,
        })
    );
}

#[test]
fn a_valid_request_id_of_the_client_is_used_and_an_invalid_one_replaced() {
    let server = Server::start();
    let mut client = server.client();
    let longest = "x".repeat(128);
    for valid in ["my-id:1", "~!", "\"}<script>\\", &longest] {
        let response = client.send("GET", "/health/live", &[&format!("X-Request-Id: {valid}")], b"");
        assert_eq!(response.header("x-request-id"), Some(valid));
    }
    let too_long = "x".repeat(129);
    let mut seen = Vec::new();
    for invalid in ["", "two words", "a\tb", "ümlaut", "\u{202e}", &too_long] {
        let response = client.send("GET", NO_EVENT, &[&format!("X-Request-Id: {invalid}")], b"");
        let id = response.header("x-request-id").unwrap().to_owned();
        assert!(id != invalid && !id.is_empty());
        assert_eq!(response.problem()["requestId"], id);
        assert!(!seen.contains(&id));
        seen.push(id);
    }
}

#[test]
fn every_invalid_key_gets_the_same_response() {
    let server = Server::start();
    let revoked = server.key_with([Scope::EventsRead]);
    let id = server.service.list_api_keys(server.organization).unwrap()[0].id;
    server.service.revoke_api_key(server.organization, id).unwrap();
    let long = "x".repeat(9000);
    let mut mistyped = server.key.clone();
    mistyped.replace_range(5..6, if &server.key[5..6] == "A" { "B" } else { "A" });
    for key in ["", "tk_", &revoked, &long, &mistyped, "schlüssel"] {
        let response = server.client_with(key).get("/v1/events");
        assert_eq!(response.header("www-authenticate"), Some("ApiKey"));
        let detail = expect(response, 401, "unauthenticated")["detail"].clone();
        assert_eq!(detail, "authentication is required, for example with a valid API key in the header X-Api-Key");
    }
    let twice = format!("X-Api-Key: {}", server.key);
    expect(server.client().send("GET", "/v1/events", &[&twice], b""), 401, "unauthenticated");
}

#[test]
fn a_body_needs_the_content_type_application_json() {
    let server = Server::start();
    let mut client = server.client();
    let event = json!({"title": "Jazz", "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"});
    for (number, accepted) in
        ["application/json", "Application/JSON", "application/json ; charset=UTF-8", "application/json;a=\"b\";c=d"]
            .into_iter()
            .enumerate()
    {
        let mut event = event.clone();
        event["slug"] = json!(format!("jazz-{number}"));
        let header = format!("Content-Type: {accepted}");
        client.send("POST", "/v1/events", &[&header], event.to_string().as_bytes()).expect(201);
    }
    for refused in [
        "text/plain",
        "application/jsonx",
        "application/problem+json",
        "application/json, text/plain",
        "\"application/json\"",
        "",
    ] {
        let header = format!("Content-Type: {refused}");
        expect(client.send("POST", "/v1/events", &[&header], b"{}"), 415, "unsupported-media-type");
    }
    let long = format!("Content-Type: application/json{}", "x".repeat(5000));
    for refused in [
        &[][..],
        &["Content-Type: application/json", "Content-Type: application/json"],
        &["Content-Type: application/json", "Content-Type: text/plain"],
        &["Content-Type: text/plain", "Content-Type: application/json"],
        &[&long],
    ] {
        // The body is not read.
        expect(client.send("POST", "/v1/events", refused, b"\xff\xff"), 415, "unsupported-media-type");
    }
    expect(client.send("POST", "/v1/events", &[], b""), 400, "malformed-request");
    let json = "Content-Type: application/json";
    let identity = client.send("POST", "/v1/events", &[json, "Content-Encoding: Identity"], b"{}");
    expect(identity, 422, "validation-failed");
    for coding in ["gzip", "br", "identity, gzip", ""] {
        let header = format!("Content-Encoding: {coding}");
        let problem = expect(client.send("POST", "/v1/events", &[json, &header], b"{}"), 415, "unsupported-media-type");
        assert!(problem["detail"].as_str().unwrap().contains("Content-Encoding"), "{problem}");
    }
}

#[test]
fn an_operation_without_a_body_accepts_an_empty_body_or_any_json_object() {
    let server = Server::start();
    let mut client = server.client();
    let event = event_on_sale(&mut client, "summer-night").event;
    let path = format!("/v1/events/{event}/page-views");
    let json = ["Content-Type: application/json"];
    for (headers, body) in [(&[][..], ""), (&json[..], ""), (&json[..], "{}"), (&json[..], r#"{"a": 1}"#)] {
        client.send("POST", &path, headers, body.as_bytes()).expect(204);
    }
    for body in ["[]", "null"] {
        assert_eq!(client.send("POST", &path, &json, body.as_bytes()).paths(), [""]);
    }
    expect(client.send("POST", &path, &json, b"{"), 400, "malformed-request");
    expect(client.send("POST", &path, &["Content-Type: text/plain"], b"{}"), 415, "unsupported-media-type");
}

#[test]
fn a_body_may_have_at_most_one_mebibyte() {
    let server = Server::start();
    let mut client = server.client();
    let json = ["Content-Type: application/json"];
    let largest = [b"{}".as_slice(), &vec![b' '; 1024 * 1024 - 2]].concat();
    assert!(!client.send("POST", "/v1/events", &json, &largest).paths().is_empty());
    let head = format!(
        "POST /v1/events HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        server.key
    );

    // The length of a chunked body is not known in advance: the server counts the bytes that it receives.
    let mut client = server.client();
    client.write(head.as_bytes());
    for _ in 0..17 {
        client.write(b"10000\r\n");
        client.write(&vec![b' '; 0x10000]);
        client.write(b"\r\n");
    }
    expect(client.read_response().unwrap(), 413, "payload-too-large");
    let mut client = server.client();
    client.write(head.as_bytes());
    client.write(b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n");
    assert!(!client.read_response().unwrap().paths().is_empty());
}

#[test]
fn an_undecodable_query_is_malformed_and_wrong_parameters_are_invalid() {
    let server = Server::start();
    let mut client = server.client();
    for query in ["q=%", "q=%4", "q=%zz", "q=%+1", "q=%ff", "%FF=1", "q=%C3", "q=%C3&r=%A4"] {
        for path in ["/v1/events", "/v1/events/event_0000000000001"] {
            expect(client.get(&format!("{path}?{query}")), 400, "malformed-request");
        }
    }
    // A plus that is not escaped is a space.
    for (query, paths) in [
        ("orders?State=PENDING&limit=0&customerEmail=nobody&page=2", &["State", "customerEmail", "limit", "page"][..]),
        ("orders?customerEmail=a+b@example.com", &["customerEmail"]),
        ("events?limit=101&q=%00", &["limit", "q"]),
        ("events?%00=1&limit%5B%5D=0", &["\0", "limit[]"]),
        ("events?=", &[""]),
    ] {
        let mut found = client.get(&format!("/v1/{query}")).paths();
        found.sort();
        assert_eq!(found, paths, "{query}");
    }
    client.get("/v1/events?q=a+b&&&").expect(200);
}

#[test]
fn head_returns_the_status_and_headers_of_get_without_the_body() {
    let server = Server::start();
    let mut client = server.client();
    let event = event_on_sale(&mut client, "summer-night").event;
    for path in [format!("/v1/events/{event}"), "/v1/events".to_owned(), NO_EVENT.to_owned(), "/nothing".to_owned()] {
        let get = client.get(&path);
        let head = client.send("HEAD", &path, &[], b"");
        assert_eq!(get.status, head.status);
        for header in ["content-type", "content-length"] {
            assert!(head.header(header).is_some(), "{header} of {path}");
        }
        assert_eq!(get.header("content-type"), head.header("content-type"));
        if get.status == 200 {
            assert_eq!(get.header("content-length"), head.header("content-length"));
        }
    }
}

/// A gateway that refuses every checkout.
struct RefusingGateway;

impl PaymentGateway for RefusingGateway {
    fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        Err(GatewayError::Refused("10.0.0.7 knows no account 4711".to_owned()))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

#[test]
fn a_failing_gateway_gets_a_problem_of_its_own_and_the_order_is_cancelled() {
    let server = Server::with(|builder| builder.payment_gateway(RefusingGateway), |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let problem = expect(client.post("/v1/orders", &order_of(&event, &ticket_type, 1)), 502, "payment-gateway-failed");
    assert!(!problem.to_string().contains("10.0.0.7"), "the gateway's message is exposed: {problem}");
    let order = &client.get("/v1/orders").expect(200).json()["data"][0];
    assert_eq!(order["status"], "CANCELLED");
    let id = order["id"].as_str().unwrap();
    assert!(problem["detail"].as_str().unwrap().contains(id), "the order is not named: {problem}");
}

/// A gateway whose calls block until the test drops the sender that it receives for each of them.
struct BlockingGateway {
    calls: Mutex<Sender<Sender<()>>>,
}

impl PaymentGateway for BlockingGateway {
    fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let (release, released) = channel();
        self.calls.lock().unwrap().send(release).unwrap();
        let _ = released.recv();
        Err(GatewayError::Unavailable("held".to_owned()))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

/// A server that works on four requests at a time, one of each organization for the gateway, and whose gateway tells
/// the test of each of its calls.
fn server_with_blocking_gateway() -> (Server, Receiver<Sender<()>>) {
    let (call_sender, calls) = channel();
    let gateway = BlockingGateway { calls: Mutex::new(call_sender) };
    let server = Server::with(|builder: Builder| builder.payment_gateway(gateway), |options| options.calls = 4);
    (server, calls)
}

#[test]
fn requests_beyond_the_limit_of_concurrent_calls_get_503_and_retry_after() {
    let (server, calls) = server_with_blocking_gateway();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let order = order_of(&event, &ticket_type, 1);
    std::thread::scope(|scope| {
        let buyer = scope.spawn(|| server.client().post("/v1/orders", &order));
        let release = calls.recv().unwrap();
        // The key is checked first.
        expect(server.client_with("tk_nobody").post("/v1/orders", &order), 401, "unauthenticated");
        let unavailable = client.post("/v1/orders", &order).expect(503);
        assert_eq!(unavailable.code(), "unavailable");
        assert_eq!(unavailable.header("retry-after"), Some("1"));
        client.get("/v1/events").expect(200);
        drop(release);
        expect(buyer.join().unwrap(), 502, "payment-gateway-failed");
    });
}
