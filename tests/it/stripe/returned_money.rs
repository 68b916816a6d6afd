//! Payments that have gone back already, and refunds that do not arrive or cannot be made now.

use std::time::Duration;

use ticketing::event::EventSummary;
use ticketing::order::OrderStatus;
use ticketing::payment::{CheckoutStatus, DisputeStatus, ListDisputes, Refund, RefundSource, RefundStatus};
use ticketing::payment::{MarkRefunded, RefundMethod};
use ticketing::stripe::{ConnectedAccount, StripeGateway};

use crate::common::eur;
use crate::common::fake_stripe::Fault;
use crate::stripe::shop::Shop;

const REFUNDS: &str = "/v1/refunds";
const DAY: Duration = Duration::from_hours(24);

impl Shop {
    /// All notices are lost until now.
    fn lose_notices(&self) {
        self.fake.take_notices();
    }

    fn summary(&self) -> EventSummary {
        self.service().get_event_summary(&self.fixture.caller, self.ticket_type.event_id).unwrap()
    }

    fn refunds_of(&self, source: RefundSource) -> Vec<Refund> {
        self.refunds().into_iter().filter(|refund| refund.source == source).collect()
    }

    /// The number of refunds that count as to be made by hand.
    fn owed(&self) -> u64 {
        self.service().backlog().unwrap().refunds_refused
    }
}

#[test]
fn a_payment_that_was_refunded_in_the_dashboard_completes_no_order_when_it_is_looked_up() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.fake.refund_outside(&intent, None);
    let late = shop.fake.take_notices();
    shop.pass_hold();
    assert_eq!(shop.status(&order), OrderStatus::Cancelled);
    assert_eq!(shop.fixture.sold(&shop.ticket_type), 0);
    // The notices arrive after all, that of the payment last.
    for notice in late.iter().rev() {
        shop.receive(notice).unwrap();
    }
    shop.pass(Duration::from_secs(2));
    assert_eq!(shop.status(&order), OrderStatus::Cancelled);
    assert_eq!(shop.fixture.sold(&shop.ticket_type), 0);
    let [late] = &shop.refunds()[..] else { panic!("{:?}", shop.refunds()) };
    assert_eq!((late.source, late.status, late.amount), (RefundSource::LatePayment, RefundStatus::Done, eur(2500)));
    assert_eq!(shop.fake.requests_to("POST", REFUNDS).len(), 0);
    assert_eq!(shop.owed(), 0);
}

#[test]
fn a_payment_that_a_bank_has_taken_back_completes_no_order_and_an_open_dispute_completes_it() {
    for is_lost in [true, false] {
        let shop = Shop::open();
        let (order, session) = shop.order();
        let intent = shop.fake.pay(&session).unwrap();
        let dispute = shop.fake.dispute(&intent);
        if is_lost {
            shop.fake.close_dispute(&dispute, false);
        }
        shop.lose_notices();
        shop.pass_hold();
        let expected = if is_lost { OrderStatus::Cancelled } else { OrderStatus::Completed };
        assert_eq!(shop.status(&order), expected, "lost: {is_lost}");
    }
}

#[test]
fn a_payment_of_which_a_bank_has_taken_a_part_completes_its_order_and_its_dispute_is_listed() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    let dispute = shop.fake.dispute_part(&intent, 1000);
    shop.fake.close_dispute(&dispute, false);
    shop.lose_notices();
    shop.pass_hold();
    assert_eq!((shop.status(&order), shop.fixture.sold(&shop.ticket_type)), (OrderStatus::Completed, 2));
    let disputes = shop.service().list_disputes(&shop.fixture.caller, ListDisputes::default()).unwrap().data;
    assert_eq!((disputes.len(), disputes[0].amount, disputes[0].status), (1, eur(1000), DisputeStatus::Lost));
    assert_eq!(shop.refunds(), []);
}

#[test]
fn a_payment_that_a_bank_has_taken_back_completes_no_order_when_its_notice_comes_late() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    let dispute = shop.fake.dispute(&intent);
    shop.fake.close_dispute(&dispute, false);
    let late = shop.fake.take_notices();
    shop.pass_hold();
    for notice in late.iter().rev() {
        shop.receive(notice).unwrap();
    }
    shop.pass(Duration::from_secs(2));
    assert_eq!((shop.status(&order), shop.fixture.sold(&shop.ticket_type)), (OrderStatus::Cancelled, 0));
    let [late] = &shop.refunds()[..] else { panic!("{:?}", shop.refunds()) };
    assert_eq!((late.source, late.status), (RefundSource::LatePayment, RefundStatus::Refused));
    assert_eq!((late.amount, late.returned, late.owed), (eur(2500), eur(0), eur(0)), "the bank has it");
    assert_eq!(shop.summary().disputed_total, eur(2500));
    assert_eq!((shop.fake.requests_to("POST", REFUNDS).len(), shop.owed()), (0, 0));
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
        for _ in 0..hours {
            shop.skip(Duration::from_hours(1));
            shop.maintain();
        }
        shop.fake.requests_to("GET", REFUNDS).len() - before
    };
    assert!(listed_in(100) > 90);
    listed_in(100);
    let checkout = shop.service().get_checkout(&shop.fixture.caller, order.id).unwrap();
    assert_eq!(checkout.status, CheckoutStatus::Closed);
    let paid = late.iter().find(|notice| notice.kind == "checkout.session.completed").unwrap();
    shop.receive(paid).unwrap();
    assert_eq!(shop.status(&order), OrderStatus::Expired);
}

#[test]
fn a_payment_of_which_a_part_was_refunded_completes_its_order() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.fake.refund_outside(&intent, Some(500));
    shop.lose_notices();
    shop.pass_hold();
    assert_eq!(shop.status(&order), OrderStatus::Completed);
}

#[test]
fn a_refund_of_a_payment_that_the_organizer_has_refunded_is_not_owed_by_hand() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.fake.refund_outside(&intent, None);
    shop.lose_notices();
    shop.cancel(&order);
    let [own] = &shop.refunds()[..] else { panic!("{:?}", shop.refunds()) };
    assert_eq!((own.source, own.status, own.requires_manual_refund), (RefundSource::Order, RefundStatus::Done, false));
    assert_eq!((own.amount, own.returned, own.reference.as_ref()), (eur(2500), eur(2500), None));
    let summary = shop.summary();
    assert_eq!((summary.refunded_total, summary.manual_refund_total, shop.owed()), (eur(2500), eur(0), 0));
    assert_eq!(shop.kept(&intent), 0);
}

#[test]
fn only_what_the_organizer_has_not_refunded_is_asked_for() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.fake.refund_outside(&intent, Some(1000));
    shop.lose_notices();
    shop.cancel(&order);
    let own = || shop.refunds().remove(0);
    assert_eq!((own().status, own().returned, own().owed), (RefundStatus::Due, eur(1000), eur(0)));
    shop.maintain();
    assert_eq!((own().status, own().returned), (RefundStatus::Done, eur(2500)));
    let asked = shop.fake.requests_to("POST", REFUNDS);
    let body = |index: usize| String::from_utf8_lossy(&asked[index].request.body).into_owned();
    assert!(asked.len() == 2 && body(0).contains("amount=2500&") && body(1).contains("amount=1500&"), "{asked:?}");
    let summary = shop.summary();
    assert_eq!((summary.refunded_total, summary.manual_refund_total, shop.owed()), (eur(2500), eur(0), 0));
    assert_eq!(shop.kept(&intent), 0);
}

#[test]
fn a_late_payment_goes_back_although_the_refund_of_the_organizer_fails_later() {
    for time in [2 * DAY, Duration::from_hours(1)] {
        let shop = Shop::open();
        let (order, session) = shop.order();
        let intent = shop.fake.pay(&session).unwrap();
        shop.cancel(&order);
        let outside = shop.fake.refund_outside(&intent, None);
        let notices = shop.fake.take_notices();
        // The payment is reported first, and its refund by the organizer is found when this service wants to refund it.
        let paid = notices.iter().find(|notice| notice.kind == "checkout.session.completed").unwrap();
        shop.receive(paid).unwrap();
        shop.maintain();
        let late = || shop.refunds_of(RefundSource::LatePayment).remove(0);
        assert_eq!((late().status, late().requires_manual_refund), (RefundStatus::Done, false));
        shop.skip(time);
        shop.fake.fail_refund(outside["id"].as_str().unwrap());
        assert_eq!(shop.kept(&intent), 2500);
        shop.deliver_all();
        shop.pass(Duration::from_secs(2));
        assert_eq!((late().status, shop.kept(&intent), shop.owed()), (RefundStatus::Done, 0, 0), "after {time:?}");
    }
}

/// The notice of the refund is faster than that of the payment.
#[test]
fn a_part_that_was_refunded_before_a_late_payment_is_known_is_part_of_that_payment() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.lose_notices();
    shop.cancel(&order);
    shop.fake.refund_outside(&intent, Some(1000));
    shop.deliver_all();
    shop.pass(Duration::from_secs(2));
    let [late] = &shop.refunds()[..] else { panic!("{:?}", shop.refunds()) };
    assert_eq!((late.source, late.status, late.returned), (RefundSource::LatePayment, RefundStatus::Done, eur(2500)));
    assert_eq!(shop.fake.all("refund").len(), 2, "10.00 in the Dashboard, and the rest");
    assert_eq!((shop.owed(), shop.kept(&intent)), (0, 0));
}

#[test]
fn a_late_payment_that_the_organizer_has_refunded_is_not_owed_by_hand() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.cancel(&order);
    shop.fake.fail("POST", REFUNDS, Fault::RateLimited, 100);
    shop.deliver_all();
    shop.maintain();
    assert_eq!(shop.refunds_of(RefundSource::LatePayment)[0].status, RefundStatus::Due);
    shop.fake.repair();
    shop.fake.refund_outside(&intent, None);
    shop.lose_notices();
    shop.pass(Duration::from_secs(15));
    let late = &shop.refunds_of(RefundSource::LatePayment)[0];
    assert_eq!((late.status, late.requires_manual_refund), (RefundStatus::Done, false), "{late:?}");
    assert_eq!((shop.owed(), shop.kept(&intent)), (0, 0));
}

#[test]
fn a_disputed_payment_is_refunded_only_after_the_bank_has_decided_for_the_organizer() {
    // Disputes take weeks, but the cancellation may be younger than the day for which Stripe repeats its refusal.
    let hour = Duration::from_hours(1);
    for (is_won, time) in [(true, 20 * DAY), (false, 20 * DAY), (true, hour), (false, hour)] {
        let shop = Shop::open();
        let (order, session) = shop.order();
        let intent = shop.fake.pay(&session).unwrap();
        shop.deliver_all();
        let dispute = shop.fake.dispute(&intent);
        shop.cancel(&order);
        let own = || shop.refunds_of(RefundSource::Order).remove(0);
        assert_eq!((own().status, own().requires_manual_refund), (RefundStatus::Due, false));
        let balance = shop.service().get_order_balance(&shop.fixture.caller, order.id).unwrap().sums;
        assert_eq!((balance.on_hold, balance.in_flight), (eur(0), eur(0)), "the bank has taken it");
        assert!(own().last_error.is_some_and(|text| text.contains("charge_disputed")));
        assert_eq!((shop.summary().manual_refund_total, shop.owed()), (eur(0), 0));
        shop.skip(time);
        shop.fake.close_dispute(&dispute, is_won);
        shop.deliver_all();
        shop.pass(Duration::from_secs(2));
        let expected = if is_won { RefundStatus::Done } else { RefundStatus::Refused };
        assert_eq!((own().status, shop.owed()), (expected, 0), "won: {is_won} after {time:?}");
        assert_eq!(shop.fake.all("refund").len(), usize::from(is_won));
        let refunded = if is_won { eur(2500) } else { eur(0) };
        assert_eq!(shop.summary().refunded_total, refunded);
    }
}

#[test]
fn a_failed_refund_is_found_although_its_notice_was_lost() {
    let cases = [(0, true), (3, true), (20, true), (40, false)];
    for ((days, is_found), is_pending) in cases.into_iter().flat_map(|case| [(case, true), (case, false)]) {
        let shop = Shop::open();
        if is_pending {
            shop.fake.delay_refunds();
        }
        let (order, session) = shop.order();
        shop.fake.pay(&session).unwrap();
        shop.deliver_all();
        shop.cancel(&order);
        shop.lose_notices();
        let own = || shop.refunds_of(RefundSource::Order).remove(0);
        for _ in 0..days {
            shop.skip(DAY);
            shop.maintain();
        }
        assert_eq!(own().status, RefundStatus::Done, "after {days} days it has not failed");
        let refund = shop.fake.all("refund")[0]["id"].as_str().unwrap().to_owned();
        shop.fake.fail_refund(&refund);
        shop.lose_notices();
        for _ in 0..40 {
            shop.skip(DAY);
            shop.maintain();
        }
        let expected = if is_found { RefundStatus::Refused } else { RefundStatus::Done };
        assert_eq!((own().status, shop.owed()), (expected, u64::from(is_found)), "it failed after {days} days");
        let listed = shop.fake.requests_to("GET", REFUNDS).len();
        assert!(listed <= 3, "it is asked for {listed} times");
    }
}

/// Stripe reports it with `refund.updated` only.
#[test]
fn a_refund_that_was_canceled_has_failed() {
    for is_notice_lost in [false, true] {
        let shop = Shop::open();
        shop.fake.delay_refunds();
        let (order, session) = shop.order();
        let intent = shop.fake.pay(&session).unwrap();
        shop.deliver_all();
        shop.cancel(&order);
        shop.deliver_all();
        assert_eq!(shop.refunds()[0].status, RefundStatus::Done);
        let refund = shop.fake.all("refund")[0]["id"].as_str().unwrap().to_owned();
        shop.fake.cancel_refund(&refund);
        if is_notice_lost {
            shop.lose_notices();
            shop.skip(DAY);
            shop.maintain();
        } else {
            shop.deliver_all();
        }
        let own = &shop.refunds()[0];
        assert_eq!((own.status, own.requires_manual_refund), (RefundStatus::Refused, true));
        assert!(own.last_error.as_ref().is_some_and(|text| text.contains("canceled")));
        assert_eq!((shop.owed(), shop.summary().manual_refund_total), (1, eur(2500)));
        assert_eq!(shop.fake.get(&intent)["amount_received"], 2500);
    }
}

#[test]
fn a_refund_that_has_arrived_is_looked_up_three_times() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.cancel(&order);
    shop.lose_notices();
    shop.skip(DAY - Duration::from_secs(1));
    shop.maintain();
    assert_eq!(shop.fake.requests_to("GET", REFUNDS).len(), 0);
    for _ in 0..40 {
        shop.skip(DAY);
        shop.maintain();
    }
    assert_eq!(shop.fake.requests_to("GET", REFUNDS).len(), 3);
    assert_eq!(shop.refunds()[0].status, RefundStatus::Done);
}

#[test]
fn a_refund_is_looked_up_an_hour_after_the_key_was_not_accepted() {
    let mut shop = Shop::open();
    let (order, session) = shop.order();
    shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.cancel(&order);
    shop.fake.fail_refund(shop.fake.all("refund")[0]["id"].as_str().unwrap());
    shop.lose_notices();
    let revoked = StripeGateway::builder("sk_test_revoked").api_base(shop.fake.url()).build().unwrap();
    shop.fixture.service = shop.fixture.second_service_with(|builder| builder.payment_gateway(revoked));
    shop.skip(DAY);
    shop.maintain();
    assert_eq!((shop.fake.requests_to("GET", REFUNDS).len(), shop.refunds()[0].status), (1, RefundStatus::Done));
    shop.crash();
    shop.skip(Duration::from_hours(1));
    shop.maintain();
    assert_eq!((shop.refunds()[0].status, shop.owed()), (RefundStatus::Refused, 1));
}

/// A gateway with the key of an account that knows nothing of what the other one has sold.
fn of_other_account(shop: &Shop) -> StripeGateway {
    let builder = StripeGateway::builder(shop.fake.secret_key()).api_base(shop.fake.url());
    builder.account_for(|_| Some(ConnectedAccount::new("acct_other"))).build().unwrap()
}

#[test]
fn a_refund_is_made_in_the_account_that_has_the_payment() {
    let mut shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    let other = of_other_account(&shop);
    shop.fixture.service = shop.fixture.second_service_with(|builder| builder.payment_gateway(other));
    shop.cancel(&order);
    assert_eq!((shop.refunds()[0].status, shop.kept(&intent), shop.owed()), (RefundStatus::Done, 0, 0));
}

#[test]
fn a_refund_that_could_not_be_made_in_176_attempts_is_owed_by_hand() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.fake.fail("POST", REFUNDS, Fault::RateLimitedForLong, usize::MAX);
    shop.cancel(&order);
    for attempts in 2..=176 {
        assert_eq!(shop.refunds()[0].status, RefundStatus::Due, "before attempt {attempts}");
        shop.skip(Duration::from_hours(1));
        shop.maintain();
    }
    let refund = &shop.refunds()[0];
    assert_eq!(refund.attempts, 176);
    assert_eq!((refund.status, refund.requires_manual_refund), (RefundStatus::Refused, true));
    assert!(refund.last_error.as_ref().is_some_and(|text| text.contains("in 176 attempts")), "{refund:?}");
    assert_eq!((shop.owed(), shop.summary().manual_refund_total), (1, eur(2500)));
    shop.service().mark_order_refunded(&shop.fixture.caller, order.id, MarkRefunded::all(RefundMethod::Cash)).unwrap();
    assert_eq!((shop.owed(), shop.summary().manual_refund_total), (0, eur(0)));
}

#[test]
fn a_late_payment_is_refunded_after_its_notice_was_answered() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.cancel(&order);
    shop.deliver_all();
    assert_eq!(shop.fake.requests_to("POST", REFUNDS).len(), 0);
    assert_eq!(shop.refunds()[0].status, RefundStatus::Due);
    shop.maintain();
    assert_eq!((shop.refunds()[0].status, shop.kept(&intent)), (RefundStatus::Done, 0));
}
