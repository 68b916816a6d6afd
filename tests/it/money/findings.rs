//! Ways in which money was lost, paid twice or forgotten before there was a ledger, by the numbers of the review that
//! found them. Each is followed until nothing more happens, and then the ledger is the book.
//!
//! Those that are not about Stripe are in `gateways`. Elsewhere: an amount without an idempotency key (11) in `http`, the permission to cancel a paid order (12) in
//! `http`, sessions in a disconnected account and thin notices (14) in `stripe`, and discounts that a gateway cannot
//! take (14) in `facade`.

use std::ops::ControlFlow;
use std::time::Duration;

use ticketing::id::OrderId;
use ticketing::order::OrderStatus;
use ticketing::payment::{Reconcile, RefundStatus};

use crate::common::fake_stripe::Fault;
use crate::common::{HOLD, at, database, eur, skipped};
use crate::gateways::shop::DAY;
use crate::money::book::text;
use crate::money::shop::{Setup, Shop};

const REFUNDS: &str = "/v1/refunds";
const HOUR: Duration = Duration::from_hours(1);

impl Shop {
    /// Waits until nothing more happens, and asserts what is kept and owed of an order then.
    #[track_caller]
    pub fn assert_ends(&mut self, order: OrderId, kept: i64, owed: i64) {
        self.become_quiet();
        self.assert_books_are_right("at the end");
        assert_eq!((self.kept(order), self.owed(order)), (kept, owed), "{:#?}", self.refunds());
    }
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
        assert!(shop.own_refund().status == RefundStatus::Due && shop.owed(order) == 0);
        shop.fake.close_dispute(&dispute, is_won);
        shop.deliver_all();
        // The bank gives the customer 10.00 if the dispute is lost. The rest goes back, or is owed.
        shop.assert_ends(order, owed, owed);
        let refunded: i64 = shop.refunded().iter().sum();
        let expected = if is_won { 4000 } else { 3000 - owed };
        assert_eq!(refunded, expected, "rest: {refunds_rest}, won: {is_won}");
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
    assert_eq!((shop.own_refund().status, shop.kept(order)), (RefundStatus::Done, 2200));
    shop.fake.take_notices();
    // Stripe has forgotten the idempotency keys.
    shop.skip(2 * DAY);
    shop.restore(backup);
    assert_eq!(shop.own_refund().status, RefundStatus::Due);
    shop.pass(Duration::from_secs(2));
    assert_eq!((shop.own_refund().status, shop.refunded()), (RefundStatus::Done, vec![300]));
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
    assert_eq!((shop.own_refund().status, shop.kept(order)), (RefundStatus::Done, 0));
    assert!(!shop.fake.is_payable(&session));
    assert_eq!(shop.status(lost.id), OrderStatus::Completed, "it was looked up");
    shop.assert_ends(order, 0, 0);
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
    assert_eq!(shop.own_refund().status, RefundStatus::Done);
    shop.fake.cancel_refund(&text(&shop.fake.all("refund")[0], "id"));
    shop.fake.take_notices();
    shop.pass(DAY);
    shop.pass(HOUR);
    assert_eq!((shop.own_refund().status, shop.owed(order)), (RefundStatus::Refused, 2500));
    shop.assert_ends(order, 2500, 2500);
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

#[test]
fn a_refund_that_waited_for_a_bank_is_not_made_if_the_dashboard_has_made_it() {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1000);
    let (order, intent) = shop.sale(&seats, 3);
    let inquiry = shop.fake.inquire(&intent);
    shop.deliver_all();
    shop.refund_part(order, 1000);
    assert_eq!((shop.own_refund().status, shop.refunded()), (RefundStatus::Due, vec![]));
    shop.fake.refund_outside(&intent, Some(1000));
    shop.lose_notices();
    shop.fake.close_dispute(&inquiry, true);
    shop.deliver_all();
    shop.pass(Duration::from_mins(1));
    assert_eq!((shop.own_refund().status, shop.own_refund().returned), (RefundStatus::Done, eur(1000)));
    assert_eq!(shop.refunds().len(), 1);
    shop.assert_ends(order, 2000, 0);
}

/// A refund of ours, or one of the Dashboard, that had failed when its first notice arrived: Stripe's statement has two
/// lines for it, and so has the ledger.
#[test]
fn a_refund_that_failed_before_it_was_known_went_out_and_came_back() {
    for is_ours in [true, false] {
        let mut shop = Shop::open();
        let seats = shop.ticket_type(1000);
        let (order, intent) = shop.sale(&seats, 3);
        let refund = if is_ours {
            shop.fake.fail("POST", REFUNDS, Fault::CloseAfter, 1);
            shop.refund_part(order, 100);
            text(&shop.fake.all("refund")[0], "id")
        } else {
            text(&shop.fake.refund_outside(&intent, Some(100)), "id")
        };
        let notices = shop.fake.take_notices();
        shop.fake.fail_refund(&refund);
        let failed = shop.fake.take_notices();
        shop.deliver(notices.iter().chain(&failed));
        let mut moved: Vec<_> = shop.ledger().iter().map(|entry| format!("{} {}", entry.kind, entry.amount)).collect();
        moved.sort_unstable();
        assert_eq!(moved, ["PAYMENT 30.00", "REFUND -1.00", "REFUND_FAILED 1.00"], "ours: {is_ours}");
        let [refund] = &shop.refunds()[..] else { panic!("one refund") };
        assert_eq!((refund.status, refund.returned), (RefundStatus::Refused, eur(0)));
        assert_eq!(shop.owed(order), if is_ours { 100 } else { 0 });
        shop.assert_books_are_right("after it failed");

        // A line for the payment, and two for the refund, as the fake's balance has them.
        let request = Reconcile::new(at("2026-06-01T00:00:00Z"), at("2026-07-01T00:00:00Z"));
        let result = shop.service().reconcile(&request, |_| ControlFlow::Continue(())).unwrap();
        let lines: u64 = result.matched.iter().map(|total| total.count).sum();
        assert!(result.is_explained(), "{result:#?}");
        assert_eq!((lines, shop.fake.all("balance_transaction").len()), (3, 3));
    }
}

/// Of 40.00 that are to go back, a bank has taken 10.00 and not decided about them. 30.00 go back at once.
#[test]
fn what_a_bank_has_taken_already_is_not_held_a_second_time() {
    for is_won in [true, false] {
        let mut shop = Shop::open();
        shop.fake.refund_undisputed_rest();
        let seats = shop.ticket_type(1000);
        let (order, intent) = shop.sale(&seats, 4);
        let dispute = shop.fake.dispute_part(&intent, 1000);
        shop.deliver_all();
        shop.cancel(order);
        assert_eq!(shop.refunded(), [3000]);
        let sums = &shop.balance(order).payments[0].sums;
        assert_eq!((sums.taken, sums.on_hold, sums.in_flight), (eur(1000), eur(0), eur(0)));
        shop.assert_books_are_right("while the bank decides");
        shop.fake.close_dispute(&dispute, is_won);
        shop.deliver_all();
        shop.assert_ends(order, 0, 0);
        let expected: &[i64] = if is_won { &[3000, 1000] } else { &[3000] };
        assert_eq!(shop.refunded(), expected, "won: {is_won}");
    }
}
