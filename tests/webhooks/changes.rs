//! What a change of an endpoint does to notifications that wait for it or are on their way.

use std::thread::sleep;
use std::time::Duration;

use crate::common::receiver::{MockResponse, ReceivedRequest, WebhookReceiver};
use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use ticketing::webhook::{EVENT_ID_HEADER, MAX_AGE, SIGNATURE_HEADER, SenderOptions, TIMESTAMP_HEADER, sign, verify};
use ticketing::{Clock, NotificationType, Reason, Secret};

const MINUTE: Duration = Duration::from_mins(1);

fn is_signed_with(secret: &Secret, request: &ReceivedRequest, fixture: &Fixture) -> bool {
    let header = |name| request.header(name).expect(name);
    let (timestamp, signature) = (header(TIMESTAMP_HEADER), header(SIGNATURE_HEADER));
    verify(secret.expose(), timestamp, signature, &request.body, fixture.clock.now(), MAX_AGE).is_ok()
}

#[test]
fn each_attempt_is_signed_with_the_secret_of_its_moment() {
    let (fixture, receiver) = (Fixture::with_local_webhooks(), WebhookReceiver::start());
    receiver.enqueue(MockResponse::Status(500));
    let created = fixture.ticket_webhook(receiver.url("/hook"));
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(1);
    fixture.wait_for_attempt(1);
    let rotated = fixture.service.rotate_webhook_secret(&fixture.caller, created.endpoint.id).expect("rotated");
    fixture.clock.advance(MINUTE);
    assert!(fixture.wait_for_attempt(2).is("DELIVERED", 2));
    let requests = receiver.requests();
    assert!(is_signed_with(&created.secret, &requests[0], &fixture));
    assert!(!is_signed_with(&created.secret, &requests[1], &fixture));
    assert!(is_signed_with(&rotated.secret, &requests[1], &fixture));
}

#[test]
fn each_attempt_goes_to_the_url_of_its_moment() {
    let fixture = Fixture::with_local_webhooks();
    let (before, after) = (WebhookReceiver::start(), WebhookReceiver::start());
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
fn while_an_endpoint_is_disabled_what_it_has_waits_and_nothing_new_is_queued_and_enabling_sends_it_at_once() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    let endpoint = fixture.ticket_webhook("https://example.com/hook").endpoint;
    fixture.queue_notifications(2);
    fixture.set_webhook_enabled(endpoint.id, false);
    fixture.queue_notifications(3);
    assert_eq!(fixture.outbox_count("WAITING"), 2);
    let _sender = fixture.start_sender(SenderOptions::default());
    sleep(POLL_TIME);
    fixture.clock.advance(Duration::from_hours(1));
    sleep(POLL_TIME);
    assert_eq!(transport.sent().len(), 0);
    fixture.set_webhook_enabled(endpoint.id, true);
    fixture.wait_for_outbox(2, "DELIVERED");
    assert_eq!(transport.sent().len(), 2);
    // What an attempt that is under way comes to counts, whatever was changed meanwhile.
    assert!(fixture.outbox().iter().all(|row| row.is("DELIVERED", 1)));
}

#[test]
fn an_endpoint_that_is_disabled_between_two_attempts_has_the_next_one_when_it_is_enabled_and_the_delay_is_over() {
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
    assert_eq!(transport.sent().len(), 1, "it is disabled");
    fixture.set_webhook_enabled(endpoint.id, true);
    assert!(fixture.wait_for_attempt(2).is("DELIVERED", 2));
}

/// An office, and a notification for its endpoint that is on its way until the gate opens.
fn under_way(answers: u16) -> (Fixture, FakeTransport, ticketing::WebhookId) {
    let transport = FakeTransport::new(move |transport, _, timeout| {
        transport.block(timeout)?;
        respond(answers)
    });
    let fixture = Fixture::with_transport(&transport);
    let endpoint = fixture.ticket_webhook("https://example.com/hook").endpoint.id;
    (fixture, transport, endpoint)
}

#[test]
fn what_an_attempt_comes_to_whose_endpoint_is_disabled_meanwhile_counts() {
    for (answers, state) in [(204, "DELIVERED"), (500, "WAITING")] {
        let (fixture, transport, endpoint) = under_way(answers);
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
fn a_type_that_is_not_wanted_any_more_takes_what_waits_of_it_and_what_is_on_its_way_is_sent_no_more() {
    let wanted = [NotificationType::OrderCompleted];
    for (answers, success) in [(204, true), (500, false)] {
        let (fixture, transport, endpoint) = under_way(answers);
        // One on its way, two that wait.
        let _sender = fixture.start_sender(SenderOptions::default().workers(2).workers_per_endpoint(1));
        fixture.queue_notifications(3);
        transport.wait_for(1);
        fixture.set_webhook_events(endpoint, &wanted);
        fixture.wait_for_outbox(3, "REMOVED");
        transport.release();
        wait_until("the attempt is in the history", || fixture.delivery_history(endpoint).len() == 1);
        assert_eq!(
            (fixture.delivery_history(endpoint)[0].success, fixture.delivery_history(endpoint)[0].attempt),
            (success, 1)
        );
        let attempts: i64 = fixture.outbox().iter().map(|row| row.attempts).sum();
        assert_eq!(attempts, 1);
        // Wanting it again brings nothing back.
        fixture.set_webhook_events(endpoint, &[NotificationType::TicketIssued]);
        fixture.clock.advance(Duration::from_hours(3));
        sleep(POLL_TIME);
        assert_eq!((transport.sent().len(), fixture.outbox_count("REMOVED")), (1, 3));
        fixture.queue_notifications(1);
        wait_until("a new one is sent", || transport.sent().len() == 2);
    }
}

#[test]
fn what_is_taken_out_during_its_last_attempt_is_not_counted_among_what_was_given_up() {
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
    fixture.set_webhook_events(endpoint, &[NotificationType::OrderCompleted]);
    transport.release();
    wait_until("the attempt is in the history", || fixture.delivery_history(endpoint).len() == 8);
    assert_eq!(fixture.outbox_count("REMOVED"), 1);
    assert_eq!(fixture.service.statistics().webhooks.dead, 0);
}

#[test]
fn deleting_an_endpoint_takes_what_waits_for_it_and_what_is_on_its_way_is_forgotten() {
    for answers in [204, 500] {
        let (fixture, transport, endpoint) = under_way(answers);
        let other = fixture.ticket_webhook("https://example.com/other").endpoint.id;
        let _sender = fixture.start_sender(SenderOptions::default().workers(4).workers_per_endpoint(1));
        fixture.queue_notifications(3);
        transport.wait_for(2);
        fixture.service.delete_webhook(&fixture.caller, endpoint).expect("deleted");
        assert_eq!(fixture.outbox().len(), 3, "the other endpoint's rows");
        transport.release();
        wait_until("the other endpoint got its own", || fixture.delivery_history(other).len() == 3);
        fixture.clock.advance(Duration::from_hours(3));
        sleep(POLL_TIME);
        assert_eq!(transport.sent_to("/hook"), 1);
        assert_eq!(
            fixture.stored(
                "SELECT COUNT(*) FROM webhook_deliveries WHERE outbox_id NOT IN (SELECT id FROM webhook_outbox)"
            ),
            0
        );
    }
}

#[test]
fn a_resend_is_a_row_of_its_own_with_the_same_event_id_and_attempts_from_one() {
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
    let dead = fixture.delivery_history(id).pop().expect("its attempts");
    let resent = fixture.service.resend_webhook_delivery(&fixture.caller, id, dead.id).expect("resent").outbox_id;
    assert_ne!(Some(resent), dead.outbox_id);
    assert!(fixture.wait_for_attempt(1).is("WAITING", 1));
    fixture.clock.advance(MINUTE);
    assert!(fixture.wait_for_attempt(2).is("DELIVERED", 2));
    assert_eq!(fixture.outbox_count("DEAD"), 1, "the first one stays as it is");
    let sent = transport.sent();
    assert_eq!(sent.len(), 10);
    assert!(sent.iter().all(|request| request.body == sent[0].body));
    assert!(sent.iter().all(|request| header(request, EVENT_ID_HEADER) == header(&sent[0], EVENT_ID_HEADER)));
    let history = fixture.delivery_history(id);
    let numbers: Vec<_> = history.iter().map(|delivery| (delivery.attempt, delivery.success)).collect();
    let dead = (1..=8).map(|number| (number, false));
    assert_eq!(numbers, dead.chain([(1, false), (2, true)]).collect::<Vec<_>>());
    assert!(history[8..].iter().all(|delivery| delivery.outbox_id == Some(resent)));
    // The timestamp is the one of the attempt, and not of the first sending.
    let seconds = header(&sent[9], TIMESTAMP_HEADER).parse().expect("seconds");
    assert_eq!(seconds, fixture.clock.now().millis() / 1000);
    let signature = sign(created.secret.expose(), seconds, sent[9].body.as_bytes());
    assert_eq!(header(&sent[9], SIGNATURE_HEADER), signature);
}

#[test]
fn a_resend_waits_while_the_endpoint_is_disabled_and_is_refused_where_its_type_is_not_wanted() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    let id = fixture.ticket_webhook("https://example.com/hook").endpoint.id;
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(1);
    fixture.wait_for_outbox(1, "DELIVERED");
    let delivery = fixture.delivery_history(id)[0].id;
    let resend = || fixture.service.resend_webhook_delivery(&fixture.caller, id, delivery);
    fixture.set_webhook_enabled(id, false);
    resend().expect("resent");
    sleep(POLL_TIME);
    assert_eq!((transport.sent().len(), fixture.outbox_count("WAITING")), (1, 1));
    fixture.set_webhook_enabled(id, true);
    fixture.wait_for_outbox(2, "DELIVERED");
    fixture.set_webhook_events(id, &[NotificationType::OrderCancelled]);
    assert_eq!(crate::common::reason(resend()), Reason::InvalidTransition);
    assert_eq!(fixture.outbox().len(), 2);
}

#[test]
fn what_waits_behind_another_attempt_of_its_worker_goes_where_the_endpoint_is_by_then() {
    type Change = fn(&Fixture, ticketing::WebhookId);
    let rotate: Change = |fixture, id| {
        fixture.service.rotate_webhook_secret(&fixture.caller, id).expect("rotated");
    };
    let cases: [(Change, &str); 5] = [
        (rotate, "signed anew"),
        (|fixture, id| fixture.set_webhook_url(id, "https://example.com/moved"), "moved"),
        (|fixture, id| fixture.set_webhook_enabled(id, false), "nothing"),
        (|fixture, id| fixture.set_webhook_events(id, &[NotificationType::OrderCompleted]), "nothing"),
        (|fixture, id| fixture.service.delete_webhook(&fixture.caller, id).expect("deleted"), "nothing"),
    ];
    for (change, then) in cases {
        let transport = FakeTransport::new(|transport, _, timeout| match transport.sent().len() {
            // One is delivered, so that the endpoint is known to be prompt; the next one waits at the gate.
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
        if then != "nothing" {
            fixture.wait_for_outbox(11, "DELIVERED");
        }
        sleep(POLL_TIME);
        drop(sender);
        let is_old = |request: &ticketing::webhook::WebhookRequest| {
            let seconds = header(request, TIMESTAMP_HEADER).parse().expect("seconds");
            let signature = sign(created.secret.expose(), seconds, request.body.as_bytes());
            header(request, SIGNATURE_HEADER) == signature && request.url.ends_with("/hook")
        };
        let old = transport.sent().iter().filter(|request| is_old(request)).count();
        assert_eq!(old, 2, "what was sent before the change: {then}");
        assert_eq!(transport.sent().len(), if then == "nothing" { 2 } else { 11 }, "{then}");
    }
}
