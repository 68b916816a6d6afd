//! `deliver_due_webhooks`: deliveries without threads, for tests.

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
fn a_failed_attempt_is_due_again_after_the_delay_of_the_schedule() {
    let transport = FakeTransport::new(|_, _, _| respond(500));
    let fixture = Fixture::with_transport(&transport);
    let endpoint = fixture.ticket_webhook("https://example.com/hook").endpoint;
    fixture.queue_notifications(1);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 1);
    for minutes in [1, 2, 5, 10, 20, 40, 80] {
        fixture.clock.advance(Duration::from_mins(minutes) - Duration::from_millis(1));
        assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 0, "{minutes}");
        fixture.clock.advance(Duration::from_millis(1));
        assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 1, "{minutes}");
    }
    assert_eq!(fixture.outbox_count("DEAD"), 1);
    assert_eq!(fixture.delivery_history(endpoint.id).len(), 8);
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
