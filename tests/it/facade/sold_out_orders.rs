//! Orders of an event whose seats have run out: for ten seconds after a refusal, a reader refuses the next ones.

use std::time::Duration;

use crate::common::*;
use ticketing::error::Reason;
use ticketing::order::NewOrderItem;
use ticketing::ticket_type::TicketType;

/// A ticket type with this many seats, all reserved, of an event that has another one with seats.
fn reserved(fixture: &Fixture, seats: i64) -> (TicketType, TicketType, ticketing::order::Order) {
    let event = fixture.event();
    let [reserved, other] = [seats, 10].map(|quantity| fixture.ticket_type(&event, 1250, quantity));
    let order = fixture.order(&reserved, seats);
    (reserved, other, order)
}

#[track_caller]
fn assert_sold_out(fixture: &Fixture, ticket_type: &TicketType) {
    assert_eq!(fixture.try_order(ticket_type, 1).unwrap_err().reason(), Some(Reason::SoldOut));
}

#[test]
fn after_a_refusal_orders_are_refused_without_a_transaction_for_ten_seconds() {
    let fixture = Fixture::new();
    let (seats, other, _) = reserved(&fixture, 2);
    let before = fixture.commits();
    let first = fixture.try_order(&seats, 1).unwrap_err();
    assert_eq!(first.reason(), Some(Reason::SoldOut));
    fixture.assert_commits(before, 1, "the first");
    let before = fixture.commits();
    assert_eq!(fixture.try_order(&seats, 1).unwrap_err(), first);
    let mut of_both = new_order(other.event_id, other.id, 1);
    of_both.items.push(NewOrderItem::new(seats.id, 1));
    assert_eq!(fixture.service.create_order(&fixture.caller, of_both).unwrap_err(), first);
    fixture.assert_commits(before, 0, "those after it");
    fixture.order(&other, 9);
    let fewer = fixture.try_order(&other, 2).unwrap_err();
    assert!(fewer.to_string().contains("fewer than 2 seats"), "{fewer}");

    let before = fixture.commits();
    fixture.clock.advance(Duration::from_secs(10));
    assert_eq!(fixture.try_order(&seats, 1).unwrap_err(), first);
    assert_eq!(fixture.try_order(&other, 2).unwrap_err(), fewer);
    fixture.assert_commits(before, 1, "the first after ten seconds");
}

#[test]
fn a_seat_that_is_free_again_is_sold_at_once() {
    let fixture = Fixture::new();
    let (seats, _, order) = reserved(&fixture, 1);
    assert_sold_out(&fixture, &seats);
    assert_sold_out(&fixture, &seats);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    let order = fixture.order(&seats, 1);

    assert_sold_out(&fixture, &seats);
    fixture.second_service().cancel_order(&fixture.caller, order.id).expect("cancelled by another process");
    fixture.order(&seats, 1);

    assert_sold_out(&fixture, &seats);
    fixture.set_quantity(seats.id, 2).expect("a quantity");
    fixture.order(&seats, 1);

    // A hold that has expired, and that the maintenance has not released.
    fixture.clock.advance(Duration::from_mins(30) - Duration::from_secs(1));
    assert_sold_out(&fixture, &seats);
    assert_sold_out(&fixture, &seats);
    fixture.clock.advance(Duration::from_secs(1));
    fixture.order(&seats, 2);
    assert_sold_out(&fixture, &seats);
}

#[test]
fn what_is_reported_before_too_few_seats_still_is() {
    let fixture = Fixture::with_gateway(|builder| builder.max_reserved_per_customer(2));
    let (seats, ..) = reserved(&fixture, 2);
    let refused = || fixture.try_order(&seats, 1).unwrap_err().reason();
    let mut of_another = new_order(seats.event_id, seats.id, 1);
    of_another.customer.email = "another@example.com".to_owned();
    let sold_out = fixture.service.create_order(&fixture.caller, of_another).unwrap_err();
    assert_eq!((sold_out.reason(), refused()), (Some(Reason::SoldOut), Some(Reason::LimitReached)));

    let fixture = Fixture::new();
    let (seats, ..) = reserved(&fixture, 2);
    assert_sold_out(&fixture, &seats);
    assert_eq!(
        fixture.try_order(&seats, seats.max_per_order + 1).unwrap_err().reason(),
        Some(Reason::MaxPerOrderExceeded)
    );
}
