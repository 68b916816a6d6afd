//! Sales against the fake, as the facade sees them: what is lost, repeated, reordered or late.

use std::time::Duration;

use ticketing::order::{OrderStatus, PaymentStatus};
use ticketing::payment::RefundStatus;

use ticketing::environment::Clock;

use crate::common::fake_stripe::Fault;
use crate::common::long_runs::first_seed;
use crate::common::random::Random;
use crate::common::{HOLD, NOW, at};
use crate::stripe::shop::{SETTLED_AFTER, Shop};

const SESSIONS: &str = "/v1/checkout/sessions";
const REFUNDS: &str = "/v1/refunds";

#[test]
fn a_payment_completes_its_order_with_the_first_notice() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    assert_eq!(shop.fake.get(&session)["amount_total"], 2500);
    assert_eq!(shop.fake.get(&session)["currency"], "eur");
    let intent = shop.fake.pay(&session).unwrap();
    assert_eq!(shop.status(&order), OrderStatus::Pending);
    shop.deliver_all();
    assert_eq!(shop.status(&order), OrderStatus::Completed);
    assert_eq!(shop.fixture.sold(&shop.ticket_type), 2);
    assert_eq!(shop.kept(&intent), 2500);
    assert_eq!(shop.fake.requests().len(), 1, "a sale is one request");
}

#[test]
fn an_order_whose_notices_are_all_lost_is_completed_before_its_hold_ends() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.fake.take_notices();
    shop.pass_hold();
    assert_eq!(shop.status(&order), OrderStatus::Completed);
    assert_eq!(shop.kept(&intent), 2500);
}

#[test]
fn a_payment_in_the_last_second_is_settled_within_70_seconds_although_its_notices_are_lost() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    shop.skip(HOLD - Duration::from_secs(1));
    let intent = shop.fake.pay(&session).unwrap();
    shop.fake.take_notices();
    shop.pass(Duration::from_secs(71));
    let is_settled = match shop.status(&order) {
        OrderStatus::Completed => shop.kept(&intent) == 2500,
        _ => shop.kept(&intent) == 0 && shop.fixture.payment_status(order.id) == Some(PaymentStatus::Refunded),
    };
    assert!(is_settled, "{:?}", shop.status(&order));
}

#[test]
fn with_every_notice_lost_each_payment_is_settled_within_70_seconds_of_the_end_of_its_hold() {
    let seed = first_seed();
    for seed in seed..seed + 3 {
        let mut random = Random::new(seed);
        let shop = Shop::open();
        // Each order, its session, and the second of its hold at which it is paid.
        let mut unpaid = Vec::new();
        let mut paid = Vec::new();
        let hold = HOLD.as_secs();
        let step = |second: u64| if (100..hold - 120).contains(&second) { 20 } else { 1 };
        let mut second = 0;
        while second < hold + 160 {
            if second < 80 && second % 8 == 0 {
                let (order, session) = shop.order();
                let at = second + hold - [1, 2, 30, 61, 100, 1500][random.below(6)];
                unpaid.push((order, session, at));
            }
            for (order, session, _) in unpaid.extract_if(.., |(_, _, at)| *at <= second) {
                paid.push((order, shop.fake.pay(&session).unwrap()));
            }
            shop.fake.take_notices();
            for (order, intent) in &paid {
                let end = at(NOW).saturating_add(HOLD + SETTLED_AFTER);
                let created = order.created_at.duration_since(at(NOW)).unwrap();
                if shop.fixture.clock.now() >= end.saturating_add(created) {
                    let is_settled = match shop.status(order) {
                        OrderStatus::Completed => shop.kept(intent) == 2500,
                        _ => shop.kept(intent) == 0,
                    };
                    assert!(is_settled, "seed {seed}: {} is {:?}", order.id, shop.status(order));
                }
            }
            let step = step(second);
            shop.skip(Duration::from_secs(step));
            shop.maintain();
            second += step;
        }
        assert_eq!((paid.len(), unpaid.len()), (10, 0), "seed {seed}");
    }
}

#[test]
fn each_notice_five_times_in_any_order_changes_nothing_twice() {
    let seed = first_seed();
    for seed in seed..seed + 20 {
        let mut random = Random::new(seed);
        let shop = Shop::open();
        let (kept, session) = shop.order();
        shop.fake.pay(&session).unwrap();
        let (cancelled, session) = shop.order();
        let intent = shop.fake.pay(&session).unwrap();
        shop.cancel(&cancelled);
        shop.maintain();
        let once = shop.fake.take_notices();
        let mut notices: Vec<_> = std::iter::repeat_n(&once, 5).flatten().collect();
        while !notices.is_empty() {
            let notice = notices.swap_remove(random.below(notices.len()));
            shop.receive(notice).unwrap();
        }
        shop.maintain();
        assert_eq!(shop.status(&kept), OrderStatus::Completed, "seed {seed}");
        assert_eq!(shop.status(&cancelled), OrderStatus::Cancelled, "seed {seed}");
        assert_eq!(shop.kept(&intent), 0, "seed {seed}");
        assert_eq!(shop.fake.all("refund").len(), 1, "seed {seed}");
        assert_eq!(shop.refunds().len(), 1, "seed {seed}");
        assert_eq!(shop.fixture.sold(&shop.ticket_type), 2, "seed {seed}");
    }
}

#[test]
fn after_25_hours_of_server_errors_each_refund_is_made_once() {
    let shop = Shop::open();
    let mut intents = Vec::new();
    for fault in [Fault::ServerError, Fault::ServerErrorAfterEffect, Fault::CloseAfter] {
        let (order, session) = shop.order();
        intents.push(shop.fake.pay(&session).unwrap());
        shop.deliver_all();
        shop.fake.fail("POST", REFUNDS, fault, 1);
        shop.cancel(&order);
        shop.maintain();
    }
    shop.fake.fail("POST", REFUNDS, Fault::ServerError, usize::MAX);
    for _ in 0..25 * 12 {
        shop.skip(Duration::from_mins(5));
        shop.maintain();
    }
    shop.fake.repair();
    for _ in 0..25 * 12 {
        shop.skip(Duration::from_mins(5));
        shop.maintain();
    }
    for intent in &intents {
        assert_eq!(shop.kept(intent), 0);
    }
    assert_eq!(shop.fake.all("refund").len(), 3);
    assert!(shop.refunds().iter().all(|refund| refund.status == RefundStatus::Done), "{:?}", shop.refunds());
}

#[test]
fn a_cancelled_order_cannot_be_paid_2_seconds_later() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    assert!(shop.fake.is_payable(&session));
    shop.cancel(&order);
    shop.pass(Duration::from_secs(2));
    assert!(!shop.fake.is_payable(&session));
}

#[test]
fn an_expired_order_cannot_be_paid_2_seconds_later() {
    let shop = Shop::open();
    let (_, session) = shop.order();
    shop.skip(HOLD);
    shop.pass(Duration::from_secs(2));
    assert!(!shop.fake.is_payable(&session));
}

#[test]
fn a_checkout_is_closed_as_soon_as_stripe_answers_again() {
    for fault in [Fault::ServerError, Fault::RateLimited, Fault::CloseBefore, Fault::CloseAfter, Fault::BadGateway] {
        let shop = Shop::open();
        let (order, session) = shop.order();
        shop.fake.fail("POST", SESSIONS, fault.clone(), 2);
        shop.cancel(&order);
        shop.pass(Duration::from_secs(15));
        assert!(!shop.fake.is_payable(&session), "{fault:?}");
    }
}

#[test]
fn a_payment_just_before_the_cancellation_goes_back_once() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.fake.take_notices();
    shop.cancel(&order);
    shop.pass(Duration::from_secs(5));
    assert_eq!(shop.status(&order), OrderStatus::Cancelled);
    assert_eq!((shop.kept(&intent), shop.fake.all("refund").len()), (0, 1));
    assert_eq!(shop.fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
}

#[test]
fn a_session_of_an_order_whose_start_had_no_answer_is_closed() {
    // Behind a stored error, there is another session, which is made only to be closed.
    for (fault, sessions) in [(Fault::CloseAfter, 1), (Fault::ServerErrorAfterEffect, 2)] {
        let shop = Shop::open();
        shop.fake.fail("POST", SESSIONS, fault.clone(), usize::MAX);
        assert!(shop.fixture.try_order(&shop.ticket_type, 2).is_err());
        shop.fake.repair();
        assert_eq!(shop.fake.all("checkout.session").len(), 1, "{fault:?}");
        shop.pass(Duration::from_secs(30));
        let ids: Vec<_> =
            shop.fake.all("checkout.session").iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), sessions, "{fault:?}");
        assert!(!ids.iter().any(|id| shop.fake.is_payable(id)), "{fault:?}");
    }
}
