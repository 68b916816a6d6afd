//! Changes of an endpoint that has notifications waiting or attempts in progress.

use std::thread::sleep;
use std::time::Duration;

use crate::common::receiver::{MockResponse, WebhookReceiver};
use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use ticketing::environment::Clock;
use ticketing::organization::Secret;
use ticketing::webhook::{EVENT_ID_HEADER, SIGNATURE_HEADER, SenderOptions, TIMESTAMP_HEADER, sign};
use ticketing::webhook::{EventType, NotificationData, Verifier, VerifyError};
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

const MINUTE: Duration = Duration::from_mins(1);

#[test]
fn a_verifier_with_both_secrets_accepts_the_requests_before_and_after_a_rotation() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    receiver.enqueue(MockResponse::Status(500));
    let created = fixture.ticket_webhook(receiver.url("/hook"));
    let _sender = fixture.start_sender(SenderOptions::default());
    let ticket = fixture.issue(fixture.default_ticket_type(), 1)[0].id;
    fixture.wait_for_attempt(1);
    let rotated = fixture.service.rotate_webhook_secret(&fixture.caller, created.endpoint.id).expect("rotated");
    fixture.clock.advance(MINUTE);
    fixture.wait_for_attempt(2);
    let requests = receiver.requests();

    let verifier = |secret: &Secret| Verifier::new(secret.clone()).clock(fixture.clock.clone());
    let before = verifier(&created.secret).tolerance(MINUTE);
    let after = verifier(&rotated.secret);
    let both = after.clone().or_secret(created.secret.clone());
    let notification = both.verify(requests[0].headers(), &requests[0].body).expect("genuine");
    let NotificationData::TicketIssued(issued) = &notification.data else { panic!("{notification:?}") };
    assert_eq!(issued.issued_ticket_id, ticket);
    // The map of headers that HTTP libraries use.
    let name = |name: &str| HeaderName::from_bytes(name.as_bytes()).expect("a name");
    let value = |value: &str| HeaderValue::from_str(value).expect("a value");
    let headers: HeaderMap = requests[1].headers().map(|(n, v)| (name(n), value(v))).collect();
    assert_eq!(both.verify(&headers, &requests[1].body), Ok(notification.clone()));
    assert_eq!(after.verify(&headers, &requests[1].body), Ok(notification.clone()));
    assert_eq!(before.verify(&headers, &requests[1].body), Err(VerifyError::Signature));
    assert_eq!(after.verify(requests[0].headers(), &requests[0].body), Err(VerifyError::Signature));
    assert_eq!(before.verify(requests[0].headers(), &requests[0].body), Ok(notification));
    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(before.verify(requests[0].headers(), &requests[0].body), Err(VerifyError::Age));
}

#[test]
fn each_attempt_goes_to_the_current_url() {
    let fixture = Fixture::with_local_webhooks();
    let before = WebhookReceiver::start();
    let after = WebhookReceiver::start();
    before.set_default_response(MockResponse::Status(410));
    let endpoint = fixture.ticket_webhook(before.url("/old")).endpoint;
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(1);
    fixture.wait_for_attempt(1);
    fixture.set_webhook_url(endpoint.id, after.url("/new"));
    sleep(POLL_TIME);
    assert_eq!(after.requests().len(), 0, "the new URL does not bring the attempt forward");
    fixture.clock.advance(MINUTE);
    assert!(fixture.wait_for_attempt(2).is("DELIVERED", 2));
    assert_eq!((before.requests().len(), after.requests().len()), (1, 1));
    assert!(after.requests()[0].head.starts_with("POST /new HTTP/1.1\r\n"));
    assert_eq!(after.requests()[0].body, before.requests()[0].body);
}

#[test]
fn disabling_an_endpoint_between_two_attempts_neither_shortens_nor_skips_the_delay() {
    let transport = FakeTransport::new(|transport, _, _| respond(if transport.sent().len() == 1 { 500 } else { 204 }));
    let fixture = Fixture::with_transport(&transport);
    let endpoint = fixture.ticket_webhook("https://example.com/hook").endpoint;
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(1);
    fixture.wait_for_attempt(1);
    fixture.set_webhook_enabled(endpoint.id, false);
    fixture.set_webhook_enabled(endpoint.id, true);
    sleep(POLL_TIME);
    assert_eq!(transport.sent().len(), 1, "the delay is not over");
    fixture.set_webhook_enabled(endpoint.id, false);
    fixture.clock.advance(MINUTE);
    sleep(POLL_TIME);
    assert_eq!(transport.sent().len(), 1, "the endpoint is disabled");
    fixture.set_webhook_enabled(endpoint.id, true);
    assert!(fixture.wait_for_attempt(2).is("DELIVERED", 2));
}

/// Creates an endpoint whose attempts block until the transport is released, and then get this status.
fn blocked_endpoint(status: u16) -> (Fixture, FakeTransport, ticketing::id::WebhookId) {
    let transport = FakeTransport::new(move |transport, _, timeout| {
        transport.block(timeout)?;
        respond(status)
    });
    let fixture = Fixture::with_transport(&transport);
    let endpoint = fixture.ticket_webhook("https://example.com/hook").endpoint.id;
    (fixture, transport, endpoint)
}

#[test]
fn an_attempt_in_progress_counts_if_its_endpoint_is_disabled() {
    for (status, state) in [(204, "DELIVERED"), (500, "WAITING")] {
        let (fixture, transport, endpoint) = blocked_endpoint(status);
        let _sender = fixture.start_sender(SenderOptions::default());
        fixture.queue_notifications(1);
        transport.wait_for(1);
        fixture.set_webhook_enabled(endpoint, false);
        transport.release();
        assert!(fixture.wait_for_attempt(1).is(state, 1));
        assert_eq!(fixture.delivery_history(endpoint).len(), 1);
    }
}

#[test]
fn unsubscribing_removes_waiting_notifications_and_retries_none_in_progress() {
    let other_types = [EventType::OrderCompleted];
    for (status, success) in [(204, true), (500, false)] {
        let (fixture, transport, endpoint) = blocked_endpoint(status);
        // One attempt in progress, two waiting rows.
        let _sender = fixture.start_sender(SenderOptions::default().workers(2).workers_per_endpoint(1));
        fixture.queue_notifications(3);
        transport.wait_for(1);
        fixture.set_webhook_events(endpoint, &other_types);
        fixture.wait_for_outbox(3, "REMOVED");
        transport.release();
        wait_until("the attempt is in the history", || fixture.delivery_history(endpoint).len() == 1);
        let delivery = &fixture.delivery_history(endpoint)[0];
        assert_eq!((delivery.success, delivery.attempt), (success, 1));
        let attempts: i64 = fixture.outbox().iter().map(|row| row.attempts).sum();
        assert_eq!(attempts, 1);
        // Subscribing again does not restore the removed rows.
        fixture.set_webhook_events(endpoint, &[EventType::TicketIssued]);
        fixture.clock.advance(Duration::from_hours(3));
        sleep(POLL_TIME);
        assert_eq!((transport.sent().len(), fixture.outbox_count("REMOVED")), (1, 3));
        fixture.queue_notifications(1);
        wait_until("a new notification is sent", || transport.sent().len() == 2);
    }
}

#[test]
fn a_notification_removed_during_its_last_attempt_is_not_counted_as_dead() {
    let transport = FakeTransport::new(|transport, _, timeout| {
        if transport.sent().len() == 8 {
            transport.block(timeout)?;
        }
        respond(500)
    });
    let fixture = Fixture::with_transport(&transport);
    let endpoint = fixture.ticket_webhook("https://example.com/hook").endpoint.id;
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(1);
    for (attempt, minutes) in (1..).zip([1, 2, 5, 10, 20, 40, 80]) {
        fixture.wait_for_attempt(attempt);
        fixture.clock.advance(minutes * MINUTE);
    }
    transport.wait_for(8);
    fixture.set_webhook_events(endpoint, &[EventType::OrderCompleted]);
    transport.release();
    wait_until("the attempt is in the history", || fixture.delivery_history(endpoint).len() == 8);
    assert_eq!(fixture.outbox_count("REMOVED"), 1);
    assert_eq!(fixture.service.statistics().webhooks.dead, 0);
}

#[test]
fn deleting_an_endpoint_removes_its_rows_and_forgets_attempts_in_progress() {
    for status in [204, 500] {
        let (fixture, transport, endpoint) = blocked_endpoint(status);
        let other = fixture.ticket_webhook("https://example.com/other").endpoint.id;
        let _sender = fixture.start_sender(SenderOptions::default().workers(8).workers_per_endpoint(1));
        fixture.queue_notifications(3);
        transport.wait_for(2);
        fixture.service.delete_webhook(&fixture.caller, endpoint).expect("deleted");
        assert_eq!(fixture.outbox().len(), 3, "the other endpoint's rows");
        transport.release();
        wait_until("all rows of the other endpoint are delivered", || fixture.delivery_history(other).len() == 3);
        fixture.clock.advance(Duration::from_hours(3));
        sleep(POLL_TIME);
        assert_eq!(transport.sent_to("/hook"), 1);
        let orphans = "SELECT COUNT(*) FROM webhook_deliveries WHERE outbox_id NOT IN (SELECT id FROM webhook_outbox)";
        assert_eq!(fixture.stored(orphans), 0);
    }
}

#[test]
fn a_resend_is_a_new_row_with_the_same_event_id_and_attempts_from_one() {
    let transport = FakeTransport::new(|transport, _, _| respond(if transport.sent().len() <= 9 { 500 } else { 204 }));
    let fixture = Fixture::with_transport(&transport);
    let created = fixture.ticket_webhook("https://example.com/hook");
    let id = created.endpoint.id;
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(1);
    for attempt in 1..=8 {
        fixture.wait_for_attempt(attempt);
        fixture.clock.advance(Duration::from_mins(80));
    }
    assert_eq!(fixture.outbox_count("DEAD"), 1);
    let dead = fixture.delivery_history(id).pop().expect("an attempt");
    let resent = fixture.service.resend_webhook_delivery(&fixture.caller, id, dead.id).expect("resent").outbox_id;
    assert_ne!(Some(resent), dead.outbox_id);
    assert!(fixture.wait_for_attempt(1).is("WAITING", 1));
    fixture.clock.advance(MINUTE);
    assert!(fixture.wait_for_attempt(2).is("DELIVERED", 2));
    assert_eq!(fixture.outbox_count("DEAD"), 1, "the first row is unchanged");
    let sent = transport.sent();
    assert_eq!(sent.len(), 10);
    assert!(sent.iter().all(|request| request.body == sent[0].body));
    assert!(sent.iter().all(|request| header(request, EVENT_ID_HEADER) == header(&sent[0], EVENT_ID_HEADER)));
    let history = fixture.delivery_history(id);
    let numbers: Vec<_> = history.iter().map(|delivery| (delivery.attempt, delivery.success)).collect();
    let dead = (1..=8).map(|number| (number, false));
    assert_eq!(numbers, dead.chain([(1, false), (2, true)]).collect::<Vec<_>>());
    assert!(history[8..].iter().all(|delivery| delivery.outbox_id == Some(resent)));
    // The timestamp is that of the attempt, not that of the first attempt.
    let seconds = header(&sent[9], TIMESTAMP_HEADER).parse().expect("seconds");
    assert_eq!(seconds, fixture.clock.now().millis() / 1000);
    let signature = sign(created.secret.expose(), seconds, sent[9].body.as_bytes());
    assert_eq!(header(&sent[9], SIGNATURE_HEADER), signature);
}

#[test]
fn a_change_of_the_endpoint_applies_to_attempts_that_a_worker_has_not_started() {
    type Change = fn(&Fixture, ticketing::id::WebhookId);
    let rotate: Change = |fixture, id| {
        fixture.service.rotate_webhook_secret(&fixture.caller, id).expect("rotated");
    };
    let cases: [(Change, &str); 5] = [
        (rotate, "new signature"),
        (|fixture, id| fixture.set_webhook_url(id, "https://example.com/moved"), "new URL"),
        (|fixture, id| fixture.set_webhook_enabled(id, false), "nothing"),
        (|fixture, id| fixture.set_webhook_events(id, &[EventType::OrderCompleted]), "nothing"),
        (|fixture, id| fixture.service.delete_webhook(&fixture.caller, id).expect("deleted"), "nothing"),
    ];
    for (change, expected) in cases {
        let transport = FakeTransport::new(|transport, _, timeout| match transport.sent().len() {
            // The first attempt succeeds, so that the endpoint is healthy; the next one blocks.
            1 => respond(204),
            _ => transport.block(timeout),
        });
        let fixture = Fixture::with_transport(&transport);
        let created = fixture.ticket_webhook("https://example.com/hook");
        let id = created.endpoint.id;
        let sender = fixture.start_sender(SenderOptions::default().workers(2).workers_per_endpoint(1));
        fixture.queue_notifications(1);
        fixture.wait_for_outbox(1, "DELIVERED");
        fixture.queue_notifications(10);
        transport.wait_for(2);
        change(&fixture, id);
        transport.release();
        if expected != "nothing" {
            fixture.wait_for_outbox(11, "DELIVERED");
        }
        sleep(POLL_TIME);
        drop(sender);
        let is_unchanged = |request: &ticketing::webhook::WebhookRequest| {
            let seconds = header(request, TIMESTAMP_HEADER).parse().expect("seconds");
            let signature = sign(created.secret.expose(), seconds, request.body.as_bytes());
            header(request, SIGNATURE_HEADER) == signature && request.url.ends_with("/hook")
        };
        let before = transport.sent().iter().filter(|request| is_unchanged(request)).count();
        assert_eq!(before, 2, "requests before the change: {expected}");
        assert_eq!(transport.sent().len(), if expected == "nothing" { 2 } else { 11 }, "{expected}");
    }
}
