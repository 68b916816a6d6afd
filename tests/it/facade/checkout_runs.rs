//! Runs of the maintenance that ask the gateway: what fails for one checkout, or for one organization, delays no other.

use std::time::Duration;

use ticketing::Error;
use ticketing::order::{CreateOrder, Order, OrderStatus};
use ticketing::payment::{CheckoutState, CheckoutStatus, GatewayPayment};
use ticketing::ticket_type::TicketType;

use crate::common::*;

/// The hold of the orders of the fixture.
const HOLD: Duration = Duration::from_mins(30);

fn fixture() -> (Fixture, TicketType) {
    let fixture = Fixture::new();
    fixture.gateway.set_state(Some(CheckoutState::Open));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
    (fixture, ticket_type)
}

fn run(fixture: &Fixture) {
    fixture.service.run_maintenance().expect("maintenance");
}

fn cancelled_order(fixture: &Fixture, ticket_type: &TicketType) -> Order {
    let order = fixture.order(ticket_type, 1);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    order
}

fn closing(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM checkouts WHERE status = 'CLOSING'")
}

fn status(fixture: &Fixture, order: &Order) -> CheckoutStatus {
    fixture.service.get_checkout(&fixture.caller, order.id).expect("a checkout").status
}

/// The minutes at which the maintenance runs: each one until the checkout has long ended, and about a day after its end,
/// and every tenth one between.
pub fn minutes(last: u64) -> impl Iterator<Item = u64> {
    let a_day_after = 30 + 24 * 60;
    (0..=last).filter(move |minute| *minute <= 120 || minute.abs_diff(a_day_after) <= 15 || minute % 10 == 0)
}

fn fail_to_start(fixture: &Fixture, ticket_type: &TicketType) {
    let failed = fixture
        .service
        .create_order(&fixture.caller, CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 1));
    assert!(matches!(failed, Err(Error::PaymentGatewayFailed(_))), "{failed:?}");
}

#[test]
fn a_start_for_which_no_call_was_free_is_never_asked_for_again() {
    let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_secs(1)).gateway_calls(1));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    fixture.gateway.on_checkout(GatewayBehavior::Hang);
    fail_to_start(&fixture, &ticket_type);
    // The first call hangs: it is to be closed. The second one was never made.
    fail_to_start(&fixture, &ticket_type);
    assert_eq!(fixture.gateway.checkouts().len(), 1);
    assert_eq!((closing(&fixture), fixture.stored("SELECT COUNT(*) FROM checkouts")), (1, 2));
}

#[test]
fn one_run_closes_as_many_checkouts_as_it_has_time_for() {
    let (fixture, ticket_type) = fixture();
    for _ in 0..150 {
        cancelled_order(&fixture, &ticket_type);
    }
    run(&fixture);
    assert_eq!((closing(&fixture), fixture.gateway.closed().len()), (0, 150));
}

#[test]
fn an_organization_whose_account_does_not_answer_keeps_nobody_else_s_checkouts_open() {
    // With eight calls, a run closes one checkout at a time.
    for calls in [128, 8] {
        let fixture = Fixture::with_gateway(|builder| builder.gateway_calls(calls));
        fixture.gateway.set_state(Some(CheckoutState::Open));
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
        let other = fixture.other_organization();
        fixture.gateway.disconnect(fixture.caller.organization());
        for _ in 0..40 {
            cancelled_order(&fixture, &ticket_type);
        }
        let event = fixture.service.create_event(&other, new_event(|_| {})).expect("an event");
        let new = ticketing::ticket_type::CreateTicketType::new("Seat", eur(1250), 10);
        let seats = fixture.service.create_ticket_type(&other, event.id, new).expect("a ticket type");
        let created = fixture.service.create_order(&other, new_order(event.id, seats.id, 1)).expect("an order");
        fixture.service.cancel_order(&other, created.order.id).expect("cancelled");
        run(&fixture);
        let checkout = fixture.service.get_checkout(&other, created.order.id).expect("a checkout");
        assert_eq!(checkout.status, CheckoutStatus::Closed, "{calls} calls");
        assert_eq!(closing(&fixture), 40);
    }
}

#[test]
fn closings_that_fail_do_not_keep_a_lost_payment_from_being_found() {
    let (fixture, ticket_type) = fixture();
    let paid = fixture.order(&ticket_type, 1);
    fixture.clock.advance(HOLD - Duration::from_secs(60));
    for _ in 0..40 {
        cancelled_order(&fixture, &ticket_type);
    }
    fixture.gateway.on_close(GatewayBehavior::Unavailable);
    fixture.gateway.set_state(Some(CheckoutState::Paid(GatewayPayment::new("pi_1", paid.total, "EUR"))));
    run(&fixture);
    assert_eq!(fixture.order_status(paid.id), OrderStatus::Completed);
    assert_eq!(closing(&fixture), 40);
}

#[test]
fn a_checkout_that_somebody_may_pay_is_closed_before_starts_that_nobody_has_heard_of() {
    let (fixture, ticket_type) = fixture();
    let order = fixture.order(&ticket_type, 1);
    fixture.gateway.on_checkout(GatewayBehavior::Unavailable);
    for _ in 0..40 {
        fail_to_start(&fixture, &ticket_type);
    }
    fixture.clock.advance(Duration::from_secs(1));
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    run(&fixture);
    assert_eq!(status(&fixture, &order), CheckoutStatus::Closed);
}

#[test]
fn a_gateway_that_refuses_to_say_what_became_of_a_checkout_is_asked_until_a_day_after_its_end() {
    let (fixture, ticket_type) = fixture();
    let order = cancelled_order(&fixture, &ticket_type);
    fixture.gateway.on_close(GatewayBehavior::Refuse);
    fixture.gateway.on_look_up(GatewayBehavior::Refuse);
    let mut attempts = Vec::new();
    let mut now = 0;
    for minute in minutes(30 + 25 * 60) {
        fixture.clock.advance(Duration::from_mins(minute - now));
        now = minute;
        let before = fixture.gateway.looked_up().len();
        run(&fixture);
        if fixture.gateway.looked_up().len() > before {
            attempts.push(minute);
        }
        let expected = if minute < 30 + 24 * 60 { CheckoutStatus::Closing } else { CheckoutStatus::Closed };
        assert_eq!(status(&fixture, &order), expected, "minute {minute}");
    }
    // With a doubling delay until the checkout ends, then as after the end of a hold.
    assert_eq!(attempts[attempts.len() - 4..], [30, 35, 90, 30 + 24 * 60]);
    assert!(attempts.len() > 8, "{attempts:?}");
}

/// The minutes in which the gateway is asked to close the checkout of an order that is cancelled at once, in two days.
fn attempts_in_two_days(behavior: GatewayBehavior) -> (Vec<u64>, CheckoutStatus) {
    let (fixture, ticket_type) = fixture();
    let order = cancelled_order(&fixture, &ticket_type);
    fixture.gateway.on_close(behavior);
    let mut attempts = Vec::new();
    let mut now = 0;
    for minute in minutes(48 * 60) {
        fixture.clock.advance(Duration::from_mins(minute - now));
        now = minute;
        let before = fixture.gateway.closed().len();
        run(&fixture);
        if fixture.gateway.closed().len() > before {
            attempts.push(minute);
        }
    }
    (attempts, status(&fixture, &order))
}

#[test]
fn an_account_without_access_is_asked_until_a_day_after_the_end_of_the_checkout() {
    let (attempts, status) = attempts_in_two_days(GatewayBehavior::NotExecuted);
    assert_eq!((attempts.last(), status), (Some(&(30 + 24 * 60)), CheckoutStatus::Closed), "{attempts:?}");
    // Control: a gateway that may have executed the request is asked every hour.
    let (attempts, status) = attempts_in_two_days(GatewayBehavior::Unavailable);
    assert!(attempts.last().is_some_and(|last| *last > 47 * 60 - 1), "{attempts:?}");
    assert_eq!(status, CheckoutStatus::Closing);
}

#[test]
fn a_rate_limit_long_after_the_end_of_a_checkout_does_not_end_its_attempts() {
    let (fixture, ticket_type) = fixture();
    let order = cancelled_order(&fixture, &ticket_type);
    fixture.gateway.on_close(GatewayBehavior::NotExecuted);
    // The program was down for two days.
    fixture.clock.advance(Duration::from_hours(48));
    run(&fixture);
    assert_eq!((status(&fixture, &order), fixture.gateway.closed().len()), (CheckoutStatus::Closing, 1));
    fixture.gateway.on_close(GatewayBehavior::Succeed);
    fixture.gateway.set_state(Some(CheckoutState::Paid(GatewayPayment::new("pi_1", order.total, "EUR"))));
    fixture.clock.advance(Duration::from_mins(1));
    run(&fixture);
    assert_eq!((status(&fixture, &order), fixture.gateway.refunds().len()), (CheckoutStatus::Closed, 1));
}

#[test]
fn a_checkout_is_closed_when_the_gateway_has_the_right_account_again() {
    let (fixture, ticket_type) = fixture();
    let order = cancelled_order(&fixture, &ticket_type);
    fixture.gateway.on_close(GatewayBehavior::Refuse);
    fixture.gateway.on_look_up(GatewayBehavior::Refuse);
    for _ in 0..100 {
        run(&fixture);
        fixture.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(fixture.service.backlog().expect("a backlog").checkouts_closing, 1);
    fixture.gateway.on_close(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_mins(2));
    run(&fixture);
    assert_eq!(status(&fixture, &order), CheckoutStatus::Closed);
    let closed = fixture.gateway.closed().len();
    fixture.clock.advance(Duration::from_hours(48));
    run(&fixture);
    assert_eq!(fixture.gateway.closed().len(), closed, "it is not asked again");
}
