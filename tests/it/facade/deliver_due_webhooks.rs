//! `deliver_due_webhooks`: deliveries without threads, for tests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::transport::{FakeTransport, respond};
use crate::common::*;

#[test]
fn everything_that_is_due_is_sent_once_on_the_calling_thread() {
    let thread = std::thread::current().id();
    let transport = FakeTransport::new(move |_, _, _| {
        assert_eq!(std::thread::current().id(), thread);
        respond(204)
    });
    let fixture = Fixture::with_transport(&transport);
    let first = fixture.ticket_webhook("https://one.example/hook").endpoint;
    fixture.ticket_webhook("https://two.example/hook");
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 0);
    fixture.queue_notifications(3);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 6);
    assert_eq!((transport.sent_to("one.example"), transport.sent_to("two.example")), (3, 3));
    assert_eq!(fixture.outbox_count("DELIVERED"), 6);
    assert!(fixture.deliveries(first.id).iter().all(|delivery| delivery.success));
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 0);
}

#[test]
fn a_disabled_endpoint_and_a_panicking_transport_do_not_stop_the_round() {
    let transport = FakeTransport::new(|_, request, _| match request.url.contains("panic") {
        true => panic!("the test makes the transport panic"),
        false => respond(204),
    });
    let fixture = Fixture::with_transport(&transport);
    let disabled = fixture.ticket_webhook("https://disabled.example/hook").endpoint;
    fixture.ticket_webhook("https://panic.example/hook");
    fixture.ticket_webhook("https://good.example/hook");
    fixture.queue_notifications(1);
    fixture.set_webhook_enabled(disabled.id, false);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 2);
    assert_eq!((transport.sent_to("disabled"), transport.sent_to("good")), (0, 1));
}

#[test]
fn what_was_queued_while_the_clock_was_days_ahead_is_due_once_it_is_put_right() {
    let first = AtomicBool::new(true);
    let transport =
        FakeTransport::new(move |_, _, _| respond(if first.swap(false, Ordering::Relaxed) { 500 } else { 204 }));
    let fixture = Fixture::with_transport(&transport);
    fixture.ticket_webhook("https://example.com/hook");
    let right = at(NOW);
    fixture.clock.advance(Duration::from_hours(48));
    fixture.queue_notifications(20);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 20);
    assert_eq!(fixture.outbox_count("WAITING"), 1, "a minute after the first attempt, by the wrong clock");
    fixture.queue_notifications(40);
    // As if a process had claimed one and ended.
    fixture.database().run(
        "UPDATE webhook_outbox SET claim = 7, due_at = due_at + 18000
            WHERE id = (SELECT MAX(id) FROM webhook_outbox WHERE state = 'WAITING')",
    );
    fixture.clock.set(right);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 40, "without the one that was interrupted");
    // An interrupted attempt is made again after a moment.
    fixture.clock.advance(Duration::from_secs(2));
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 1);
    assert_eq!(fixture.outbox_count("DELIVERED"), 60);
}

#[test]
fn a_due_time_within_the_longest_delay_stays_although_the_clock_was_set_back() {
    let transport = FakeTransport::new(|_, _, _| respond(500));
    let fixture = Fixture::with_transport(&transport);
    fixture.ticket_webhook("https://example.com/hook");
    fixture.clock.advance(Duration::from_mins(30));
    fixture.queue_notifications(1);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 1);
    fixture.set_clock(NOW);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 0);
    fixture.clock.advance(Duration::from_mins(31));
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 1);
}
