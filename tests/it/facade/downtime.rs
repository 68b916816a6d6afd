//! Payments that were made while the program was down: the open checkouts are looked up at its start.

use std::time::Duration;

use ticketing::TicketingService;
use ticketing::order::{Order, OrderStatus};
use ticketing::payment::{CheckoutState, GatewayPayment};
use ticketing::ticket_type::CreateTicketType;

use crate::common::clock::MachineClock;
use crate::common::*;

/// After how long a program that records nothing counts as down.
const GONE: Duration = Duration::from_secs(6);

/// A program with an open checkout, which runs its maintenance.
fn running() -> (Fixture, Order) {
    let fixture = Fixture::new();
    fixture.gateway.set_state(Some(CheckoutState::Open));
    let order = fixture.order(&fixture.new_ticket_type(1250, 1000), 1);
    fixture.clock.advance(Duration::from_secs(1));
    run(&fixture.service);
    (fixture, order)
}

fn run(service: &TicketingService) {
    service.run_maintenance().expect("maintenance");
}

/// The customer pays, and the notice is lost.
fn pay(fixture: &Fixture, order: &Order) {
    fixture.gateway.set_state(Some(CheckoutState::Paid(GatewayPayment::new("pi_1", order.total, "EUR"))));
}

#[test]
fn after_a_quick_restart_a_payment_is_found_within_seconds() {
    let (fixture, order) = running();
    pay(&fixture, &order);
    fixture.clock.advance(Duration::from_millis(1));
    let restarted = fixture.second_service();
    for _ in 0..5 {
        run(&restarted);
        // It may be another program that has recorded that it runs.
        assert_eq!(fixture.order_status(order.id), OrderStatus::Pending);
        fixture.clock.advance(Duration::from_secs(1));
    }
    fixture.clock.advance(Duration::from_secs(1));
    run(&restarted);
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
}

#[test]
fn a_program_that_starts_beside_another_one_looks_nothing_up() {
    let (fixture, _) = running();
    fixture.clock.advance(Duration::from_millis(1));
    let second = fixture.second_service();
    for _ in 0..20 {
        fixture.clock.advance(Duration::from_secs(1));
        run(&second);
        run(&fixture.service);
    }
    assert_eq!(fixture.gateway.looked_up().len(), 0);
    // The second one records it now too.
    for _ in 0..20 {
        fixture.clock.advance(Duration::from_secs(1));
        run(&second);
    }
    let third = fixture.second_service();
    fixture.clock.advance(Duration::from_secs(3));
    run(&second);
    run(&third);
    assert_eq!(fixture.gateway.looked_up().len(), 0);
}

#[test]
fn each_open_checkout_is_looked_up_once_and_then_as_before() {
    let (fixture, order) = running();
    fixture.clock.advance(GONE);
    let restarted = fixture.second_service();
    let later = fixture.order(&fixture.new_ticket_type(1250, 1000), 1);
    for _ in 0..60 {
        run(&restarted);
        fixture.clock.advance(Duration::from_secs(1));
    }
    let asked: Vec<_> = fixture.gateway.looked_up().into_iter().map(|look_up| look_up.order_id).collect();
    assert_eq!(asked, [order.id], "and not {}, which was created after the start", later.id);
    let next = fixture.stored(&format!("SELECT due_at FROM work WHERE key = {}", stored(&order)));
    assert_eq!(next, at("2026-06-01T12:29:00Z").millis());
}

fn stored(order: &Order) -> i64 {
    database::stored_id(order.id)
}

#[test]
fn an_organization_with_hundreds_of_open_checkouts_does_not_delay_the_look_up_of_another() {
    let (fixture, order) = running();
    let other = fixture.other_organization();
    let ticket_type = fixture.service.get_ticket_type(&fixture.caller, order.items[0].ticket_type_id).expect("a type");
    for _ in 0..300 {
        fixture.order(&ticket_type, 1);
    }
    let event = fixture.service.create_event(&other, new_event(|_| {})).expect("an event");
    let new = CreateTicketType::new("Seat", eur(1250), 10);
    let seats = fixture.service.create_ticket_type(&other, event.id, new).expect("a ticket type");
    fixture.service.create_order(&other, new_order(event.id, seats.id, 1)).expect("an order");
    fixture.clock.advance(GONE);
    let restarted = fixture.second_service();
    run(&restarted);
    let looked_up = fixture.gateway.looked_up();
    let turn = looked_up.iter().position(|look_up| look_up.organization_id == other.organization());
    assert!(turn.is_some_and(|turn| turn < 16), "{turn:?}");
    assert_eq!(looked_up.len(), 302);
}

#[test]
fn payments_are_looked_up_while_the_clock_is_in_doubt_after_hours() {
    let fixture = Fixture::with_gateway(|builder| builder.order_hold(Duration::from_hours(5)));
    fixture.gateway.set_state(Some(CheckoutState::Open));
    let order = fixture.order(&fixture.new_ticket_type(1250, 10), 1);
    run(&fixture.service);
    pay(&fixture, &order);
    let clock = MachineClock::new(at("2026-06-01T15:00:00Z"));
    let restarted = fixture.second_service_with(|it| it.clock(clock).payment_gateway(fixture.gateway.clone()));
    let report = restarted.run_maintenance().expect("maintenance");
    assert!(report.held_back);
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
    let recorded = fixture.stored("SELECT believed_at FROM maintenance_clock");
    assert_eq!(recorded, at(NOW).millis(), "a time that is in doubt is not recorded");
}

#[test]
fn without_open_checkouts_nothing_is_recorded() {
    let fixture = Fixture::new();
    fixture.new_ticket_type(1250, 10);
    for _ in 0..10 {
        run(&fixture.service);
        fixture.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM maintenance_clock"), 0);
}
