//! Renewing the checkout of a pending order, with Stripe.

use std::time::Duration;

use serde_json::Value;
use ticketing::id::OrderId;
use ticketing::payment::{GatewayError, PaymentGateway, RefundRequest, RenewCheckoutResponse};
use ticketing::{Error, Result};

use crate::common::eur;
use crate::common::fake_stripe::Fault;
use crate::stripe::Shop;
use crate::stripe::gateway::{Stripe, order, request};

const SESSIONS: &str = "/v1/checkout/sessions";

fn renew(shop: &Shop, order: OrderId) -> Result<RenewCheckoutResponse> {
    shop.service().renew_checkout(&shop.fixture.caller, order)
}

#[test]
fn an_open_session_is_returned_as_it_is_and_a_declined_card_leaves_it_open() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    shop.fake.decline(&session).unwrap();
    shop.deliver_all();
    let same = renew(&shop, order).unwrap();
    assert!(!same.renewed);
    assert_eq!(same.checkout_url, shop.fake.get(&session)["url"]);
    assert_eq!(shop.payable(order), [session]);
}

/// The program has reported the payment without its id.
#[test]
fn a_payment_under_an_earlier_session_is_found_for_its_refund() {
    let stripe = Stripe::start();
    let first = stripe.open(1).reference;
    let key = format!("checkout-{}-2", order(1));
    let second = stripe.gateway.start_checkout(&request(1).idempotency_key(key)).unwrap().reference;
    let refund = RefundRequest::new(order(1), eur(2500), "EUR").reference(&second).earlier_references([first.clone()]);
    assert!(matches!(stripe.gateway.refund(&refund), Err(GatewayError::Refused(_))), "nothing is paid");
    let intent = stripe.fake.pay(&first).unwrap();
    stripe.gateway.refund(&refund).unwrap();
    let refunds = stripe.fake.all("refund");
    assert_eq!((refunds.len(), &refunds[0]["payment_intent"]), (1, &Value::from(intent)));
}

#[test]
fn a_renewal_that_failed_at_stripe_is_made_again_under_another_key() {
    let shop = Shop::open();
    let (order, first) = shop.order();
    shop.fake.expire(&first);
    // A 500 is stored under its key for a day.
    shop.fake.fail("POST", SESSIONS, Fault::ServerError, 1);
    assert!(matches!(renew(&shop, order), Err(Error::CheckoutNotRenewed(_))));
    assert_eq!(shop.payable(order), [""; 0]);
    assert!(renew(&shop, order).unwrap().renewed);
    assert_eq!(shop.payable(order).len(), 1);
    let checkout = shop.service().get_checkout(&shop.fixture.caller, order).unwrap();
    assert_eq!(checkout.renewals, 1);
}

#[test]
fn a_renewal_that_stripe_refuses_is_followed_by_another() {
    let shop = Shop::open();
    let (order, first) = shop.order();
    shop.fake.expire(&first);
    // Too late for the 30 minutes for which a session has to be open.
    shop.fake.fail("POST", SESSIONS, Fault::ServerError, 1);
    assert!(matches!(renew(&shop, order), Err(Error::CheckoutNotRenewed(_))));
    shop.skip(Duration::from_mins(2));
    assert!(matches!(renew(&shop, order), Err(Error::CheckoutNotRenewed(_))));
    assert!(renew(&shop, order).unwrap().renewed);
    assert_eq!(shop.payable(order).len(), 1);
    let checkout = shop.service().get_checkout(&shop.fixture.caller, order).unwrap();
    assert_eq!(checkout.renewals, 2);
}
