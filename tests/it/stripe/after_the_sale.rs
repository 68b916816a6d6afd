//! What happens to a payment after its sale: refunds that fail, refunds in Stripe's dashboard, and disputes.

use std::time::Duration;

use ticketing::order::{OrderStatus, PaymentStatus};
use ticketing::payment::{DisputeStatus, ListDisputes, RefundStatus};

use crate::common::eur;
use crate::common::random::Random;
use crate::stripe::shop::Shop;

const REFUNDS: &str = "/v1/refunds";

#[test]
fn a_refund_that_fails_later_is_refused_and_the_payment_is_kept() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.cancel(&order);
    shop.maintain();
    shop.deliver_all();
    assert_eq!(shop.refunds()[0].status, RefundStatus::Done);
    let refund = shop.fake.all("refund")[0]["id"].as_str().unwrap().to_owned();
    shop.fake.fail_refund(&refund);
    shop.deliver_all();
    assert_eq!(shop.refunds()[0].status, RefundStatus::Refused);
    assert_eq!(shop.fixture.payment_status(order.id), Some(PaymentStatus::Completed));
    assert_eq!(shop.kept(&intent), 2500);
    shop.pass(Duration::from_secs(5));
    assert_eq!(shop.fake.all("refund").len(), 1, "nobody asks again by itself");
}

#[test]
fn an_outside_refund_of_the_whole_payment_cancels_the_order_without_another_refund() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.fake.refund_outside(&intent, Some(500));
    shop.deliver_all();
    assert_eq!(shop.status(&order), OrderStatus::Completed, "a part changes nothing");
    shop.fake.refund_outside(&intent, None);
    shop.deliver_all();
    assert_eq!(shop.status(&order), OrderStatus::Cancelled);
    shop.pass(Duration::from_secs(5));
    let mut amounts: Vec<_> = shop.refunds().iter().map(|refund| refund.amount).collect();
    amounts.sort();
    assert_eq!(amounts, [eur(500), eur(2000)]);
    assert_eq!(shop.fake.requests_to("POST", REFUNDS).len(), 0);
}

#[test]
fn a_dispute_is_listed_until_its_end_and_the_tickets_stay_valid() {
    for (is_won, end) in [(true, DisputeStatus::Won), (false, DisputeStatus::Lost)] {
        let shop = Shop::open();
        let (order, session) = shop.order();
        let intent = shop.fake.pay(&session).unwrap();
        shop.deliver_all();
        let dispute = shop.fake.dispute(&intent);
        shop.deliver_all();
        let disputes = || shop.service().list_disputes(&shop.fixture.caller, ListDisputes::default()).unwrap().data;
        let [open] = &disputes()[..] else { panic!("{:?}", disputes()) };
        assert_eq!((open.order_id, open.amount, open.status), (order.id, eur(2500), DisputeStatus::Open));
        shop.fake.close_dispute(&dispute, is_won);
        shop.deliver_all();
        let [closed] = &disputes()[..] else { panic!("{:?}", disputes()) };
        assert_eq!(closed.status, end);
        assert_eq!(shop.status(&order), OrderStatus::Completed);
        assert_eq!(shop.fixture.sold(&shop.ticket_type), 2);
    }
}

#[test]
fn notices_about_refunds_and_disputes_in_any_order_and_number_end_as_once() {
    for seed in 1..=20 {
        let mut random = Random::new(seed);
        let shop = Shop::open();
        let (refunded, session) = shop.order();
        let first = shop.fake.pay(&session).unwrap();
        let (disputed, session) = shop.order();
        let second = shop.fake.pay(&session).unwrap();
        shop.deliver_all();
        shop.fake.refund_outside(&first, Some(1000));
        shop.fake.refund_outside(&first, Some(1500));
        let dispute = shop.fake.dispute(&second);
        shop.fake.close_dispute(&dispute, true);
        let once = shop.fake.take_notices();
        let mut notices: Vec<_> = std::iter::repeat_n(&once, 3).flatten().collect();
        while !notices.is_empty() {
            let notice = notices.swap_remove(random.below(notices.len()));
            shop.receive(notice).unwrap();
        }
        shop.pass(Duration::from_secs(3));
        assert_eq!(shop.status(&refunded), OrderStatus::Cancelled, "seed {seed}");
        assert_eq!(shop.status(&disputed), OrderStatus::Completed, "seed {seed}");
        assert_eq!(shop.refunds().len(), 2, "seed {seed}: {:?}", shop.refunds());
        let disputes = shop.service().list_disputes(&shop.fixture.caller, ListDisputes::default()).unwrap().data;
        let statuses: Vec<_> = disputes.iter().map(|dispute| dispute.status).collect();
        assert_eq!(statuses, [DisputeStatus::Won], "seed {seed}");
        assert_eq!(shop.fake.requests_to("POST", REFUNDS).len(), 0, "seed {seed}");
    }
}

#[test]
fn a_refund_that_is_canceled_at_stripe_counts_as_failed() {
    let shop = Shop::open();
    shop.fake.delay_refunds();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.cancel(&order);
    shop.maintain();
    shop.deliver_all();
    assert_eq!(shop.refunds()[0].status, RefundStatus::Done);
    shop.fake.cancel_refund(shop.fake.all("refund")[0]["id"].as_str().unwrap());
    shop.deliver_all();
    assert_eq!(shop.refunds()[0].status, RefundStatus::Refused);
    assert_eq!(shop.fixture.payment_status(order.id), Some(PaymentStatus::Completed));
    assert_eq!(shop.fake.get(&intent)["amount_received"], 2500);
}
