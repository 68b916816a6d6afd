//! What a change of an endpoint does to notifications that wait for it or are on their way.

mod common;
#[path = "common/receiver.rs"]
mod receiver;
#[path = "common/sending.rs"]
mod sending;

use std::thread::sleep;
use std::time::Duration;

use receiver::{Answer, Received, Receiver};
use sending::*;
use ticketing::webhook::{EVENT_ID_HEADER, MAX_AGE, SIGNATURE_HEADER, SenderOptions, TIMESTAMP_HEADER, sign, verify};
use ticketing::{Clock, NotificationType, Reason, Secret};

const MINUTE: Duration = Duration::from_mins(1);

fn is_signed_with(secret: &Secret, request: &Received, office: &Office) -> bool {
    let header = |name| request.header(name).expect(name);
    let (timestamp, signature) = (header(TIMESTAMP_HEADER), header(SIGNATURE_HEADER));
    verify(secret.expose(), timestamp, signature, &request.body, office.clock.now(), MAX_AGE).is_ok()
}

#[test]
fn each_attempt_is_signed_with_the_secret_of_its_moment() {
    let (office, receiver) = (Office::over_http(), Receiver::start());
    receiver.then(Answer::Status(500));
    let created = office.endpoint(receiver.url("/hook"));
    let _sender = office.start(SenderOptions::default());
    office.queue(1);
    office.wait_for_attempt(1);
    let rotated = office.service.rotate_webhook_secret(&office.caller, created.endpoint.id).expect("rotated");
    office.clock.advance(MINUTE);
    assert!(office.wait_for_attempt(2).is("DELIVERED", 2));
    let requests = receiver.requests();
    assert!(is_signed_with(&created.secret, &requests[0], &office));
    assert!(!is_signed_with(&created.secret, &requests[1], &office));
    assert!(is_signed_with(&rotated.secret, &requests[1], &office));
}

#[test]
fn each_attempt_goes_to_the_url_of_its_moment() {
    let office = Office::over_http();
    let (before, after) = (Receiver::start(), Receiver::start());
    before.otherwise(Answer::Status(410));
    let endpoint = office.endpoint(before.url("/old")).endpoint;
    let _sender = office.start(SenderOptions::default());
    office.queue(1);
    office.wait_for_attempt(1);
    office.move_to(endpoint.id, after.url("/new"));
    sleep(NOTICE);
    assert_eq!(after.requests().len(), 0, "the new URL does not bring the attempt forward");
    office.clock.advance(MINUTE);
    assert!(office.wait_for_attempt(2).is("DELIVERED", 2));
    assert_eq!((before.requests().len(), after.requests().len()), (1, 1));
    assert!(after.requests()[0].head.starts_with("POST /new HTTP/1.1\r\n"));
    assert_eq!(after.requests()[0].body, before.requests()[0].body);
}

#[test]
fn while_an_endpoint_is_disabled_what_it_has_waits_and_nothing_new_is_queued_and_enabling_sends_it_at_once() {
    let carrier = Carrier::delivering();
    let office = Office::by(&carrier);
    let endpoint = office.endpoint("https://example.com/hook").endpoint;
    office.queue(2);
    office.enable(endpoint.id, false);
    office.queue(3);
    assert_eq!(office.number("WAITING"), 2);
    let _sender = office.start(SenderOptions::default());
    sleep(NOTICE);
    office.clock.advance(Duration::from_hours(1));
    sleep(NOTICE);
    assert_eq!(carrier.sent().len(), 0);
    office.enable(endpoint.id, true);
    office.wait_for(2, "DELIVERED");
    assert_eq!(carrier.sent().len(), 2);
    // What an attempt that is under way comes to counts, whatever was changed meanwhile.
    assert!(office.outbox().iter().all(|row| row.is("DELIVERED", 1)));
}

#[test]
fn an_endpoint_that_is_disabled_between_two_attempts_has_the_next_one_when_it_is_enabled_and_the_delay_is_over() {
    let carrier = Carrier::new(|carrier, _, _| answer(if carrier.sent().len() == 1 { 500 } else { 204 }));
    let office = Office::by(&carrier);
    let endpoint = office.endpoint("https://example.com/hook").endpoint;
    let _sender = office.start(SenderOptions::default());
    office.queue(1);
    office.wait_for_attempt(1);
    office.enable(endpoint.id, false);
    office.enable(endpoint.id, true);
    sleep(NOTICE);
    assert_eq!(carrier.sent().len(), 1, "the delay is not over");
    office.enable(endpoint.id, false);
    office.clock.advance(MINUTE);
    sleep(NOTICE);
    assert_eq!(carrier.sent().len(), 1, "it is disabled");
    office.enable(endpoint.id, true);
    assert!(office.wait_for_attempt(2).is("DELIVERED", 2));
}

/// An office, and a notification for its endpoint that is on its way until the gate opens.
fn under_way(answers: u16) -> (Office, Carrier, ticketing::WebhookId) {
    let carrier = Carrier::new(move |carrier, _, timeout| {
        carrier.wait_at_the_gate(timeout)?;
        answer(answers)
    });
    let office = Office::by(&carrier);
    let endpoint = office.endpoint("https://example.com/hook").endpoint.id;
    (office, carrier, endpoint)
}

#[test]
fn what_an_attempt_comes_to_whose_endpoint_is_disabled_meanwhile_counts() {
    for (answers, state) in [(204, "DELIVERED"), (500, "WAITING")] {
        let (office, carrier, endpoint) = under_way(answers);
        let _sender = office.start(SenderOptions::default());
        office.queue(1);
        carrier.wait_for(1);
        office.enable(endpoint, false);
        carrier.open_the_gate();
        assert!(office.wait_for_attempt(1).is(state, 1));
        assert_eq!(office.history(endpoint).len(), 1);
    }
}

#[test]
fn a_type_that_is_not_wanted_any_more_takes_what_waits_of_it_and_what_is_on_its_way_is_sent_no_more() {
    let wanted = [NotificationType::OrderCompleted];
    for (answers, success) in [(204, true), (500, false)] {
        let (office, carrier, endpoint) = under_way(answers);
        // One on its way, two that wait.
        let _sender = office.start(SenderOptions::default().workers(2).workers_per_endpoint(1));
        office.queue(3);
        carrier.wait_for(1);
        office.want(endpoint, &wanted);
        office.wait_for(3, "REMOVED");
        carrier.open_the_gate();
        until("the attempt is in the history", || office.history(endpoint).len() == 1);
        assert_eq!((office.history(endpoint)[0].success, office.history(endpoint)[0].attempt), (success, 1));
        let attempts: i64 = office.outbox().iter().map(|row| row.attempts).sum();
        assert_eq!(attempts, 1);
        // Wanting it again brings nothing back.
        office.want(endpoint, &[NotificationType::TicketIssued]);
        office.clock.advance(Duration::from_hours(3));
        sleep(NOTICE);
        assert_eq!((carrier.sent().len(), office.number("REMOVED")), (1, 3));
        office.queue(1);
        until("a new one is sent", || carrier.sent().len() == 2);
    }
}

#[test]
fn what_is_taken_out_during_its_last_attempt_is_not_counted_among_what_was_given_up() {
    let carrier = Carrier::new(|carrier, _, timeout| {
        if carrier.sent().len() == 8 {
            carrier.wait_at_the_gate(timeout)?;
        }
        answer(500)
    });
    let office = Office::by(&carrier);
    let endpoint = office.endpoint("https://example.com/hook").endpoint.id;
    let _sender = office.start(SenderOptions::default());
    office.queue(1);
    for (attempt, minutes) in (1..).zip([1, 2, 5, 10, 20, 40, 80]) {
        office.wait_for_attempt(attempt);
        office.clock.advance(minutes * MINUTE);
    }
    carrier.wait_for(8);
    office.want(endpoint, &[NotificationType::OrderCompleted]);
    carrier.open_the_gate();
    until("the attempt is in the history", || office.history(endpoint).len() == 8);
    assert_eq!(office.number("REMOVED"), 1);
    assert_eq!(office.service.statistics().webhooks.dead, 0);
}

#[test]
fn deleting_an_endpoint_takes_what_waits_for_it_and_what_is_on_its_way_is_forgotten() {
    for answers in [204, 500] {
        let (office, carrier, endpoint) = under_way(answers);
        let other = office.endpoint("https://example.com/other").endpoint.id;
        let _sender = office.start(SenderOptions::default().workers(4).workers_per_endpoint(1));
        office.queue(3);
        carrier.wait_for(2);
        office.service.delete_webhook(&office.caller, endpoint).expect("deleted");
        assert_eq!(office.outbox().len(), 3, "the other endpoint's rows");
        carrier.open_the_gate();
        until("the other endpoint got its own", || office.history(other).len() == 3);
        office.clock.advance(Duration::from_hours(3));
        sleep(NOTICE);
        assert_eq!(carrier.sent_to("/hook"), 1);
        assert_eq!(
            office.stored(
                "SELECT COUNT(*) FROM webhook_deliveries WHERE outbox_id NOT IN (SELECT id FROM webhook_outbox)"
            ),
            0
        );
    }
}

#[test]
fn a_resend_is_a_row_of_its_own_with_the_same_event_id_and_attempts_from_one() {
    let carrier = Carrier::new(|carrier, _, _| answer(if carrier.sent().len() <= 9 { 500 } else { 204 }));
    let office = Office::by(&carrier);
    let created = office.endpoint("https://example.com/hook");
    let id = created.endpoint.id;
    let _sender = office.start(SenderOptions::default());
    office.queue(1);
    for attempt in 1..=8 {
        office.wait_for_attempt(attempt);
        office.clock.advance(Duration::from_mins(80));
    }
    assert_eq!(office.number("DEAD"), 1);
    let dead = office.history(id).pop().expect("its attempts");
    let resent = office.service.resend_webhook_delivery(&office.caller, id, dead.id).expect("resent").outbox_id;
    assert_ne!(Some(resent), dead.outbox_id);
    assert!(office.wait_for_attempt(1).is("WAITING", 1));
    office.clock.advance(MINUTE);
    assert!(office.wait_for_attempt(2).is("DELIVERED", 2));
    assert_eq!(office.number("DEAD"), 1, "the first one stays as it is");
    let sent = carrier.sent();
    assert_eq!(sent.len(), 10);
    assert!(sent.iter().all(|request| request.body == sent[0].body));
    assert!(sent.iter().all(|request| header(request, EVENT_ID_HEADER) == header(&sent[0], EVENT_ID_HEADER)));
    let history = office.history(id);
    let numbers: Vec<_> = history.iter().map(|delivery| (delivery.attempt, delivery.success)).collect();
    let dead = (1..=8).map(|number| (number, false));
    assert_eq!(numbers, dead.chain([(1, false), (2, true)]).collect::<Vec<_>>());
    assert!(history[8..].iter().all(|delivery| delivery.outbox_id == Some(resent)));
    // The timestamp is the one of the attempt, and not of the first sending.
    let seconds = header(&sent[9], TIMESTAMP_HEADER).parse().expect("seconds");
    assert_eq!(seconds, office.clock.now().millis() / 1000);
    let signature = sign(created.secret.expose(), seconds, sent[9].body.as_bytes());
    assert_eq!(header(&sent[9], SIGNATURE_HEADER), signature);
}

#[test]
fn a_resend_waits_while_the_endpoint_is_disabled_and_is_refused_where_its_type_is_not_wanted() {
    let carrier = Carrier::delivering();
    let office = Office::by(&carrier);
    let id = office.endpoint("https://example.com/hook").endpoint.id;
    let _sender = office.start(SenderOptions::default());
    office.queue(1);
    office.wait_for(1, "DELIVERED");
    let delivery = office.history(id)[0].id;
    let resend = || office.service.resend_webhook_delivery(&office.caller, id, delivery);
    office.enable(id, false);
    resend().expect("resent");
    sleep(NOTICE);
    assert_eq!((carrier.sent().len(), office.number("WAITING")), (1, 1));
    office.enable(id, true);
    office.wait_for(2, "DELIVERED");
    office.want(id, &[NotificationType::OrderCancelled]);
    assert_eq!(common::reason(resend()), Reason::InvalidTransition);
    assert_eq!(office.outbox().len(), 2);
}

#[test]
fn what_waits_behind_another_attempt_of_its_worker_goes_where_the_endpoint_is_by_then() {
    type Change = fn(&Office, ticketing::WebhookId);
    let rotate: Change = |office, id| {
        office.service.rotate_webhook_secret(&office.caller, id).expect("rotated");
    };
    let cases: [(Change, &str); 5] = [
        (rotate, "signed anew"),
        (|office, id| office.move_to(id, "https://example.com/moved"), "moved"),
        (|office, id| office.enable(id, false), "nothing"),
        (|office, id| office.want(id, &[NotificationType::OrderCompleted]), "nothing"),
        (|office, id| office.service.delete_webhook(&office.caller, id).expect("deleted"), "nothing"),
    ];
    for (change, then) in cases {
        let carrier = Carrier::new(|carrier, _, timeout| match carrier.sent().len() {
            // One is delivered, so that the endpoint is known to be prompt; the next one waits at the gate.
            1 => answer(204),
            _ => carrier.wait_at_the_gate(timeout),
        });
        let office = Office::by(&carrier);
        let created = office.endpoint("https://example.com/hook");
        let id = created.endpoint.id;
        let sender = office.start(SenderOptions::default().workers(2).workers_per_endpoint(1));
        office.queue(1);
        office.wait_for(1, "DELIVERED");
        office.queue(10);
        carrier.wait_for(2);
        change(&office, id);
        carrier.open_the_gate();
        if then != "nothing" {
            office.wait_for(11, "DELIVERED");
        }
        sleep(NOTICE);
        drop(sender);
        let is_old = |request: &ticketing::webhook::WebhookRequest| {
            let seconds = header(request, TIMESTAMP_HEADER).parse().expect("seconds");
            let signature = sign(created.secret.expose(), seconds, request.body.as_bytes());
            header(request, SIGNATURE_HEADER) == signature && request.url.ends_with("/hook")
        };
        let old = carrier.sent().iter().filter(|request| is_old(request)).count();
        assert_eq!(old, 2, "what was sent before the change: {then}");
        assert_eq!(carrier.sent().len(), if then == "nothing" { 2 } else { 11 }, "{then}");
    }
}
