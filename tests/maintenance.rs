//! Maintenance: what it writes down, and that nothing waits for it.

mod common;

use common::*;
use std::time::Duration;
use ticketing::{EventStatus, MaintenanceReport, OrderStatus, PaymentStatus, Reason};

#[test]
fn a_run_writes_down_what_is_over_and_the_next_finds_nothing() {
    let shop = Shop::new();
    let seat = shop.ticket_type(&shop.event(), 1250, 10);
    let cancelled = shop.paid_order(&seat, 1);
    shop.order(&seat, 2);
    shop.gateway.on_refund(Mood::Unavailable);
    shop.service.cancel_order(&shop.caller, cancelled.id).expect("cancelled");
    shop.gateway.on_refund(Mood::Helpful);
    assert_eq!(shop.service.run_maintenance().expect("a run"), MaintenanceReport::default());
    shop.turn(END);
    let report = shop.service.run_maintenance().expect("a run");
    assert_eq!((report.expired_orders, report.expired_events, report.answered_refunds), (1, 1, 1));
    assert_eq!(shop.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 1);
    assert_eq!(shop.stored("SELECT COUNT(*) FROM events WHERE status = 'EXPIRED'"), 1);
    assert_eq!(shop.stored("SELECT held FROM ticket_types"), 0);
    assert_eq!(shop.service.run_maintenance().expect("a run"), MaintenanceReport::default());
}

#[test]
fn it_works_for_every_organization() {
    let shop = Shop::new();
    let stranger = shop.stranger();
    let event = shop.service.create_event(&stranger, new_event(|_| {})).expect("an event");
    shop.turn(END);
    assert_eq!(shop.service.run_maintenance().expect("a run").expired_events, 1);
    assert_eq!(shop.service.get_event(&stranger, event.id).expect("the event").status, EventStatus::Expired);
}

#[test]
fn however_many_holds_have_run_out_one_run_expires_them_all() {
    let shop = Shop::without_gateway();
    let seat = shop.ticket_type(&shop.event(), 1250, 1000);
    for _ in 0..450 {
        shop.order(&seat, 2);
    }
    shop.let_holds_lapse();
    assert_eq!(shop.service.run_maintenance().expect("a run").expired_orders, 450);
    assert_eq!(shop.stored("SELECT held FROM ticket_types"), 0);
    assert_eq!(shop.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 450);
}

#[test]
fn two_processes_that_expire_the_same_holds_free_their_places_once() {
    let shop = Shop::new();
    let second = shop.second();
    let seat = shop.ticket_type(&shop.event(), 1250, 100);
    for _ in 0..30 {
        shop.order(&seat, 1);
    }
    shop.let_holds_lapse();
    let expired: usize = std::thread::scope(|scope| {
        let runs = [&shop.service, &second].map(|service| scope.spawn(|| service.run_maintenance().expect("a run")));
        runs.into_iter().map(|run| run.join().expect("no panic").expired_orders).sum()
    });
    assert_eq!((expired, shop.stored("SELECT held FROM ticket_types")), (30, 0));
}

#[test]
fn nothing_depends_on_it() {
    // A sale from its first order to the day after, and nobody ever comes by.
    let shop = Shop::new();
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 2);
    let lapsed = shop.order(&seat, 2);
    shop.let_holds_lapse();
    let order = shop.order(&seat, 2);
    assert_eq!(shop.order_status(lapsed.id), OrderStatus::Expired);
    shop.service.payment_completed(&shop.caller, order.id).expect("paid");
    assert_eq!(shop.event_status(event.id), EventStatus::SoldOut);
    shop.service.payment_completed(&shop.caller, lapsed.id).expect("noted");
    assert_eq!(shop.payment_status(lapsed.id), Some(PaymentStatus::Refunded));
    shop.turn(END);
    assert_eq!(shop.event_status(event.id), EventStatus::Expired);
    assert_eq!(reason(shop.try_issue(seat.id, 1)), Reason::EventNotOnSale);
    // A ticket that comes back after the end puts nothing on sale.
    let ticket = shop.get(order.id).items[0].issued_tickets[0].id;
    shop.service.cancel_ticket(&shop.caller, ticket).expect("cancelled");
    assert_eq!(shop.event_status(event.id), EventStatus::Expired);
}

#[test]
fn the_worker_calls_it_until_it_is_dropped() {
    let shop = Shop::new();
    let worker = shop.service.start_maintenance().expect("a thread");
    let seat = shop.ticket_type(&shop.event(), 1250, 2);
    shop.order(&seat, 2);
    shop.let_holds_lapse();
    let expired = || shop.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'");
    for _ in 0..1000 {
        if expired() == 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(expired(), 1, "within ten seconds");
    drop(worker);
    shop.service.ready().expect("the service goes on without its worker");
}

#[test]
fn a_worker_does_not_keep_a_service_alive() {
    let shop = Shop::new();
    let file = shop.file();
    let worker = shop.service.start_maintenance().expect("a thread");
    let wal = file.with_extension("db-wal");
    shop.event();
    assert!(wal.exists());
    drop(shop.service.clone());
    assert!(wal.exists(), "another handle is left");
    let folder = shop.close();
    assert!(!wal.exists(), "the last handle leaves the file without a write-ahead log");
    drop(worker);
    drop(folder);
}
