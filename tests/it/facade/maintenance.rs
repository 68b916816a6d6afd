//! Maintenance: what a run writes, and that correctness does not depend on it.

use crate::common::*;
use std::time::Duration;
use ticketing::error::Reason;
use ticketing::event::EventStatus;
use ticketing::maintenance::MaintenanceReport;
use ticketing::order::{OrderStatus, PaymentStatus};

#[test]
fn a_run_expires_and_refunds_what_is_due_and_the_next_finds_nothing() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let cancelled = fixture.paid_order(&ticket_type, 1);
    fixture.order(&ticket_type, 2);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    fixture.service.cancel_order(&fixture.caller, cancelled.id).expect("cancelled");
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    assert_eq!(fixture.service.run_maintenance().expect("a run"), MaintenanceReport::default());
    fixture.set_clock(EVENT_END);
    let report = fixture.service.run_maintenance().expect("a run");
    assert_eq!((report.expired_orders, report.expired_events, report.answered_refunds), (1, 1, 1));
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 1);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM events WHERE status = 'EXPIRED'"), 1);
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 0);
    assert_eq!(fixture.service.run_maintenance().expect("a run"), MaintenanceReport::default());
}

#[test]
fn a_run_covers_every_organization() {
    let fixture = Fixture::new();
    let other = fixture.other_organization();
    let event = fixture.service.create_event(&other, new_event(|_| {})).expect("an event");
    fixture.set_clock(EVENT_END);
    assert_eq!(fixture.service.run_maintenance().expect("a run").expired_events, 1);
    assert_eq!(fixture.service.get_event(&other, event.id).expect("the event").status, EventStatus::Expired);
}

#[test]
fn one_run_expires_all_holds_that_have_run_out() {
    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
    for _ in 0..450 {
        fixture.order(&ticket_type, 2);
    }
    fixture.expire_holds();
    assert_eq!(fixture.service.run_maintenance().expect("a run").expired_orders, 450);
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 0);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 450);
}

#[test]
fn two_services_that_expire_the_same_holds_release_their_seats_once() {
    let fixture = Fixture::new();
    let second = fixture.second_service();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    for _ in 0..30 {
        fixture.order(&ticket_type, 1);
    }
    fixture.expire_holds();
    let expired: usize = std::thread::scope(|scope| {
        let runs = [&fixture.service, &second].map(|service| scope.spawn(|| service.run_maintenance().expect("a run")));
        runs.into_iter().map(|run| run.join().expect("no panic").expired_orders).sum()
    });
    assert_eq!((expired, fixture.stored("SELECT held FROM ticket_types")), (30, 0));
}

#[test]
fn sales_are_correct_without_maintenance() {
    // A sale from its first order until after the event, and maintenance never runs.
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 2);
    let expired = fixture.order(&ticket_type, 2);
    fixture.expire_holds();
    let order = fixture.order(&ticket_type, 2);
    assert_eq!(fixture.order_status(expired.id), OrderStatus::Expired);
    fixture.service.payment_completed(&fixture.caller, order.id).expect("paid");
    assert_eq!(fixture.event_status(event.id), EventStatus::SoldOut);
    fixture.service.payment_completed(&fixture.caller, expired.id).expect("recorded");
    assert_eq!(fixture.payment_status(expired.id), Some(PaymentStatus::Refunded));
    fixture.set_clock(EVENT_END);
    assert_eq!(fixture.event_status(event.id), EventStatus::Expired);
    assert_eq!(reason(fixture.try_issue(ticket_type.id, 1)), Reason::EventNotOnSale);
    // A ticket that is cancelled after the end does not reopen the sale.
    let ticket = fixture.read_order(order.id).items[0].issued_tickets[0].id;
    fixture.service.cancel_ticket(&fixture.caller, ticket).expect("cancelled");
    assert_eq!(fixture.event_status(event.id), EventStatus::Expired);
}

#[test]
fn the_worker_runs_maintenance_until_it_is_dropped() {
    let fixture = Fixture::new();
    let worker = fixture.service.start_maintenance().expect("a thread");
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 2);
    fixture.order(&ticket_type, 2);
    fixture.expire_holds();
    let expired = || fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'");
    for _ in 0..1000 {
        if expired() == 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(expired(), 1, "within ten seconds");
    drop(worker);
    fixture.service.ready().expect("the service goes on without its worker");
}

#[test]
fn a_worker_does_not_keep_the_service_open() {
    let fixture = Fixture::new();
    let file = fixture.path();
    let worker = fixture.service.start_maintenance().expect("a thread");
    fixture.event();
    drop(fixture.service.clone());
    fixture.service.ready().expect("another handle is left");
    let folder = fixture.close();
    Database::assert_closed(&file);
    drop(worker);
    drop(folder);
}
