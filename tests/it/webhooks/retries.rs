//! Retries of failed attempts, and the history of attempts.

use std::net::{Ipv4Addr, TcpListener};
use std::thread::sleep;
use std::time::Duration;

use crate::common::receiver::{MockResponse, ReceivedRequest, WebhookReceiver};
use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use ticketing::Timestamp;
use ticketing::environment::Clock;
use ticketing::organization::Secret;
use ticketing::webhook::{CreatedWebhookEndpoint, WebhookDelivery};
use ticketing::webhook::{
    EVENT_ID_HEADER, FailureKind, MAX_AGE, SIGNATURE_HEADER, SenderOptions, TIMESTAMP_HEADER, verify,
};

const MINUTES: [u64; 7] = [1, 2, 5, 10, 20, 40, 80];
const MILLISECOND: Duration = Duration::from_millis(1);

/// Asserts that a request was signed with the secret at this time.
#[track_caller]
fn assert_signed(request: &ReceivedRequest, secret: &Secret, at: Timestamp) {
    let header = |name| request.header(name).expect(name);
    let timestamp = header(TIMESTAMP_HEADER);
    assert_eq!(timestamp, (at.millis() / 1000).to_string());
    verify(secret.expose(), timestamp, header(SIGNATURE_HEADER), &request.body, at, MAX_AGE)
        .expect("a valid signature");
}

#[test]
fn eight_attempts_are_made_each_exactly_when_it_is_due() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    receiver.set_default_response(MockResponse::Status(500));
    let endpoint = fixture.ticket_webhook(receiver.url("/hook"));
    let _sender = fixture.start_sender(SenderOptions::default().workers(4));
    fixture.queue_notifications(1);
    let mut sent_at = vec![fixture.clock.now()];
    for (attempts, minutes) in (1..).zip(MINUTES) {
        receiver.wait_for(attempts);
        fixture.wait_for_attempt(i64::try_from(attempts).expect("a small number"));
        fixture.clock.advance(Duration::from_mins(minutes) - MILLISECOND);
        sleep(POLL_TIME);
        assert_eq!(receiver.requests().len(), attempts, "a millisecond early");
        fixture.clock.advance(MILLISECOND);
        receiver.wait_for(attempts + 1);
        sent_at.push(fixture.clock.now());
    }
    assert!(fixture.wait_for_attempt(8).is("DEAD", 8));
    fixture.clock.advance(Duration::from_hours(24));
    sleep(POLL_TIME);
    let requests = receiver.requests();
    assert_eq!(requests.len(), 8);
    for (request, at) in requests.iter().zip(&sent_at) {
        assert_signed(request, &endpoint.secret, *at);
        assert_eq!(request.body, requests[0].body);
        assert_eq!(request.header(EVENT_ID_HEADER), requests[0].header(EVENT_ID_HEADER));
    }
    let history = fixture.delivery_history(endpoint.endpoint.id);
    assert_eq!(history.len(), 8);
    for ((delivery, number), at) in history.iter().zip(1..).zip(&sent_at) {
        assert_eq!((delivery.attempt, delivery.created_at, delivery.success), (number, *at, false));
        assert_eq!(delivery.outbox_id, history[0].outbox_id);
    }
    let statistics = fixture.service.statistics().webhooks;
    assert_eq!((statistics.queued, statistics.dead), (1, 1));
}

#[test]
fn the_delay_starts_at_the_end_of_an_attempt_and_a_success_ends_the_retries() {
    let clock = std::sync::Arc::new(std::sync::OnceLock::<ticketing::environment::ManualClock>::new());
    let number = std::sync::atomic::AtomicUsize::new(0);
    // Each attempt takes three seconds; the third one succeeds.
    let transport = FakeTransport::new({
        let clock = std::sync::Arc::clone(&clock);
        move |_, _, _| {
            clock.get().expect("a clock").advance(Duration::from_secs(3));
            match number.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 | 1 => Err(failure(FailureKind::ConnectionFailed, "the connection was reset")),
                _ => respond(200),
            }
        }
    });
    let fixture = Fixture::with_transport(&transport);
    clock.set(fixture.clock.clone()).expect("an unset clock");
    let endpoint = fixture.ticket_webhook("https://example.com/hook").endpoint;
    let _sender = fixture.start_sender(SenderOptions::default());
    let started = fixture.clock.now();
    fixture.queue_notifications(1);
    let after = |seconds| started.saturating_add(Duration::from_secs(seconds));
    assert_eq!(fixture.wait_for_attempt(1).due_at, after(3 + 60));
    fixture.clock.advance(Duration::from_secs(60));
    assert_eq!(fixture.wait_for_attempt(2).due_at, after(3 + 60 + 3 + 120));
    fixture.clock.advance(Duration::from_secs(120));
    assert!(fixture.wait_for_attempt(3).is("DELIVERED", 3));
    fixture.clock.advance(Duration::from_hours(3));
    sleep(POLL_TIME);
    assert_eq!(transport.sent().len(), 3);
    let summary = |delivery: WebhookDelivery| {
        let seconds = (delivery.created_at.millis() - started.millis()) / 1000;
        (delivery.attempt, delivery.success, delivery.duration_ms, delivery.error_message, seconds)
    };
    let reset = || Some("the connection was reset".to_owned());
    let expected =
        [(1, false, Some(3000), reset(), 3), (2, false, Some(3000), reset(), 66), (3, true, Some(3000), None, 189)];
    assert_eq!(fixture.delivery_history(endpoint.id).into_iter().map(summary).collect::<Vec<_>>(), expected);
}

/// Makes one attempt at this URL, and returns its row of the history.
#[track_caller]
fn attempt_at(url: &str, options: SenderOptions) -> (Fixture, CreatedWebhookEndpoint, WebhookDelivery) {
    let fixture = Fixture::with_local_webhooks();
    let endpoint = fixture.ticket_webhook(url);
    let sender = fixture.start_sender(options);
    fixture.queue_notifications(1);
    fixture.wait_for_attempt(1);
    drop(sender);
    let history = fixture.delivery_history(endpoint.endpoint.id);
    let [delivery] = <[_; 1]>::try_from(history).expect("one attempt");
    (fixture, endpoint, delivery)
}

/// Makes one attempt at a receiver with this response, and returns its row of the history.
#[track_caller]
fn attempt_with(response: MockResponse) -> WebhookDelivery {
    let receiver = WebhookReceiver::start();
    receiver.enqueue(response);
    let (fixture, _, delivery) = attempt_at(&receiver.url("/hook"), SenderOptions::default().workers(2));
    let state = if delivery.success { "DELIVERED" } else { "WAITING" };
    assert!(fixture.outbox()[0].is(state, 1));
    // The clock stands still. A connection was tried, so there is a duration.
    assert_eq!((delivery.attempt, delivery.duration_ms), (1, Some(0)));
    assert_eq!(delivery.success, delivery.error_message.is_none());
    if let Some(request) = receiver.requests().first() {
        assert_eq!(delivery.request_body.as_bytes(), request.body);
    }
    delivery
}

fn raw(text: &str) -> MockResponse {
    MockResponse::Last(text.as_bytes().to_vec())
}

#[test]
fn only_a_2xx_status_is_a_success() {
    for status in [200, 201, 202, 204, 226, 299] {
        let delivery = attempt_with(MockResponse::Status(status));
        assert_eq!((delivery.response_status, delivery.success), (Some(i64::from(status)), true));
    }
    for status in [400, 401, 404, 410, 418, 429, 500, 503, 599] {
        let delivery = attempt_with(MockResponse::Status(status));
        assert_eq!((delivery.response_status, delivery.success), (Some(i64::from(status)), false));
        assert_eq!(delivery.error_message, Some(format!("the receiver answered with status {status}")));
    }
    for status in [300, 301, 302, 304, 307, 308] {
        let elsewhere = WebhookReceiver::start();
        let head = format!("HTTP/1.1 {status} X\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", elsewhere.url("/"));
        let delivery = attempt_with(raw(&head));
        assert_eq!((delivery.response_status, delivery.success), (Some(i64::from(status)), false));
        let message = format!("the receiver answered with status {status}; redirects are not followed");
        assert_eq!(delivery.error_message, Some(message));
        assert_eq!(elsewhere.connections(), 0);
    }
}

#[test]
fn a_duration_is_recorded_if_and_only_if_a_connection_was_tried() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port").local_addr().expect("its address");
    let (_, _, delivery) = attempt_at(&format!("http://{free}/"), SenderOptions::default());
    assert_eq!(delivery.error_message.as_deref(), Some("the connection was refused"));
    assert_eq!((delivery.response_status, delivery.response_body, delivery.duration_ms), (None, None, Some(0)));

    // The endpoint was created while loopback addresses were allowed. The service that sends does not allow them.
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint;
    fixture.queue_notifications(1);
    let strict = fixture.second_service_with(|builder| builder);
    let _sender = strict.start_webhook_sender(SenderOptions::default()).expect("a sender");
    fixture.wait_for_attempt(1);
    let delivery = &fixture.delivery_history(endpoint.id)[0];
    let message = delivery.error_message.as_deref().expect("a message");
    assert!(message.starts_with("the URL is not allowed: "), "{message}");
    assert!(!message.contains("127.0.0.1"), "{message}");
    assert_eq!((delivery.response_status, &delivery.response_body, delivery.duration_ms), (None, &None, None));
    assert_eq!(receiver.connections(), 0);
}

#[test]
fn an_attempt_that_exceeds_the_timeout_fails() {
    let receiver = WebhookReceiver::start();
    receiver.set_default_response(MockResponse::Hang);
    let message = "timed out after 0.6 s while waiting for the response";
    let attempt = || {
        let options = SenderOptions::default().attempt_timeout(Duration::from_millis(600));
        attempt_at(&receiver.url("/hook"), options)
    };
    let is_late = |attempt: &(Fixture, CreatedWebhookEndpoint, WebhookDelivery)| {
        attempt.2.error_message.as_deref() == Some(message)
    };
    // On a slow machine the timeout may pass before the request is sent.
    let (fixture, _, delivery) = std::iter::repeat_with(attempt).take(20).find(is_late).expect("a timeout");
    assert_eq!((delivery.response_status, delivery.success, delivery.duration_ms), (None, false, Some(0)));
    assert_eq!(fixture.outbox()[0].due_at, fixture.clock.now().saturating_add(Duration::from_mins(1)));
}

#[test]
fn the_first_4_kib_of_a_response_are_kept_as_valid_text() {
    let kept = |body: &[u8]| {
        let mut bytes = format!("HTTP/1.1 500 No\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.extend_from_slice(body);
        attempt_with(MockResponse::Last(bytes)).response_body.expect("a body")
    };
    assert_eq!(kept(b""), "");
    assert_eq!(kept("Größe: 3 €".as_bytes()), "Größe: 3 €");
    assert_eq!(kept(&[b'x'; 4096]), "x".repeat(4096));
    assert_eq!(kept(&[b'x'; 5000]), "x".repeat(4096));
    // The first 4096 bytes end with two of the three bytes of the euro sign.
    let truncated = [vec![b'x'; 4094], "€ and more".as_bytes().to_vec()].concat();
    assert_eq!(kept(&truncated), "x".repeat(4094));
    let whole = [vec![b'x'; 4093], "€ and more".as_bytes().to_vec()].concat();
    assert_eq!(kept(&whole), format!("{}€", "x".repeat(4093)));
    assert_eq!(kept(b"a\0b\xffc"), "a\u{fffd}b\u{fffd}c");
    // Each of these bytes becomes a character of three bytes: the text is longer than the bytes that were kept.
    assert_eq!(kept(&[0xff; 4096]), "\u{fffd}".repeat(4096));
}
