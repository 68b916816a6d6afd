//! Renewing the checkout of a pending order, with Stripe.

use std::time::Duration;

use serde_json::Value;
use ticketing::error::Reason;
use ticketing::order::{Order, OrderStatus, PaymentStatus};
use ticketing::payment::{GatewayError, PaymentGateway, RefundRequest, RenewCheckoutResponse};
use ticketing::{Error, Result};

use crate::common::fake_stripe::Fault;
use crate::common::{HOLD, eur, reason};
use crate::stripe::gateway::{Stripe, order, request};
use crate::stripe::shop::Shop;

const SESSIONS: &str = "/v1/checkout/sessions";

fn renew(shop: &Shop, order: &Order) -> Result<RenewCheckoutResponse> {
    shop.service().renew_checkout(&shop.fixture.caller, order.id)
}

/// The sessions of an order that can be paid now.
fn payable(shop: &Shop) -> Vec<String> {
    let sessions = shop.fake.all("checkout.session").into_iter();
    sessions.map(|session| session["id"].as_str().unwrap().to_owned()).filter(|id| shop.fake.is_payable(id)).collect()
}

/// An order whose customer paid with a method that reports the payment later, although the page does not offer it.
fn order_with_delayed_payment(shop: &Shop) -> (Order, String) {
    let (order, session) = shop.order();
    shop.fake.pay_later(&session, "a_method_of_next_year").unwrap();
    shop.deliver_all();
    (order, session)
}

#[test]
fn an_open_session_is_returned_as_it_is_and_a_declined_card_leaves_it_open() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    shop.fake.decline(&session).unwrap();
    shop.deliver_all();
    let same = renew(&shop, &order).unwrap();
    assert!(!same.renewed);
    assert_eq!(Some(same.checkout_url), order.payment_gateway.map(|payment| payment.link));
    assert_eq!(payable(&shop), [session]);
}

#[test]
fn a_delayed_payment_that_fails_can_be_followed_by_a_new_session() {
    let shop = Shop::open();
    let (order, first) = order_with_delayed_payment(&shop);
    assert_eq!(reason(renew(&shop, &order)), Reason::PaymentInProgress);
    shop.fake.settle_later(&first, false);
    shop.deliver_all();
    assert_eq!(shop.fixture.payment_status(order.id), Some(PaymentStatus::Failed));
    shop.skip(Duration::from_mins(20));
    let renewed = renew(&shop, &order).unwrap();
    assert!(renewed.renewed);
    let [second] = &payable(&shop)[..] else { panic!("{:?}", payable(&shop)) };
    let requests = shop.fake.requests_to("POST", SESSIONS);
    let keys: Vec<_> = requests.iter().filter_map(|it| it.request.header("idempotency-key")).collect();
    assert_eq!(keys, [format!("checkout-{}", order.id), format!("checkout-{}-2", order.id)]);
    assert_eq!(shop.fake.get(second)["client_reference_id"], order.id.to_string());

    let intent = shop.fake.pay(second).unwrap();
    shop.deliver_all();
    assert_eq!(shop.status(&order), OrderStatus::Completed);
    assert_eq!(shop.kept(&intent), 2500);
    shop.pass(Duration::from_secs(2));
    assert_eq!(shop.refunds().len(), 0);
}

#[test]
fn a_session_that_was_expired_in_the_dashboard_is_replaced_also_if_its_notice_was_lost() {
    for is_lost in [false, true] {
        let shop = Shop::open();
        let (order, first) = shop.order();
        shop.fake.expire(&first);
        if is_lost {
            shop.fake.take_notices();
        } else {
            shop.deliver_all();
        }
        renew(&shop, &order).unwrap();
        assert_eq!(payable(&shop).len(), 1);
        shop.cancel(&order);
        shop.pass(Duration::from_secs(2));
        assert_eq!(payable(&shop), [""; 0]);
    }
}

#[test]
fn a_renewed_session_is_looked_up_and_closed_like_the_first() {
    let shop = Shop::open();
    let (paid, first) = shop.order();
    shop.fake.expire(&first);
    renew(&shop, &paid).unwrap();
    let second = payable(&shop).remove(0);
    let intent = shop.fake.pay(&second).unwrap();
    shop.fake.take_notices();
    shop.pass_hold();
    assert_eq!((shop.status(&paid), shop.kept(&intent)), (OrderStatus::Completed, 2500));

    let (unpaid, first) = shop.order();
    shop.fake.expire(&first);
    shop.skip(HOLD / 2);
    renew(&shop, &unpaid).unwrap();
    shop.skip(HOLD / 2);
    shop.pass(Duration::from_secs(2));
    assert_eq!(shop.status(&unpaid), OrderStatus::Expired);
    assert_eq!(payable(&shop), [""; 0]);
}

#[test]
fn a_renewal_whose_answer_was_lost_is_the_same_session_the_next_time() {
    for fault in [Fault::CloseAfter, Fault::CloseBefore, Fault::ServerErrorAfterEffect] {
        let shop = Shop::open();
        let (order, first) = shop.order();
        shop.fake.expire(&first);
        shop.fake.fail("POST", SESSIONS, fault.clone(), 1);
        assert!(matches!(renew(&shop, &order), Err(Error::CheckoutNotRenewed(_))), "{fault:?}");
        assert_eq!(shop.status(&order), OrderStatus::Pending, "{fault:?}");
        let renewed = renew(&shop, &order).unwrap();
        assert!(renewed.renewed, "{fault:?}");
        let [second] = &payable(&shop)[..] else { panic!("{fault:?}: {:?}", payable(&shop)) };
        assert!(renewed.checkout_url.ends_with(second.as_str()), "{fault:?}");
        shop.cancel(&order);
        shop.pass(Duration::from_secs(10));
        assert_eq!(payable(&shop), [""; 0], "{fault:?}");
    }
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
    assert!(matches!(renew(&shop, &order), Err(Error::CheckoutNotRenewed(_))));
    assert_eq!(payable(&shop), [""; 0]);
    assert!(renew(&shop, &order).unwrap().renewed);
    assert_eq!(payable(&shop).len(), 1);
    let checkout = shop.service().get_checkout(&shop.fixture.caller, order.id).unwrap();
    assert_eq!(checkout.renewals, 1);
}

#[test]
fn a_renewal_that_stripe_refuses_is_followed_by_another() {
    let shop = Shop::open();
    let (order, first) = shop.order();
    shop.fake.expire(&first);
    // Too late for the 30 minutes for which a session has to be open.
    shop.fake.fail("POST", SESSIONS, Fault::ServerError, 1);
    assert!(matches!(renew(&shop, &order), Err(Error::CheckoutNotRenewed(_))));
    shop.skip(Duration::from_mins(2));
    assert!(matches!(renew(&shop, &order), Err(Error::CheckoutNotRenewed(_))));
    assert!(renew(&shop, &order).unwrap().renewed);
    assert_eq!(payable(&shop).len(), 1);
    let checkout = shop.service().get_checkout(&shop.fixture.caller, order.id).unwrap();
    assert_eq!(checkout.renewals, 2);
}
