//! How an order is and was paid: through the gateway, by hand or not at all, and when it was completed and cancelled.

use std::time::Duration;

use ticketing::environment::Clock;
use ticketing::error::Reason;
use ticketing::order::{CreateOrder, OrderDetails, OrderStatus, PaymentChoice, PaymentMethod};
use ticketing::payment::ManualMethod;
use ticketing::payment::{MarkRefunded, RefundMethod};

use crate::common::*;

fn details(fixture: &Fixture, order: ticketing::id::OrderId) -> OrderDetails {
    fixture.service.get_order_details(&fixture.caller, order).expect("the details")
}

#[test]
fn the_details_of_an_order_tell_when_and_how_it_was_paid_and_what_was_given_back() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let (seat, free) = (fixture.ticket_type(&event, 1250, 10), fixture.ticket_type(&event, 0, 10));
    let created = fixture.clock.now();
    let order = fixture.order(&seat, 2).id;
    let pending = details(&fixture, order);
    assert_eq!(pending.hold_until, Some(created.saturating_add(Duration::from_mins(30))));
    assert_eq!((pending.completed_at, pending.cancelled_at, pending.payment_method), (None, None, None));
    fixture.clock.advance(Duration::from_mins(1));
    let paid = fixture.clock.now();
    fixture.service.payment_completed(&fixture.caller, order).expect("paid");
    fixture.clock.advance(Duration::from_mins(1));
    fixture.refund_amount(order, eur(500)).expect("refunded");
    assert_eq!(details(&fixture, order).refunded, eur(500));
    fixture.service.cancel_order(&fixture.caller, order).expect("cancelled");
    let cancelled = details(&fixture, order);
    assert_eq!((cancelled.completed_at, cancelled.cancelled_at), (Some(paid), Some(fixture.clock.now())));
    assert_eq!(cancelled.payment_method, Some(PaymentMethod::Gateway));
    assert_eq!((cancelled.refunded, cancelled.manual_refund_due), (eur(2500), eur(0)));

    let by_hand = fixture.order(&seat, 1).id;
    fixture.service.mark_order_paid(&fixture.caller, by_hand, ManualMethod::Cash).expect("paid");
    assert_eq!(details(&fixture, by_hand).payment_method, Some(PaymentMethod::Manual));
    let of_free = details(&fixture, fixture.order(&free, 1).id);
    assert_eq!((of_free.payment_method, of_free.hold_until), (Some(PaymentMethod::Free), None));
}

#[test]
fn money_that_was_taken_by_hand_counts_as_to_be_given_back_until_it_is_marked_as_refunded() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.order(&ticket_type, 2).id;
    let manual_refund_total = || {
        let summary = fixture.service.get_event_summary(&fixture.caller, ticket_type.event_id);
        summary.expect("a summary").manual_refund_total
    };
    let mark = || fixture.service.mark_order_refunded(&fixture.caller, order, MarkRefunded::all(RefundMethod::Cash));
    fixture.service.mark_order_paid(&fixture.caller, order, ManualMethod::Cash).expect("paid in cash");
    assert_eq!(reason(mark()), Reason::NoManualRefundDue);
    fixture.refund_amount(order, eur(500)).expect("to be refunded");
    assert_eq!((manual_refund_total(), details(&fixture, order).manual_refund_due), (eur(500), eur(500)));
    mark().expect("marked");
    assert_eq!(manual_refund_total(), eur(0));
    fixture.service.cancel_order(&fixture.caller, order).expect("cancelled");
    // 25.00 less 5.00, which were given back already.
    assert_eq!(manual_refund_total(), eur(2000));
    assert_eq!(mark().expect("marked").order.status, OrderStatus::Cancelled);
    let after = details(&fixture, order);
    assert_eq!((manual_refund_total(), after.manual_refund_due, after.refunded), (eur(0), eur(0), eur(2500)));
    assert_eq!(reason(mark()), Reason::NoManualRefundDue);
}

#[test]
fn an_order_that_is_paid_by_hand_is_taken_without_the_gateway() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let request = || CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 2);
    fixture.gateway.on_checkout(GatewayBehavior::Unavailable);
    let keyed = fixture.caller_with_key("box-office");
    let create = || fixture.service.create_order(&keyed, request().payment(PaymentChoice::Manual)).expect("an order");
    let created = create();
    assert_eq!((&created.value.checkout_url, &created.value.order.payment_gateway), (&None, &None));
    assert_eq!(created.value.order.status, OrderStatus::Pending);
    assert!(create().replayed && fixture.gateway.checkouts().is_empty());
    let paid =
        fixture.service.mark_order_paid(&fixture.caller, created.value.order.id, ManualMethod::Cash).expect("paid");
    assert_eq!((paid.status, paid.tickets().count()), (OrderStatus::Completed, 2));
    fixture.gateway.on_checkout(GatewayBehavior::Succeed);
    let by_gateway = fixture.service.create_order(&fixture.caller, request().payment(PaymentChoice::Gateway));
    assert!(by_gateway.expect("an order").checkout_url.is_some());
}
