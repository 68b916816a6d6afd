//! The HTTPS transport with all kinds of receivers.

use std::time::Duration;

use crate::common::receiver::{MockResponse, WebhookReceiver};
use ticketing::environment::{Clock, SystemClock};
use ticketing::webhook::{
    BODY_KEPT, FailureKind, HttpsTransport, Transport, WebhookFailure, WebhookRequest, WebhookResponse,
};

/// Longer than any complete response takes, even on a busy machine.
const LONG: Duration = Duration::from_secs(30);
/// The timeout for receivers that do not respond.
const SHORT: Duration = Duration::from_millis(600);

const BODY: &str = r#"{"id":"evt_1","type":"order.completed"}"#;

fn local() -> HttpsTransport {
    HttpsTransport::builder().allow_local(true).build().unwrap()
}

fn request(url: String) -> WebhookRequest {
    let headers = [
        ("Content-Type", "application/json".to_owned()),
        ("User-Agent", "Service-Webhooks/1.0".to_owned()),
        ("X-Service-Timestamp", "1780336800".to_owned()),
    ];
    WebhookRequest::new(url, headers, BODY)
}

fn send(receiver: &WebhookReceiver, timeout: Duration) -> Result<WebhookResponse, WebhookFailure> {
    local().send(&request(receiver.url("/hook")), timeout)
}

/// Sends to a receiver that responds like this.
#[track_caller]
fn response_to(response: MockResponse) -> WebhookResponse {
    let receiver = WebhookReceiver::start();
    receiver.enqueue(response);
    send(&receiver, LONG).unwrap()
}

/// Sends to a receiver that responds like this and then sends no more, until the timeout.
#[track_caller]
fn response_until_timeout(mock: &MockResponse) -> WebhookResponse {
    // On a slow machine the first timeouts may pass before the head of the response has arrived.
    let timeouts = [1, 5, 30].map(Duration::from_secs);
    let responses = timeouts.iter().map(|timeout| {
        let receiver = WebhookReceiver::start();
        receiver.enqueue(mock.clone());
        send(&receiver, *timeout)
    });
    responses.into_iter().find_map(Result::ok).expect("a response")
}

/// Sends to a receiver that responds like this, which must fail within the timeout.
#[track_caller]
fn failure_of(response: MockResponse, timeout: Duration) -> WebhookFailure {
    let receiver = WebhookReceiver::start();
    receiver.enqueue(response);
    let started = SystemClock.monotonic();
    let failure = send(&receiver, timeout).unwrap_err();
    let took = SystemClock.monotonic().saturating_sub(started);
    assert!(took < timeout + LONG, "{took:?}");
    failure
}

/// Sends, with the timeout of 0.6 s, until that passes in this phase of the attempt. On a slow machine it may pass in
/// an earlier phase. Returns the last failure.
pub(crate) fn timeout_while(phase: &str, send: impl Fn() -> Result<WebhookResponse, WebhookFailure>) -> WebhookFailure {
    let in_phase = format!("timed out after 0.6 s while {phase}");
    let failures = std::iter::repeat_with(|| send().unwrap_err()).take(20);
    let mut last = None;
    for failure in failures {
        let is_early = failure.kind == FailureKind::TimedOut && failure.message != in_phase;
        last = Some(failure);
        if !is_early {
            break;
        }
    }
    last.unwrap()
}

fn network(message: &str) -> WebhookFailure {
    WebhookFailure::new(FailureKind::ConnectionFailed, message).connection_tried(true)
}

fn timed_out(message: &str) -> WebhookFailure {
    WebhookFailure::new(FailureKind::TimedOut, message).connection_tried(true)
}

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

#[test]
fn the_request_is_a_post_with_exactly_these_headers_and_this_body() {
    let receiver = WebhookReceiver::start();
    let response = local().send(&request(receiver.url("/hook?token=a%20b#part")), LONG).unwrap();
    assert_eq!(response, WebhookResponse::new(204, []));
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
fn every_status_is_a_response_and_redirects_are_not_followed() {
    let elsewhere = WebhookReceiver::start();
    for status in [200, 201, 299, 300, 304, 400, 404, 410, 429, 500, 503, 599, 999] {
        assert_eq!(response_to(MockResponse::Body(status, String::new())).status, status);
    }
    for status in [301, 302, 303, 307, 308] {
        for rest in ["Content-Length: 0\r\n\r\n", "Content-Length: 4\r\n\r\ngone"] {
            let head = format!("HTTP/1.1 {status} Moved\r\nLocation: {}\r\n{rest}", elsewhere.url("/"));
            assert_eq!(response_to(MockResponse::Bytes(head.into_bytes())).status, status);
        }
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[test]
fn the_first_4_kib_of_the_body_are_kept() {
    let body: String = ('a'..='z').cycle().take(BODY_KEPT + 1000).collect();
    for length in [0, 1, BODY_KEPT - 1, BODY_KEPT, BODY_KEPT + 1, BODY_KEPT + 1000] {
        let response = response_to(MockResponse::Body(500, body[..length].to_owned()));
        assert_eq!(response.body, &body.as_bytes()[..length.min(4096)]);
        assert!(!response.timed_out);
    }
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_vec();
    assert_eq!(response_to(MockResponse::Bytes(chunked)).body, b"abcde");
    assert_eq!(response_to(MockResponse::Last(bytes("HTTP/1.1 200 OK\r\n\r\nuntil the end"))).body, b"until the end");
    assert_eq!(response_to(MockResponse::Last(bytes("HTTP/1.0 200 OK\r\n\r\nold"))).body, b"old");
    let compressed = bytes("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope");
    assert_eq!(response_to(MockResponse::Bytes(compressed)).body, b"nope");
}

#[test]
fn a_response_counts_when_its_head_is_complete() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab";
    for (mock, body, timed_out) in [
        (MockResponse::Bytes(bytes(head)), "ab", true),
        (MockResponse::Last(bytes(head)), "ab", false),
        (MockResponse::Dribble(bytes(head), Duration::ZERO), "ab", true),
        (MockResponse::Last(bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab")), "ab", false),
        (MockResponse::Bytes(bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")), "", false),
        (MockResponse::Bytes(bytes("HTTP/1.1 200 OK\r\n\r\n")), "", true),
    ] {
        let response = match timed_out {
            true => response_until_timeout(&mock),
            false => response_to(mock.clone()),
        };
        assert_eq!(response, WebhookResponse::new(200, body).timed_out(timed_out), "{mock:?}");
    }
    let endless = response_to(MockResponse::Endless(bytes("HTTP/1.1 200 OK\r\n\r\n"), vec![b'x'; 1024]));
    assert_eq!(endless, WebhookResponse::new(200, [b'x'; 4096]));
    let switching = bytes("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nwhatever");
    assert_eq!(response_to(MockResponse::Last(switching)).status, 101);
}

#[test]
fn a_receiver_that_does_not_respond_fails_at_the_timeout() {
    let message = "timed out after 0.6 s while waiting for the response";
    let byte_by_byte = [bytes("HTTP/1.1 200 OK\r\nX-Long: "), vec![b'x'; 60_000]].concat();
    for mock in [
        MockResponse::Hang,
        MockResponse::Bytes(bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")),
        MockResponse::Dribble(byte_by_byte.clone(), Duration::ZERO),
        MockResponse::Dribble(byte_by_byte, Duration::from_millis(20)),
        MockResponse::Bytes(bytes(&"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n".repeat(100))),
        MockResponse::Dribble(bytes(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000)), Duration::ZERO),
    ] {
        let failure = timeout_while("waiting for the response", || Err(failure_of(mock.clone(), SHORT)));
        assert_eq!(failure, timed_out(message));
    }
}

#[test]
fn provisional_responses_are_skipped() {
    let responses = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 201 Created\r\n\
        Content-Length: 2\r\n\r\nok";
    let response = response_to(MockResponse::Bytes(bytes(responses)));
    assert_eq!((response.status, response.body.as_slice()), (201, &b"ok"[..]));
}

#[test]
fn a_response_head_has_at_most_64_kib() {
    let head = |length: usize| {
        let start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: ";
        let end = "\r\n\r\n";
        let long = "x".repeat(length - start.len() - end.len());
        format!("{start}{long}{end}").into_bytes()
    };
    assert_eq!(response_to(MockResponse::Bytes(head(65_536))).status, 200);
    let too_large = network("the response head is larger than 64 KiB");
    assert_eq!(failure_of(MockResponse::Bytes(head(65_537)), LONG), too_large);
    assert_eq!(
        failure_of(MockResponse::Endless(bytes("HTTP/1.1 200 OK\r\nX-Long: "), vec![b'x'; 8192]), LONG),
        too_large
    );
    let provisional = bytes("HTTP/1.1 102 Processing\r\n\r\n");
    assert_eq!(failure_of(MockResponse::Endless(Vec::new(), provisional), LONG), too_large);
}

#[test]
fn invalid_http_and_broken_connections_have_different_messages() {
    for text in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "220 mail.example.com ESMTP\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        "\0\u{1}\u{2}\u{3}",
    ] {
        let failure = failure_of(MockResponse::Bytes(bytes(text)), LONG);
        assert_eq!(failure, network("the response is not valid HTTP"), "{text:?}");
    }
    let closed = network("the connection was closed while waiting for the response");
    assert_eq!(failure_of(MockResponse::Close, LONG), closed);
    assert_eq!(failure_of(MockResponse::Last(bytes("HTTP/1.1 200 OK\r\nContent-")), LONG), closed);
    let reset = network("the connection was reset while waiting for the response");
    assert_eq!(failure_of(MockResponse::Reset, LONG), reset);
}

#[test]
fn a_response_before_the_request_was_read_is_accepted() {
    let response = response_to(MockResponse::Early(bytes("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")));
    assert_eq!(response.status, 503);
}

#[test]
fn a_port_without_a_listener_refuses_the_connection() {
    // No receiver of another test can get this port.
    let url = "http://127.0.0.1:443/hook".to_owned();
    assert_eq!(local().send(&request(url), LONG), Err(network("the connection was refused")));
}

#[test]
fn a_connection_is_reused_after_complete_responses() {
    let receiver = WebhookReceiver::start();
    receiver.enqueue(MockResponse::Body(200, "ok".to_owned())).enqueue(MockResponse::Body(500, "no".to_owned()));
    let transport = local();
    for status in [200, 500, 204, 204] {
        let response = transport.send(&request(receiver.url("/hook")), LONG).unwrap();
        assert_eq!(response.status, status);
    }
    assert_eq!(receiver.requests().len(), 4);
    assert_eq!(receiver.connections(), 1);
}

#[test]
fn a_connection_is_not_reused_after_an_incomplete_or_surplus_response() {
    let receiver = WebhookReceiver::start();
    let transport = local();
    let long = MockResponse::Body(200, "x".repeat(BODY_KEPT + 1));
    let surplus = MockResponse::Bytes(bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 No\r\n\r\n"));
    let closing = MockResponse::Bytes(bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
    for (index, mock) in [long, surplus, closing, MockResponse::Status(200)].into_iter().enumerate() {
        receiver.enqueue(mock);
        let response = transport.send(&request(receiver.url("/hook")), LONG).unwrap();
        assert_eq!((response.status, receiver.connections()), (200, index + 1));
    }
}

#[test]
fn an_idle_connection_closed_by_the_receiver_fails_no_attempt() {
    let receiver = WebhookReceiver::start();
    let transport = local();
    let send = || transport.send(&request(receiver.url("/hook")), LONG);
    assert_eq!(send().unwrap().status, 204);
    receiver.close_connections();
    assert_eq!(send().unwrap().status, 204);
    assert_eq!(receiver.connections(), 2);
    // The receiver closes it on the next request, so the sender cannot notice before.
    for last in [MockResponse::Close, MockResponse::Reset] {
        let connections = receiver.connections();
        receiver.enqueue(last).enqueue(MockResponse::Status(201));
        assert_eq!(send().unwrap().status, 201);
        assert_eq!(receiver.connections(), connections + 1);
    }
    // A failure on a new connection is not repeated.
    receiver.set_default_response(MockResponse::Close);
    let connections = receiver.connections();
    assert_eq!(send(), Err(network("the connection was closed while waiting for the response")));
    assert_eq!(receiver.connections(), connections + 1);
}

#[test]
fn a_request_is_not_repeated_after_a_partial_response() {
    let receiver = WebhookReceiver::start();
    let transport = local();
    receiver.enqueue(MockResponse::Status(204)).enqueue(MockResponse::Last(bytes("HTTP/1.1 2")));
    transport.send(&request(receiver.url("/hook")), LONG).unwrap();
    let failure = transport.send(&request(receiver.url("/hook")), LONG).unwrap_err();
    assert_eq!(failure, network("the connection was closed while waiting for the response"));
    assert_eq!((receiver.requests().len(), receiver.connections()), (2, 1));
}

#[test]
fn a_large_request_arrives_whole_or_times_out_if_it_is_not_read() {
    let receiver = WebhookReceiver::start();
    let mut large = request(receiver.url(&format!("/{}", "p".repeat(8000))));
    large.body = "0123456789".repeat(1_000_000);
    local().send(&large, LONG).unwrap();
    assert_eq!(receiver.wait_for(1)[0].body, large.body.as_bytes());

    // Nobody accepts the connection, so the request fills the buffers of the system.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    large.url = format!("http://{}/", listener.local_addr().unwrap());
    let failure = timeout_while("sending the request", || local().send(&large, SHORT));
    assert_eq!(failure, timed_out("timed out after 0.6 s while sending the request"));
}

#[test]
fn interrupting_fails_requests_in_progress_but_no_later_ones() {
    let receiver = WebhookReceiver::start();
    receiver.enqueue(MockResponse::Hang);
    let transport = local();
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| transport.send(&request(receiver.url("/hook")), Duration::from_mins(10)));
        receiver.wait_for(1);
        transport.interrupt();
        assert_eq!(sending.join().unwrap(), Err(network("the sender was stopped")));
    });
    // A later sender may use the same transport.
    assert_eq!(transport.send(&request(receiver.url("/hook")), LONG).unwrap().status, 204);
    assert_eq!(receiver.connections(), 2);
}

#[test]
fn debug_output_reveals_nothing_of_a_request() {
    let text = format!("{:?} {:?}", local(), request("https://example.com/secret".to_owned()));
    assert!(!text.contains("secret") && !text.contains("evt_1"), "{text}");
}
