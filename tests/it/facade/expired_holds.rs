//! Seats and discount uses of expired holds, before the maintenance has released them: they are available, and an order
//! writes only as many expired orders as it needs.

use crate::common::database::stored_id;
use crate::common::*;
use ticketing::Error;
use ticketing::discount::UpdateDiscount;
use ticketing::error::Reason;
use ticketing::id::OrderId;
use ticketing::order::{Order, OrderStatus};
use ticketing::ticket_type::{TicketType, UpdateTicketType};

/// The orders that are stored as EXPIRED.
pub fn stored_expired(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'")
}

pub fn is_stored_expired(fixture: &Fixture, order: OrderId) -> bool {
    let id = stored_id(order);
    fixture.stored(&format!("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED' AND id = {id}")) == 1
}

/// Stores copies of a pending order with one item.
pub fn copy_order(fixture: &Fixture, order: &Order, copies: i64) {
    let (id, seats) = (stored_id(order.id), order.items[0].quantity);
    let ticket_type = stored_id(order.items[0].ticket_type_id);
    let numbers =
        format!("WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {copies})");
    let database = fixture.database();
    database.run(&format!(
        "BEGIN;
        INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, hold_until, currency,
                total, discount_id, discount_code, discounted_amount, created_at, updated_at)
            {numbers} SELECT id + n, organization_id, event_id, customer_id, customer_name, status, hold_until,
                currency, total, discount_id, discount_code, discounted_amount, created_at, updated_at
                FROM number JOIN orders ON id = {id};
        UPDATE discounts SET used_count = used_count + {copies}
            WHERE id = (SELECT discount_id FROM orders WHERE id = {id});
        INSERT INTO order_items (id, order_id, ticket_type_id, quantity, price, discount)
            {numbers} SELECT id + n, order_id + n, ticket_type_id, quantity, price, discount
                FROM number JOIN order_items ON order_id = {id};
        UPDATE ticket_types SET held = held + {seats} * {copies}, pending_orders = pending_orders + {copies}
            WHERE id = {ticket_type};
        COMMIT"
    ));
}

fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.reason(), Some(Reason::SoldOut));
    error.to_string()
}

fn lower(fixture: &Fixture, ticket_type: &TicketType, quantity: i64) -> Result<TicketType, Error> {
    let changes = UpdateTicketType::default().quantity(quantity);
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, changes)
}

#[test]
fn an_order_after_very_many_expired_holds_writes_only_those_whose_seats_it_takes() {
    let fixture = Fixture::without_gateway();
    let expired = if database::is_file() { 100_000 } else { 10_000 };
    let ticket_type = fixture.new_ticket_type(1250, expired + 1);
    let first = fixture.order(&ticket_type, 1);
    copy_order(&fixture, &first, expired);
    let refused = message(fixture.try_order(&ticket_type, 1));
    assert!(refused.contains("is sold out"), "{refused}");
    fixture.expire_holds();
    fixture.order(&ticket_type, 3);
    assert_eq!(stored_expired(&fixture), 3);
    assert_eq!(fixture.stored("SELECT sold + held FROM ticket_types"), expired + 1);
    fixture.issue(&ticket_type, 10);
    assert_eq!(stored_expired(&fixture), 13);
    assert_eq!(fixture.stored("SELECT sold + held FROM ticket_types"), expired + 1);
}

#[test]
fn expired_holds_count_as_available_and_an_order_that_is_refused_writes_none() {
    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.new_ticket_type(1250, 10);
    let expired = [fixture.order(&ticket_type, 4).id, fixture.order(&ticket_type, 3).id];
    fixture.expire_holds();
    let live = fixture.order(&ticket_type, 2);
    assert_eq!(stored_expired(&fixture), 0, "3 seats were free");

    let refused = message(fixture.try_order(&ticket_type, 9));
    assert!(refused.contains("fewer than 9 seats"), "{refused}");
    assert_eq!(stored_expired(&fixture), 0);
    fixture.order(&ticket_type, 5);
    assert!(is_stored_expired(&fixture, expired[0]), "it expired first, and has enough seats");
    assert!(!is_stored_expired(&fixture, expired[1]));
    fixture.order(&ticket_type, 3);
    assert!(is_stored_expired(&fixture, expired[1]));
    let refused = message(fixture.try_order(&ticket_type, 1));
    assert!(refused.contains("is sold out"), "{refused}");
    assert_eq!(fixture.order_status(live.id), OrderStatus::Pending);
}

#[test]
fn expired_holds_of_other_ticket_types_and_events_are_left_to_the_maintenance() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let wanted = fixture.ticket_type(&event, 1250, 2);
    let other_type = fixture.ticket_type(&event, 1250, 2);
    let other_event = fixture.ticket_type(&fixture.event_with(|event| event.slug = "other".to_owned()), 1250, 2);
    let others = [fixture.order(&other_type, 2).id, fixture.order(&other_event, 2).id];
    let expired = fixture.order(&wanted, 2);
    fixture.expire_holds();
    fixture.order(&wanted, 1);
    assert!(is_stored_expired(&fixture, expired.id));
    assert!(others.iter().all(|order| !is_stored_expired(&fixture, *order)));
    assert_eq!(fixture.service.run_maintenance().expect("a run").expired_orders, 2);
}

#[test]
fn an_order_releases_one_use_of_a_discount_that_expired_holds_have_used_up() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let discount = fixture.discount(percent_off(&event, "EARLY", 10).usage_limit(3));
    for _ in 0..3 {
        fixture.order_with_code(&ticket_type, 1, "EARLY");
    }
    assert!(fixture.try_order_with_code(&ticket_type, 1, "EARLY").is_err());
    fixture.expire_holds();
    for uses in 1..=3 {
        fixture.order_with_code(&ticket_type, 1, "EARLY");
        assert_eq!(stored_expired(&fixture), uses);
    }
    assert!(fixture.try_order_with_code(&ticket_type, 1, "EARLY").is_err());
    assert_eq!(fixture.stored("SELECT used_count FROM discounts"), 3);
    assert_eq!(fixture.discount_uses(&discount), 3);
}

#[test]
fn an_order_releases_as_many_uses_as_exceed_a_limit_that_was_lowered() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let discount = fixture.discount(percent_off(&event, "EARLY", 10));
    for _ in 0..10 {
        fixture.order_with_code(&ticket_type, 1, "EARLY");
    }
    let changes = UpdateDiscount::default().usage_limit(5);
    fixture.service.update_discount(&fixture.caller, discount.id, changes).expect("lowered");
    assert!(!fixture.validate("EARLY", &[(&ticket_type, 1)]).valid);
    fixture.expire_holds();
    assert!(fixture.validate("EARLY", &[(&ticket_type, 1)]).valid);
    fixture.order_with_code(&ticket_type, 1, "EARLY");
    // Four of the ten uses may stay, so that the order makes five.
    assert_eq!(stored_expired(&fixture), 6);
    assert_eq!(fixture.stored("SELECT used_count FROM discounts"), 5);
}

#[test]
fn a_late_payment_takes_the_seats_of_other_expired_holds() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 4);
    let late = fixture.order(&ticket_type, 2);
    fixture.expire_holds();
    fixture.service.run_maintenance().expect("a run");
    let others = [fixture.order(&ticket_type, 2).id, fixture.order(&ticket_type, 2).id];
    fixture.expire_holds();
    let paid = fixture.service.payment_completed(&fixture.caller, late.id).expect("a payment");
    assert_eq!(paid.status, OrderStatus::Completed);
    assert_eq!(others.map(|order| is_stored_expired(&fixture, order)), [true, false]);
}

#[test]
fn a_quantity_is_lowered_by_the_seats_of_expired_holds_in_batches() {
    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.new_ticket_type(1250, 500);
    let first = fixture.order(&ticket_type, 1);
    copy_order(&fixture, &first, 449);
    let refused = lower(&fixture, &ticket_type, 449).unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::QuantityBelowSold));
    fixture.expire_holds();
    let live = fixture.order(&ticket_type, 5);
    let before = fixture.commits();
    assert_eq!(lower(&fixture, &ticket_type, 5).expect("lowered").quantity, 5);
    let what = "batches of 200, 200 and 50 orders, and an attempt before and after each";
    fixture.assert_commits(before, 7, what);
    assert_eq!(stored_expired(&fixture), 450);
    assert_eq!(lower(&fixture, &ticket_type, 4).unwrap_err().reason(), Some(Reason::QuantityBelowSold));
    assert_eq!(fixture.order_status(live.id), OrderStatus::Pending);
}
