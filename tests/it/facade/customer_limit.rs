//! The optional limit on the seats that unpaid orders of one customer reserve for an event.

use crate::common::*;
use ticketing::error::{Error, Reason};
use ticketing::order::{CreateOrder, NewOrderItem, Order};
use ticketing::ticket_type::TicketType;
use ticketing::{Result, TicketingService};

/// A fixture whose customers may reserve five seats of an event.
fn fixture() -> Fixture {
    Fixture::with_gateway(|builder| builder.max_reserved_per_customer(5))
}

fn order_for(email: &str, ticket_type: &TicketType, seats: i64) -> CreateOrder {
    let mut order = new_order(ticket_type.event_id, ticket_type.id, seats);
    order.customer.email = email.to_owned();
    order
}

fn try_order_for(fixture: &Fixture, email: &str, ticket_type: &TicketType, seats: i64) -> Result<Order> {
    let created = fixture.service.create_order(&fixture.caller, order_for(email, ticket_type, seats))?;
    Ok(created.order)
}

#[track_caller]
fn assert_refused(result: Result<Order>, detail: &str) {
    match result {
        Err(Error::Conflict(conflict)) => {
            assert_eq!((conflict.reason, conflict.detail.as_str()), (Reason::LimitReached, detail));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn unpaid_orders_of_a_customer_reserve_seats_up_to_the_limit() {
    let fixture = fixture();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    try_order_for(&fixture, "bo@example.com", &ticket_type, 3).expect("three seats");
    assert_refused(
        try_order_for(&fixture, "bo@example.com", &ticket_type, 3),
        "unpaid orders of a customer may reserve at most 5 seats of an event, and those of this one reserve 3 already",
    );
    try_order_for(&fixture, "bo@example.com", &ticket_type, 2).expect("five seats in all");
    assert!(try_order_for(&fixture, "BO@Example.com", &ticket_type, 1).is_err(), "the same customer");
    assert_refused(
        try_order_for(&fixture, "cy@example.com", &ticket_type, 6),
        "unpaid orders of a customer may reserve at most 5 seats of an event",
    );
    try_order_for(&fixture, "cy@example.com", &ticket_type, 5).expect("another customer");
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 10);
}

#[test]
fn the_seats_of_all_items_and_ticket_types_of_an_event_are_added_up() {
    let fixture = fixture();
    let event = fixture.event();
    let [seat, balcony] = [1250, 2000].map(|cents| fixture.ticket_type(&event, cents, 100));
    let mut order = order_for("bo@example.com", &seat, 2);
    order.items.push(NewOrderItem::new(balcony.id, 2));
    order.items.push(NewOrderItem::new(seat.id, 2));
    assert_eq!(reason(fixture.service.create_order(&fixture.caller, order.clone())), Reason::LimitReached);
    order.items.pop();
    fixture.service.create_order(&fixture.caller, order).expect("four seats");
    assert!(try_order_for(&fixture, "bo@example.com", &balcony, 2).is_err());
    // Each event has a limit of its own.
    let other = fixture.ticket_type(&fixture.event(), 1250, 100);
    try_order_for(&fixture, "bo@example.com", &other, 5).expect("another event");
}

#[test]
fn what_is_paid_cancelled_or_expired_no_longer_counts() {
    let fixture = fixture();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let order = || try_order_for(&fixture, "bo@example.com", &ticket_type, 5);
    let paid = order().expect("an order");
    assert!(order().is_err());
    fixture.service.payment_completed(&fixture.caller, paid.id).expect("paid");
    let cancelled = order().expect("the first one is paid");
    assert!(order().is_err());
    fixture.service.cancel_order(&fixture.caller, cancelled.id).expect("cancelled");
    order().expect("the second one is cancelled");
    assert!(order().is_err());
    // Its hold has expired, although no maintenance has run.
    fixture.expire_holds();
    order().expect("the third one has expired");
}

#[test]
fn free_orders_and_issued_tickets_reserve_nothing() {
    let fixture = fixture();
    let free = fixture.ticket_type(&fixture.event(), 0, 100);
    for _ in 0..3 {
        try_order_for(&fixture, "ada@example.com", &free, 5).expect("a free order");
    }
    try_order_for(&fixture, "ada@example.com", &free, 10).expect("a free order beyond the limit");
    fixture.issue(&free, 10);
}

#[test]
fn the_limit_is_judged_after_the_seats_of_one_order_and_before_those_that_are_left() {
    let fixture = fixture();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 4);
    // A ticket type has a `maxPerOrder` of 10.
    let try_order = |seats| try_order_for(&fixture, "bo@example.com", &ticket_type, seats);
    assert_eq!(reason(try_order(11)), Reason::MaxPerOrderExceeded);
    assert_eq!(reason(try_order(6)), Reason::LimitReached);
    assert_eq!(reason(try_order(5)), Reason::SoldOut);
}

#[test]
fn orders_that_were_created_without_the_limit_do_not_count() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    try_order_for(&fixture, "bo@example.com", &ticket_type, 10).expect("there is no limit");
    let limited = fixture
        .second_service_with(|builder| builder.payment_gateway(fixture.gateway.clone()).max_reserved_per_customer(5));
    let try_limited =
        |seats| limited.create_order(&fixture.caller, order_for("bo@example.com", &ticket_type, seats)).map(drop);
    try_limited(5).expect("five seats");
    assert_eq!(reason(try_limited(1)), Reason::LimitReached);
    try_order_for(&fixture, "bo@example.com", &ticket_type, 10).expect("there is still no limit here");
}

#[test]
fn by_default_there_is_no_limit_and_it_is_at_least_one_seat() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    for _ in 0..10 {
        try_order_for(&fixture, "bo@example.com", &ticket_type, 10).expect("an order");
    }
    let refused = TicketingService::temporary().max_reserved_per_customer(0).open().expect_err("no limit");
    assert_eq!(refused.to_string(), "max_reserved_per_customer must be at least 1");
}
