//! Keys of another account, and of the other mode: what was not closed is closed when the right key is back.

use ticketing::payment::{CheckoutState, Checkouts, GatewayError, LookUp};
use ticketing::stripe::StripeGateway;

use crate::common::log;
use crate::stripe::gateway::{Stripe, order};

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
