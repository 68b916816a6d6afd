//! Maintenance beside a wall clock that jumps: what cannot be taken back waits until the clock is confirmed.

use std::time::Duration;

use crate::common::clock::MachineClock;
use crate::common::*;
use ticketing::TicketingService;
use ticketing::environment::Clock;
use ticketing::event::{Event, EventStatus};
use ticketing::id::OrderId;
use ticketing::maintenance::MaintenanceReport;
use ticketing::order::OrderStatus;

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

fn held_back() -> MaintenanceReport {
    let mut report = MaintenanceReport::default();
    report.held_back = true;
    report
}

/// A service whose clock can jump, with an event, a pending order for it, and a used idempotency key.
fn fixture(clock: &MachineClock) -> (Fixture, Event, OrderId) {
    let fixture = Fixture::with(|builder| builder.clock(clock.clone()));
    let event = fixture.event();
    let order = fixture.order(&fixture.ticket_type(&event, 1250, 10), 2);
    let request = new_event(|request| request.slug = "keyed".to_owned());
    fixture.service.create_event(&fixture.caller_with_key("once"), request).expect("an event");
    (fixture, event, order.id)
}

fn stored_as_expired(fixture: &Fixture) -> (i64, i64, i64) {
    let count = |sql| fixture.stored(sql);
    (
        count("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"),
        count("SELECT COUNT(*) FROM events WHERE status = 'EXPIRED'"),
        1 - count("SELECT COUNT(*) FROM idempotency_records"),
    )
}

#[test]
fn a_jump_forward_and_back_expires_and_deletes_nothing() {
    let clock = MachineClock::new(at(NOW));
    let (fixture, event, order) = fixture(&clock);
    let run = || fixture.service.run_maintenance().expect("a run");
    assert_eq!(run(), MaintenanceReport::default());
    clock.jump_to(at("2027-06-01T12:00:00Z"));
    assert_eq!(run(), held_back());
    clock.pass(HOUR / 2);
    assert_eq!(run(), held_back());
    assert_eq!(fixture.service.statistics().maintenance.held_back, 2);
    assert_eq!(stored_as_expired(&fixture), (0, 0, 0));
    // It reads as expired as long as the clock says so.
    assert_eq!(fixture.event_status(event.id), EventStatus::Expired);
    clock.jump_to(at("2026-06-01T12:29:00Z"));
    assert_eq!(run(), MaintenanceReport::default());
    assert_eq!(fixture.event_status(event.id), EventStatus::Published);
    assert_eq!(fixture.order_status(order), OrderStatus::Pending);
    clock.pass(Duration::from_mins(2));
    assert_eq!(run().expired_orders, 1, "the hold of 30 minutes");
}

#[test]
fn a_jump_that_lasts_for_an_hour_is_believed() {
    let clock = MachineClock::new(at(NOW));
    let (fixture, ..) = fixture(&clock);
    fixture.service.run_maintenance().expect("a run");
    clock.jump_to(at(EVENT_END));
    assert!(fixture.service.run_maintenance().expect("a run").held_back);
    clock.pass(HOUR);
    let report = fixture.service.run_maintenance().expect("a run");
    assert_eq!((report.held_back, report.expired_orders, report.expired_events), (false, 1, 2));
    assert_eq!(report.forgotten_keys, 1);
    assert_eq!(stored_as_expired(&fixture), (1, 2, 1));
}

#[test]
fn time_that_passes_is_no_jump_however_long_no_maintenance_ran() {
    let clock = MachineClock::new(at(NOW));
    let (fixture, ..) = fixture(&clock);
    fixture.service.run_maintenance().expect("a run");
    clock.pass(365 * DAY);
    assert_eq!(fixture.service.run_maintenance().expect("a run").expired_events, 2);
}

#[test]
fn refunds_do_not_wait_for_the_clock() {
    let clock = MachineClock::new(at(NOW));
    let fixture = Fixture::with_gateway(|builder| builder.clock(clock.clone()));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 1);
    fixture.service.run_maintenance().expect("a run");
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    clock.jump_to(at("2030-01-01T00:00:00Z"));
    let report = fixture.service.run_maintenance().expect("a run");
    assert_eq!((report.held_back, report.answered_refunds), (true, 1));
}

#[test]
fn a_payment_does_not_go_back_because_the_clock_says_that_the_event_has_ended() {
    // The clock jumps beyond the end, and is believed after an hour.
    for (pass, expected) in [(Duration::ZERO, OrderStatus::Completed), (HOUR, OrderStatus::Expired)] {
        let clock = MachineClock::new(at(NOW));
        let fixture = Fixture::with_gateway(|builder| builder.clock(clock.clone()));
        let order = fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 10), 2);
        fixture.service.run_maintenance().expect("a run");
        clock.jump_to(at(EVENT_END));
        fixture.service.run_maintenance().expect("a run");
        clock.pass(pass);
        fixture.service.run_maintenance().expect("a run");
        let paid = fixture.service.payment_completed(&fixture.caller, order.id).expect("recorded");
        assert_eq!(paid.status, expected);
        assert_eq!(fixture.gateway.refunds().len(), usize::from(expected == OrderStatus::Expired));
    }
}

#[test]
fn a_start_after_a_long_stop_waits_for_an_hour_and_a_restart_does_not() {
    let clock = MachineClock::new(at(NOW));
    let (fixture, ..) = fixture(&clock);
    fixture.service.run_maintenance().expect("a run");
    // The program runs for a day, and maintenance with it.
    for _ in 0..24 * 12 {
        clock.pass(Duration::from_mins(5));
        assert!(!fixture.service.run_maintenance().expect("a run").held_back);
    }
    // The monotonic clock of a new process has another beginning.
    let open = |stopped: Duration| {
        let now = clock.now().saturating_add(stopped);
        let clock = MachineClock::new(now);
        clock.pass(Duration::from_secs(7));
        (fixture.second_service_with(|builder| builder.clock(clock.clone())), clock)
    };
    let (restarted, _) = open(Duration::from_mins(45));
    assert!(!restarted.run_maintenance().expect("a run").held_back);
    let (started, clock) = open(3 * DAY);
    assert!(started.run_maintenance().expect("a run").held_back);
    clock.pass(HOUR);
    assert!(!started.run_maintenance().expect("a run").held_back);
    // It wrote down what it believes, so that the next start need not wait.
    let next = MachineClock::new(clock.now());
    let next = fixture.second_service_with(|builder| builder.clock(next));
    assert!(!next.run_maintenance().expect("a run").held_back);
}

#[test]
fn sales_at_a_wrong_time_do_not_make_the_next_start_believe_it() {
    let clock = MachineClock::new(at(NOW));
    let (fixture, ..) = fixture(&clock);
    fixture.service.run_maintenance().expect("a run");
    clock.jump_to(at("2030-01-01T00:00:00Z"));
    let later = new_event(|request| {
        request.slug = "later".to_owned();
        request.start_date = at("2031-01-01T00:00:00Z");
        request.end_date = None;
    });
    fixture.service.create_event(&fixture.caller, later).expect("an event");
    assert!(fixture.service.run_maintenance().expect("a run").held_back);
    let restarted = fixture.second_service_with(|builder| builder.clock(clock.clone()));
    assert!(restarted.run_maintenance().expect("a run").held_back);
    assert_eq!(stored_as_expired(&fixture), (0, 0, 0));
}

#[test]
fn a_manual_clock_is_believed_at_once_also_by_another_service() {
    let fixture = Fixture::new();
    let event = fixture.event();
    fixture.order(&fixture.ticket_type(&event, 1250, 10), 2);
    fixture.service.run_maintenance().expect("a run");
    let another_event = new_event(|request| {
        request.slug = "later".to_owned();
        request.start_date = at("2027-06-01T12:00:00Z");
        request.end_date = None;
    });
    fixture.service.create_event(&fixture.caller, another_event).expect("an event");
    fixture.clock.advance(300 * DAY);
    let report = fixture.service.run_maintenance().expect("a run");
    assert_eq!((report.expired_orders, report.expired_events), (1, 1));
    fixture.set_clock("2027-09-01T12:00:00Z");
    let second: TicketingService = fixture.second_service();
    assert_eq!(second.run_maintenance().expect("a run").expired_events, 1);
}
