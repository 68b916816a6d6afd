//! Cancelling an event with many pending orders: the event at once, the orders in batches.

use ticketing::error::Reason;
use ticketing::event::{EventStatus, UpdateEvent};
use ticketing::order::OrderStatus;
use ticketing::payment::ListRefunds;
use ticketing::payment::ManualMethod;
use ticketing::ticket::CheckInTicket;

use crate::common::*;

fn cancelled(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'CANCELLED'")
}

fn unfinished(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM work WHERE kind = 'cancel orders'")
}

/// Cancels the event, but none of its orders, as if the program had ended in between.
fn cancel_without_orders(fixture: &Fixture, event: &ticketing::event::Event) {
    fixture.database().refuse("crash", "BEFORE UPDATE ON orders", "new.status = 'CANCELLED'");
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    fixture.database().end_trigger("crash");
    assert_eq!((cancelled(fixture), unfinished(fixture)), (0, 1));
    fixture.clock.advance(std::time::Duration::from_mins(1));
}

#[test]
fn the_pending_orders_are_cancelled_in_batches_before_the_call_returns() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 1000);
    for _ in 0..450 {
        fixture.order(&ticket_type, 2);
    }
    let other = fixture.order(&fixture.new_ticket_type(1250, 10), 1);
    let before = fixture.commits();
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!((cancelled(&fixture), unfinished(&fixture)), (450, 0));
    fixture.assert_commits(before, 5, "the event, 200, 200 and 50 orders, and that they are done");
    assert_eq!(fixture.order_status(other.id), OrderStatus::Pending);
    assert_eq!(fixture.stored("SELECT SUM(held) FROM ticket_types"), 1, "the seat of the other event");
}

#[test]
fn only_the_change_to_cancelled_starts_a_cancellation_of_orders() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let order = fixture.order(&fixture.ticket_type(&event, 1250, 10), 1);
    fixture.database().run("CREATE TABLE started (event_id BIGINT)");
    let log = "INSERT INTO started VALUES (new.key)";
    fixture.database().trigger("start", "AFTER INSERT ON work", "new.kind = 'cancel orders'", log);
    let started = || fixture.stored("SELECT COUNT(*) FROM started");
    let rename = |title: &str| {
        let changes = UpdateEvent::default().title(title);
        fixture.service.update_event(&fixture.caller, event.id, changes).expect("renamed");
    };
    rename("Summer Day");
    assert_eq!((started(), fixture.order_status(order.id)), (0, OrderStatus::Pending));
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!((started(), fixture.order_status(order.id)), (1, OrderStatus::Cancelled));
    rename("Summer Evening");
    assert_eq!((started(), unfinished(&fixture)), (1, 0));
    fixture.database().end_trigger("start");
    fixture.database().run("DROP TABLE started");
}

#[test]
fn orders_whose_cancellation_was_interrupted_cannot_be_paid_and_maintenance_cancels_them() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 1000);
    let completed = fixture.paid_order(&ticket_type, 1);
    let orders: Vec<_> = (0..3).map(|_| fixture.order(&ticket_type, 1)).collect();
    cancel_without_orders(&fixture, &event);

    assert_eq!(fixture.order_status(orders[0].id), OrderStatus::Pending, "it is not its turn yet");
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::EventNotOnSale);
    let code = fixture.read_order(completed.id).items[0].issued_tickets[0].code.clone();
    let scan = fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&code));
    assert_eq!(reason(scan), Reason::EventCancelled);
    assert_eq!(
        reason(fixture.service.mark_order_paid(&fixture.caller, orders[0].id, ManualMethod::Cash)),
        Reason::OrderNotPending
    );
    fixture.service.payment_completed(&fixture.caller, orders[1].id).expect("recorded");
    assert_eq!(fixture.order_status(orders[1].id), OrderStatus::Cancelled);
    let refunds = fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data;
    assert_eq!(refunds.iter().map(|refund| refund.order_id).collect::<Vec<_>>(), [orders[1].id]);
    assert!(fixture.service.check().expect("a check").is_clean());

    // The next program on the file.
    let report = fixture.second_service().run_maintenance().expect("a run");
    assert_eq!((report.cancelled_orders, report.expired_orders), (2, 0));
    assert_eq!((cancelled(&fixture), unfinished(&fixture)), (3, 0));
    assert_eq!(fixture.order_status(completed.id), OrderStatus::Completed);
    assert_eq!(fixture.stored("SELECT SUM(held) FROM ticket_types"), 0);
}

#[test]
fn cancelling_the_event_again_finishes_an_interrupted_cancellation() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let order = fixture.order(&fixture.ticket_type(&event, 1250, 10), 1);
    cancel_without_orders(&fixture, &event);
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("it is cancelled already");
    assert_eq!((fixture.order_status(order.id), unfinished(&fixture)), (OrderStatus::Cancelled, 0));
}

#[test]
fn an_order_that_cannot_be_cancelled_stays_to_be_done_and_the_others_are_cancelled() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let damaged_type = fixture.ticket_type(&event, 1250, 10);
    let damaged = fixture.order(&damaged_type, 2);
    let other = fixture.order(&fixture.ticket_type(&event, 1250, 10), 1);
    let set_held = |held: i64| {
        let id = database::stored_id(damaged_type.id);
        fixture.database().run(&format!("UPDATE ticket_types SET held = {held} WHERE id = {id}"));
    };
    set_held(0);
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!(fixture.order_status(other.id), OrderStatus::Cancelled);
    assert_eq!((fixture.order_status(damaged.id), unfinished(&fixture)), (OrderStatus::Pending, 1));
    set_held(2);
    fixture.clock.advance(std::time::Duration::from_mins(1));
    assert_eq!(fixture.service.run_maintenance().expect("a run").cancelled_orders, 1);
    assert_eq!((fixture.order_status(damaged.id), unfinished(&fixture)), (OrderStatus::Cancelled, 0));
}
