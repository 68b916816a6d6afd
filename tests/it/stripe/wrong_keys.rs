//! Keys of another account, and of the other mode: what was not closed is closed when the right key is back.

use std::time::Duration;

use ticketing::environment::ManualClock;
use ticketing::order::OrderStatus;
use ticketing::payment::{CheckoutState, CheckoutStatus, Checkouts, GatewayError, LookUp, RefundStatus};
use ticketing::stripe::StripeGateway;

use crate::common::fake_stripe::{FakeStripe, Fault};
use crate::common::log;
use crate::common::{NOW, at};
use crate::stripe::gateway::{Stripe, gateway, order};
use crate::stripe::shop::Shop;

#[test]
fn a_session_is_closed_when_the_key_of_its_account_is_back() {
    let mut shop = Shop::open();
    let (cancelled, session) = shop.order();
    let (paid, paid_session) = shop.order();
    let intent = shop.fake.pay(&paid_session).unwrap();
    shop.fake.take_notices();
    shop.cancel(&cancelled);
    // Another account: it knows none of the sessions.
    let other = FakeStripe::start(ManualClock::new(at(NOW)));
    shop.fixture.service = shop.fixture.second_service_with(|builder| builder.payment_gateway(gateway(&other)));
    shop.pass(Duration::from_secs(120));
    assert!(!other.requests().is_empty());
    let checkout = shop.service().get_checkout(&shop.fixture.caller, cancelled.id).unwrap();
    assert_eq!(checkout.status, CheckoutStatus::Closing);
    assert!(shop.fake.is_payable(&session));

    shop.crash();
    shop.pass(Duration::from_secs(130));
    assert!(!shop.fake.is_payable(&session));
    let checkout = shop.service().get_checkout(&shop.fixture.caller, cancelled.id).unwrap();
    assert_eq!(checkout.status, CheckoutStatus::Closed);
    shop.pass_hold();
    assert_eq!((shop.status(&paid), shop.kept(&intent)), (OrderStatus::Completed, 2500));
}

#[test]
fn a_program_that_lost_its_stripe_key_leaves_refunds_and_sessions_to_the_next_start() {
    let mut shop = Shop::open();
    let (paid, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    let (cancelled, open) = shop.order();
    shop.fake.fail("POST", "/v1/", Fault::BadGateway, usize::MAX);
    shop.cancel(&paid);
    shop.cancel(&cancelled);
    shop.maintain();
    shop.fake.repair();
    let before = shop.fake.requests().len();
    shop.fixture.service = shop.fixture.second_service_with(|builder| builder.sandbox_gateway());
    shop.pass(Duration::from_secs(120));
    assert_eq!(shop.fake.requests().len(), before);
    assert_eq!((shop.refunds()[0].status, shop.kept(&intent)), (RefundStatus::Due, 2500));
    let checkout = || shop.service().get_checkout(&shop.fixture.caller, cancelled.id).unwrap().status;
    assert_eq!((checkout(), shop.fake.is_payable(&open)), (CheckoutStatus::Closing, true));

    shop.crash();
    shop.pass(Duration::from_secs(130));
    assert_eq!((shop.refunds()[0].status, shop.kept(&intent)), (RefundStatus::Done, 0));
    assert!(!shop.fake.is_payable(&open));
    let checkout = shop.service().get_checkout(&shop.fixture.caller, cancelled.id).unwrap();
    assert_eq!(checkout.status, CheckoutStatus::Closed);
}

#[test]
fn a_session_of_the_other_mode_completes_nothing_and_is_not_asked_about() {
    let stripe = Stripe::start();
    let checkout = stripe.open(1);
    stripe.fake.pay(&checkout.reference).unwrap();
    stripe.fake.make_live(&checkout.reference);
    assert!(matches!(stripe.look_up(1, &checkout), Err(GatewayError::Unavailable(_))));
    assert!(matches!(stripe.close(1, &checkout), Err(GatewayError::Unavailable(_))));
    let before = stripe.fake.requests().len();
    let live = LookUp::new(order(2), "cs_live_a1");
    assert!(matches!(stripe.gateway.look_up(&live), Err(GatewayError::Refused(_))));
    assert_eq!(stripe.fake.requests().len(), before);
    let test = stripe.open(3);
    assert_eq!(stripe.look_up(3, &test), Ok(CheckoutState::Open));
}

#[test]
fn a_key_of_test_mode_is_noticed_without_being_shown() {
    let build = |key: &str| {
        let (gateway, log) = log::during(|| StripeGateway::builder(key).build().unwrap());
        assert!(!log.lines().iter().any(|line| line.contains(key)), "{:?}", log.lines());
        (gateway.livemode(), log.lines().iter().filter(|line| line.contains("one of test mode")).count())
    };
    assert_eq!(build("sk_test_4711"), (Some(false), 1));
    assert_eq!(build("rk_test_4711"), (Some(false), 1));
    assert_eq!(build("sk_live_4711"), (Some(true), 0));
}
