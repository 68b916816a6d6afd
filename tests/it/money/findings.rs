//! Ways in which money was lost, paid twice or forgotten before there was a ledger, by the numbers of the review that
//! found them. Each is followed until nothing more happens, and then the ledger is the book.
//!
//! Elsewhere: an amount without an idempotency key (11) in `http`, the permission to cancel a paid order (12) in
//! `http`, sessions in a disconnected account and thin notices (14) in `stripe`, and discounts that a gateway cannot
//! take (14) in `facade`.

use std::time::Duration;

use ticketing::error::Reason;
use ticketing::id::OrderId;
use ticketing::order::{OrderStatus, PaymentStatus};
use ticketing::payment::{
    CheckoutStatus, DisputeStatus, ListDisputes, MarkRefunded, PaymentPurpose, RefundMethod, RefundOrder, RefundSource,
    RefundStatus,
};

use crate::common::fake_stripe::{Fault, Notice};
use crate::common::{HOLD, at, database, eur, skipped};
use crate::money::book::text;
use crate::money::shop::{Setup, Shop};

const REFUNDS: &str = "/v1/refunds";
const SESSIONS: &str = "/v1/checkout/sessions";
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

impl Shop {
    /// The newest refund of an order that the service has decided.
    pub fn own_refund(&self, order: OrderId) -> ticketing::payment::Refund {
        self.refunds_of(order, RefundSource::Order).remove(0)
    }

    pub fn refund_part(&self, order: OrderId, cents: i64) {
        let caller = self.fixture.caller_with_new_key();
        self.service().refund_order(&caller, order, RefundOrder::of_amount(eur(cents))).unwrap();
    }

    /// The ids of the refunds at Stripe that have not failed, and their amounts, the oldest first.
    pub fn refunds_at_stripe(&self) -> Vec<i64> {
        let refunds = self.fake.all("refund");
        let made = refunds.iter().filter(|refund| refund["status"] != "failed");
        made.map(|refund| refund["amount"].as_i64().unwrap()).collect()
    }

    /// Waits until nothing more happens, and asserts what is kept and owed of an order then.
    #[track_caller]
    pub fn assert_ends(&mut self, order: OrderId, kept: i64, owed: i64) {
        self.become_quiet();
        self.assert_books_are_right("at the end");
        assert_eq!((self.kept(order), self.owed(order)), (kept, owed), "{:#?}", self.refunds());
    }

    fn take(&self, kind: &str) -> Notice {
        let mut notices = self.fake.take_notices();
        notices.retain(|notice| notice.kind == kind);
        notices.remove(0)
    }
}

/// Finding 1.
#[test]
fn under_the_sandbox_refunds_and_sessions_of_stripe_wait_for_stripe() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (paid, _) = shop.sale(&seats, 2);
    let (open, session) = shop.order(&seats, 1);
    shop.fake.fail("POST", REFUNDS, Fault::RateLimited, usize::MAX);
    shop.fake.fail("POST", SESSIONS, Fault::RateLimited, usize::MAX);
    shop.cancel(paid);
    shop.cancel(open.id);
    shop.fake.repair();
    shop.restart(Setup::Sandbox);
    let requests = shop.fake.requests().len();
    for _ in 0..12 {
        shop.pass(Duration::from_secs(10));
    }
    assert_eq!(shop.own_refund(paid).status, RefundStatus::Due);
    let checkout = shop.service().get_checkout(&shop.fixture.caller, open.id).unwrap();
    assert_eq!((checkout.status, shop.fake.is_payable(&session)), (CheckoutStatus::Closing, true));
    assert_eq!((shop.fake.requests().len(), shop.kept(paid)), (requests, 2500));
    assert_eq!(shop.service().backlog().unwrap().refunds_without_gateway, 1);
    shop.restart(Setup::Stripe);
    shop.pass(Duration::from_mins(1));
    assert_eq!((shop.own_refund(paid).status, shop.kept(paid)), (RefundStatus::Done, 0));
    assert!(!shop.fake.is_payable(&session));
    shop.assert_ends(paid, 0, 0);
}

/// Finding 2: Stripe repeats the refusal that it has stored.
#[test]
fn a_refund_is_made_although_stripe_still_repeats_that_it_was_disputed() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (order, intent) = shop.sale(&seats, 2);
    let dispute = shop.fake.dispute(&intent);
    shop.cancel(order);
    assert_eq!(shop.fake.requests_to("POST", REFUNDS).len(), 1, "it was refused");
    shop.pass(HOUR);
    shop.fake.close_dispute(&dispute, true);
    shop.deliver_all();
    shop.pass(Duration::from_secs(2));
    assert_eq!((shop.own_refund(order).status, shop.kept(order)), (RefundStatus::Done, 0));
    shop.assert_ends(order, 0, 0);
}

/// Finding 2: the refund that it refers to has failed meanwhile.
#[test]
fn a_refund_is_made_although_stripe_still_repeats_that_it_was_refunded() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (order, session) = shop.order(&seats, 2);
    shop.fake.pay(&session).unwrap();
    let paid = shop.take("checkout.session.completed");
    shop.cancel(order.id);
    let intent = text(&shop.fake.get(&session), "payment_intent");
    let outside = text(&shop.fake.refund_outside(&intent, None), "id");
    shop.receive(&paid).unwrap();
    shop.maintain();
    assert_eq!((shop.kept(order.id), shop.owed(order.id)), (0, 0));
    shop.skip(HOUR);
    shop.fake.fail_refund(&outside);
    shop.deliver_all();
    shop.assert_ends(order.id, 0, 0);
}

/// Finding 3: the key may not make refunds, so the organizer makes them in the Dashboard.
#[test]
fn a_refund_of_the_dashboard_pays_the_one_that_is_due() {
    for part in [None, Some(300)] {
        let mut shop = Shop::open();
        let seats = shop.ticket_type(1250);
        let (order, intent) = shop.sale(&seats, 2);
        shop.fake.permit_refunds(false);
        match part {
            None => shop.cancel(order),
            Some(cents) => shop.refund_part(order, cents),
        }
        assert_eq!(shop.own_refund(order).status, RefundStatus::Due);
        shop.fake.refund_outside(&intent, part);
        shop.deliver_all();
        assert_eq!(shop.own_refund(order).status, RefundStatus::Done);
        assert_eq!(shop.refunds().len(), 1, "it is not a decision of its own");
        shop.fake.permit_refunds(true);
        shop.assert_ends(order, 2500 - part.unwrap_or(2500), 0);
        assert_eq!(shop.refunds_at_stripe(), [part.unwrap_or(2500)]);
    }
}

/// Finding 3: the notice of the Dashboard is lost.
#[test]
fn a_refund_that_is_given_up_is_not_owed_if_stripe_lists_another_one() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (order, intent) = shop.sale(&seats, 2);
    shop.fake.permit_refunds(false);
    shop.cancel(order);
    for _ in 2..176 {
        shop.pass(HOUR);
        assert_eq!(shop.own_refund(order).status, RefundStatus::Due);
    }
    shop.fake.refund_outside(&intent, None);
    shop.fake.take_notices();
    shop.pass(HOUR);
    assert_eq!(shop.owed(order), 0, "{:#?}", shop.refunds());
    assert_eq!(shop.own_refund(order).status, RefundStatus::Done);
    shop.assert_ends(order, 0, 0);
}

/// Finding 3: a refund that is due can be taken back.
#[test]
fn a_refund_that_was_withdrawn_is_not_made_when_stripe_answers_again() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (order, _) = shop.sale(&seats, 2);
    shop.fake.permit_refunds(false);
    shop.refund_part(order, 300);
    let withdrawn = shop.service().withdraw_refund(&shop.fixture.caller, shop.own_refund(order).id).unwrap();
    assert_eq!(withdrawn.status, RefundStatus::Withdrawn);
    shop.fake.permit_refunds(true);
    shop.assert_ends(order, 2500, 0);
    assert!(shop.refunds_at_stripe().is_empty());
}

/// Finding 4.
#[test]
fn a_refund_that_stripe_does_not_list_a_day_later_is_made_again() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (order, _) = shop.sale(&seats, 2);
    shop.cancel(order);
    shop.deliver_all();
    let refund = text(&shop.fake.all("refund")[0], "id");
    shop.fake.remove_refund(&refund);
    assert_eq!((shop.own_refund(order).status, shop.kept(order)), (RefundStatus::Done, 2500));
    shop.pass(DAY + HOUR);
    shop.pass(Duration::from_secs(2));
    assert_eq!((shop.own_refund(order).status, shop.kept(order)), (RefundStatus::Done, 0));
    assert_eq!(shop.ledger().len(), 4, "the payment, a refund, its failure, and another refund");
    shop.assert_ends(order, 0, 0);
}

/// Finding 5.
#[test]
fn the_part_that_no_bank_has_taken_goes_back_whatever_the_bank_decides() {
    // Whether Stripe refunds what is not disputed, whether the bank decides for the organizer, and what is owed by
    // hand.
    let cases = [(true, true, 0), (true, false, 0), (false, true, 0), (false, false, 3000)];
    for (refunds_rest, is_won, owed) in cases {
        let mut shop = Shop::open();
        if refunds_rest {
            shop.fake.refund_undisputed_rest();
        }
        let seats = shop.ticket_type(1000);
        let (order, intent) = shop.sale(&seats, 4);
        let dispute = shop.fake.dispute_part(&intent, 1000);
        shop.deliver_all();
        shop.cancel(order);
        shop.pass(DAY);
        shop.assert_books_are_right("while the bank decides");
        assert!(shop.own_refund(order).status == RefundStatus::Due && shop.owed(order) == 0);
        shop.fake.close_dispute(&dispute, is_won);
        shop.deliver_all();
        // The bank gives the customer 10.00 if the dispute is lost. The rest goes back, or is owed.
        shop.assert_ends(order, owed, owed);
        let refunded: i64 = shop.refunds_at_stripe().iter().sum();
        let expected = if is_won { 4000 } else { 3000 - owed };
        assert_eq!(refunded, expected, "rest: {refunds_rest}, won: {is_won}");
    }
}

/// Finding 6.
#[test]
fn no_more_than_was_paid_goes_back_if_the_dashboard_and_a_part_that_is_due_overlap() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1000);
    let (order, intent) = shop.sale(&seats, 3);
    shop.fake.fail("POST", REFUNDS, Fault::ServerError, 5);
    shop.refund_part(order, 300);
    shop.fake.repair();
    assert_eq!(shop.own_refund(order).status, RefundStatus::Due);
    shop.fake.refund_outside(&intent, Some(1000));
    shop.cancel(order);
    shop.deliver_all();
    shop.pass(Duration::from_secs(30));
    shop.assert_books_are_right("after the notice");
    shop.assert_ends(order, 0, 0);
    assert_eq!(shop.refunds_at_stripe().iter().sum::<i64>(), 3000);
}

/// Finding 7.
#[test]
fn the_rest_of_a_late_payment_goes_back_after_a_part_went_back_in_the_dashboard() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1000);
    let (order, session) = shop.order(&seats, 1);
    let intent = shop.fake.pay(&session).unwrap();
    let paid = shop.take("checkout.session.completed");
    shop.cancel(order.id);
    shop.fake.refund_outside(&intent, Some(300));
    let later = shop.fake.take_notices();
    shop.receive(&paid).unwrap();
    shop.pass(Duration::from_secs(2));
    for notice in &later {
        shop.receive(notice).unwrap();
    }
    shop.pass(Duration::from_mins(2));
    assert_eq!(shop.refunds_at_stripe(), [300, 700]);
    let [late] = &shop.refunds_of(order.id, RefundSource::LatePayment)[..] else { panic!("{:?}", shop.refunds()) };
    assert_eq!((late.status, late.returned), (RefundStatus::Done, eur(1000)));
    shop.assert_ends(order.id, 0, 0);
}

/// Finding 8.
#[test]
fn cash_is_owed_although_the_payment_online_went_back_in_the_dashboard() {
    for part in [None, Some(400)] {
        let mut shop = Shop::open();
        let seats = shop.ticket_type(1000);
        let (order, session) = shop.order(&seats, 1);
        shop.take_cash(order.id).unwrap();
        let intent = shop.fake.pay(&session).unwrap();
        shop.fake.permit_refunds(false);
        shop.deliver_all();
        shop.pass(Duration::from_secs(2));
        shop.fake.refund_outside(&intent, part);
        shop.deliver_all();
        shop.cancel(order.id);
        assert_eq!(shop.owed(order.id), 1000, "the cash");
        shop.fake.permit_refunds(true);
        shop.become_quiet();
        shop.give_cash(order.id, MarkRefunded::all(RefundMethod::Cash)).unwrap();
        shop.assert_ends(order.id, 0, 0);
        assert_eq!(shop.till.iter().map(|cash| cash.amount).sum::<i64>(), 0);
    }
}

/// Finding 9.
#[test]
fn a_refund_of_the_dashboard_that_the_organizer_reports_is_counted_once() {
    for notice_comes_first in [true, false] {
        let mut shop = Shop::open();
        let seats = shop.ticket_type(1000);
        let (order, intent) = shop.sale(&seats, 2);
        let ticket = shop.fixture.read_order(order).tickets().next().unwrap().id;
        shop.service().refund_order(&shop.fixture.caller, order, RefundOrder::of_tickets([ticket])).unwrap();
        shop.fake.fail_refund(&text(&shop.fake.all("refund")[0], "id"));
        shop.deliver_all();
        assert_eq!(shop.owed(order), 1000);
        shop.fake.refund_outside(&intent, Some(1000));
        if notice_comes_first {
            shop.deliver_all();
        }
        let reported = shop.look_in_dashboard(order).unwrap();
        let settled: i64 = reported.settled.iter().map(|settled| settled.amount.minor_units()).sum();
        assert_eq!(settled, if notice_comes_first { 0 } else { 1000 });
        shop.deliver_all();
        assert_eq!((shop.owed(order), shop.kept(order)), (0, 1000));
        let nothing = shop.give_cash(order, MarkRefunded::all(RefundMethod::Cash)).unwrap_err();
        assert_eq!(nothing.reason(), Some(Reason::NoManualRefundDue));
        shop.cancel(order);
        shop.assert_ends(order, 0, 0);
        assert_eq!(shop.refunds_at_stripe(), [1000, 1000]);
    }
}

/// Findings 10 and 14: a part was made twice, because the first attempt did not look.
#[test]
fn a_refund_that_was_made_after_the_backup_is_not_made_again_after_the_restore() {
    if !database::is_file() {
        return skipped("the backups of PostgreSQL are made by its own tools");
    }
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (order, _) = shop.sale(&seats, 2);
    shop.restart(Setup::Nothing);
    shop.refund_part(order, 300);
    let backup = shop.backup();
    shop.restart(Setup::Stripe);
    shop.pass(Duration::from_secs(2));
    assert_eq!((shop.own_refund(order).status, shop.kept(order)), (RefundStatus::Done, 2200));
    shop.fake.take_notices();
    // Stripe has forgotten the idempotency keys.
    shop.skip(2 * DAY);
    shop.restore(backup);
    assert_eq!(shop.own_refund(order).status, RefundStatus::Due);
    shop.pass(Duration::from_secs(2));
    assert_eq!((shop.own_refund(order).status, shop.refunds_at_stripe()), (RefundStatus::Done, vec![300]));
    shop.assert_ends(order, 2200, 0);
}

/// Finding 3: Stripe has forgotten the key of the first attempt.
#[test]
fn a_refund_whose_answer_was_lost_is_not_made_again_a_day_later() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (order, _) = shop.sale(&seats, 2);
    shop.fake.fail("POST", REFUNDS, Fault::CloseAfter, usize::MAX);
    shop.refund_part(order, 300);
    shop.fake.repair();
    shop.fake.take_notices();
    assert_eq!((shop.own_refund(order).status, shop.kept(order)), (RefundStatus::Due, 2200));
    shop.pass(2 * DAY);
    assert_eq!((shop.own_refund(order).status, shop.refunds_at_stripe()), (RefundStatus::Done, vec![300]));
    shop.assert_ends(order, 2200, 0);
}

/// Finding 13.
#[test]
fn a_payment_goes_back_from_the_account_that_has_it() {
    let mut shop = Shop::open();
    shop.restart(Setup::Account("acct_1"));
    let seats = shop.ticket_type(1250);
    let (order, intent) = shop.sale(&seats, 2);
    let (open, session) = shop.order(&seats, 1);
    let (lost, paid) = shop.order(&seats, 1);
    assert_eq!(shop.fake.account_of(&intent).as_deref(), Some("acct_1"));
    shop.restart(Setup::Account("acct_2"));
    shop.cancel(order);
    shop.cancel(open.id);
    shop.fake.pay(&paid).unwrap();
    shop.fake.take_notices();
    shop.pass(HOLD);
    shop.pass(Duration::from_mins(2));
    assert_eq!((shop.own_refund(order).status, shop.kept(order)), (RefundStatus::Done, 0));
    assert!(!shop.fake.is_payable(&session));
    assert_eq!(shop.status(lost.id), OrderStatus::Completed, "it was looked up");
    shop.assert_ends(order, 0, 0);
}

/// Finding 14: disputes were never asked about.
#[test]
fn the_end_of_a_dispute_is_found_although_its_notice_was_lost() {
    for is_won in [true, false] {
        let mut shop = Shop::open();
        let seats = shop.ticket_type(1250);
        let (order, intent) = shop.sale(&seats, 2);
        let dispute = shop.fake.dispute(&intent);
        shop.deliver_all();
        shop.cancel(order);
        shop.fake.close_dispute(&dispute, is_won);
        shop.fake.take_notices();
        shop.assert_ends(order, 0, 0);
        let disputes = shop.service().list_disputes(&shop.fixture.caller, ListDisputes::default()).unwrap().data;
        assert_eq!(disputes[0].status, if is_won { DisputeStatus::Won } else { DisputeStatus::Lost });
    }
}

/// Finding 14: the amount was never changed.
#[test]
fn the_amount_of_a_dispute_changes_with_its_notice() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let (order, intent) = shop.sale(&seats, 2);
    let dispute = shop.fake.dispute(&intent);
    shop.deliver_all();
    assert_eq!(shop.summary(seats.event_id).disputed_total, eur(2500));
    shop.fake.change_dispute(&dispute, 1000);
    shop.deliver_all();
    assert_eq!(shop.summary(seats.event_id).disputed_total, eur(1000));
    shop.assert_books_are_right("after the change");
    shop.fake.lose_dispute_in_part(&dispute, 200);
    shop.assert_ends(order, 1700, 0);
}

/// A dispute whose notices all came before that of the payment was not in the ledger.
#[test]
fn the_order_of_the_notices_of_a_payment_and_of_its_dispute_does_not_matter() {
    for payment_comes_first in [true, false] {
        let mut shop = Shop::open();
        let seats = shop.ticket_type(1250);
        let (order, session) = shop.order(&seats, 2);
        let intent = shop.fake.pay(&session).unwrap();
        let paid = shop.fake.take_notices();
        let dispute = shop.fake.dispute_part(&intent, 700);
        shop.fake.lose_dispute_in_part(&dispute, 300);
        let disputed = shop.fake.take_notices();
        let (first, second) = if payment_comes_first { (paid, disputed) } else { (disputed, paid) };
        for notice in first.iter().chain(&second) {
            shop.receive(notice).unwrap();
        }
        assert_eq!(shop.status(order.id), OrderStatus::Completed, "the payment comes first: {payment_comes_first}");
        shop.assert_ends(order.id, 2100, 0);
    }
}

/// Finding 14: the last look was after 30 days.
#[test]
fn a_refund_that_waits_for_the_customer_is_looked_at_until_it_ends() {
    let mut shop = Shop::open();
    shop.fake.ask_customers_about_refunds();
    let seats = shop.ticket_type(1250);
    let (order, _) = shop.sale(&seats, 2);
    shop.cancel(order);
    for _ in 0..45 {
        shop.pass(DAY);
    }
    assert_eq!(shop.own_refund(order).status, RefundStatus::Done);
    shop.fake.cancel_refund(&text(&shop.fake.all("refund")[0], "id"));
    shop.fake.take_notices();
    shop.pass(DAY);
    shop.pass(HOUR);
    assert_eq!((shop.own_refund(order).status, shop.owed(order)), (RefundStatus::Refused, 2500));
    shop.assert_ends(order, 2500, 2500);
}

/// Finding 14: a ticket was issued that nobody can use.
#[test]
fn a_late_payment_for_an_event_that_has_ended_goes_back() {
    let mut shop = Shop::open();
    let event = shop.fixture.event_with(|new| {
        new.start_date = at("2026-06-01T12:10:00Z");
        new.end_date = Some(at("2026-06-01T12:20:00Z"));
    });
    let seats = shop.fixture.ticket_type(&event, 1250, 10);
    let (order, session) = shop.order(&seats, 2);
    shop.fake.pay(&session).unwrap();
    let paid = shop.take("checkout.session.completed");
    // Nobody looks it up meanwhile.
    shop.skip(HOLD + Duration::from_mins(1));
    shop.receive(&paid).unwrap();
    shop.pass(Duration::from_secs(2));
    assert_eq!(shop.status(order.id), OrderStatus::Expired);
    assert_eq!(shop.payments()[0].purpose, PaymentPurpose::Late);
    assert_eq!(shop.kept(order.id), 0);
    shop.assert_ends(order.id, 0, 0);
}

#[test]
fn the_order_of_the_notices_of_a_payment_and_of_its_refund_does_not_matter() {
    let mut ends = Vec::new();
    for payment_comes_first in [true, false] {
        let mut shop = Shop::open();
        let seats = shop.ticket_type(1250);
        let (order, session) = shop.order(&seats, 2);
        let intent = shop.fake.pay(&session).unwrap();
        let paid = shop.fake.take_notices();
        shop.fake.refund_outside(&intent, None);
        let refunded = shop.fake.take_notices();
        let (first, second) = if payment_comes_first { (paid, refunded) } else { (refunded, paid) };
        for notice in first.iter().chain(&second) {
            shop.receive(notice).unwrap();
        }
        let order_now = shop.fixture.read_order(order.id);
        assert_eq!(order_now.status, OrderStatus::Cancelled, "the payment comes first: {payment_comes_first}");
        let payment = order_now.payment_gateway.map(|payment| payment.status);
        assert_eq!(payment, Some(PaymentStatus::Refunded));
        let seats_now = &shop.summary(seats.event_id).ticket_types[0];
        assert_eq!((seats_now.sold, seats_now.available), (0, seats.quantity));
        shop.assert_ends(order.id, 0, 0);
        ends.push(shop.fixture.payment_status(order.id));
    }
    assert_eq!(ends[0], ends[1]);
}

/// All orders in which these can come.
fn permutations<T: Clone>(of: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = of.split_first() else { return vec![Vec::new()] };
    let insert = |shorter: Vec<T>| {
        (0..=shorter.len()).map(move |index| {
            let mut longer = shorter.clone();
            longer.insert(index, first.clone());
            longer
        })
    };
    permutations(rest).into_iter().flat_map(|shorter| insert(shorter).collect::<Vec<_>>()).collect()
}

/// A notice that a refund was made, which came after the one that it had failed, recorded it as made.
#[test]
fn late_and_doubled_notices_of_a_refund_that_has_failed_change_nothing() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let kinds = ["refund.created", "charge.refunded", "refund.updated", "refund.failed"];
    for in_dashboard in [true, false] {
        for kinds in permutations(&kinds) {
            let (order, intent) = shop.sale(&seats, 1);
            if in_dashboard {
                shop.fake.refund_outside(&intent, None);
            } else {
                shop.cancel(order);
            }
            let refund = text(&shop.fake.all("refund").pop().unwrap(), "id");
            shop.fake.fail_refund(&refund);
            let notices = shop.fake.take_notices();
            for kind in kinds.iter().chain(&kinds) {
                let notice = notices.iter().find(|notice| notice.kind == *kind).expect(kind);
                shop.receive(notice).unwrap();
            }
            let (status, owed) =
                if in_dashboard { (OrderStatus::Completed, 0) } else { (OrderStatus::Cancelled, 1250) };
            assert_eq!((shop.status(order), shop.owed(order)), (status, owed), "{kinds:?}");
            assert_eq!(shop.kept(order), 1250);
        }
    }
    shop.assert_books_are_right("after all orders of the notices");
}
