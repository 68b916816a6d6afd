//! The mode of a payment: with the key of the other mode, nothing is asked about it.

use std::time::Duration;

use ticketing::TicketingService;
use ticketing::order::Order;
use ticketing::payment::{
    CheckoutState, CheckoutStatus, GatewayDispute, GatewayEvent, GatewayPayment, ListRefunds, MarkRefunded,
    PaymentMode, RefundMethod, RefundStatus,
};
use ticketing::ticket_type::TicketType;

use crate::common::*;

const DAY: Duration = Duration::from_hours(24);

/// The program with a key of the other mode: the same gateway, and another account of the same provider.
fn in_test_mode(fixture: &Fixture) -> (FakeGateway, TicketingService) {
    let gateway = FakeGateway::new().named("gateway", PaymentMode::Test);
    gateway.set_state(Some(CheckoutState::Closed));
    let used = gateway.clone();
    (gateway, fixture.second_service_with(|builder| builder.payment_gateway(used)))
}

fn report(fixture: &Fixture, order: &Order, event: GatewayEvent) {
    let notice = Notice::about(order, event);
    fixture.gateway.know(&notice);
    notice.send(&fixture.service).expect("received");
}

fn paid(fixture: &Fixture, ticket_type: &TicketType, reference: &str) -> Order {
    let order = fixture.order(ticket_type, 1);
    report_paid(fixture, &order, reference);
    order
}

fn report_paid(fixture: &Fixture, order: &Order, reference: &str) {
    let payment = GatewayPayment::new(reference, eur(1250), "EUR");
    report(fixture, order, GatewayEvent::Checkout(CheckoutState::Paid(payment)));
}

fn due(fixture: &Fixture) -> usize {
    let refunds = fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("refunds").data;
    refunds.iter().filter(|refund| refund.status == RefundStatus::Due).count()
}

#[track_caller]
fn assert_not_asked(gateway: &FakeGateway) {
    assert!(gateway.refunds().is_empty() && gateway.listed_for().is_empty(), "refunds and disputes");
    assert!(gateway.closed().is_empty() && gateway.looked_up().is_empty(), "checkouts");
}

#[test]
fn with_a_key_of_test_mode_nothing_is_asked_about_real_money() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 100);
    let [refused, made, disputed] = ["pi_1", "pi_2", "pi_3"].map(|reference| paid(&fixture, &ticket_type, reference));
    let late = fixture.order(&ticket_type, 1);
    // A refund that was made is looked at after a day, and an open dispute every day.
    fixture.service.cancel_order(&fixture.caller, made.id).expect("cancelled");
    report(&fixture, &disputed, GatewayEvent::Dispute(GatewayDispute::new("dp_1", eur(1250), "EUR")));
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    fixture.service.cancel_order(&fixture.caller, refused.id).expect("cancelled");
    fixture.gateway.on_refund(GatewayBehavior::Succeed);

    let (gateway, other) = in_test_mode(&fixture);
    // The order ends, and its customer pays too late.
    other.cancel_order(&fixture.caller, late.id).expect("cancelled");
    report_paid(&fixture, &late, "pi_4");
    other.cancel_order(&fixture.caller, disputed.id).expect("cancelled");
    for _ in 0..4 {
        fixture.clock.advance(DAY);
        other.run_maintenance().expect("maintenance");
    }
    let look = MarkRefunded::all(RefundMethod::Gateway);
    assert!(other.mark_order_refunded(&fixture.caller, refused.id, look).expect("nothing").settled.is_empty());
    assert_not_asked(&gateway);
    assert_eq!((due(&fixture), other.backlog().expect("a backlog").refunds_without_gateway), (3, 3));

    // With its own key, all of it is made up for.
    let again = fixture.second_service();
    for _ in 0..3 {
        fixture.clock.advance(Duration::from_hours(1));
        again.run_maintenance().expect("maintenance");
    }
    assert_eq!((again.backlog().expect("a backlog").refunds_without_gateway, due(&fixture)), (0, 1));
    assert!(fixture.gateway.listed_for().iter().any(|look_up| look_up.payment_reference == "pi_2"));
    let checkout = fixture.service.get_checkout(&fixture.caller, late.id).expect("a checkout");
    assert_eq!(checkout.status, CheckoutStatus::Closed);
}
