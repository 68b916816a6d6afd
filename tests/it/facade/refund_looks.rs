//! Before a refund that may have been made is asked for again, what the gateway lists of the payment is recorded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ticketing::order::Order;
use ticketing::payment::{
    Checkout, CheckoutRequest, CheckoutState, GatewayError, GatewayPayment, GatewayRefund, ListRefunds, PaymentGateway,
    Refund, RefundRequest, RefundStatus,
};

use crate::common::*;

/// An order of two seats for 25.00 that was paid through the payment `pi_1`.
fn paid(fixture: &Fixture) -> Order {
    let order = fixture.order(&fixture.new_ticket_type(1250, 100), 2);
    let notice = Notice::about(
        &order,
        ticketing::payment::GatewayEvent::Checkout(CheckoutState::Paid(GatewayPayment::new("pi_1", eur(2500), "EUR"))),
    );
    fixture.gateway.know(&notice);
    notice.send(&fixture.service).expect("received");
    order
}

/// A refund of 3.00 that the gateway does not make now.
fn refund_later(fixture: &Fixture, order: &Order) {
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    fixture.refund_amount(order.id, eur(300)).expect("refunded");
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
}

fn maintain_after(fixture: &Fixture, pause: Duration) {
    fixture.clock.advance(pause);
    fixture.service.run_maintenance().expect("maintenance");
}

fn refunds(fixture: &Fixture) -> Vec<Refund> {
    fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("refunds").data
}

/// What the customer got: from somebody who has refunded in the account at the gateway, and from this service.
fn refunds_of_service(fixture: &Fixture) -> usize {
    // The first attempt was not made.
    fixture.gateway.refunds().len() - 1
}

/// The control of `gateways::unnoticed_refunds`: a gateway that does not list what somebody has made is asked, and the
/// customer gets 3.00 twice.
#[test]
fn control_what_the_gateway_does_not_list_before_it_is_asked_is_paid_twice() {
    let fixture = Fixture::new();
    let order = paid(&fixture);
    refund_later(&fixture, &order);
    fixture.gateway.set_listed([]);
    maintain_after(&fixture, Duration::from_mins(1));
    assert_eq!(refunds_of_service(&fixture), 1);
}

#[test]
fn the_first_attempt_of_the_process_that_decided_just_now_asks_at_once() {
    let fixture = Fixture::new();
    let order = paid(&fixture);
    fixture.refund_amount(order.id, eur(300)).expect("refunded");
    assert_eq!((fixture.gateway.refunds().len(), fixture.gateway.listed_for().len()), (1, 0));
}

#[test]
fn a_payment_that_was_reported_without_an_id_is_found_by_its_checkout() {
    let fixture = Fixture::new();
    let order = fixture.paid_order(&fixture.new_ticket_type(1250, 100), 2);
    refund_later(&fixture, &order);
    fixture.gateway.set_state(Some(CheckoutState::Paid(GatewayPayment::new("pi_1", eur(2500), "EUR"))));
    fixture.gateway.set_listed([GatewayRefund::new("re_9", eur(300), "EUR")]);
    maintain_after(&fixture, Duration::from_mins(1));
    assert_eq!((refunds_of_service(&fixture), refunds(&fixture)[0].status), (0, RefundStatus::Done));
    assert_eq!(fixture.gateway.listed_for()[0].payment_reference, "pi_1");
}

/// A gateway that lists nothing. Its first refund is made, and the answer is lost.
#[derive(Clone, Default)]
struct Plain(Arc<Mutex<Vec<RefundRequest>>>);

impl PaymentGateway for Plain {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        Ok(Checkout::new("https://pay.example", &request.idempotency_key))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        let mut asked = self.0.lock().expect("no panic");
        asked.push(request.clone());
        if asked.len() == 1 { Err(GatewayError::Unavailable("lost".to_owned())) } else { Ok(request.made("re_1")) }
    }
}

#[test]
fn a_gateway_that_lists_no_refunds_is_asked_again_with_the_same_key() {
    let gateway = Plain::default();
    let fixture = Fixture::with(|builder| builder.payment_gateway(gateway.clone()));
    let order = fixture.paid_order(&fixture.new_ticket_type(1250, 100), 2);
    fixture.refund_amount(order.id, eur(300)).expect("refunded");
    maintain_after(&fixture, Duration::from_mins(1));
    let asked = gateway.0.lock().expect("no panic");
    let [first, second] = &asked[..] else { panic!("two attempts") };
    assert_eq!(first.idempotency_key, second.idempotency_key);
    assert!(!first.may_have_been_made() && second.may_have_been_made(), "the gateway looks itself");
    assert_eq!(refunds(&fixture)[0].status, RefundStatus::Done);
}
