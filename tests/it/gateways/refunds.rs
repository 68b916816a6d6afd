//! Refunds: of this service and of the Dashboard, whose answers and notices are lost, late or in any order, and which fail.

use std::time::Duration;

use ticketing::error::{Error, Reason, Unavailable};
use ticketing::order::{OrderStatus, PaymentStatus};
use ticketing::payment::{ManualMethod, MarkRefunded, RefundMethod, RefundOrder, RefundSource, RefundStatus};
use ticketing::ticket::TicketStatus;
use ticketing::webhook::EventType;

use super::shop::{DAY, MINUTE, Shop};
use super::{Call, Provider, Trouble, contract};
use crate::common::{eur, outbox, reason};

contract! {
    a_refund_that_fails_later_is_owed_until_it_is_made_in_another_way,
    a_refund_whose_answer_was_lost_is_done_when_it_is_reported,
    a_refund_is_made_once_whatever_happens_to_its_first_attempts,
    a_refund_is_owed_after_176_attempts_unless_the_dashboard_has_made_it,
    a_refund_is_looked_up_before_it_is_withdrawn,
    what_went_back_of_a_refund_whose_rest_was_withdrawn_is_due_again_if_it_fails,
    a_refund_that_the_provider_does_not_list_a_day_later_is_made_again,
    a_failed_refund_is_found_although_its_notice_was_lost,
    refunds_of_the_dashboard_of_the_whole_payment_cancel_the_order,
    a_refund_of_the_dashboard_that_fails_is_taken_back,
    a_refund_of_the_dashboard_pays_the_one_that_is_due,
    a_refund_of_the_dashboard_that_the_organizer_reports_is_counted_once,
    no_more_than_was_paid_goes_back_if_the_dashboard_and_a_part_that_is_due_overlap,
    what_the_dashboard_has_refunded_unnoticed_is_not_refunded_again_with_the_order,
    a_payment_that_the_dashboard_has_refunded_completes_no_order,
    the_order_of_the_notices_of_a_payment_and_of_its_refund_does_not_matter,
    the_rest_of_a_late_payment_goes_back_after_a_part_went_back_in_the_dashboard,
    a_late_payment_goes_back_although_the_refund_of_the_dashboard_fails_later,
    cash_is_owed_although_the_payment_online_went_back_in_the_dashboard,
}

fn a_refund_that_fails_later_is_owed_until_it_is_made_in_another_way<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, payment) = shop.sale();
    shop.cancel(order);
    let accepted = shop.fake.take_notices();
    shop.deliver(&accepted);
    assert_eq!(shop.own_refund().status, RefundStatus::Done);
    assert_eq!(shop.fixture.payment_status(order), Some(PaymentStatus::Refunded));
    shop.fake.fail_refund(&shop.newest_refund());
    shop.deliver_all();
    // Reports from before the failure.
    shop.deliver(&accepted);
    let own = shop.own_refund();
    assert_eq!((own.status, own.requires_manual_refund), (RefundStatus::Refused, true));
    assert!(own.last_error.is_some());
    assert_eq!(shop.fixture.payment_status(order), Some(PaymentStatus::Completed));
    let figures = || (shop.summary().refunded_total, shop.summary().manual_refund_total);
    assert_eq!((figures(), shop.service().backlog().unwrap().refunds_refused), ((eur(0), eur(2500)), 1));
    shop.run(5);
    assert!(shop.refunded().is_empty(), "nobody asks again by itself");

    let outside = shop.fake.refund(&payment, None);
    shop.deliver_all();
    assert_eq!(shop.fixture.payment_status(order), Some(PaymentStatus::Refunded));
    assert_eq!((figures(), shop.service().backlog().unwrap().refunds_refused), ((eur(2500), eur(0)), 0));
    assert!(!shop.own_refund().requires_manual_refund);
    shop.fake.fail_refund(&outside);
    shop.assert_ends(order, 2500, 2500);
    assert_eq!(shop.own_refund().status, RefundStatus::Refused);
}

fn a_refund_whose_answer_was_lost_is_done_when_it_is_reported<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, _) = shop.sale();
    shop.fake.fail(Call::Refund, Trouble::AnswerLost);
    shop.refund_part(order, 500);
    shop.fake.repair();
    assert_eq!((shop.own_refund().status, shop.summary().refunded_total), (RefundStatus::Due, eur(0)));
    shop.deliver_all();
    assert_eq!((shop.own_refund().status, shop.summary().refunded_total), (RefundStatus::Done, eur(500)));
    shop.assert_ends(order, 2000, 0);
    assert_eq!(shop.refunded(), [500]);
}

fn a_refund_is_made_once_whatever_happens_to_its_first_attempts<P: Provider>() {
    for trouble in [Trouble::NotExecuted, Trouble::NoAnswer, Trouble::AnswerLost] {
        let shop = Shop::<P>::open();
        let (order, _) = shop.sale();
        shop.fake.fail(Call::Refund, trouble);
        shop.refund_part(order, 1000);
        shop.fake.repair();
        shop.lose_notices();
        assert_eq!(shop.own_refund().status, RefundStatus::Due, "{trouble:?}");
        // The provider forgets its keys after a day.
        shop.pass(2 * DAY);
        assert_eq!((shop.own_refund().status, shop.refunded()), (RefundStatus::Done, vec![1000]), "{trouble:?}");
        shop.assert_ends(order, 1500, 0);
        assert_eq!(shop.refunded(), [1000], "{trouble:?}");
    }
}

fn a_refund_is_owed_after_176_attempts_unless_the_dashboard_has_made_it<P: Provider>() {
    for is_in_dashboard in [false, true] {
        let shop = Shop::<P>::open();
        let (order, payment) = shop.sale();
        shop.fake.fail(Call::Refund, Trouble::NotExecuted);
        shop.cancel(order);
        for attempts in 2..=176 {
            assert_eq!(shop.own_refund().status, RefundStatus::Due, "before attempt {attempts}");
            if is_in_dashboard && attempts == 176 {
                shop.fake.refund(&payment, None);
                shop.lose_notices();
            }
            shop.pass(Duration::from_hours(1));
        }
        if is_in_dashboard {
            assert_eq!((shop.own_refund().status, shop.owed(order)), (RefundStatus::Done, 0));
            shop.assert_ends(order, 0, 0);
            continue;
        }
        let refund = shop.own_refund();
        assert_eq!((refund.status, refund.attempts, refund.requires_manual_refund), (RefundStatus::Refused, 176, true));
        assert!(refund.last_error.as_ref().is_some_and(|text| text.contains("in 176 attempts")), "{refund:?}");
        assert_eq!((shop.owed(order), shop.summary().manual_refund_total), (2500, eur(2500)));
        let by_hand = MarkRefunded::all(RefundMethod::Cash);
        shop.service().mark_order_refunded(&shop.fixture.caller, order, by_hand).unwrap();
        assert_eq!((shop.owed(order), shop.summary().manual_refund_total), (0, eur(0)));
    }
}

fn a_refund_is_looked_up_before_it_is_withdrawn<P: Provider>() {
    // What happened to the first attempt, whether the provider lists its refunds, and what is kept in the end.
    let cases = [(Trouble::NoAnswer, true, 2500), (Trouble::AnswerLost, true, 2200), (Trouble::NoAnswer, false, 2200)];
    for (trouble, is_listed, kept) in cases {
        let shop = Shop::<P>::open();
        let (order, _) = shop.sale();
        shop.fake.fail(Call::Refund, trouble);
        if !is_listed {
            shop.fake.fail(Call::ListRefunds, Trouble::NoAnswer);
        }
        shop.refund_part(order, 300);
        shop.lose_notices();
        let withdrawn = shop.service().withdraw_refund(&shop.fixture.caller, shop.own_refund().id);
        let left = shop.own_refund().status;
        match (trouble, is_listed) {
            (Trouble::AnswerLost, _) => {
                assert_eq!((reason(withdrawn), left), (Reason::RefundSettled, RefundStatus::Done));
            }
            (_, true) => assert_eq!(withdrawn.unwrap().status, RefundStatus::Withdrawn),
            (_, false) => {
                assert_eq!(withdrawn, Err(Error::Unavailable(Unavailable::GatewaySilent)));
                assert_eq!(left, RefundStatus::Due);
            }
        }
        shop.assert_ends(order, kept, 0);
    }
}

fn what_went_back_of_a_refund_whose_rest_was_withdrawn_is_due_again_if_it_fails<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, payment) = shop.sale();
    shop.fake.fail(Call::Refund, Trouble::NotExecuted);
    shop.refund_part(order, 1000);
    // The Dashboard pays 4 EUR of it, and the organizer takes the rest back.
    let outside = shop.fake.refund(&payment, Some(400));
    shop.deliver_all();
    shop.fake.repair();
    shop.service().withdraw_refund(&shop.fixture.caller, shop.own_refund().id).unwrap();
    assert_eq!((shop.own_refund().status, shop.own_refund().returned), (RefundStatus::Withdrawn, eur(400)));
    shop.fake.fail_refund(&outside);
    shop.deliver_all();
    assert_eq!(shop.own_refund().status, RefundStatus::Due);
    shop.run(5);
    assert_eq!((shop.own_refund().status, shop.refunded()), (RefundStatus::Done, vec![400]));
    shop.assert_ends(order, 2100, 0);
}

fn a_refund_that_the_provider_does_not_list_a_day_later_is_made_again<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, _) = shop.sale();
    shop.cancel(order);
    shop.deliver_all();
    shop.fake.remove_refund(&shop.newest_refund());
    assert_eq!((shop.own_refund().status, shop.fake.kept(order)), (RefundStatus::Done, 2500));
    shop.pass(DAY + Duration::from_hours(1));
    shop.pass(Duration::from_secs(2));
    assert_eq!((shop.own_refund().status, shop.fake.kept(order)), (RefundStatus::Done, 0));
    assert_eq!(shop.ledger(order).len(), 4, "the payment, a refund, its failure, and another refund");
    shop.assert_ends(order, 0, 0);
}

fn a_failed_refund_is_found_although_its_notice_was_lost<P: Provider>() {
    // It is looked up 1, 7 and 30 days after it was made.
    for (days, is_found) in [(0, true), (3, true), (20, true), (40, false)] {
        let shop = Shop::<P>::open();
        let (order, _) = shop.sale();
        shop.cancel(order);
        shop.lose_notices();
        for _ in 0..days {
            shop.pass(DAY);
        }
        assert_eq!(shop.own_refund().status, RefundStatus::Done, "after {days} days it has not failed");
        shop.fake.fail_refund(&shop.newest_refund());
        shop.lose_notices();
        for _ in 0..40 {
            shop.pass(DAY);
        }
        let expected = if is_found { (RefundStatus::Refused, 2500) } else { (RefundStatus::Done, 0) };
        assert_eq!((shop.own_refund().status, shop.owed(order)), expected, "it failed after {days} days");
        assert!(shop.fake.requests(Call::ListRefunds) <= 3, "it failed after {days} days");
    }
}

fn refunds_of_the_dashboard_of_the_whole_payment_cancel_the_order<P: Provider>() {
    let shop = Shop::<P>::open();
    outbox::insert_webhook(&shop.fixture.database(), shop.fixture.caller.organization(), &[EventType::OrderCancelled]);
    let (order, payment) = shop.sale();
    shop.fake.refund(&payment, Some(500));
    shop.deliver_all();
    assert_eq!(shop.status(order), OrderStatus::Completed, "20.00 are left");
    assert_eq!(shop.fixture.payment_status(order), Some(PaymentStatus::Completed));
    let part = shop.refund_from(RefundSource::Outside);
    assert_eq!((part.amount, part.status, part.reference), (eur(500), RefundStatus::Done, Some(shop.newest_refund())));
    assert_eq!(shop.summary().refunded_total, eur(500));
    assert_eq!(reason(shop.fixture.refund_amount(order, eur(2001))), Reason::RefundExceedsPayment);

    shop.fake.refund(&payment, None);
    shop.deliver_all();
    shop.run(5);
    assert_eq!((shop.status(order), shop.sold()), (OrderStatus::Cancelled, 0));
    assert_eq!(shop.fixture.payment_status(order), Some(PaymentStatus::Refunded));
    assert!(shop.fixture.read_order(order).tickets().all(|ticket| ticket.status == TicketStatus::Cancelled));
    let mut listed: Vec<_> = shop.refunds().iter().map(|refund| refund.amount).collect();
    listed.sort();
    assert_eq!((listed, shop.fake.requests(Call::Refund)), (vec![eur(500), eur(2000)], 0));
    assert_eq!((shop.summary().refunded_total, shop.summary().manual_refund_total), (eur(2500), eur(0)));
    shop.fixture.expand();
    assert_eq!(shop.fixture.stored("SELECT COUNT(*) FROM webhook_outbox WHERE type = 'order.cancelled'"), 1);
    shop.assert_ends(order, 0, 0);
}

fn a_refund_of_the_dashboard_that_fails_is_taken_back<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, payment) = shop.sale();
    let refund = shop.fake.refund(&payment, Some(1000));
    let accepted = shop.fake.take_notices();
    shop.deliver(&accepted);
    shop.fake.fail_refund(&refund);
    shop.deliver_all();
    shop.deliver(&accepted);
    assert_eq!(shop.refund_from(RefundSource::Outside).status, RefundStatus::Refused);
    assert_eq!(shop.summary().refunded_total, eur(0));
    // Of another one, the failure is reported first.
    let refund = shop.fake.refund(&payment, None);
    let accepted = shop.fake.take_notices();
    shop.fake.fail_refund(&refund);
    shop.deliver_all();
    shop.deliver(&accepted);
    assert_eq!(shop.status(order), OrderStatus::Completed);
    assert_eq!(shop.fixture.payment_status(order), Some(PaymentStatus::Completed));
    shop.become_quiet();
    assert_eq!(shop.fake.kept(order), 2500);
}

fn a_refund_of_the_dashboard_pays_the_one_that_is_due<P: Provider>() {
    for part in [None, Some(300)] {
        let shop = Shop::<P>::open();
        let (order, payment) = shop.sale();
        shop.fake.fail(Call::Refund, Trouble::NotExecuted);
        match part {
            None => shop.cancel(order),
            Some(cents) => shop.refund_part(order, cents),
        }
        assert_eq!(shop.own_refund().status, RefundStatus::Due);
        shop.fake.refund(&payment, part);
        shop.deliver_all();
        assert_eq!(shop.own_refund().status, RefundStatus::Done);
        assert_eq!(shop.refunds().len(), 1, "it is not a decision of its own");
        shop.assert_ends(order, 2500 - part.unwrap_or(2500), 0);
        assert_eq!(shop.refunded(), [part.unwrap_or(2500)]);
    }
}

fn a_refund_of_the_dashboard_that_the_organizer_reports_is_counted_once<P: Provider>() {
    for notice_comes_first in [true, false] {
        let shop = Shop::<P>::open();
        let (order, payment) = shop.sale();
        let ticket = shop.fixture.read_order(order).tickets().next().unwrap().id;
        shop.service().refund_order(&shop.fixture.caller, order, RefundOrder::of_tickets([ticket])).unwrap();
        shop.fake.fail_refund(&shop.newest_refund());
        shop.deliver_all();
        assert_eq!(shop.owed(order), 1250);
        shop.fake.refund(&payment, Some(1250));
        if notice_comes_first {
            shop.deliver_all();
        }
        let mark = |how| shop.service().mark_order_refunded(&shop.fixture.caller, order, MarkRefunded::all(how));
        let reported = mark(RefundMethod::Gateway).unwrap().settled;
        let settled: i64 = reported.iter().map(|settled| settled.amount.minor_units()).sum();
        assert_eq!(settled, if notice_comes_first { 0 } else { 1250 });
        shop.deliver_all();
        shop.assert_books(order, 1250, 0);
        assert_eq!(reason(mark(RefundMethod::Cash)), Reason::NoManualRefundDue);
        shop.cancel(order);
        shop.assert_ends(order, 0, 0);
        assert_eq!(shop.refunded(), [1250, 1250]);
    }
}

fn no_more_than_was_paid_goes_back_if_the_dashboard_and_a_part_that_is_due_overlap<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, payment) = shop.sale();
    shop.fake.fail(Call::Refund, Trouble::NoAnswer);
    shop.refund_part(order, 300);
    shop.fake.repair();
    assert_eq!(shop.own_refund().status, RefundStatus::Due);
    shop.fake.refund(&payment, Some(1000));
    shop.cancel(order);
    shop.deliver_all();
    shop.pass(Duration::from_secs(30));
    shop.assert_ends(order, 0, 0);
    assert_eq!(shop.refunded().iter().sum::<i64>(), 2500);
}

fn what_the_dashboard_has_refunded_unnoticed_is_not_refunded_again_with_the_order<P: Provider>() {
    for part in [2500, 1000] {
        let shop = Shop::<P>::open();
        let (order, payment) = shop.sale();
        shop.fake.refund(&payment, Some(part));
        shop.lose_notices();
        shop.cancel(order);
        let own = shop.own_refund();
        let status = if part == 2500 { RefundStatus::Done } else { RefundStatus::Due };
        assert_eq!((own.status, own.returned, own.owed), (status, eur(part), eur(0)));
        shop.run(2);
        let own = shop.own_refund();
        assert_eq!((own.status, own.returned, own.requires_manual_refund), (RefundStatus::Done, eur(2500), false));
        assert_eq!((shop.summary().refunded_total, shop.summary().manual_refund_total), (eur(2500), eur(0)));
        shop.assert_ends(order, 0, 0);
        assert_eq!(shop.refunded(), if part == 2500 { vec![2500] } else { vec![1000, 1500] });
    }
}

fn a_payment_that_the_dashboard_has_refunded_completes_no_order<P: Provider>() {
    for (part, status, sold, kept) in
        [(None, OrderStatus::Cancelled, 0, 0), (Some(500), OrderStatus::Completed, 2, 2000)]
    {
        let shop = Shop::<P>::open();
        let (order, checkout) = shop.order();
        let payment = shop.fake.pay(&checkout);
        shop.fake.refund(&payment, part);
        let late = shop.fake.take_notices();
        shop.pass_hold();
        assert_eq!((shop.status(order), shop.sold()), (status, sold));
        // The notices arrive after all, that of the payment last.
        shop.deliver(late.iter().rev());
        shop.run(2);
        assert_eq!((shop.status(order), shop.sold()), (status, sold));
        if part.is_none() {
            let [late] = &shop.refunds()[..] else { panic!("{:?}", shop.refunds()) };
            let expected = (RefundSource::LatePayment, RefundStatus::Done, eur(2500));
            assert_eq!((late.source, late.status, late.amount), expected);
        }
        assert_eq!(shop.fake.requests(Call::Refund), 0);
        shop.assert_ends(order, kept, 0);
    }
}

fn the_order_of_the_notices_of_a_payment_and_of_its_refund_does_not_matter<P: Provider>() {
    for payment_comes_first in [true, false] {
        let shop = Shop::<P>::open();
        let (order, checkout) = shop.order();
        let payment = shop.fake.pay(&checkout);
        let paid = shop.fake.take_notices();
        shop.fake.refund(&payment, None);
        let refunded = shop.fake.take_notices();
        let (first, second) = if payment_comes_first { (paid, refunded) } else { (refunded, paid) };
        shop.deliver(first.iter().chain(&second));
        assert_eq!((shop.status(order), shop.sold()), (OrderStatus::Cancelled, 0), "{payment_comes_first}");
        assert_eq!(shop.fixture.payment_status(order), Some(PaymentStatus::Refunded), "{payment_comes_first}");
        assert_eq!((shop.refunds().len(), shop.fake.requests(Call::Refund)), (1, 0), "{payment_comes_first}");
        shop.assert_ends(order, 0, 0);
    }
}

fn the_rest_of_a_late_payment_goes_back_after_a_part_went_back_in_the_dashboard<P: Provider>() {
    for payment_comes_first in [true, false] {
        let shop = Shop::<P>::open();
        let (order, checkout) = shop.order();
        let payment = shop.fake.pay(&checkout);
        let paid = shop.fake.take_notices();
        shop.cancel(order);
        shop.fake.refund(&payment, Some(300));
        let refunded = shop.fake.take_notices();
        let (first, second) = if payment_comes_first { (paid, refunded) } else { (refunded, paid) };
        shop.deliver(&first);
        shop.pass(Duration::from_secs(2));
        shop.deliver(&second);
        shop.pass(2 * MINUTE);
        let [late] = &shop.refunds()[..] else { panic!("{:?}", shop.refunds()) };
        let expected = (RefundSource::LatePayment, RefundStatus::Done, eur(2500));
        assert_eq!((late.source, late.status, late.returned), expected, "{payment_comes_first}");
        assert_eq!(shop.refunded(), [300, 2200], "{payment_comes_first}");
        shop.assert_ends(order, 0, 0);
    }
}

fn a_late_payment_goes_back_although_the_refund_of_the_dashboard_fails_later<P: Provider>() {
    for time in [2 * DAY, Duration::from_hours(1)] {
        let shop = Shop::<P>::open();
        let (order, checkout) = shop.order();
        let payment = shop.fake.pay(&checkout);
        shop.cancel(order);
        let outside = shop.fake.refund(&payment, None);
        // The payment is reported first, and its refund by the organizer is found when this service wants to refund it.
        let notices = shop.fake.take_notices();
        shop.deliver(notices.iter().filter(|notice| P::is_about_payment(notice)));
        shop.maintain();
        let late = || shop.refund_from(RefundSource::LatePayment);
        assert_eq!((late().status, late().requires_manual_refund), (RefundStatus::Done, false));
        shop.skip(time);
        shop.fake.fail_refund(&outside);
        shop.deliver_all();
        shop.run(2);
        assert_eq!((late().status, shop.fake.kept(order)), (RefundStatus::Done, 0), "after {time:?}");
        shop.assert_ends(order, 0, 0);
    }
}

fn cash_is_owed_although_the_payment_online_went_back_in_the_dashboard<P: Provider>() {
    for part in [None, Some(400)] {
        let shop = Shop::<P>::open();
        let (order, checkout) = shop.order();
        shop.service().mark_order_paid(&shop.fixture.caller, order, ManualMethod::Cash).unwrap();
        let payment = shop.fake.pay(&checkout);
        shop.fake.fail(Call::Refund, Trouble::NotExecuted);
        shop.deliver_all();
        shop.pass(Duration::from_secs(2));
        shop.fake.refund(&payment, part);
        shop.deliver_all();
        shop.cancel(order);
        assert_eq!(shop.owed(order), 2500, "the cash");
        shop.become_quiet();
        let by_hand = MarkRefunded::all(RefundMethod::Cash);
        shop.service().mark_order_refunded(&shop.fixture.caller, order, by_hand).unwrap();
        shop.assert_ends(order, 0, 0);
    }
}
