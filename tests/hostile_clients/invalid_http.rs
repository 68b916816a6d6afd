//! Invalid and unusual HTTP: ambiguous body lengths (request smuggling), malformed heads and chunks, other protocols,
//! `Expect`, pipelined requests, and clients that disconnect in the middle of a request.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::common::http::{Client, EventOnSale, Response, Server, event_on_sale, order_of};
use crate::common::log;
use crate::common::random::Random;

fn server() -> Server {
    log::capture();
    Server::with(ticketing::Builder::sandbox_gateway, |options| {
        options.rate_limit = None;
        options.head_timeout = Duration::from_secs(2);
        options.request_timeout = Duration::from_secs(3);
    })
}

/// The head of a request: the request line, the server's API key, the content type JSON, and these headers.
fn head(server: &Server, request_line: &str, headers: &[&str]) -> String {
    let key = format!("X-Api-Key: {}", server.key);
    let mut lines = vec![request_line, "Host: a", &key, "Content-Type: application/json"];
    lines.extend(headers);
    lines.join("\r\n") + "\r\n\r\n"
}

/// A request that creates an event.
fn create_event(server: &Server, slug: &str) -> String {
    let body = event(slug);
    head(server, "POST /v1/events HTTP/1.1", &[&format!("Content-Length: {}", body.len())]) + &body
}

fn event(slug: &str) -> String {
    let start = "9000-06-01T18:00:00Z";
    json!({"title": "Smuggled", "slug": slug, "startDate": start, "deliveryMethod": "DIGITAL"}).to_string()
}

/// Sends the bytes and reads responses until the server closes the connection. Panics if it stays open.
fn send_until_closed(server: &Server, bytes: &[u8]) -> Vec<Response> {
    let mut client = server.client();
    client.write(bytes);
    let mut responses = Vec::new();
    loop {
        match client.read_response() {
            Ok(response) => responses.push(response),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("still open after {responses:?}: {}", String::from_utf8_lossy(bytes))
            }
            Err(_) => return responses,
        }
    }
}

fn statuses(responses: &[Response]) -> Vec<u16> {
    responses.iter().map(|response| response.status).collect()
}

/// The number of events. It is zero if no smuggled request was executed.
fn event_count(server: &Server) -> usize {
    server.client().get("/v1/events?limit=100").expect(200).json()["data"].as_array().unwrap().len()
}

#[test]
fn an_ambiguous_body_length_ends_the_connection_after_any_requests() {
    let server = server();
    let smuggled = create_event(&server, "smuggled");
    // With one of the two lengths this is part of the body, with the other it is the next request.
    let chunks = format!("0\r\n\r\n{smuggled}");
    let short = "Content-Length: 2";
    let long = format!("Content-Length: {}", chunks.len());
    let post = |lines: &[&str], body: &str| head(&server, "POST /v1/events HTTP/1.1", lines) + body;
    let ambiguous = [
        post(&[&long, "Transfer-Encoding: chunked"], &chunks),
        post(&["Transfer-Encoding: chunked", &long], &chunks),
        post(&["transfer-encoding:chunked", "X: y", "CONTENT-LENGTH:\t5"], &chunks),
        post(&["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], &chunks),
        post(&["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], &chunks),
        post(&["Transfer-Encoding: identity", "Transfer-Encoding: chunked"], &chunks),
        post(&["Transfer-Encoding: chunked, identity"], &chunks),
        post(&["Transfer-Encoding: xchunked"], &chunks),
        post(&["Transfer-Encoding: \u{b}chunked"], &chunks),
        post(&["Transfer-Encoding : chunked"], &chunks),
        post(&["X: y\r\n Transfer-Encoding: chunked", &long], &chunks),
        post(&["Transfer-Encoding:\r\n chunked"], &chunks),
        post(&[short, short], &format!("{{}}{smuggled}")),
        post(&[short, &long], &format!("{{}}{smuggled}")),
        post(&[&long, short], &format!("{{}}{smuggled}")),
        post(&["Content-Length: 2, 2"], &format!("{{}}{smuggled}")),
        post(&["Content-Length: +2"], &format!("{{}}{smuggled}")),
        post(&["Content-Length: -2"], &format!("{{}}{smuggled}")),
        post(&["Content-Length: 0x2"], &format!("{{}}{smuggled}")),
        post(&["Content-Length: 2 2"], &format!("{{}}{smuggled}")),
        post(&["Content-Length:"], &format!("{{}}{smuggled}")),
        post(&["Content-Length: 18446744073709551618"], &format!("{{}}{smuggled}")),
        post(&["Content-Length: 2\r\nContent-Length : 5"], &format!("{{}}{smuggled}")),
        head(&server, "POST /v1/events HTTP/1.0", &["Transfer-Encoding: chunked"]) + &chunks,
        head(&server, "GET /v1/events HTTP/1.1", &["Content-Length: 0", "Transfer-Encoding: chunked"]) + &chunks,
    ];
    let no_body = head(&server, "GET /health/live HTTP/1.1", &[]);
    let with_length = head(&server, "POST /v1/tickets/check-in HTTP/1.1", &["Content-Length: 12"]) + "{\"code\":\"x\"}";
    let chunked = head(&server, "POST /v1/tickets/check-in HTTP/1.1", &["Transfer-Encoding: chunked"])
        + "5;a=\"b\"\r\n{\"cod\r\n007\r\ne\":\"x\"}\r\n00\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n";
    let unread_body = head(&server, "GET /health/live HTTP/1.1", &["Content-Length: 30"])
        + "Content-Length: 3\r\nX: y\r\n\r\n\r\n\r\n\r";
    for bytes in &ambiguous {
        for (before, expected) in [
            (String::new(), vec![]),
            (no_body.clone(), vec![200]),
            (with_length.clone(), vec![404]),
            (chunked.clone(), vec![404]),
            (format!("\r\n{unread_body}"), vec![200]),
            (format!("{no_body}\r\n{with_length}{chunked}{no_body}"), vec![200, 404, 404, 200]),
        ] {
            let responses = send_until_closed(&server, format!("{before}{bytes}{no_body}").as_bytes());
            let mut found = statuses(&responses);
            // The server may also close the connection without a response.
            if found.len() > expected.len() {
                assert_eq!(found.pop(), Some(400), "{before}{bytes}");
            }
            assert_eq!(found, expected, "{before}{bytes}");
        }
    }
    assert_eq!(event_count(&server), 0);
    log::capture().assert_clean(&[&server.key]);
}

#[test]
fn malformed_chunks_end_the_request_and_the_connection() {
    let server = server();
    let smuggled = create_event(&server, "smuggled");
    let body = event("chunked");
    let whole = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let post = head(&server, "POST /v1/events HTTP/1.1", &["Transfer-Encoding: chunked"]);
    let long = "1;".to_owned() + &"x".repeat(64 * 1024);
    for chunks in [
        "-1\r\n{\r\n0\r\n\r\n",
        "+2\r\n{}\r\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n",
        " 2\r\n{}\r\n0\r\n\r\n",
        "2 2\r\n{}\r\n0\r\n\r\n",
        "\r\n{}\r\n0\r\n\r\n",
        "g\r\n{}\r\n0\r\n\r\n",
        "2\n{}\n0\n\n",
        "2;a\n{}\r\n0\r\n\r\n",
        "2\r\n{}0\r\n\r\n",
        "1\r\n{}\r\n0\r\n\r\n",
        "3\r\n{}\r\n0\r\n\r\n",
        "10000000000000000\r\n{}",
        "ffffffffffffffffff\r\n{}",
        "FFFFFFFFFFFFFFFFF\r\n{}",
        &long,
        "2\r\n{}\r\n0\r\nX: y\rz\r\n\r\n",
    ] {
        let found = statuses(&send_until_closed(&server, format!("{post}{chunks}{smuggled}").as_bytes()));
        assert!(found.len() <= 1 && found.iter().all(|status| (400..500).contains(status)), "{found:?}: {chunks:?}");
    }
    // The server does not wait for a chunk that is larger than the maximum body.
    for size in ["100001", "7fffffffffffffff", "fffffffffffffff0"] {
        let mut client = server.client();
        client.write(format!("{post}{size}\r\n").as_bytes());
        client.write(&vec![b' '; 0x0010_0002]);
        if let Ok(response) = client.read_response() {
            assert_eq!(response.expect(413).code(), "payload-too-large", "{size}");
        }
    }
    // Many small chunks, and chunks with extensions, are valid.
    assert_eq!(event_count(&server), 0);
    let small: String = body.chars().map(|letter| format!("1 ;a=b\r\n{letter}\r\n")).collect();
    let mut client = server.client();
    client.write(format!("{post}{small}0\r\nX-Api-Key: another\r\n\r\n").as_bytes());
    client.read_response().unwrap().expect(201);
    client.write(format!("{post}{whole}").as_bytes());
    assert_eq!(client.read_response().unwrap().expect(409).json()["reason"], "slug-taken");
}

#[test]
fn a_malformed_head_ends_the_connection() {
    let server = server();
    let smuggled = create_event(&server, "smuggled");
    let key = &server.key;
    let long = "x".repeat(40 * 1024);
    let many: String = (0..1000).map(|number| format!("X-{number}: y\r\n")).collect();
    let mut malformed: Vec<Vec<u8>> = [
        "\0\0\0\0\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        "GET /\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\nHost: a\r\n\r\n".to_owned(),
        "GET / HTTP/2.0\r\nHost: a\r\n\r\n".to_owned(),
        "GET / http/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "GET  /health/live HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "G\u{1}T / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "GET /\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        format!("GET /v1/events HTTP/1.1\r\nHost: a\r\nX-Api-Key {key}\r\n\r\n"),
        format!("GET /v1/events HTTP/1.1\r\nHost: a\r\n: x\r\nX-Api-Key: {key}\r\n\r\n"),
        format!("GET /v1/events HTTP/1.1\r\nHost: a\r\nX-Api-Key: {key}\r\n folded\r\n\r\n"),
        format!("GET /v1/events HTTP/1.1\r\nHost: a\r\nX-Api-Key : {key}\r\n\r\n"),
        format!("GET /v1/events HTTP/1.1\r\nHost: a\r\nX: a\0b\r\nX-Api-Key: {key}\r\n\r\n"),
        format!("GET /v1/events HTTP/1.1\r\nHost: a\r\nX\0: a\r\nX-Api-Key: {key}\r\n\r\n"),
        format!("GET /v1/events HTTP/1.1\r\nHost: a\r\nX: a\rb\r\nX-Api-Key: {key}\r\n\r\n"),
        format!("GET /v1/events HTTP/1.1\r\n{many}Host: a\r\nX-Api-Key: {key}\r\n\r\n"),
        format!("GET /v1/events HTTP/1.1\r\nHost: a\r\nX-Api-Key: {key}\r\nX: {long}"),
        format!("GET /{long}"),
        long.clone(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_owned(),
    ]
    .into_iter()
    .map(String::into_bytes)
    .collect();
    // A TLS ClientHello, and random bytes.
    malformed.push(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec());
    let mut random = Random::new(3);
    malformed.extend((0..100).map(|length| [vec![b'\xff'], random.bytes(length), b"\r\n\r\n".to_vec()].concat()));
    for bytes in malformed {
        let found = statuses(&send_until_closed(&server, &[&bytes, smuggled.as_bytes()].concat()));
        let are_client_errors = found.iter().all(|status| (400..500).contains(status) || *status == 505);
        assert!(
            found.len() <= 1 && are_client_errors,
            "{found:?}: {}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(200)])
        );
    }
    assert_eq!(event_count(&server), 0);
    log::capture().assert_clean(&[&server.key]);
}

#[test]
fn the_host_and_the_form_of_the_uri_do_not_affect_routing() {
    let server = server();
    let status_of = |request_line: &str, headers: &[&str]| {
        let mut client = server.client();
        let headers = headers.join("\r\n");
        client.write(format!("{request_line}\r\n{headers}\r\nX-Api-Key: {}\r\n\r\n", server.key).as_bytes());
        // Zero stands for a closed connection.
        client.read_response().map(|response| response.status).unwrap_or(0)
    };
    for (request_line, headers, expected) in [
        ("GET http://other.example/v1/events HTTP/1.1", &["Host: a"][..], 200),
        ("GET https://a:1/v1/events?limit=1 HTTP/1.1", &["Host: b"], 200),
        ("GET http://u:p@a/v1/events HTTP/1.1", &["Host: a"], 200),
        ("GET /v1/events HTTP/1.0", &["X: y"], 200),
        ("GET /v1/events HTTP/1.1", &["Host:"], 200),
        ("GET /v1/events HTTP/1.1", &["X: y"], 400),
        ("GET /v1/events HTTP/1.1", &["Host: a", "Host: a"], 400),
        ("GET http://a/v1/events HTTP/1.1", &["X: y"], 400),
        ("CONNECT other.example:443 HTTP/1.1", &["Host: other.example:443"], 404),
        ("CONNECT a:1 HTTP/1.1", &["Host: a:1", "Content-Length: 0"], 404),
        ("OPTIONS * HTTP/1.1", &["Host: a"], 404),
        ("TRACE /v1/events HTTP/1.1", &["Host: a"], 405),
        ("GET /v1/events HTTP/1.1", &["Host: a", "Upgrade: websocket", "Connection: Upgrade"], 200),
        (
            "GET /v1/events HTTP/1.1",
            &["Host: a", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk", "Connection: Upgrade, HTTP2-Settings"],
            200,
        ),
        ("GET file:///etc/passwd HTTP/1.1", &["Host: a"], 404),
    ] {
        let found = status_of(request_line, headers);
        let is_refused = expected >= 400 && (found == 400 || found == 0);
        assert!(found == expected || is_refused, "{found}: {request_line} {headers:?}");
    }
    // CONNECT opens no tunnel: the next request is handled by this server, or the connection is closed.
    let mut client = server.client();
    client.write(
        format!("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n{}", head(&server, "GET /v1/events HTTP/1.1", &[]))
            .as_bytes(),
    );
    assert!(client.read_response().map_or(true, |response| (400..500).contains(&response.status)));
    if let Ok(response) = client.read_response() {
        response.expect(200);
    }
}

#[test]
fn a_host_header_that_is_no_host_is_refused() {
    let server = server();
    let refused = "http://x a@b u:p@a:80 [::1 ::1 [localhost] x/../y / a?b a#b a:b a:80:80 :80 caf%zz a% a\\b \"a\" <a> a|b \
        *:*:*";
    for host in refused.split(' ').chain(["bad host", "caf\u{e9}"]) {
        for path in ["/v1/events", "/health/live", "/nothing"] {
            let mut client = server.client();
            let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Api-Key: {}\r\n\r\n", server.key);
            client.write(request.as_bytes());
            let refused = client.read_response().unwrap().expect(400);
            assert_eq!(refused.code(), "malformed-request", "{host}");
            // The connection can still be used.
            client.write(head(&server, "GET /health/live HTTP/1.1", &[]).as_bytes());
            client.read_response().unwrap().expect(200);
        }
    }
    let hosts = "localhost localhost:80 tickets.example.com:443 EXAMPLE.com. 127.0.0.1 127.0.0.1:80 [::1] [::1]:8080 \
        xn--mnchen-3ya.de a_b caf%C3%A9 host: [v1.x]";
    for host in hosts.split(' ').chain([""]) {
        let mut client = server.client();
        client.write(format!("GET /health/live HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        client.read_response().unwrap().expect(200);
    }
}

#[test]
fn an_expectation_gets_100_continue_only_if_the_body_is_wanted() {
    let server = server();
    let body = event("expected");
    let length = format!("Content-Length: {}", body.len());
    let expecting = |request_line: &str, length: &str| head(&server, request_line, &[length, "Expect: 100-continue"]);
    let mut client = server.client();
    client.write(expecting("POST /v1/events HTTP/1.1", &length).as_bytes());
    assert_eq!(client.read_response().unwrap().status, 100);
    client.write(body.as_bytes());
    client.read_response().unwrap().expect(201);
    // A request that is refused gets its response without 100 Continue.
    for (bytes, status) in [
        (expecting("POST /v1/events HTTP/1.1", &length).replace(&server.key, "tk_x"), 401),
        (expecting("POST /v1/nothing HTTP/1.1", &length), 404),
        (expecting("PUT /v1/events HTTP/1.1", &length), 405),
        (expecting("POST /v1/events HTTP/1.1", "Content-Length: 1048577"), 413),
    ] {
        let mut client = server.client();
        client.write(bytes.as_bytes());
        client.read_response().unwrap().expect(status).problem();
    }
    // A client may send the body without waiting; the body is not a second request.
    let mut client = server.client();
    client.write(format!("{}{body}", expecting("POST /v1/events HTTP/1.1", &length)).as_bytes());
    let mut response = client.read_response().unwrap();
    if response.status == 100 {
        response = client.read_response().unwrap();
    }
    assert_eq!(response.expect(409).json()["reason"], "slug-taken");
    // Unknown expectations, and an expectation without a body.
    for headers in [&[&length, "Expect: 200-maybe"][..], &[&length, "Expect: 100-continue, x"]] {
        let mut client = server.client();
        client.write((head(&server, "POST /v1/events HTTP/1.1", headers) + &body).as_bytes());
        assert!([409, 417].contains(&client.read_response().unwrap().status));
    }
    let mut client = server.client();
    client.write(expecting("GET /v1/events HTTP/1.1", "Content-Length: 0").as_bytes());
    client.read_response().unwrap().expect(200);
}

#[test]
fn thousands_of_pipelined_requests_are_answered_in_order() {
    const REQUESTS: usize = 3000;
    let server = server();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let order = order_of(&event, &ticket_type, 1).to_string();
    let mut writer = TcpStream::connect(server.address).unwrap();
    let mut reader = Client::of(writer.try_clone().unwrap());
    let requests: Vec<_> = (0..REQUESTS)
        .map(|number| {
            let id = format!("X-Request-Id: n{number}");
            match number % 30 {
                0 => {
                    head(&server, "POST /v1/orders HTTP/1.1", &[&id, &format!("Content-Length: {}", order.len())])
                        + &order
                }
                1 => {
                    head(&server, "POST /v1/tickets/check-in HTTP/1.1", &[&id, "Transfer-Encoding: chunked"])
                        + "2\r\n{}\r\n0\r\n\r\n"
                }
                2 => head(&server, "GET /v1/events HTTP/1.1", &[&id, "Content-Length: 5"]) + "12345",
                _ => head(&server, "GET /health/live HTTP/1.1", &[&id]),
            }
        })
        .collect();
    let sending = std::thread::spawn(move || writer.write_all(requests.concat().as_bytes()));
    for number in 0..REQUESTS {
        let response = reader.read_response().unwrap();
        assert_eq!(response.header("x-request-id"), Some(format!("n{number}").as_str()));
        assert_eq!(response.status, [201, 422, 200].get(number % 30).copied().unwrap_or(200), "{number}");
    }
    sending.join().unwrap().unwrap();
    // Each request was executed once: a hundred orders took the hundred seats.
    let refused = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(409).json();
    assert_eq!(refused["reason"], "sold-out");
}

#[test]
fn the_server_stops_reading_from_a_client_that_reads_no_responses() {
    let server = server();
    let mut client = server.client();
    let event = event("long").replace("\"title\"", &format!("\"description\":\"{}\",\"title\"", "x".repeat(20_000)));
    let event = client.send("POST", "/v1/events", &["Content-Type: application/json"], event.as_bytes()).expect(201);
    let path = event.header("location").unwrap();
    let requests = head(&server, &format!("GET {path}?{} HTTP/1.1", "x".repeat(7000)), &[]).repeat(10);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    // Once the socket buffers are full, the server must not collect requests or responses in its own memory.
    let limit = 64 * 1024 * 1024 / requests.len();
    let written = (0..limit).take_while(|_| stream.write_all(requests.as_bytes()).is_ok()).count();
    assert!(written < limit, "the server read everything");
    server.client().get(path).expect(200);
}

#[test]
fn a_client_that_disconnects_leaves_nothing_half_done() {
    let server = server();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    client.patch(&format!("/v1/ticket-types/{ticket_type}"), &json!({"price": 0, "quantity": 1000})).expect(200);
    let order = order_of(&event, &ticket_type, 1).to_string();
    let length = format!("Content-Length: {}", order.len());
    let with_length = head(&server, "POST /v1/orders HTTP/1.1", &[&length]) + &order;
    let chunks = format!("{:x}\r\n{order}\r\n0\r\n\r\n", order.len());
    let chunked = head(&server, "POST /v1/orders HTTP/1.1", &["Transfer-Encoding: chunked"]) + &chunks;
    for request in [&with_length, &chunked] {
        for sent in (0..request.len()).step_by(7).chain([request.len() - 1]) {
            let mut client = server.client();
            client.write(&request.as_bytes()[..sent]);
            if sent % 2 == 0 {
                client.end();
                if let Ok(response) = client.read_response() {
                    assert_eq!(response.status, 400, "{sent} bytes: {}", response.text());
                }
            }
        }
    }
    let orders = client.get("/v1/orders").expect(200).json();
    assert_eq!(orders["data"], json!([]), "an incomplete request creates no order");
    // Complete requests, whose clients disconnect before the response or after the first bytes of it.
    for number in 0..100 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(with_length.as_bytes()).unwrap();
        if number % 2 == 0 {
            let _ = stream.read(&mut [0; 10]).unwrap();
        }
    }
    // Dropping the server checks the invariants of the store.
    drop(server);
    log::capture().assert_clean(&["ada@example.com", "Ada"]);
}

#[test]
fn a_client_that_shuts_down_its_sending_half_gets_every_response() {
    let server = server();
    for number in 0..30 {
        let mut client = server.client();
        client.write(create_event(&server, &format!("slug-{number}")).as_bytes());
        client.write(head(&server, "GET /v1/events HTTP/1.1", &[]).as_bytes());
        client.end();
        client.read_response().expect("the first response").expect(201);
        client.read_response().expect("the second response").expect(200);
        assert!(client.is_closed_within(Duration::from_secs(20)));
    }
}
