//! Renewing the checkout of a pending order: one checkout at most is payable.

use std::time::Duration;

use ticketing::error::Reason;
use ticketing::id::OrderId;
use ticketing::order::{OrderStatus, PaymentStatus};
use ticketing::payment::RenewCheckoutResponse;
use ticketing::{Error, Result};

use super::shop::Shop;
use super::{Call, Provider, Trouble, contract};
use crate::common::{HOLD, reason};

contract! {
    a_checkout_that_is_open_is_returned_as_it_is,
    a_checkout_that_has_ended_is_replaced_also_if_its_notice_was_lost,
    a_delayed_payment_that_fails_can_be_followed_by_a_new_checkout,
    a_payment_whose_notice_was_lost_is_found_instead_of_a_renewal,
    a_renewed_checkout_is_looked_up_and_closed_like_the_first,
    a_renewal_without_an_answer_is_the_same_checkout_the_next_time,
}

fn renew<P: Provider>(shop: &Shop<P>, order: OrderId) -> Result<RenewCheckoutResponse> {
    shop.service().renew_checkout(&shop.fixture.caller, order)
}

fn a_checkout_that_is_open_is_returned_as_it_is<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, checkout) = shop.order();
    let same = renew(&shop, order).unwrap();
    let link = shop.fixture.read_order(order).payment_gateway.map(|payment| payment.link);
    assert_eq!((same.renewed, Some(same.checkout_url)), (false, link));
    assert_eq!(shop.payable(order), [checkout]);
}

fn a_checkout_that_has_ended_is_replaced_also_if_its_notice_was_lost<P: Provider>() {
    for is_lost in [false, true] {
        let shop = Shop::<P>::open();
        let (order, first) = shop.order();
        shop.fake.expire(&first);
        if is_lost {
            shop.lose_notices();
        } else {
            shop.deliver_all();
        }
        assert!(renew(&shop, order).unwrap().renewed, "lost: {is_lost}");
        assert_eq!(shop.payable(order).len(), 1, "lost: {is_lost}");
        shop.cancel(order);
        shop.run(2);
        assert_eq!(shop.payable(order), [""; 0], "lost: {is_lost}");
    }
}

fn a_delayed_payment_that_fails_can_be_followed_by_a_new_checkout<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, first) = shop.order();
    shop.fake.pay_later(&first);
    shop.deliver_all();
    assert_eq!(reason(renew(&shop, order)), Reason::PaymentInProgress);
    shop.fake.end_payment(&first, false);
    shop.deliver_all();
    assert_eq!(shop.fixture.payment_status(order), Some(PaymentStatus::Failed));
    shop.skip(Duration::from_mins(20));
    assert!(renew(&shop, order).unwrap().renewed);
    assert_eq!(shop.fixture.payment_status(order), Some(PaymentStatus::Waiting));
    let [second] = &shop.payable(order)[..] else { panic!("{:?}", shop.payable(order)) };
    shop.fake.pay(second);
    shop.deliver_all();
    assert_eq!((shop.status(order), shop.sold()), (OrderStatus::Completed, 2));
    shop.assert_ends(order, 2500, 0);
}

fn a_payment_whose_notice_was_lost_is_found_instead_of_a_renewal<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, checkout) = shop.order();
    shop.fake.pay(&checkout);
    shop.lose_notices();
    assert_eq!(reason(renew(&shop, order)), Reason::OrderNotPending);
    assert_eq!((shop.status(order), shop.fake.checkouts(order).len()), (OrderStatus::Completed, 1));
}

fn a_renewed_checkout_is_looked_up_and_closed_like_the_first<P: Provider>() {
    let shop = Shop::<P>::open();
    let (paid, first) = shop.order();
    shop.fake.expire(&first);
    renew(&shop, paid).unwrap();
    shop.fake.pay(&shop.payable(paid)[0]);
    shop.lose_notices();
    shop.pass_hold();
    assert_eq!(shop.status(paid), OrderStatus::Completed);
    shop.assert_books(paid, 2500, 0);

    let (unpaid, first) = shop.order();
    shop.fake.expire(&first);
    shop.skip(HOLD / 2);
    renew(&shop, unpaid).unwrap();
    shop.skip(HOLD / 2);
    shop.run(2);
    assert_eq!((shop.status(unpaid), shop.payable(unpaid).len()), (OrderStatus::Expired, 0));
}

fn a_renewal_without_an_answer_is_the_same_checkout_the_next_time<P: Provider>() {
    for trouble in [Trouble::NotExecuted, Trouble::NoAnswer, Trouble::AnswerLost] {
        let shop = Shop::<P>::open();
        let (order, first) = shop.order();
        shop.fake.expire(&first);
        shop.fake.fail(Call::Checkout, trouble);
        assert!(matches!(renew(&shop, order), Err(Error::CheckoutNotRenewed(_))), "{trouble:?}");
        assert_eq!(shop.status(order), OrderStatus::Pending, "{trouble:?}");
        shop.fake.repair();
        let renewed = renew(&shop, order).unwrap();
        assert!(renewed.renewed, "{trouble:?}");
        let [second] = &shop.payable(order)[..] else { panic!("{trouble:?}: {:?}", shop.payable(order)) };
        assert!(renewed.checkout_url.ends_with(second.as_str()), "{trouble:?}");
        assert_eq!(shop.fake.checkouts(order).len(), 2, "{trouble:?}");
        shop.cancel(order);
        shop.run(10);
        assert_eq!(shop.payable(order), [""; 0], "{trouble:?}");
    }
}
