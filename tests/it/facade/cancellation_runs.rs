//! An event that does not take place: all its completed orders are cancelled and refunded in the background.

use std::time::Duration;

use ticketing::Error;
use ticketing::error::{Reason, ResourceKind};
use ticketing::event::{CancelEventOrders, CancellationRun, CancellationRunState, Event, EventStatus};
use ticketing::order::{Order, OrderStatus};
use ticketing::payment::{ListRefunds, ManualMethod, MarkRefunded, RefundMethod, RefundStatus};
use ticketing::ticket_type::TicketType;
use ticketing::webhook::EventType;

use crate::common::*;

/// A cancelled event with `count` paid orders of two tickets.
fn cancelled_event(fixture: &Fixture, count: usize) -> (Event, TicketType, Vec<Order>) {
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10_000);
    let orders = (0..count).map(|_| fixture.paid_order(&ticket_type, 2)).collect();
    (fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled"), ticket_type, orders)
}

fn start(fixture: &Fixture, event: &Event) -> CancellationRun {
    let request = CancelEventOrders::default().reason("Storm");
    fixture.service.cancel_event_orders(&fixture.caller, event.id, request).expect("a run")
}

fn read(fixture: &Fixture, event: &Event) -> CancellationRun {
    fixture.service.get_cancellation_run(&fixture.caller, event.id).expect("a run")
}

/// Orders found, cancelled and failed.
fn orders(run: &CancellationRun) -> (i64, i64, i64) {
    (run.orders, run.cancelled, run.failed)
}

/// Refunds due, done and manual.
fn refunds(run: &CancellationRun) -> (i64, i64, i64) {
    (run.refunds_due, run.refunds_done, run.manual)
}

fn completed(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'COMPLETED'")
}

#[test]
fn every_completed_order_is_cancelled_and_refunded_in_batches() {
    let fixture = Fixture::new();
    let elsewhere = fixture.paid_order(fixture.default_ticket_type(), 1);
    let (event, ticket_type, paid) = cancelled_event(&fixture, 130);
    fixture.webhook([EventType::OrderCancelled]);
    let started = start(&fixture, &event);
    assert_eq!(
        (started.state, orders(&started), refunds(&started)),
        (CancellationRunState::Running, (130, 0, 0), (0, 0, 0))
    );
    assert_eq!((started.reason.as_deref(), started.refund, started.ended_at), (Some("Storm"), true, None));
    assert_eq!(completed(&fixture), 131, "nothing happens before the maintenance runs");

    let report = fixture.service.run_maintenance().expect("a run");
    assert_eq!((report.cancelled_orders, report.skipped_rows), (130, 0));
    let run = read(&fixture, &event);
    assert_eq!((run.state, orders(&run), refunds(&run)), (CancellationRunState::Done, (130, 130, 0), (0, 130, 0)));
    assert_eq!((run.id, run.ended_at), (started.id, Some(at(NOW))));
    assert_eq!((fixture.sold(&ticket_type), fixture.order_status(elsewhere.id)), (0, OrderStatus::Completed));
    let asked: Vec<_> = fixture.gateway.refunds().into_iter().map(|refund| refund.order_id).collect();
    assert_eq!(asked.len(), 130);
    assert!(paid.iter().all(|order| asked.contains(&order.id)), "each order is refunded once");
    let refund = &fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data[0];
    assert_eq!(
        (refund.status, refund.reason.as_deref(), refund.amount),
        (RefundStatus::Done, Some("Storm"), eur(2500))
    );
    assert_eq!(fixture.outbox().into_iter().filter(|row| row.kind == "order.cancelled").count(), 130);
    let summary = fixture.service.get_event_summary(&fixture.caller, event.id).expect("a summary");
    assert_eq!((summary.gross_revenue, summary.refunded_total), (eur(130 * 2500), eur(130 * 2500)));
}

#[test]
fn only_the_orders_of_a_cancelled_event_are_cancelled() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let order = fixture.paid_order(&fixture.ticket_type(&event, 1250, 10), 1);
    let cancel = || fixture.service.cancel_event_orders(&fixture.caller, event.id, CancelEventOrders::default());
    let before = fixture.all_rows();
    assert_eq!(reason(cancel()), Reason::EventNotCancelled);
    assert_eq!(fixture.all_rows(), before);
    let read = || fixture.service.get_cancellation_run(&fixture.caller, event.id);
    assert_eq!(read(), Err(Error::NotFound(ResourceKind::CancellationRun)));
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!(read(), Err(Error::NotFound(ResourceKind::CancellationRun)));
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed, "refunds are the organizer's decision");
    cancel().expect("a run");
}

#[test]
fn a_second_request_returns_the_run_in_progress_and_a_later_one_starts_another() {
    let fixture = Fixture::new();
    let (event, ..) = cancelled_event(&fixture, 1);
    let first = start(&fixture, &event);
    assert!(!first.already_running);
    let again = start(&fixture, &event);
    assert_eq!((again.id, again.already_running), (first.id, true));
    fixture.service.run_maintenance().expect("a run");
    let second = start(&fixture, &event);
    assert_ne!(second.id, first.id);
    assert_eq!((second.state, orders(&second)), (CancellationRunState::Running, (0, 0, 0)));
    fixture.service.run_maintenance().expect("a run");
    assert_eq!((read(&fixture, &event).state, fixture.gateway.refunds().len()), (CancellationRunState::Done, 1));
}

#[test]
fn without_a_refund_the_organizer_keeps_the_money() {
    let fixture = Fixture::new();
    let (event, _, paid) = cancelled_event(&fixture, 2);
    let request = CancelEventOrders::default().refund(false);
    fixture.service.cancel_event_orders(&fixture.caller, event.id, request).expect("a run");
    fixture.service.run_maintenance().expect("a run");
    let run = read(&fixture, &event);
    assert_eq!((run.refund, orders(&run), refunds(&run)), (false, (2, 2, 0), (0, 0, 0)));
    assert_eq!((fixture.order_status(paid[0].id), fixture.gateway.refunds().len()), (OrderStatus::Cancelled, 0));
    assert_eq!(fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data, []);
}

#[test]
fn refunds_are_counted_by_their_state_now() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    fixture.paid_order(&ticket_type, 1);
    let in_cash = fixture.order(&ticket_type, 1);
    fixture.service.mark_order_paid(&fixture.caller, in_cash.id, ManualMethod::Cash).expect("paid");
    fixture.order(&fixture.ticket_type(&event, 0, 10), 1);
    let partly = fixture.paid_order(&ticket_type, 2);
    fixture.refund_amount(partly.id, eur(2500)).expect("refunded");
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    start(&fixture, &event);
    fixture.service.run_maintenance().expect("a run");
    let run = read(&fixture, &event);
    // The free order has no refund, and of another one nothing is left.
    assert_eq!((run.state, orders(&run), refunds(&run)), (CancellationRunState::Done, (4, 4, 0), (1, 0, 1)));

    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_hours(2));
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(refunds(&read(&fixture, &event)), (0, 1, 1));
    let returned = MarkRefunded::all(RefundMethod::Cash);
    fixture.service.mark_order_refunded(&fixture.caller, in_cash.id, returned).expect("recorded");
    assert_eq!(refunds(&read(&fixture, &event)), (0, 2, 0));
}

#[test]
fn a_refund_that_the_gateway_refuses_is_manual() {
    let fixture = Fixture::new();
    let (event, ..) = cancelled_event(&fixture, 1);
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    start(&fixture, &event);
    fixture.service.run_maintenance().expect("a run");
    let run = read(&fixture, &event);
    assert_eq!((orders(&run), refunds(&run)), ((1, 1, 0), (0, 0, 1)));
}

#[test]
fn an_interrupted_run_goes_on_in_another_process_and_cancels_each_order_once() {
    let fixture = Fixture::new();
    let (event, _, paid) = cancelled_event(&fixture, 150);
    start(&fixture, &event);
    let database = fixture.database();
    // The writer fails in the middle of the second batch.
    let sixtieth = database::stored_id(paid[90].id);
    database.refuse("crash", "BEFORE UPDATE ON cancellation_runs", &format!("new.last_order >= {sixtieth}"));
    drop(fixture.service.run_maintenance());
    database.end_trigger("crash");
    let run = read(&fixture, &event);
    assert_eq!(run.state, CancellationRunState::Running);
    assert!(run.cancelled < 91, "{run:?}");
    assert_eq!((run.orders, completed(&fixture)), (150, 150 - run.cancelled), "a batch is counted with its orders");
    assert!(fixture.service.check().expect("a check").is_clean());

    // The claim of the first process ends.
    fixture.clock.advance(Duration::from_mins(2));
    let other = fixture.second_service();
    other.run_maintenance().expect("a run");
    let run = read(&fixture, &event);
    assert_eq!((run.state, orders(&run), refunds(&run)), (CancellationRunState::Done, (150, 150, 0), (0, 150, 0)));
    assert_eq!(fixture.gateway.refunds().len(), 150);
}

#[test]
fn an_order_that_cannot_be_cancelled_is_named_and_the_next_run_tries_it_again() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let damaged_type = fixture.ticket_type(&event, 1250, 10);
    let (damaged, other) =
        (fixture.paid_order(&damaged_type, 2), fixture.paid_order(&fixture.ticket_type(&event, 1250, 10), 1));
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    let set_sold = |sold: i64| {
        let id = database::stored_id(damaged_type.id);
        fixture.database().run(&format!("UPDATE ticket_types SET sold = {sold} WHERE id = {id}"));
    };
    set_sold(0);
    let first = start(&fixture, &event);
    assert_eq!(fixture.service.run_maintenance().expect("a run").skipped_rows, 1);
    let run = read(&fixture, &event);
    assert_eq!((run.id, run.state, orders(&run)), (first.id, CancellationRunState::Done, (2, 1, 1)));
    assert_eq!(run.failures.iter().map(|failed| failed.order_id).collect::<Vec<_>>(), [damaged.id]);
    assert!(!run.failures[0].error.contains("type_"), "{run:?}");
    assert_eq!(fixture.order_status(other.id), OrderStatus::Cancelled);
    assert_eq!(fixture.order_status(damaged.id), OrderStatus::Completed);
    set_sold(2);
    start(&fixture, &event);
    fixture.service.run_maintenance().expect("a run");
    let run = read(&fixture, &event);
    assert_eq!((orders(&run), refunds(&run)), ((1, 1, 0), (0, 1, 0)));
    assert_eq!(fixture.gateway.refunds().len(), 2);
}

#[test]
fn an_order_that_was_cancelled_meanwhile_is_not_counted() {
    let fixture = Fixture::new();
    let (event, _, paid) = cancelled_event(&fixture, 2);
    start(&fixture, &event);
    fixture.service.cancel_order(&fixture.caller, paid[0].id).expect("cancelled");
    assert_eq!(orders(&read(&fixture, &event)), (1, 0, 0));
    fixture.service.run_maintenance().expect("a run");
    let run = read(&fixture, &event);
    assert_eq!((orders(&run), refunds(&run)), ((1, 1, 0), (0, 1, 0)));
    assert_eq!(fixture.gateway.refunds().len(), 2);
}

#[test]
fn a_payment_that_arrives_during_the_run_goes_back() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let pending = fixture.order(&ticket_type, 1);
    fixture.paid_order(&ticket_type, 1);
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    start(&fixture, &event);
    fixture.service.payment_completed(&fixture.caller, pending.id).expect("recorded");
    fixture.service.run_maintenance().expect("a run");
    let run = read(&fixture, &event);
    assert_eq!((orders(&run), refunds(&run)), ((1, 1, 0), (0, 1, 0)));
    let all = fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data;
    assert_eq!(all.iter().map(|refund| refund.status).collect::<Vec<_>>(), [RefundStatus::Done; 2]);
}

#[test]
fn an_event_without_orders_can_be_deleted_after_a_run() {
    let fixture = Fixture::new();
    let event = fixture.event();
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    start(&fixture, &event);
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(orders(&read(&fixture, &event)), (0, 0, 0));
    fixture.service.delete_event(&fixture.caller, event.id).expect("deleted");
}
