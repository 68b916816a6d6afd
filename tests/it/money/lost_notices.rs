//! Refunds that somebody makes in the Dashboard, and of which no notice arrives in time: none is made a second time.

use std::ops::ControlFlow;
use std::time::Duration;

use ticketing::id::OrderId;
use ticketing::payment::{Reconcile, RefundOrder, RefundSource, RefundStatus};

use crate::common::fake_stripe::Fault;
use crate::common::{at, eur};
use crate::money::book::text;
use crate::money::shop::{Setup, Shop};

const REFUNDS: &str = "/v1/refunds";
const MINUTE: Duration = Duration::from_mins(1);

/// A shop, an order of three seats for 30.00 that is paid, and Stripe's id of the payment.
fn sold() -> (Shop, OrderId, String) {
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1000);
    let (order, intent) = shop.sale(&seats, 3);
    (shop, order, intent)
}

/// Refunds a part in the Dashboard. Stripe's notices are lost.
fn refund_unnoticed(shop: &Shop, intent: &str, cents: i64) {
    shop.fake.refund_outside(intent, Some(cents));
    drop(shop.fake.take_notices());
}

/// Refunds a part, which Stripe does not make now.
fn refund_later(shop: &Shop, order: OrderId, cents: i64) {
    shop.fake.fail("POST", REFUNDS, Fault::ServerError, 1);
    shop.refund_part(order, cents);
    assert_eq!(shop.own_refund(order).status, RefundStatus::Due);
}

#[track_caller]
fn assert_done_by_the_dashboard(shop: &mut Shop, order: OrderId, cents: i64) {
    let refund = shop.own_refund(order);
    assert_eq!((refund.status, refund.returned), (RefundStatus::Done, eur(cents)));
    assert!(shop.refunds_of(order, RefundSource::Outside).is_empty(), "{:#?}", shop.refunds());
    assert_eq!(shop.refunds_at_stripe().iter().sum::<i64>(), cents);
    shop.assert_ends(order, 3000 - cents, 0);
}

#[test]
fn a_part_from_the_dashboard_whose_notice_was_lost_is_not_refunded_again() {
    let (mut shop, order, intent) = sold();
    refund_later(&shop, order, 300);
    refund_unnoticed(&shop, &intent, 300);
    let asked = shop.fake.requests_to("POST", REFUNDS).len();
    shop.pass(MINUTE);
    assert_eq!(shop.fake.requests_to("POST", REFUNDS).len(), asked, "nothing is left to ask for");
    assert_done_by_the_dashboard(&mut shop, order, 300);
}

#[test]
fn only_what_a_lost_part_from_the_dashboard_leaves_is_refunded() {
    let (mut shop, order, intent) = sold();
    refund_later(&shop, order, 500);
    refund_unnoticed(&shop, &intent, 300);
    shop.pass(MINUTE);
    assert_eq!(shop.refunds_at_stripe(), [300, 200]);
    assert_done_by_the_dashboard(&mut shop, order, 500);
}

#[test]
fn a_ticket_refunded_in_the_dashboard_before_a_restart_is_not_refunded_again() {
    let (mut shop, order, intent) = sold();
    shop.fake.fail("POST", REFUNDS, Fault::ServerError, 1);
    let ticket = shop.fixture.read_order(order).tickets().next().unwrap().id;
    let caller = shop.fixture.caller_with_new_key();
    shop.service().refund_order(&caller, order, RefundOrder::of_tickets([ticket])).unwrap();
    shop.fake.refund_outside(&intent, Some(1000));
    let late = shop.fake.take_notices();
    shop.restart(Setup::Stripe);
    shop.pass(MINUTE);
    for notice in &late {
        shop.receive(notice).unwrap();
    }
    assert_done_by_the_dashboard(&mut shop, order, 1000);
}

/// The process was killed between the decision and its first attempt, less than a minute ago.
#[test]
fn another_process_looks_before_the_first_attempt_at_a_new_decision() {
    let (mut shop, order, intent) = sold();
    refund_later(&shop, order, 300);
    let reset = "UPDATE refunds SET attempts = 0, next_attempt_at = created_at";
    assert_eq!(shop.fixture.database().execute(reset, []), 1);
    refund_unnoticed(&shop, &intent, 300);
    shop.restart(Setup::Stripe);
    shop.maintain();
    assert_done_by_the_dashboard(&mut shop, order, 300);
}

#[test]
fn the_second_part_of_a_refund_is_not_made_if_the_dashboard_has_made_it() {
    let (mut shop, order, intent) = sold();
    refund_later(&shop, order, 1000);
    shop.fake.refund_outside(&intent, Some(400));
    shop.deliver_all();
    // The first part is known. Stripe does not make the second one now, and the Dashboard does.
    shop.fake.fail("POST", REFUNDS, Fault::ServerError, 1);
    shop.pass(MINUTE);
    assert_eq!((shop.own_refund(order).status, shop.refunds_at_stripe()), (RefundStatus::Due, vec![400]));
    refund_unnoticed(&shop, &intent, 600);
    shop.pass(MINUTE);
    assert_done_by_the_dashboard(&mut shop, order, 1000);
}

#[test]
fn a_refund_that_waited_for_a_bank_is_not_made_if_the_dashboard_has_made_it() {
    let (mut shop, order, intent) = sold();
    let inquiry = shop.fake.inquire(&intent);
    shop.deliver_all();
    shop.refund_part(order, 1000);
    assert_eq!((shop.own_refund(order).status, shop.refunds_at_stripe()), (RefundStatus::Due, vec![]));
    refund_unnoticed(&shop, &intent, 1000);
    shop.fake.close_dispute(&inquiry, true);
    shop.deliver_all();
    shop.pass(MINUTE);
    assert_done_by_the_dashboard(&mut shop, order, 1000);
}

#[test]
fn a_refund_is_made_once_whatever_happens_to_its_first_attempts() {
    for fault in [
        Fault::ServerError,
        Fault::ServerErrorAfterEffect,
        Fault::CloseBefore,
        Fault::CloseAfter,
        Fault::RateLimited,
        Fault::BadGateway,
    ] {
        let (mut shop, order, _) = sold();
        shop.fake.fail("POST", REFUNDS, fault, 1);
        shop.refund_part(order, 1000);
        drop(shop.fake.take_notices());
        // Stripe forgets its keys after a day.
        shop.pass(Duration::from_hours(25));
        shop.assert_ends(order, 2000, 0);
        assert_eq!(shop.refunds_at_stripe(), [1000]);
    }
}

/// A refund of ours, or one of the Dashboard, that had failed when its first notice arrived: Stripe's statement has two
/// lines for it, and so has the ledger.
#[test]
fn a_refund_that_failed_before_it_was_known_went_out_and_came_back() {
    for is_ours in [true, false] {
        let (shop, order, intent) = sold();
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
        for notice in notices.iter().chain(&failed) {
            shop.receive(notice).unwrap();
        }
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
        assert_eq!(shop.refunds_at_stripe(), [3000]);
        let sums = &shop.balance(order).payments[0].sums;
        assert_eq!((sums.taken, sums.on_hold, sums.in_flight), (eur(1000), eur(0), eur(0)));
        shop.assert_books_are_right("while the bank decides");
        shop.fake.close_dispute(&dispute, is_won);
        shop.deliver_all();
        shop.assert_ends(order, 0, 0);
        let expected: &[i64] = if is_won { &[3000, 1000] } else { &[3000] };
        assert_eq!(shop.refunds_at_stripe(), expected, "won: {is_won}");
    }
}
