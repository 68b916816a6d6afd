//! Sales: what is lost, repeated, reordered or late, and how long an order can be paid.

use std::time::Duration;

use ticketing::event::EventStatus;
use ticketing::id::OrderId;
use ticketing::order::{OrderStatus, PaymentStatus};
use ticketing::payment::{CheckoutStatus, DisputeStatus, ManualMethod, RefundSource, RefundStatus};

use super::shop::{MINUTE, SETTLED_AFTER, Shop};
use super::{Call, Provider, Trouble, contract};
use crate::common::long_runs::first_seed;
use crate::common::random::Random;
use crate::common::{HOLD, eur};

contract! {
    a_payment_completes_its_order_with_the_first_notice,
    an_order_whose_notices_are_all_lost_is_completed_before_its_hold_ends,
    without_notices_each_payment_is_settled_70_seconds_after_its_hold,
    each_notice_five_times_in_any_order_ends_as_once,
    a_payment_for_a_cancelled_order_goes_back_once,
    a_payment_of_another_amount_goes_back_and_the_order_stays_pending,
    every_way_in_which_an_order_ends_closes_its_checkout,
    a_checkout_is_closed_as_soon_as_the_provider_answers_again,
    a_start_without_an_answer_leaves_nothing_payable,
    a_payment_made_while_the_program_was_down_completes_its_order_at_the_start,
    under_another_gateway_refunds_and_checkouts_wait_for_their_own,
}

fn a_payment_completes_its_order_with_the_first_notice<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, checkout) = shop.order();
    assert!(shop.fake.is_payable(&checkout));
    shop.fake.pay(&checkout);
    assert_eq!(shop.status(order), OrderStatus::Pending);
    shop.deliver_all();
    assert_eq!((shop.status(order), shop.sold()), (OrderStatus::Completed, 2));
    shop.assert_ends(order, 2500, 0);
}

fn an_order_whose_notices_are_all_lost_is_completed_before_its_hold_ends<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, checkout) = shop.order();
    let payment = shop.fake.pay(&checkout);
    shop.lose_notices();
    shop.pass(HOLD - MINUTE - Duration::from_secs(1));
    assert_eq!(shop.status(order), OrderStatus::Pending, "the provider is asked a minute before the end");
    shop.run(1);
    assert_eq!(shop.status(order), OrderStatus::Completed);
    let checkout = shop.service().get_checkout(&shop.fixture.caller, order).unwrap();
    assert_eq!(checkout.payment_reference, Some(payment));
    shop.assert_books(order, 2500, 0);
}

fn without_notices_each_payment_is_settled_70_seconds_after_its_hold<P: Provider>() {
    let first = first_seed();
    for seed in first..first + 3 {
        let mut random = Random::new(seed);
        let shop = Shop::<P>::open();
        // Each order, its checkout, and the second at which it is paid.
        let mut unpaid = Vec::new();
        // Each order, and the second by which its payment has to be settled.
        let mut paid: Vec<(OrderId, u64)> = Vec::new();
        let hold = HOLD.as_secs();
        let step = |second: u64| if (100..hold - 120).contains(&second) { 20 } else { 1 };
        let mut second = 0;
        while second < hold + 160 {
            if second < 80 && second % 8 == 0 {
                let (order, checkout) = shop.order();
                unpaid.push((order, checkout, second, second + hold - [1, 2, 30, 61, 100, 1500][random.below(6)]));
            }
            for (order, checkout, created, _) in unpaid.extract_if(.., |(.., at)| *at <= second) {
                shop.fake.pay(&checkout);
                paid.push((order, created + hold + SETTLED_AFTER.as_secs()));
            }
            shop.lose_notices();
            for (order, _) in paid.iter().filter(|(_, settled_at)| second >= *settled_at) {
                let kept = if shop.status(*order) == OrderStatus::Completed { 2500 } else { 0 };
                assert_eq!(shop.fake.kept(*order), kept, "seed {seed}: {order} is {}", shop.status(*order));
            }
            shop.pass(Duration::from_secs(step(second)));
            second += step(second);
        }
        assert_eq!((paid.len(), unpaid.len()), (10, 0), "seed {seed}");
    }
}

fn each_notice_five_times_in_any_order_ends_as_once<P: Provider>() {
    let first = first_seed();
    for seed in first..first + 10 {
        let mut random = Random::new(seed);
        let shop = Shop::<P>::open();
        let orders = [(); 4].map(|()| shop.order());
        let [_, _, refunded, disputed] = orders.each_ref().map(|(_, checkout)| shop.fake.pay(checkout));
        let [kept, cancelled, given_back, charged_back] = orders.map(|(order, _)| order);
        shop.cancel(cancelled);
        shop.maintain();
        shop.fake.refund(&refunded, Some(1000));
        shop.fake.refund(&refunded, Some(1500));
        let dispute = shop.fake.dispute(&disputed, None);
        shop.fake.close_dispute(&dispute, true);
        let once = shop.fake.take_notices();
        let mut notices: Vec<_> = std::iter::repeat_n(&once, 5).flatten().collect();
        while !notices.is_empty() {
            shop.deliver([notices.swap_remove(random.below(notices.len()))]);
        }
        shop.become_quiet();
        let completed = (OrderStatus::Completed, 2500);
        let returned = (OrderStatus::Cancelled, 0);
        for (order, (status, left)) in
            [(kept, completed), (cancelled, returned), (given_back, returned), (charged_back, completed)]
        {
            assert_eq!(shop.status(order), status, "seed {seed}");
            shop.assert_books(order, left, 0);
        }
        let mut refunds = shop.refunded();
        refunds.sort_unstable();
        assert_eq!((refunds, shop.sold()), (vec![1000, 1500, 2500], 4), "seed {seed}");
        let [dispute] = &shop.disputes()[..] else { panic!("seed {seed}: {:?}", shop.disputes()) };
        assert_eq!((dispute.order_id, dispute.status), (charged_back, DisputeStatus::Won), "seed {seed}");
    }
}

fn a_payment_for_a_cancelled_order_goes_back_once<P: Provider>() {
    for is_noticed in [true, false] {
        let shop = Shop::<P>::open();
        let (order, checkout) = shop.order();
        shop.fake.pay(&checkout);
        let notices = shop.fake.take_notices();
        shop.cancel(order);
        if is_noticed {
            shop.deliver(notices.iter().chain(&notices));
            let is_due = shop.refunds()[0].status == RefundStatus::Due && shop.refunded().is_empty();
            assert!(is_due, "the notice is answered before the refund is made");
        }
        shop.run(5);
        let [late] = &shop.refunds()[..] else { panic!("{:?}", shop.refunds()) };
        assert_eq!((late.source, late.status, late.amount), (RefundSource::LatePayment, RefundStatus::Done, eur(2500)));
        assert_eq!((shop.status(order), shop.refunded()), (OrderStatus::Cancelled, vec![2500]));
        assert_eq!(shop.fixture.payment_status(order), Some(PaymentStatus::Refunded));
        shop.assert_ends(order, 0, 0);
    }
}

fn a_payment_of_another_amount_goes_back_and_the_order_stays_pending<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, checkout) = shop.order();
    shop.fake.change_total(&checkout, 2499);
    shop.fake.pay(&checkout);
    shop.deliver_all();
    shop.run(2);
    assert_eq!((shop.status(order), shop.refunded()), (OrderStatus::Pending, vec![2499]));
    assert_eq!(shop.refund_from(RefundSource::OtherPayment).status, RefundStatus::Done);
    shop.assert_ends(order, 0, 0);
    assert_eq!(shop.status(order), OrderStatus::Expired);
}

fn every_way_in_which_an_order_ends_closes_its_checkout<P: Provider>() {
    type End<P> = fn(&Shop<P>, OrderId);
    let ends: [(&str, End<P>); 5] = [
        ("cancelled", |shop, order| shop.cancel(order)),
        ("expired", |shop, _| shop.skip(HOLD)),
        ("marked as paid", |shop, order| {
            drop(shop.service().mark_order_paid(&shop.fixture.caller, order, ManualMethod::Cash).unwrap());
        }),
        ("its event was cancelled", |shop, _| {
            drop(shop.fixture.set_event_status(shop.ticket_type.event_id, EventStatus::Cancelled).unwrap());
        }),
        ("expired, and then cancelled", |shop, order| {
            shop.skip(HOLD);
            shop.cancel(order);
        }),
    ];
    for (name, end) in ends {
        let shop = Shop::<P>::open();
        let (order, checkout) = shop.order();
        shop.maintain();
        assert!(shop.checkout_status(order) == CheckoutStatus::Open && shop.fake.is_payable(&checkout), "{name}");
        end(&shop, order);
        shop.run(2);
        assert_eq!(shop.checkout_status(order), CheckoutStatus::Closed, "{name}");
        assert!(!shop.fake.is_payable(&checkout), "{name}");
        let requests = shop.fake.requests(Call::Checkout);
        shop.pass(Duration::from_hours(48));
        assert_eq!(shop.fake.requests(Call::Checkout), requests, "it is not closed again: {name}");
    }
}

fn a_checkout_is_closed_as_soon_as_the_provider_answers_again<P: Provider>() {
    for trouble in [Trouble::NotExecuted, Trouble::NoAnswer, Trouble::AnswerLost] {
        let shop = Shop::<P>::open();
        let (order, checkout) = shop.order();
        shop.fake.fail(Call::Checkout, trouble);
        shop.cancel(order);
        shop.run(4);
        assert_eq!(shop.service().backlog().unwrap().checkouts_closing, 1, "{trouble:?}");
        shop.fake.repair();
        shop.run(10);
        assert!(!shop.fake.is_payable(&checkout), "{trouble:?}");
        assert_eq!(shop.checkout_status(order), CheckoutStatus::Closed, "{trouble:?}");
        assert_eq!(shop.service().backlog().unwrap().checkouts_closing, 0, "{trouble:?}");
    }
}

fn a_start_without_an_answer_leaves_nothing_payable<P: Provider>() {
    for (trouble, requests) in [(Trouble::NotExecuted, 1), (Trouble::NoAnswer, 3), (Trouble::AnswerLost, 3)] {
        let shop = Shop::<P>::open();
        shop.fake.fail(Call::Checkout, trouble);
        assert!(shop.fixture.try_order(&shop.ticket_type, 2).is_err(), "{trouble:?}");
        shop.fake.repair();
        shop.run(30);
        let order = shop.service().list_orders(&shop.fixture.caller, Default::default()).unwrap().data[0].id;
        assert_eq!(shop.payable(order), [""; 0], "{trouble:?}");
        // What may have been started is started again under the same key, and closed.
        let started = shop.fake.checkouts(order).len();
        assert_eq!(started, usize::from(trouble != Trouble::NotExecuted), "{trouble:?}");
        assert_eq!(shop.fake.requests(Call::Checkout) > 1, requests > 1, "{trouble:?}");
    }
}

fn a_payment_made_while_the_program_was_down_completes_its_order_at_the_start<P: Provider>() {
    let mut shop = Shop::<P>::open();
    let [(paid, checkout), (unpaid, open)] = [(); 2].map(|()| shop.order());
    shop.run(3);
    shop.fake.pay(&checkout);
    shop.lose_notices();
    shop.skip(Duration::from_secs(2));
    shop.restart();
    assert_eq!(shop.status(paid), OrderStatus::Pending, "opening does not wait for the provider");
    shop.run(6);
    assert_eq!((shop.status(paid), shop.status(unpaid)), (OrderStatus::Completed, OrderStatus::Pending));
    assert!(shop.fake.is_payable(&open));
    shop.assert_books(paid, 2500, 0);
}

fn under_another_gateway_refunds_and_checkouts_wait_for_their_own<P: Provider>() {
    let mut shop = Shop::<P>::open();
    let (paid, _) = shop.sale();
    let (open, checkout) = shop.order();
    shop.fake.fail(Call::Refund, Trouble::NotExecuted);
    shop.fake.fail(Call::Checkout, Trouble::NotExecuted);
    shop.cancel(paid);
    shop.cancel(open);
    shop.fake.repair();
    shop.restart_with(|builder| builder.sandbox_gateway());
    let before = (shop.fake.requests(Call::Refund), shop.fake.requests(Call::Checkout));
    for _ in 0..12 {
        shop.pass(Duration::from_secs(10));
    }
    assert_eq!((shop.fake.requests(Call::Refund), shop.fake.requests(Call::Checkout)), before);
    assert_eq!((shop.own_refund().status, shop.fake.kept(paid)), (RefundStatus::Due, 2500));
    assert_eq!((shop.checkout_status(open), shop.payable(open).len()), (CheckoutStatus::Closing, 1));
    let backlog = shop.service().backlog().unwrap();
    assert_eq!((backlog.refunds_without_gateway, backlog.checkouts_without_gateway), (1, 1));
    shop.restart();
    shop.pass(MINUTE);
    assert_eq!(shop.own_refund().status, RefundStatus::Done);
    assert!(!shop.fake.is_payable(&checkout));
    shop.assert_ends(paid, 0, 0);
}
