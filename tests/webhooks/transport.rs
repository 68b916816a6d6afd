//! What the transport makes of receivers of every kind.

use std::time::Duration;

use crate::common::receiver::{MockResponse, WebhookReceiver};
use ticketing::webhook::{
    BODY_KEPT, FailureKind, HttpsTransport, Transport, WebhookFailure, WebhookRequest, WebhookResponse,
};
use ticketing::{Clock, SystemClock};

/// More than any good answer takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(30);
/// What a receiver that does not answer takes.
const SHORT: Duration = Duration::from_millis(600);

const BODY: &str = r#"{"id":"evt_1","type":"order.completed"}"#;

fn local() -> HttpsTransport {
    HttpsTransport::builder().allow_local(true).build()
}

fn request(url: String) -> WebhookRequest {
    let headers = vec![
        ("Content-Type", "application/json".to_owned()),
        ("User-Agent", "Service-Webhooks/1.0".to_owned()),
        ("X-Service-Timestamp", "1780336800".to_owned()),
    ];
    WebhookRequest { url, headers, body: BODY.to_owned() }
}

fn send(receiver: &WebhookReceiver, timeout: Duration) -> Result<WebhookResponse, WebhookFailure> {
    local().send(&request(receiver.url("/hook")), timeout)
}

/// Sends to a receiver that does this, with time enough.
#[track_caller]
fn answered(answer: MockResponse) -> WebhookResponse {
    let receiver = WebhookReceiver::start();
    receiver.enqueue(answer);
    send(&receiver, LONG).unwrap()
}

/// Sends to a receiver that does this, with little time, and checks that it takes no more.
#[track_caller]
fn failed(answer: MockResponse, timeout: Duration) -> WebhookFailure {
    let receiver = WebhookReceiver::start();
    receiver.enqueue(answer);
    let started = SystemClock.monotonic();
    let failure = send(&receiver, timeout).unwrap_err();
    let took = SystemClock.monotonic().saturating_sub(started);
    assert!(took < timeout + Duration::from_secs(5), "{took:?}");
    failure
}

fn network(message: &str) -> WebhookFailure {
    WebhookFailure { kind: FailureKind::Network, message: message.to_owned(), connection_tried: true }
}

fn timed_out(message: &str) -> WebhookFailure {
    WebhookFailure { kind: FailureKind::TimedOut, message: message.to_owned(), connection_tried: true }
}

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

#[test]
fn the_request_is_a_post_with_the_headers_and_the_body_as_they_were_given() {
    let receiver = WebhookReceiver::start();
    let answer = local().send(&request(receiver.url("/hook?token=a%20b#part")), LONG).unwrap();
    assert_eq!(answer, WebhookResponse { status: 204, body: Vec::new(), timed_out: false });
    let request = &receiver.wait_for(1)[0];
    let mut lines: Vec<&str> = request.head.trim_end().lines().collect();
    lines.sort_unstable();
    let host = format!("host: {}", receiver.address);
    let expected = [
        "POST /hook?token=a%20b HTTP/1.1",
        "content-length: 39",
        "content-type: application/json",
        &host,
        "user-agent: Service-Webhooks/1.0",
        "x-service-timestamp: 1780336800",
    ];
    assert_eq!(lines, expected);
    assert_eq!(request.body, BODY.as_bytes());
}

#[test]
fn every_status_is_an_answer_and_no_redirect_is_followed() {
    let elsewhere = WebhookReceiver::start();
    for status in [200, 201, 299, 300, 304, 400, 404, 410, 429, 500, 503, 599, 999] {
        assert_eq!(answered(MockResponse::Body(status, String::new())).status, status);
    }
    for status in [301, 302, 303, 307, 308] {
        for rest in ["Content-Length: 0\r\n\r\n", "Content-Length: 4\r\n\r\ngone"] {
            let head = format!("HTTP/1.1 {status} Moved\r\nLocation: {}\r\n{rest}", elsewhere.url("/"));
            assert_eq!(answered(MockResponse::Bytes(head.into_bytes())).status, status);
        }
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[test]
fn of_the_body_the_first_4_kib_are_kept() {
    let body: String = ('a'..='z').cycle().take(BODY_KEPT + 1000).collect();
    for length in [0, 1, BODY_KEPT - 1, BODY_KEPT, BODY_KEPT + 1, BODY_KEPT + 1000] {
        let answer = answered(MockResponse::Body(500, body[..length].to_owned()));
        assert_eq!(answer.body, &body.as_bytes()[..length.min(4096)]);
        assert!(!answer.timed_out);
    }
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_vec();
    assert_eq!(answered(MockResponse::Bytes(chunked)).body, b"abcde");
    assert_eq!(answered(MockResponse::Last(bytes("HTTP/1.1 200 OK\r\n\r\nuntil the end"))).body, b"until the end");
    assert_eq!(answered(MockResponse::Last(bytes("HTTP/1.0 200 OK\r\n\r\nold"))).body, b"old");
    let packed = bytes("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope");
    assert_eq!(answered(MockResponse::Bytes(packed)).body, b"nope");
}

#[test]
fn a_complete_head_is_an_answer_whatever_the_body_does() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab";
    for (answer, body, waits) in [
        (MockResponse::Bytes(bytes(head)), "ab", true),
        (MockResponse::Last(bytes(head)), "ab", false),
        (MockResponse::Dribble(bytes(head), Duration::ZERO), "ab", true),
        (MockResponse::Last(bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab")), "ab", false),
        (MockResponse::Bytes(bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")), "", false),
        (MockResponse::Bytes(bytes("HTTP/1.1 200 OK\r\n\r\n")), "", true),
    ] {
        let receiver = WebhookReceiver::start();
        receiver.enqueue(answer.clone());
        let timeout = if waits { Duration::from_secs(2) } else { LONG };
        let came = send(&receiver, timeout).unwrap();
        assert_eq!(came, WebhookResponse { status: 200, body: bytes(body), timed_out: waits }, "{answer:?}");
    }
    let endless = answered(MockResponse::Endless(bytes("HTTP/1.1 200 OK\r\n\r\n"), vec![b'x'; 1024]));
    assert_eq!(endless, WebhookResponse { status: 200, body: vec![b'x'; 4096], timed_out: false });
    let switching = bytes("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nwhatever");
    assert_eq!(answered(MockResponse::Last(switching)).status, 101);
}

#[test]
fn a_receiver_that_does_not_answer_takes_the_time_and_no_more() {
    let waiting = "timed out after 0.6 s while waiting for the response";
    let byte_by_byte = [bytes("HTTP/1.1 200 OK\r\nX-Long: "), vec![b'x'; 60_000]].concat();
    for answer in [
        MockResponse::Hang,
        MockResponse::Bytes(bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")),
        MockResponse::Dribble(byte_by_byte.clone(), Duration::ZERO),
        MockResponse::Dribble(byte_by_byte, Duration::from_millis(20)),
        MockResponse::Bytes(bytes(&"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n".repeat(100))),
        MockResponse::Dribble(bytes(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000)), Duration::ZERO),
    ] {
        assert_eq!(failed(answer, SHORT), timed_out(waiting));
    }
}

#[test]
fn provisional_answers_come_before_the_answer() {
    let both = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 201 Created\r\n\
        Content-Length: 2\r\n\r\nok";
    let answer = answered(MockResponse::Bytes(bytes(both)));
    assert_eq!((answer.status, answer.body.as_slice()), (201, &b"ok"[..]));
}

#[test]
fn a_head_has_at_most_64_kib() {
    let head = |length: usize| {
        let (start, end) = ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: ", "\r\n\r\n");
        let long = "x".repeat(length - start.len() - end.len());
        format!("{start}{long}{end}").into_bytes()
    };
    assert_eq!(answered(MockResponse::Bytes(head(65_536))).status, 200);
    let too_large = network("the response head is larger than 64 KiB");
    assert_eq!(failed(MockResponse::Bytes(head(65_537)), LONG), too_large);
    assert_eq!(failed(MockResponse::Endless(bytes("HTTP/1.1 200 OK\r\nX-Long: "), vec![b'x'; 8192]), LONG), too_large);
    let provisional = bytes("HTTP/1.1 102 Processing\r\n\r\n");
    assert_eq!(failed(MockResponse::Endless(Vec::new(), provisional), LONG), too_large);
}

#[test]
fn what_is_not_http_is_told_apart_from_what_breaks_off() {
    for answer in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "220 mail.example.com ESMTP\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        "\0\u{1}\u{2}\u{3}",
    ] {
        assert_eq!(
            failed(MockResponse::Bytes(bytes(answer)), LONG),
            network("the response is not valid HTTP"),
            "{answer:?}"
        );
    }
    let closed = network("the connection was closed while waiting for the response");
    assert_eq!(failed(MockResponse::Close, LONG), closed);
    assert_eq!(failed(MockResponse::Last(bytes("HTTP/1.1 200 OK\r\nContent-")), LONG), closed);
    let reset = network("the connection was reset while waiting for the response");
    assert_eq!(failed(MockResponse::Reset, LONG), reset);
}

#[test]
fn an_answer_that_comes_before_the_request_was_read_is_taken() {
    let answer = answered(MockResponse::Early(bytes("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")));
    assert_eq!(answer.status, 503);
}

#[test]
fn a_port_where_nobody_listens_refuses() {
    let url = WebhookReceiver::start().url("/hook");
    assert_eq!(local().send(&request(url), LONG), Err(network("the connection was refused")));
}

#[test]
fn a_receiver_that_behaves_keeps_its_connection() {
    let receiver = WebhookReceiver::start();
    receiver.enqueue(MockResponse::Body(200, "ok".to_owned())).enqueue(MockResponse::Body(500, "no".to_owned()));
    let transport = local();
    for status in [200, 500, 204, 204] {
        let answer = transport.send(&request(receiver.url("/hook")), LONG).unwrap();
        assert_eq!(answer.status, status);
    }
    assert_eq!(receiver.requests().len(), 4);
    assert_eq!(receiver.connections(), 1);
}

#[test]
fn a_connection_is_not_used_again_after_an_answer_that_did_not_end() {
    let receiver = WebhookReceiver::start();
    let transport = local();
    let long = MockResponse::Body(200, "x".repeat(BODY_KEPT + 1));
    let surplus = MockResponse::Bytes(bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 No\r\n\r\n"));
    let closing = MockResponse::Bytes(bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
    for (index, answer) in [long, surplus, closing, MockResponse::Status(200)].into_iter().enumerate() {
        receiver.enqueue(answer);
        let answer = transport.send(&request(receiver.url("/hook")), LONG).unwrap();
        assert_eq!((answer.status, receiver.connections()), (200, index + 1));
    }
}

#[test]
fn a_connection_that_the_receiver_closed_in_between_fails_no_attempt() {
    let receiver = WebhookReceiver::start();
    let transport = local();
    let send = || transport.send(&request(receiver.url("/hook")), LONG);
    assert_eq!(send().unwrap().status, 204);
    receiver.close_connections();
    assert_eq!(send().unwrap().status, 204);
    assert_eq!(receiver.connections(), 2);
    // It is closed only when the request comes: the sender cannot see that before.
    for last in [MockResponse::Close, MockResponse::Reset] {
        let connections = receiver.connections();
        receiver.enqueue(last).enqueue(MockResponse::Status(201));
        assert_eq!(send().unwrap().status, 201);
        assert_eq!(receiver.connections(), connections + 1);
    }
    // A new connection is not tried a third time.
    receiver.set_default_response(MockResponse::Close);
    let connections = receiver.connections();
    assert_eq!(send(), Err(network("the connection was closed while waiting for the response")));
    assert_eq!(receiver.connections(), connections + 1);
}

#[test]
fn an_answer_that_broke_off_is_not_asked_for_again() {
    let receiver = WebhookReceiver::start();
    let transport = local();
    receiver.enqueue(MockResponse::Status(204)).enqueue(MockResponse::Last(bytes("HTTP/1.1 2")));
    transport.send(&request(receiver.url("/hook")), LONG).unwrap();
    let failure = transport.send(&request(receiver.url("/hook")), LONG).unwrap_err();
    assert_eq!(failure, network("the connection was closed while waiting for the response"));
    assert_eq!((receiver.requests().len(), receiver.connections()), (2, 1));
}

#[test]
fn a_large_request_arrives_whole_and_a_receiver_that_does_not_read_it_takes_the_time() {
    let receiver = WebhookReceiver::start();
    let mut large = request(receiver.url(&format!("/{}", "p".repeat(8000))));
    large.body = "0123456789".repeat(1_000_000);
    local().send(&large, LONG).unwrap();
    assert_eq!(receiver.wait_for(1)[0].body, large.body.as_bytes());

    // The system takes what it has room for, and nobody takes it from there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    large.url = format!("http://{}/", listener.local_addr().unwrap());
    let failure = local().send(&large, SHORT).unwrap_err();
    assert_eq!(failure, timed_out("timed out after 0.6 s while sending the request"));
}

#[test]
fn interrupting_ends_what_is_under_way_and_nothing_that_is_sent_later() {
    let receiver = WebhookReceiver::start();
    receiver.enqueue(MockResponse::Hang);
    let transport = local();
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| transport.send(&request(receiver.url("/hook")), Duration::from_mins(10)));
        receiver.wait_for(1);
        transport.interrupt();
        assert_eq!(sending.join().unwrap(), Err(network("the sender was stopped")));
    });
    // As where the sender of a service stops and another one is started.
    assert_eq!(transport.send(&request(receiver.url("/hook")), LONG).unwrap().status, 204);
    assert_eq!(receiver.connections(), 2);
}

#[test]
fn nothing_of_a_request_is_in_a_debug_text() {
    let text = format!("{:?} {:?}", local(), request("https://example.com/secret".to_owned()));
    assert!(!text.contains("secret") && !text.contains("evt_1"), "{text}");
}
