//! Maintenance with rows that cannot be read or contradict others: it skips them, and does everything else.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ticketing::error::StoreErrorKind;
use ticketing::id::OrderId;
use ticketing::maintenance::MaintenanceReport;
use ticketing::notification::NotificationTopic;
use ticketing::order::{CreateOrder, OrderStatus};
use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};

use crate::common::database::stored_id;
use crate::common::webhooks::wait_until;
use crate::common::*;

fn run(fixture: &Fixture) -> MaintenanceReport {
    fixture.service.run_maintenance().expect("a run")
}

/// Cancels a paid order while the gateway does not answer, so that its refund stays due.
fn order_with_due_refund(fixture: &Fixture) -> OrderId {
    let ticket_type = fixture.default_ticket_type();
    let order = fixture.paid_order(ticket_type, 1);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    order.id
}

#[test]
fn an_order_whose_seats_do_not_add_up_is_skipped_for_a_minute_and_the_others_expire() {
    let fixture = Fixture::new();
    let damaged_type = fixture.new_ticket_type(1250, 10);
    let damaged = fixture.order(&damaged_type, 2);
    let other = fixture.order(&fixture.new_ticket_type(1250, 10), 3);
    let set_held = |held: i64| {
        let id = database::stored_id(damaged_type.id);
        fixture.database().run(&format!("UPDATE ticket_types SET held = {held} WHERE id = {id}"));
    };
    set_held(0);
    fixture.expire_holds();
    let report = run(&fixture);
    assert_eq!((report.expired_orders, report.skipped_rows), (1, 1));
    let expired = || fixture.database().column::<i64>("SELECT id FROM orders WHERE status = 'EXPIRED' ORDER BY id");
    assert_eq!(expired(), [database::stored_id(other.id)]);
    assert!(!fixture.service.check().expect("a check").is_clean(), "the check shows it");

    assert_eq!(run(&fixture), MaintenanceReport::default(), "it is not tried again at once");
    set_held(2);
    fixture.clock.advance(Duration::from_mins(1));
    let report = run(&fixture);
    assert_eq!((report.expired_orders, report.skipped_rows), (1, 0));
    assert_eq!(expired(), [damaged.id, other.id].map(database::stored_id));
    assert_eq!(fixture.service.statistics().maintenance.skipped_rows, 1);
}

#[test]
fn more_damaged_orders_than_a_batch_has_do_not_delay_the_next_one() {
    let fixture = Fixture::without_gateway();
    let damaged_type = fixture.new_ticket_type(1250, 1000);
    for _ in 0..250 {
        fixture.order(&damaged_type, 1);
    }
    let id = database::stored_id(damaged_type.id);
    fixture.database().run(&format!("UPDATE ticket_types SET held = 0 WHERE id = {id}"));
    fixture.clock.advance(Duration::from_secs(1));
    let last = fixture.order(&fixture.new_ticket_type(1250, 10), 3);
    fixture.skip_final_check();
    fixture.expire_holds();
    let report = run(&fixture);
    assert_eq!((report.expired_orders, report.skipped_rows), (1, 250));
    let id = database::stored_id(last.id);
    assert_eq!(fixture.stored(&format!("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED' AND id = {id}")), 1);
}

#[test]
fn a_damaged_order_does_not_keep_the_others_of_its_event_from_freeing_seats_for_a_sale() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let damaged_type = fixture.ticket_type(&event, 1250, 2);
    let sold_out_type = fixture.ticket_type(&event, 1250, 2);
    fixture.order(&damaged_type, 2);
    let expired = fixture.order(&sold_out_type, 2);
    let id = database::stored_id(damaged_type.id);
    fixture.database().run(&format!("UPDATE ticket_types SET held = 0 WHERE id = {id}"));
    fixture.skip_final_check();
    fixture.expire_holds();
    let order = fixture.try_order(&sold_out_type, 2).expect("the seats of the expired order");
    assert_eq!(fixture.order_status(order.id), OrderStatus::Pending);
    assert_eq!(fixture.order_status(expired.id), OrderStatus::Expired);
}

#[test]
fn a_sale_passes_over_a_damaged_order_to_the_next_one_with_expired_seats() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let damaged_type = fixture.ticket_type(&event, 1250, 2);
    let sold_out_type = fixture.ticket_type(&event, 1250, 2);
    let both = CreateOrder::new(event.id, new_customer(), damaged_type.id, 1).item(sold_out_type.id, 1);
    let damaged = fixture.service.create_order(&fixture.caller, both).expect("created").order;
    fixture.clock.advance(Duration::from_secs(1));
    let expired = fixture.order(&sold_out_type, 1);
    let id = database::stored_id(damaged_type.id);
    fixture.database().run(&format!("UPDATE ticket_types SET held = 0 WHERE id = {id}"));
    fixture.skip_final_check();
    fixture.expire_holds();
    fixture.try_order(&sold_out_type, 1).expect("the seat of the order after the damaged one");
    let stored =
        |id| fixture.database().value_with::<String>("SELECT status FROM orders WHERE id = ?1", [stored_id(id)]);
    assert_eq!([damaged.id, expired.id].map(stored), ["PENDING", "EXPIRED"]);
}

#[test]
fn a_refund_that_cannot_be_read_is_skipped_and_the_next_is_made() {
    let fixture = Fixture::new();
    let damaged = order_with_due_refund(&fixture);
    fixture.clock.advance(Duration::from_secs(1));
    let other = order_with_due_refund(&fixture);
    let before = fixture.gateway.refunds().len();
    let set_currency = |currency: &str| {
        let id = database::stored_id(damaged);
        fixture.database().run(&format!("UPDATE refunds SET currency = '{currency}' WHERE order_id = {id}"));
    };
    set_currency("no currency");
    fixture.clock.advance(Duration::from_mins(2));
    let report = run(&fixture);
    assert_eq!((report.answered_refunds, report.skipped_rows), (1, 1));
    let requested: Vec<OrderId> = fixture.gateway.refunds()[before..].iter().map(|request| request.order_id).collect();
    assert_eq!(requested, [other]);
    assert!(!fixture.service.check().expect("a check").is_clean(), "the check shows it");
    set_currency("EUR");
    fixture.clock.advance(Duration::from_mins(1));
    assert_eq!(run(&fixture).answered_refunds, 1);
}

#[test]
fn a_notification_for_a_function_that_cannot_be_read_is_kept_and_the_others_are_processed() {
    let (calls, called) = channel();
    let fixture = Fixture::with(|builder| {
        builder.handler_threads(false).on_topics("mail", [NotificationTopic::TicketIssued], move |_, notification| {
            Ok(calls.send((notification.id, notification.attempt))?)
        })
    });
    fixture.issue(fixture.default_ticket_type(), 2);
    let damaged = fixture.stored("SELECT MIN(id) FROM work");
    let body: String = fixture.database().value("SELECT body FROM work ORDER BY id LIMIT 1");
    let set_body = |body: &str| {
        fixture.database().execute("UPDATE work SET body = ?2 WHERE id = ?1", (damaged, body));
    };
    set_body("no JSON");
    fixture.service.deliver_due_notifications().expect("a round");
    assert_ne!(called.try_recv().map(|(id, _)| stored_id(id)), Ok(damaged));
    called.try_recv().unwrap_err();
    assert_eq!(fixture.stored("SELECT id FROM work"), damaged);
    assert_eq!(fixture.service.statistics().maintenance.skipped_rows, 1);
    assert!(fixture.service.check().expect("a check").counts.contains_key("handler-notification"));
    set_body(&body);
    fixture.clock.advance(Duration::from_mins(1));
    fixture.service.deliver_due_notifications().expect("a round");
    assert_eq!(called.try_recv().map(|(id, attempt)| (stored_id(id), attempt)), Ok((damaged, 1)));
}

#[test]
fn functions_whose_topics_cannot_be_read_get_every_notification_until_they_are_registered_again() {
    let fixture = Fixture::with(|builder| {
        builder.handler_threads(false).on_topics("mail", [NotificationTopic::TicketIssued], |_, _| Ok(()))
    });
    let queued = || fixture.stored("SELECT COUNT(*) FROM work");
    fixture.database().run("UPDATE notification_handlers SET topics = 'no JSON'");
    fixture.order(fixture.default_ticket_type(), 1);
    assert_eq!(queued(), 1, "order.created");
    drop(fixture.second_service_with(|builder| {
        builder.handler_threads(false).on_topics("mail", [NotificationTopic::TicketIssued], |_, _| Ok(()))
    }));
    fixture.order(fixture.default_ticket_type(), 1);
    assert_eq!(queued(), 1);
}

#[test]
fn events_that_end_together_expire_in_batches_and_one_that_fails_is_skipped() {
    let fixture = Fixture::without_gateway();
    for number in 0..450 {
        fixture.event_with(|event| event.slug = format!("event-{number}"));
    }
    let refused = fixture.stored("SELECT id FROM events ORDER BY id LIMIT 1 OFFSET 7");
    fixture.database().refuse("refuse", "BEFORE UPDATE ON events", &format!("old.id = {refused}"));
    fixture.set_clock(EVENT_END);
    let before = fixture.commits();
    let report = run(&fixture);
    assert_eq!((report.expired_events, report.skipped_rows), (449, 1));
    fixture.assert_commits(before, 3, "200, 200 and 50 events");
    assert_eq!(fixture.stored("SELECT id FROM events WHERE status <> 'EXPIRED'"), refused);
    fixture.database().end_trigger("refuse");
    fixture.clock.advance(Duration::from_mins(1));
    assert_eq!(run(&fixture).expired_events, 1);
}

#[test]
fn a_full_disk_ends_the_batch_and_no_row_is_skipped() {
    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.new_ticket_type(1250, 10);
    let orders = [(); 3].map(|()| fixture.order(&ticket_type, 1).id);
    fixture.expire_holds();
    let second = stored_id(orders[1]);
    fixture.database().refuse_as_if_full("full_disk", "BEFORE UPDATE ON orders", &format!("old.id = {second}"));
    assert_eq!(fixture.service.run_maintenance(), Err(StoreErrorKind::Full.into()));
    assert_eq!(fixture.service.statistics().maintenance.skipped_rows, 0);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'PENDING'"), 3, "the batch was undone");

    fixture.database().end_trigger("full_disk");
    let report = run(&fixture);
    assert_eq!((report.expired_orders, report.skipped_rows), (3, 0), "at once: a skipped row would wait for a minute");
}

#[test]
fn a_step_that_fails_as_a_whole_is_an_error_and_the_other_steps_are_run() {
    let fixture = Fixture::new();
    order_with_due_refund(&fixture);
    let other = fixture.second_service();
    // A table that one step needs and the others do not.
    fixture.database().run("ALTER TABLE idempotency_records RENAME TO hidden");
    fixture.clock.advance(Duration::from_mins(2));
    assert!(other.run_maintenance().is_err());
    fixture.database().run("ALTER TABLE hidden RENAME TO idempotency_records");
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM refunds WHERE status = 'DONE'"), 1, "a later step");
}

/// A gateway whose refunds answer when the test says so: whether the refund was made.
struct HangingGateway {
    called: Sender<()>,
    answer: Arc<Mutex<Receiver<bool>>>,
}

impl PaymentGateway for HangingGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        Ok(Checkout::new("https://pay.example", request.order_id.to_string()))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        self.called.send(()).expect("the test waits");
        match self.answer.lock().expect("no panic").recv() {
            Ok(true) => Ok(request.made("refund")),
            _ => Err(GatewayError::Unavailable("closed".to_owned())),
        }
    }
}

#[test]
fn dropping_the_guard_does_not_wait_for_a_gateway_that_hangs() {
    let (called, calls) = channel();
    let (answer, answers) = channel();
    let gateway = HangingGateway { called, answer: Arc::new(Mutex::new(answers)) };
    // With eight calls, one refund is made at a time.
    let fixture = Fixture::with(|builder| builder.payment_gateway(gateway).gateway_calls(8));
    let ticket_type = fixture.new_ticket_type(1250, 10);
    let orders = [(); 2].map(|()| fixture.paid_order(&ticket_type, 1).id);
    for order in orders {
        let answer = answer.clone();
        std::thread::scope(|scope| {
            scope.spawn(|| fixture.service.cancel_order(&fixture.caller, order).expect("cancelled"));
            calls.recv().expect("a call");
            answer.send(false).expect("the gateway waits");
        });
    }
    fixture.clock.advance(Duration::from_mins(2));
    let guard = fixture.service.start_maintenance().expect("a thread");
    calls.recv().expect("the refund of the first order");
    drop(guard);
    // The call has neither ended nor timed out, and there was no other.
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM refunds WHERE status = 'DUE'"), 2);
    assert_eq!(fixture.stored("SELECT COUNT(DISTINCT last_error) FROM refunds"), 1, "no timeout");
    assert_eq!(fixture.stored("SELECT SUM(attempts) FROM refunds"), 2 + 1);
    answer.send(true).expect("the gateway waits");
    wait_until("the answer is recorded", || fixture.stored("SELECT COUNT(*) FROM refunds WHERE status = 'DONE'") == 1);
    assert!(calls.recv_timeout(Duration::from_millis(300)).is_err(), "the run has ended");
}
