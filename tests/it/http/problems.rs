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

/// Sends exactly these bytes on a connection of its own.
fn send_raw(server: &Server, bytes: &str) -> std::io::Result<Response> {
    let mut client = server.client();
    client.write(bytes.as_bytes());
    client.read_response()
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
    for valid in ["my-id:1", "~!", &longest] {
        let response = client.send("GET", "/health/live", &[&format!("X-Request-Id: {valid}")], b"");
        assert_eq!(response.header("x-request-id"), Some(valid));
    }
    let too_long = "x".repeat(129);
    let mut seen = Vec::new();
    for invalid in ["", "two words", "ümlaut", &too_long] {
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
fn a_request_with_several_errors_gets_the_first_problem_in_the_documented_order() {
    let server = Server::start();
    let reader = server.key_with([Scope::EventsRead]);
    let big = "Content-Length: 1048577";
    let send = |key: &str, method: &str, path: &str, headers: &str, body: &str| {
        let key = if key.is_empty() { String::new() } else { format!("X-Api-Key: {key}\r\n") };
        send_raw(&server, &format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{key}{headers}\r\n\r\n{body}")).unwrap()
    };

    // First the API key, for unknown paths too.
    for path in ["/v1/nothing", "/v1", "/v1/events", NO_EVENT] {
        expect(send("", "PUT", path, big, ""), 401, "unauthenticated");
    }

    // Then the route and the method.
    expect(send(&reader, "PUT", "/v1/nothing", big, ""), 404, "not-found");
    let wrong_method = send(&reader, "PUT", "/v1/events", big, "");
    assert_eq!(wrong_method.header("allow"), Some("GET, HEAD, POST"));
    expect(wrong_method, 405, "method-not-allowed");
    // Then the scope.
    expect(send(&reader, "POST", "/v1/events", big, ""), 403, "forbidden");

    // Then the size, before the body arrives.
    expect(send(&server.key, "POST", "/v1/events", big, ""), 413, "payload-too-large");
    expect(
        send(&server.key, "PATCH", NO_EVENT, &format!("{big}\r\nContent-Type: text/plain"), ""),
        413,
        "payload-too-large",
    );

    // Then the media type, the syntax, and the resource.
    let length = "Content-Length: 2";
    expect(send(&server.key, "PATCH", NO_EVENT, length, "[}"), 415, "unsupported-media-type");
    let with_type = format!("{length}\r\nContent-Type: application/json");
    expect(send(&server.key, "PATCH", NO_EVENT, &with_type, "[}"), 400, "malformed-request");
    expect(send(&server.key, "PATCH", NO_EVENT, &with_type, "{}"), 404, "not-found");
}

#[test]
fn a_body_needs_the_content_type_application_json() {
    let server = Server::start();
    let mut client = server.client();
    let event = json!({"title": "Jazz", "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"});
    for (number, accepted) in
        ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;a=b"]
            .into_iter()
            .enumerate()
    {
        let mut event = event.clone();
        event["slug"] = json!(format!("jazz-{number}"));
        let header = format!("Content-Type: {accepted}");
        client.send("POST", "/v1/events", &[&header], event.to_string().as_bytes()).expect(201);
    }
    for refused in
        ["text/plain", "application/jsonx", "application/problem+json", "application/x-www-form-urlencoded", ""]
    {
        let header = format!("Content-Type: {refused}");
        expect(client.send("POST", "/v1/events", &[&header], b"{}"), 415, "unsupported-media-type");
    }
    expect(client.send("POST", "/v1/events", &[], b"{}"), 415, "unsupported-media-type");
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
fn unparsable_json_is_malformed_and_json_of_the_wrong_type_is_invalid() {
    let server = Server::start();
    let mut client = server.client();
    let json = ["Content-Type: application/json"];
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let numbers = r#"[1,] 01 +1 1. NaN -1e400 1e400 {"title":1e400} {"a":} {"a"1} {1:2} nul"#;
    let texts = [r#"{"title": "\ud800"}"#, r#""\udc00\ud800""#, "{} {}", "\"\n\"", "{", " ", "", &deep];
    for text in numbers.split(' ').chain(texts) {
        expect(client.send("POST", "/v1/events", &json, text.as_bytes()), 400, "malformed-request");
    }
    expect(client.send("POST", "/v1/events", &json, b"{\"title\": \"\xff\"}"), 400, "malformed-request");
    expect(client.send("POST", "/v1/events", &[], b""), 400, "malformed-request");
    for text in ["[]", "null", "3", r#""text""#, &deep[1..129], &format!("\"{}\"", "[".repeat(1000))] {
        assert_eq!(client.send("POST", "/v1/events", &json, text.as_bytes()).paths(), [""], "{text}");
    }
    let response =
        client.send("POST", "/v1/events", &json, br#"{"title": 5, "slug": "a b", "slug": "c", "startDate": "x"}"#);
    let mut paths = response.paths();
    paths.sort();
    assert_eq!(paths, ["deliveryMethod", "slug", "startDate", "title"]);
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
    let query = "limit=101&status=OPEN&isPublic=maybe&startsFrom=2026&cursor=nothing&limit=2";
    let mut paths = client.get(&format!("/v1/events?{query}")).paths();
    paths.sort();
    assert!(paths.iter().all(|path| ["cursor", "isPublic", "limit", "startsFrom", "status"].contains(&path.as_str())));
    assert!(paths.len() >= 4, "{paths:?}");
    assert_eq!(client.get("/v1/events?q=%00").paths(), ["q"]);
    client.get("/v1/events?q=a+b").expect(200);
}

#[test]
fn unknown_ids_and_paths_are_not_found() {
    let server = Server::start();
    let mut client = server.client();
    for id in
        ["nothing", "%00", "%FF", "%zz", "%2F", "event_000000000000I", "order_0000000000001", "event_0000000000001"]
    {
        expect(client.get(&format!("/v1/events/{id}")), 404, "not-found");
    }
    for path in ["/", "/v2/events", "/v1/events/", "/v1/events/a/b", "/v1/summary", "/metrics/", "//v1/events"] {
        expect(client.get(path), 404, "not-found");
    }
}

#[test]
fn a_wrong_method_gets_405_and_the_allowed_methods() {
    let server = Server::start();
    let mut client = server.client();
    for (path, allowed) in [
        ("/v1/events", "GET, HEAD, POST"),
        (NO_EVENT, "GET, HEAD, PATCH, DELETE"),
        ("/v1/orders/order_0000000000001/cancel", "POST"),
        ("/v1/tickets/issue", "POST"),
        ("/health/live", "GET,HEAD"),
    ] {
        for method in ["PUT", "OPTIONS", "BREW"] {
            let response = client.send(method, path, &[], b"");
            assert_eq!(response.header("allow"), Some(allowed), "{method} {path}");
            expect(response, 405, "method-not-allowed");
        }
    }
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

#[test]
fn invalid_http_is_rejected() {
    let server = Server::start();
    let key = format!("X-Api-Key: {}", server.key);
    let invalid = [
        format!("GET /v1/events HTTP/1.1\r\n{key}\r\n\r\n"),
        format!("GET /v1/events HTTP/1.1\r\nHost: a\r\nHost: b\r\n{key}\r\n\r\n"),
        format!("POST /v1/events HTTP/1.1\r\nHost: a\r\n{key}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"),
        format!(
            "POST /v1/events HTTP/1.1\r\nHost: a\r\n{key}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        format!(
            "POST /v1/events HTTP/1.1\r\nHost: a\r\n{key}\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n"
        ),
        format!("GET /v1/events?q={} HTTP/1.1\r\nHost: a\r\n{key}\r\n\r\n", "a".repeat(8 * 1024)),
        format!("GET /v1/events HTTP/1.1\r\nHost: a\r\n{key}\r\nX-Long: {}\r\n\r\n", "a".repeat(33 * 1024)),
        "nonsense\r\n\r\n".to_owned(),
    ];
    for bytes in invalid {
        // The server may also close the connection.
        if let Ok(response) = send_raw(&server, &bytes) {
            assert!(
                (400..500).contains(&response.status),
                "{}: {}",
                response.status,
                bytes.get(..200).unwrap_or(&bytes)
            );
        }
    }
    let long_enough = format!("GET /health/live?x={} HTTP/1.1\r\nHost: a\r\n{key}\r\n\r\n", "a".repeat(7 * 1024));
    assert_eq!(send_raw(&server, &long_enough).unwrap().status, 200);
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
        let unavailable = client.post("/v1/orders", &order).expect(503);
        assert_eq!(unavailable.code(), "unavailable");
        assert_eq!(unavailable.header("retry-after"), Some("1"));
        client.get("/v1/events").expect(200);
        drop(release);
        expect(buyer.join().unwrap(), 502, "payment-gateway-failed");
    });
}

#[test]
fn the_key_is_checked_before_the_limit_of_concurrent_calls() {
    let (server, calls) = server_with_blocking_gateway();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let order = order_of(&event, &ticket_type, 1);
    std::thread::scope(|scope| {
        let buyer = scope.spawn(|| server.client().post("/v1/orders", &order));
        let release = calls.recv().unwrap();
        expect(server.client_with("tk_nobody").post("/v1/orders", &order), 401, "unauthenticated");
        expect(client.post("/v1/orders", &order), 503, "unavailable");
        drop(release);
        expect(buyer.join().unwrap(), 502, "payment-gateway-failed");
    });
}
