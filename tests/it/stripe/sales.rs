//! Sales and refunds with Stripe that are unlike those with other providers. What they have in common is in `gateways`.

use std::time::Duration;

use ticketing::order::OrderStatus;
use ticketing::payment::{CheckoutStatus, RefundStatus};
use ticketing::stripe::StripeGateway;

use crate::common::eur;
use crate::common::fake_stripe::Fault;
use crate::gateways::shop::DAY;
use crate::stripe::Shop;

const REFUNDS: &str = "/v1/refunds";

#[test]
fn a_sale_is_one_request() {
    let shop = Shop::open();
    shop.sale();
    assert_eq!(shop.fake.requests().len(), 1);
}

#[test]
fn after_25_hours_of_server_errors_each_refund_is_made_once() {
    let shop = Shop::open();
    let orders = [Fault::ServerError, Fault::ServerErrorAfterEffect, Fault::CloseAfter].map(|fault| {
        let (order, _) = shop.sale();
        shop.fake.fail("POST", REFUNDS, fault, 1);
        shop.cancel(order);
        shop.maintain();
        order
    });
    shop.fake.fail("POST", REFUNDS, Fault::ServerError, usize::MAX);
    (0..25 * 12).for_each(|_| shop.pass(Duration::from_mins(5)));
    shop.fake.repair();
    (0..25 * 12).for_each(|_| shop.pass(Duration::from_mins(5)));
    for order in orders {
        shop.assert_books(order, 0, 0);
    }
    assert_eq!(shop.refunded(), [2500; 3]);
    assert!(shop.refunds().iter().all(|refund| refund.status == RefundStatus::Done), "{:?}", shop.refunds());
}

#[test]
fn a_payment_that_has_gone_back_is_settled_after_a_week_although_its_refunds_are_not_listed() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.fake.refund_outside(&intent, None);
    let late = shop.fake.take_notices();
    shop.fake.fail("GET", REFUNDS, Fault::ServerError, usize::MAX);
    shop.pass_hold();
    let listed_in = |hours: usize| {
        let before = shop.fake.requests_to("GET", REFUNDS).len();
        (0..hours).for_each(|_| shop.pass(Duration::from_hours(1)));
        shop.fake.requests_to("GET", REFUNDS).len() - before
    };
    assert!(listed_in(100) > 90);
    listed_in(100);
    assert_eq!(shop.checkout_status(order), CheckoutStatus::Closed);
    shop.deliver(late.iter().filter(|notice| notice.kind == "checkout.session.completed"));
    assert_eq!(shop.status(order), OrderStatus::Expired);
}

/// Stripe reports it with `refund.updated` only.
#[test]
fn a_refund_that_was_canceled_has_failed() {
    for is_notice_lost in [false, true] {
        let shop = Shop::open();
        shop.fake.delay_refunds();
        let (order, intent) = shop.sale();
        shop.cancel(order);
        shop.deliver_all();
        assert_eq!(shop.own_refund().status, RefundStatus::Done);
        shop.fake.cancel_refund(&shop.newest_refund());
        if is_notice_lost {
            shop.lose_notices();
            shop.pass(DAY);
        } else {
            shop.deliver_all();
        }
        let own = shop.own_refund();
        assert_eq!((own.status, own.requires_manual_refund), (RefundStatus::Refused, true));
        assert!(own.last_error.is_some_and(|text| text.contains("canceled")));
        assert_eq!((shop.owed(order), shop.summary().manual_refund_total), (2500, eur(2500)));
        assert_eq!(shop.fake.get(&intent)["amount_received"], 2500);
    }
}

#[test]
fn a_refund_is_looked_up_an_hour_after_the_key_was_not_accepted() {
    let mut shop = Shop::open();
    let (order, _) = shop.sale();
    shop.cancel(order);
    shop.fake.fail_refund(&shop.newest_refund());
    shop.lose_notices();
    let revoked = StripeGateway::builder("sk_test_revoked").api_base(shop.fake.url()).build().unwrap();
    shop.restart_with(|builder| builder.payment_gateway(revoked));
    shop.pass(DAY);
    assert_eq!((shop.fake.requests_to("GET", REFUNDS).len(), shop.own_refund().status), (1, RefundStatus::Done));
    shop.restart();
    shop.pass(Duration::from_hours(1));
    assert_eq!((shop.own_refund().status, shop.owed(order)), (RefundStatus::Refused, 2500));
}
