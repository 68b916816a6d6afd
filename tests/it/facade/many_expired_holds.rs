//! More expired holds than one transaction releases: they are released in batches, each in a transaction of its own,
//! between the attempts of the operation that needs them.

use ticketing::discount::UpdateDiscount;
use ticketing::error::Reason;
use ticketing::event::Event;
use ticketing::id::OrderId;
use ticketing::order::{OrderStatus, PaymentStatus};
use ticketing::payment::{ListRefunds, RefundStatus};
use ticketing::ticket_type::TicketType;

use super::expired_holds::{copy_order, is_stored_expired, stored_expired};
use crate::common::database::stored_id;
use crate::common::*;

/// How many holds [`add_holds_of_another_type`] adds: more than a transaction looks at, and than two batches release.
const HOLDS: i64 = 450;

/// Adds pending orders for another ticket type of the event. Their holds expire before those of later orders.
fn add_holds_of_another_type(fixture: &Fixture, event: &Event) -> TicketType {
    let other = fixture.ticket_type(event, 1250, 1000);
    let first = fixture.order(&other, 1);
    copy_order(fixture, &first, HOLDS - 1);
    fixture.clock.advance(std::time::Duration::from_secs(1));
    other
}

fn status(fixture: &Fixture, order: OrderId) -> OrderStatus {
    fixture.service.get_order(&fixture.caller, order).expect("an order").status
}

#[test]
fn an_order_takes_a_seat_behind_more_expired_holds_than_its_transaction_looks_at() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    add_holds_of_another_type(&fixture, &event);
    let wanted = fixture.ticket_type(&event, 1250, 2);
    let expired = [fixture.order(&wanted, 1).id, fixture.order(&wanted, 1).id];
    fixture.expire_holds();
    let before = fixture.commits();
    fixture.order(&wanted, 1);
    fixture.assert_commits(before, 5, "two batches of 200 orders, and an attempt before and after each");
    assert_eq!(expired.map(|order| is_stored_expired(&fixture, order)), [true, false], "one seat was needed");
    assert_eq!(stored_expired(&fixture), 401);
    assert_eq!(expired.map(|order| status(&fixture, order)), [OrderStatus::Expired; 2]);
}

#[test]
fn an_order_that_finds_seats_or_no_reserved_ones_releases_nothing() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let other = add_holds_of_another_type(&fixture, &event);
    let sold_out = fixture.ticket_type(&event, 1250, 1);
    fixture.issue(&sold_out, 1);
    fixture.expire_holds();
    let before = fixture.commits();
    fixture.order(&other, 1);
    assert_eq!(reason(fixture.try_order(&sold_out, 1)), Reason::SoldOut);
    fixture.assert_commits(before, 2, "one for each");
    assert_eq!(stored_expired(&fixture), 0);
}

#[test]
fn a_request_with_a_key_is_refused_after_the_batches_and_succeeds_once_when_a_seat_is_free() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    add_holds_of_another_type(&fixture, &event);
    let wanted = fixture.ticket_type(&event, 1250, 1);
    fixture.expire_holds();
    let live = fixture.order(&wanted, 1);
    let caller = fixture.caller_with_key("order");
    let create = || fixture.service.create_order(&caller, new_order(event.id, wanted.id, 1));
    assert_eq!(reason(create()), Reason::SoldOut);
    assert_eq!(fixture.order_status(live.id), OrderStatus::Pending);
    // Of the last 50, the last attempt saw that none has the ticket type.
    assert_eq!(stored_expired(&fixture), 400);

    add_holds_of_another_type(&fixture, &event);
    fixture.expire_holds();
    let created = create().expect("the seat of the hold that has expired now");
    assert!(!created.replayed);
    let repeated = create().expect("the same order");
    assert!(repeated.replayed);
    assert_eq!(repeated.value.order.id, created.value.order.id);
    assert_eq!(fixture.stored(&format!("SELECT held FROM ticket_types WHERE id = {}", stored_id(wanted.id))), 1);
}

#[test]
fn a_late_payment_beside_many_expired_holds_gets_its_seats_or_is_refunded_once() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let wanted = fixture.ticket_type(&event, 1250, 2);
    let late = [fixture.order(&wanted, 1).id, fixture.order(&wanted, 1).id];
    fixture.expire_holds();
    fixture.service.run_maintenance().expect("a run");
    add_holds_of_another_type(&fixture, &event);
    let blocking = [fixture.order(&wanted, 1).id, fixture.order(&wanted, 1).id];
    fixture.service.payment_completed(&fixture.caller, blocking[1]).expect("paid");
    fixture.expire_holds();
    let expired_before = stored_expired(&fixture);
    let [first, second] =
        late.map(|order| fixture.service.payment_completed(&fixture.caller, order).expect("recorded"));
    assert_eq!(first.status, OrderStatus::Completed);
    assert!(is_stored_expired(&fixture, blocking[0]));
    // 400 in batches and the one whose seat was taken; the first of the late orders is no longer expired.
    assert_eq!(stored_expired(&fixture), expired_before + 400 + 1 - 1);

    assert_eq!(second.status, OrderStatus::Expired);
    assert_eq!(second.payment_gateway.map(|payment| payment.status), Some(PaymentStatus::Refunded));
    let refunds = fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data;
    assert_eq!(refunds.iter().map(|refund| refund.status).collect::<Vec<_>>(), [RefundStatus::Done]);
    assert_eq!(fixture.gateway.refunds().len(), 1);
}

#[test]
fn a_discount_whose_limit_was_lowered_far_below_its_uses_applies_once_they_have_expired() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 2000);
    let discount = fixture.discount(percent_off(&event, "EARLY", 10));
    let first = fixture.order_with_code(&ticket_type, 1, "EARLY");
    // More uses than a transaction counts.
    copy_order(&fixture, &first, 1200);
    let changes = UpdateDiscount::default().usage_limit(1);
    let lowered = fixture.service.update_discount(&fixture.caller, discount.id, changes).expect("lowered");
    assert_eq!(lowered.used_count, 1201);
    assert!(!fixture.validate("EARLY", &[(&ticket_type, 1)]).valid);
    fixture.clock.advance(std::time::Duration::from_secs(1));
    assert!(fixture.try_order_with_code(&ticket_type, 1, "EARLY").is_err());

    fixture.expire_holds();
    assert!(fixture.validate("EARLY", &[(&ticket_type, 1)]).valid);
    assert_eq!(fixture.discount_uses(&discount), 0);
    assert_eq!(stored_expired(&fixture), 0, "nothing that only reads has released any");
    let before = fixture.commits();
    fixture.order_with_code(&ticket_type, 1, "EARLY");
    fixture.assert_commits(before, 13, "six batches of 200 orders, and an attempt before and after each");
    assert_eq!((stored_expired(&fixture), fixture.discount_uses(&discount)), (1201, 1));
    assert!(!fixture.validate("EARLY", &[(&ticket_type, 1)]).valid);
    assert!(fixture.try_order_with_code(&ticket_type, 1, "EARLY").is_err());
}

#[test]
fn damaged_orders_are_passed_over_on_the_way_to_the_seats_behind_them() {
    let fixture = Fixture::without_gateway();
    fixture.skip_final_check();
    let event = fixture.event();
    let damaged = add_holds_of_another_type(&fixture, &event);
    fixture.database().run(&format!("UPDATE ticket_types SET held = 0 WHERE id = {}", stored_id(damaged.id)));
    let wanted = fixture.ticket_type(&event, 1250, 1);
    let expired = fixture.order(&wanted, 1);
    fixture.expire_holds();
    fixture.order(&wanted, 1);
    assert!(is_stored_expired(&fixture, expired.id));
    assert_eq!(stored_expired(&fixture), 1);
    assert_eq!(reason(fixture.try_order(&wanted, 1)), Reason::SoldOut);
}
