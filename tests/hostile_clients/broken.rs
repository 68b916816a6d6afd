//! What is no HTTP, or too clever a use of it: lengths that contradict each other, heads and chunks that are none, other
//! protocols, requests that follow each other without a pause, and clients that go away in the middle.

use crate::common::log;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::http::{Client, Response, Server, event_on_sale, order_of};
use crate::values::Random;
use serde_json::json;

fn server() -> Server {
    log::capture();
    Server::with(ticketing::Builder::sandbox_gateway, |options| {
        options.rate_limit = None;
        options.head_timeout = Duration::from_secs(2);
        options.request_timeout = Duration::from_secs(3);
    })
}

/// A head that shows the key and says that JSON follows, with these lines beside.
fn head(server: &Server, request: &str, lines: &[&str]) -> String {
    let key = format!("X-Api-Key: {}", server.key);
    let mut all = vec![request, "Host: a", &key, "Content-Type: application/json"];
    all.extend(lines);
    all.join("\r\n") + "\r\n\r\n"
}

/// A request that would make an event.
fn creation(server: &Server, slug: &str) -> String {
    let body = event(slug);
    head(server, "POST /v1/events HTTP/1.1", &[&format!("Content-Length: {}", body.len())]) + &body
}

fn event(slug: &str) -> String {
    let start = "9000-06-01T18:00:00Z";
    json!({"title": "Smuggled", "slug": slug, "startDate": start, "deliveryMethod": "DIGITAL"}).to_string()
}

/// Sends the bytes, and reads answers until the server closes the connection.
fn talk(server: &Server, bytes: &[u8]) -> Vec<Response> {
    let mut client = server.client();
    client.write(bytes);
    let mut answers = Vec::new();
    loop {
        match client.read_response() {
            Ok(answer) => answers.push(answer),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("still open after {answers:?}: {}", String::from_utf8_lossy(bytes))
            }
            Err(_) => return answers,
        }
    }
}

fn statuses(answers: &[Response]) -> Vec<u16> {
    answers.iter().map(|answer| answer.status).collect()
}

/// How many events there are: none of what was smuggled.
fn events(server: &Server) -> usize {
    server.client().get("/v1/events?limit=100").expect(200).json()["data"].as_array().unwrap().len()
}

#[test]
fn a_body_of_two_lengths_ends_the_connection_whatever_came_before() {
    let server = server();
    let smuggled = creation(&server, "smuggled");
    // What follows begins in another place for who believes the other length.
    let chunks = format!("0\r\n\r\n{smuggled}");
    let (short, long) = ("Content-Length: 2", format!("Content-Length: {}", chunks.len()));
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
    let quiet = head(&server, "GET /health/live HTTP/1.1", &[]);
    let said = head(&server, "POST /v1/tickets/check-in HTTP/1.1", &["Content-Length: 12"]) + "{\"code\":\"x\"}";
    let chunked = head(&server, "POST /v1/tickets/check-in HTTP/1.1", &["Transfer-Encoding: chunked"])
        + "5;a=\"b\"\r\n{\"cod\r\n007\r\ne\":\"x\"}\r\n00\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n";
    let unread = head(&server, "GET /health/live HTTP/1.1", &["Content-Length: 30"])
        + "Content-Length: 3\r\nX: y\r\n\r\n\r\n\r\n\r";
    for bytes in &ambiguous {
        for (before, expected) in [
            (String::new(), vec![]),
            (quiet.clone(), vec![200]),
            (said.clone(), vec![404]),
            (chunked.clone(), vec![404]),
            (format!("\r\n{unread}"), vec![200]),
            (format!("{quiet}\r\n{said}{chunked}{quiet}"), vec![200, 404, 404, 200]),
        ] {
            let answers = talk(&server, format!("{before}{bytes}{quiet}").as_bytes());
            let mut found = statuses(&answers);
            // A connection that is closed is an answer, too.
            if found.len() > expected.len() {
                assert_eq!(found.pop(), Some(400), "{before}{bytes}");
            }
            assert_eq!(found, expected, "{before}{bytes}");
        }
    }
    assert_eq!(events(&server), 0);
    log::capture().assert_clean(&[&server.key]);
}

#[test]
fn chunks_that_are_none_end_the_request_and_the_connection() {
    let server = server();
    let smuggled = creation(&server, "smuggled");
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
        let found = statuses(&talk(&server, format!("{post}{chunks}{smuggled}").as_bytes()));
        assert!(found.len() <= 1 && found.iter().all(|status| (400..500).contains(status)), "{found:?}: {chunks:?}");
    }
    // A chunk larger than any body: it is not waited for.
    for size in ["100001", "7fffffffffffffff", "fffffffffffffff0"] {
        let mut client = server.client();
        client.write(format!("{post}{size}\r\n").as_bytes());
        client.write(&vec![b' '; 0x0010_0002]);
        if let Ok(answer) = client.read_response() {
            assert_eq!(answer.expect(413).code(), "payload-too-large", "{size}");
        }
    }
    // Many small ones are a body like any other, and so are those with a word beside.
    assert_eq!(events(&server), 0);
    let small: String = body.chars().map(|letter| format!("1 ;a=b\r\n{letter}\r\n")).collect();
    let mut client = server.client();
    client.write(format!("{post}{small}0\r\nX-Api-Key: another\r\n\r\n").as_bytes());
    client.read_response().unwrap().expect(201);
    client.write(format!("{post}{whole}").as_bytes());
    assert_eq!(client.read_response().unwrap().expect(409).json()["reason"], "slug-taken");
}

#[test]
fn a_head_that_is_none_ends_the_connection() {
    let server = server();
    let smuggled = creation(&server, "smuggled");
    let key = &server.key;
    let long = "x".repeat(40 * 1024);
    let many: String = (0..1000).map(|number| format!("X-{number}: y\r\n")).collect();
    let mut broken: Vec<Vec<u8>> = [
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
    // The hello of TLS, and what is nothing at all.
    broken.push(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec());
    let mut random = Random::new(3);
    broken.extend((0..100).map(|length| [vec![b'\xff'], random.bytes(length), b"\r\n\r\n".to_vec()].concat()));
    for bytes in broken {
        let answers = talk(&server, &[&bytes, smuggled.as_bytes()].concat());
        let found = statuses(&answers);
        let told = answers.iter().all(|answer| (400..500).contains(&answer.status) || answer.status == 505);
        assert!(found.len() <= 1 && told, "{found:?}: {}", String::from_utf8_lossy(&bytes[..bytes.len().min(200)]));
    }
    assert_eq!(events(&server), 0);
    log::capture().assert_clean(&[&server.key]);
}

#[test]
fn addresses_and_hosts_of_every_form_lead_nowhere_else() {
    let server = server();
    let ask = |request: &str, lines: &[&str]| {
        let mut client = server.client();
        client.write(format!("{request}\r\n{}\r\nX-Api-Key: {}\r\n\r\n", lines.join("\r\n"), server.key).as_bytes());
        client.read_response().map(|answer| answer.status).unwrap_or(0)
    };
    for (request, lines, expected) in [
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
        let found = ask(request, lines);
        assert!(found == expected || (expected >= 400 && (found == 400 || found == 0)), "{found}: {request} {lines:?}");
    }
    // Whatever was asked for, nobody else was: the connection goes on, or is closed.
    let mut client = server.client();
    client.write(
        format!("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n{}", head(&server, "GET /v1/events HTTP/1.1", &[]))
            .as_bytes(),
    );
    assert!(client.read_response().map_or(true, |answer| (400..500).contains(&answer.status)));
    if let Ok(answer) = client.read_response() {
        answer.expect(200);
    }
}

#[test]
fn who_asks_whether_a_body_is_wanted_hears_it_only_where_it_is() {
    let server = server();
    let body = event("expected");
    let length = format!("Content-Length: {}", body.len());
    let expecting = |request: &str, length: &str| head(&server, request, &[length, "Expect: 100-continue"]);
    let mut client = server.client();
    client.write(expecting("POST /v1/events HTTP/1.1", &length).as_bytes());
    assert_eq!(client.read_response().unwrap().status, 100);
    client.write(body.as_bytes());
    client.read_response().unwrap().expect(201);
    // Nor does it wait for the answer where it is not wanted.
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
    // What is sent without waiting is no second request.
    let mut client = server.client();
    client.write(format!("{}{body}", expecting("POST /v1/events HTTP/1.1", &length)).as_bytes());
    let mut answer = client.read_response().unwrap();
    if answer.status == 100 {
        answer = client.read_response().unwrap();
    }
    assert_eq!(answer.expect(409).json()["reason"], "slug-taken");
    // An expectation that there is not, and one without a body.
    for lines in [&[&length, "Expect: 200-maybe"][..], &[&length, "Expect: 100-continue, x"]] {
        let mut client = server.client();
        client.write((head(&server, "POST /v1/events HTTP/1.1", lines) + &body).as_bytes());
        assert!([409, 417].contains(&client.read_response().unwrap().status));
    }
    let mut client = server.client();
    client.write(expecting("GET /v1/events HTTP/1.1", "Content-Length: 0").as_bytes());
    client.read_response().unwrap().expect(200);
}

#[test]
fn thousands_of_requests_without_a_pause_are_answered_in_their_order() {
    const REQUESTS: usize = 3000;
    let server = server();
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let order = order_of(&event, &seat, 1).to_string();
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
        let answer = reader.read_response().unwrap();
        assert_eq!(answer.header("x-request-id"), Some(format!("n{number}").as_str()));
        assert_eq!(answer.status, [201, 422, 200].get(number % 30).copied().unwrap_or(200), "{number}");
    }
    sending.join().unwrap().unwrap();
    // Each of them once: a hundred orders, and the hundred places are gone.
    let refused = client.post("/v1/orders", &order_of(&event, &seat, 1)).expect(409).json();
    assert_eq!(refused["reason"], "sold-out");
}

#[test]
fn who_asks_and_asks_and_reads_no_answer_is_not_listened_to_any_more() {
    let server = server();
    let mut client = server.client();
    let event = event("long").replace("Smuggled", &"x".repeat(200_000));
    let event = client.send("POST", "/v1/events", &["Content-Type: application/json"], event.as_bytes()).expect(201);
    let path = event.header("location").unwrap();
    let requests = head(&server, &format!("GET {path}?{} HTTP/1.1", "x".repeat(7000)), &[]).repeat(10);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    // Two systems' buffers are full of requests and answers, and the server's own memory is not.
    let most = 64 * 1024 * 1024 / requests.len();
    let taken = (0..most).take_while(|_| stream.write_all(requests.as_bytes()).is_ok()).count();
    assert!(taken < most, "it took everything");
    server.client().get(path).expect(200);
}

#[test]
fn who_goes_away_in_the_middle_leaves_nothing_half_done() {
    let server = server();
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    client.patch(&format!("/v1/ticket-types/{seat}"), &json!({"price": 0, "quantity": 1000})).expect(200);
    let order = order_of(&event, &seat, 1).to_string();
    let length = format!("Content-Length: {}", order.len());
    let said = head(&server, "POST /v1/orders HTTP/1.1", &[&length]) + &order;
    let chunks = format!("{:x}\r\n{order}\r\n0\r\n\r\n", order.len());
    let chunked = head(&server, "POST /v1/orders HTTP/1.1", &["Transfer-Encoding: chunked"]) + &chunks;
    for request in [&said, &chunked] {
        for cut in (0..request.len()).step_by(7).chain([request.len() - 1]) {
            let mut client = server.client();
            client.write(&request.as_bytes()[..cut]);
            if cut % 2 == 0 {
                client.end();
                if let Ok(answer) = client.read_response() {
                    assert_eq!(answer.status, 400, "{cut}: {}", answer.text());
                }
            }
        }
    }
    let none = client.get("/v1/orders").expect(200).json();
    assert_eq!(none["data"], json!([]), "what did not come whole is no order");
    // Whole ones, whose senders are gone before the answer, or take but the beginning of it.
    for number in 0..100 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        if number % 2 == 0 {
            let _ = std::io::Read::read(&mut stream, &mut [0; 10]).unwrap();
        }
    }
    // That what was done of it is whole, the server's end checks.
    drop(server);
    log::capture().assert_clean(&["ada@example.com", "Ada"]);
}

#[test]
fn who_says_that_nothing_more_comes_still_gets_every_answer() {
    let server = server();
    for number in 0..30 {
        let mut client = server.client();
        client.write(creation(&server, &format!("slug-{number}")).as_bytes());
        client.write(head(&server, "GET /v1/events HTTP/1.1", &[]).as_bytes());
        client.end();
        client.read_response().expect("the answer").expect(201);
        client.read_response().expect("the other answer").expect(200);
        assert!(client.is_closed_within(Duration::from_secs(20)));
    }
}
