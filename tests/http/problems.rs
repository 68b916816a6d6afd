//! Problems: the form of each, and which comes first.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use crate::common::http::{Client, Response, Server, event_on_sale, order_of};
use serde_json::{Value, json};
use ticketing::{Builder, Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest, Scope};

const NO_EVENT: &str = "/v1/events/event_0000000000001";

/// The code of the problem that goes with a status.
fn expect(answer: Response, status: u16, code: &str) -> Value {
    let answer = answer.expect(status);
    assert_eq!(answer.code(), code);
    answer.json()
}

fn raw(server: &Server, bytes: &str) -> std::io::Result<Response> {
    let mut client = server.client();
    client.write(bytes.as_bytes());
    client.read_response()
}

#[test]
fn a_problem_says_what_happened_to_this_request() {
    let server = Server::start();
    let answer = server.client().get("/v1/events/event_0000000000001?x=1").expect(404);
    let id = answer.header("x-request-id").unwrap().to_owned();
    assert_eq!(
        answer.problem(),
        json!({
            "type": "urn:ticketing:problem:not-found", "title": answer.json()["title"], "status": 404,
            "detail": "there is no such event", "instance": NO_EVENT, "requestId": id,
        })
    );
}

#[test]
fn a_request_id_of_the_client_is_kept_where_it_is_one() {
    let server = Server::start();
    let mut client = server.client();
    let longest = "x".repeat(128);
    for own in ["my-id:1", "~!", &longest] {
        let answer = client.send("GET", "/health/live", &[&format!("X-Request-Id: {own}")], b"");
        assert_eq!(answer.header("x-request-id"), Some(own));
    }
    let too_long = "x".repeat(129);
    let mut seen = Vec::new();
    for own in ["", "two words", "ümlaut", &too_long] {
        let answer = client.send("GET", NO_EVENT, &[&format!("X-Request-Id: {own}")], b"");
        let id = answer.header("x-request-id").unwrap().to_owned();
        assert!(id != own && !id.is_empty());
        assert_eq!(answer.problem()["requestId"], id);
        assert!(!seen.contains(&id));
        seen.push(id);
    }
}

#[test]
fn whatever_is_wrong_with_the_key_the_answer_is_the_same() {
    let server = Server::start();
    let revoked = server.key_with([Scope::EventsRead]);
    let id = server.service.list_api_keys(server.organization).unwrap()[0].id;
    server.service.revoke_api_key(id).unwrap();
    let long = "x".repeat(9000);
    let mut mistyped = server.key.clone();
    mistyped.replace_range(5..6, if &server.key[5..6] == "A" { "B" } else { "A" });
    for key in ["", "tk_", &revoked, &long, &mistyped, "schlüssel"] {
        let answer = server.client_with(key).get("/v1/events");
        assert_eq!(answer.header("www-authenticate"), Some("ApiKey"));
        let detail = expect(answer, 401, "unauthenticated")["detail"].clone();
        assert_eq!(detail, "a valid API key is required in the header X-Api-Key");
    }
    let twice = format!("X-Api-Key: {}", server.key);
    expect(server.client().send("GET", "/v1/events", &[&twice], b""), 401, "unauthenticated");
}

#[test]
fn problems_come_in_the_order_of_the_contract() {
    let server = Server::start();
    let reader = server.key_with([Scope::EventsRead]);
    let big = "Content-Length: 1048577";
    let send = |key: &str, method: &str, path: &str, headers: &str, body: &str| {
        let key = if key.is_empty() { String::new() } else { format!("X-Api-Key: {key}\r\n") };
        raw(&server, &format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{key}{headers}\r\n\r\n{body}")).unwrap()
    };
    // The key comes before everything, also where there is nothing.
    for path in ["/v1/nothing", "/v1", "/v1/events", NO_EVENT] {
        expect(send("", "PUT", path, big, ""), 401, "unauthenticated");
    }
    // Then route and method.
    expect(send(&reader, "PUT", "/v1/nothing", big, ""), 404, "not-found");
    let refused = send(&reader, "PUT", "/v1/events", big, "");
    assert_eq!(refused.header("allow"), Some("GET, HEAD, POST"));
    expect(refused, 405, "method-not-allowed");
    // Then the scope.
    expect(send(&reader, "POST", "/v1/events", big, ""), 403, "forbidden");
    // Then the size, before the body is there.
    expect(send(&server.key, "POST", "/v1/events", big, ""), 413, "payload-too-large");
    expect(
        send(&server.key, "PATCH", NO_EVENT, &format!("{big}\r\nContent-Type: text/plain"), ""),
        413,
        "payload-too-large",
    );
    // Then the media type, then the syntax, then what the body says, then what it is about.
    let length = "Content-Length: 2";
    expect(send(&server.key, "PATCH", NO_EVENT, length, "[}"), 415, "unsupported-media-type");
    let typed = format!("{length}\r\nContent-Type: application/json");
    expect(send(&server.key, "PATCH", NO_EVENT, &typed, "[}"), 400, "malformed-request");
    expect(send(&server.key, "PATCH", NO_EVENT, &typed, "{}"), 404, "not-found");
}

#[test]
fn a_body_is_json_by_its_own_word() {
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
}

#[test]
fn what_cannot_be_parsed_is_malformed_and_what_is_of_the_wrong_kind_is_not_valid() {
    let server = Server::start();
    let mut client = server.client();
    let json = ["Content-Type: application/json"];
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    for text in ["", " ", "{", "nonsense", r#"{"title": "\ud800"}"#, r#"{"title": 1e400}"#, "{} {}", &deep] {
        expect(client.send("POST", "/v1/events", &json, text.as_bytes()), 400, "malformed-request");
    }
    expect(client.send("POST", "/v1/events", &json, b"{\"title\": \"\xff\"}"), 400, "malformed-request");
    expect(client.send("POST", "/v1/events", &[], b""), 400, "malformed-request");
    for text in ["[]", "null", "3", r#""text""#] {
        assert_eq!(client.send("POST", "/v1/events", &json, text.as_bytes()).paths(), [""], "{text}");
    }
    let answer =
        client.send("POST", "/v1/events", &json, br#"{"title": 5, "slug": "a b", "slug": "c", "startDate": "x"}"#);
    let mut paths = answer.paths();
    paths.sort();
    assert_eq!(paths, ["deliveryMethod", "slug", "startDate", "title"]);
}

#[test]
fn an_operation_that_needs_no_body_takes_an_object_too_and_nothing_else() {
    let server = Server::start();
    let mut client = server.client();
    let (event, _) = event_on_sale(&mut client, "summer-night");
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
fn a_body_may_have_a_mebibyte_and_not_a_byte_more() {
    let server = Server::start();
    let mut client = server.client();
    let json = ["Content-Type: application/json"];
    let whole = [b"{}".as_slice(), &vec![b' '; 1024 * 1024 - 2]].concat();
    assert!(!client.send("POST", "/v1/events", &json, &whole).paths().is_empty());
    let head = format!(
        "POST /v1/events HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        server.key
    );
    // Chunks do not say how many they will be: they are counted as they come.
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
fn a_query_string_that_cannot_be_read_is_malformed_and_one_that_says_nonsense_is_not_valid() {
    let server = Server::start();
    let mut client = server.client();
    for query in ["q=%", "q=%zz", "q=%ff"] {
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
    client.get("/v1/events?unknown=1&q=a+b").expect(200);
}

#[test]
fn a_path_that_names_nothing_is_not_found() {
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
fn a_path_says_which_methods_it_answers() {
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
            let answer = client.send(method, path, &[], b"");
            assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
            expect(answer, 405, "method-not-allowed");
        }
    }
}

#[test]
fn head_is_answered_as_get_without_the_body() {
    let server = Server::start();
    let mut client = server.client();
    let (event, _) = event_on_sale(&mut client, "summer-night");
    for path in [format!("/v1/events/{event}"), "/v1/events".to_owned(), NO_EVENT.to_owned(), "/nothing".to_owned()] {
        let (get, head) = (client.get(&path), client.send("HEAD", &path, &[], b""));
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
fn what_is_wrong_with_http_itself_is_refused() {
    let server = Server::start();
    let key = format!("X-Api-Key: {}", server.key);
    let refused = [
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
    for bytes in refused {
        // A closed connection is an answer, too.
        if let Ok(answer) = raw(&server, &bytes) {
            assert!((400..500).contains(&answer.status), "{}: {}", answer.status, bytes.get(..200).unwrap_or(&bytes));
        }
    }
    let long_enough = format!("GET /v1/events?x={} HTTP/1.1\r\nHost: a\r\n{key}\r\n\r\n", "a".repeat(7 * 1024));
    assert_eq!(raw(&server, &long_enough).unwrap().status, 200);
}

struct Refusing;

impl PaymentGateway for Refusing {
    fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        Err(GatewayError::Refused("10.0.0.7 knows no account 4711".to_owned()))
    }

    fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
        Ok(())
    }
}

#[test]
fn a_gateway_that_fails_is_told_apart_and_the_order_is_cancelled() {
    let server = Server::with(|builder| builder.payment_gateway(Refusing), |_| {});
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let problem = expect(client.post("/v1/orders", &order_of(&event, &seat, 1)), 502, "payment-gateway-failed");
    assert!(!problem.to_string().contains("10.0.0.7"), "what the gateway says stays inside: {problem}");
    assert_eq!(client.get("/v1/orders").expect(200).json()["data"][0]["status"], "CANCELLED");
}

#[test]
fn more_requests_than_the_service_takes_are_told_to_come_back() {
    struct Slow;
    impl PaymentGateway for Slow {
        fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
            std::thread::sleep(std::time::Duration::from_secs(1));
            Err(GatewayError::Unavailable("slow".to_owned()))
        }
        fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
            Ok(())
        }
    }
    let server = Server::with(|builder: Builder| builder.payment_gateway(Slow), |options| options.calls = 2);
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let order = order_of(&event, &seat, 1);
    let buyers: Vec<_> = (0..3)
        .map(|_| (server.client(), order.clone()))
        .map(|(mut client, order): (Client, Value)| std::thread::spawn(move || client.post("/v1/orders", &order)))
        .collect();
    let answers: Vec<_> = buyers.into_iter().map(|buyer| buyer.join().unwrap()).collect();
    let turned_away = answers.iter().find(|answer| answer.status == 503).unwrap();
    assert_eq!((turned_away.code().as_str(), turned_away.header("retry-after")), ("unavailable", Some("1")));
    client.get("/v1/events").expect(200);
}

#[test]
fn while_the_gateway_keeps_others_waiting_the_key_is_still_judged_first() {
    struct Held(Mutex<Sender<Sender<()>>>);
    impl PaymentGateway for Held {
        fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
            let (release, released) = channel();
            self.0.lock().unwrap().send(release).unwrap();
            let _ = released.recv();
            Err(GatewayError::Unavailable("held".to_owned()))
        }
        fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
            Ok(())
        }
    }
    let (asked, asks) = channel();
    let held = Held(Mutex::new(asked));
    let server = Server::with(|builder: Builder| builder.payment_gateway(held), |options| options.calls = 2);
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let order = order_of(&event, &seat, 1);
    std::thread::scope(|scope| {
        let buyer = scope.spawn(|| server.client().post("/v1/orders", &order));
        let release = asks.recv().unwrap();
        expect(server.client_with("tk_nobody").post("/v1/orders", &order), 401, "unauthenticated");
        expect(client.post("/v1/orders", &order), 503, "unavailable");
        drop(release);
        expect(buyer.join().unwrap(), 502, "payment-gateway-failed");
    });
}
