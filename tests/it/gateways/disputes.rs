//! Disputes: a bank takes a payment, and decides later who gets it.

use std::time::Duration;

use ticketing::order::OrderStatus;
use ticketing::payment::{DisputeStatus, RefundSource, RefundStatus};
use ticketing::ticket::TicketStatus;

use super::shop::{DAY, MINUTE, Shop};
use super::{Provider, contract};
use crate::common::eur;

contract! {
    a_dispute_is_listed_until_its_end_and_the_tickets_stay_valid,
    a_disputed_payment_is_refunded_only_after_the_bank_has_decided_for_the_organizer,
    the_end_of_a_dispute_is_found_although_its_notice_was_lost,
    a_payment_that_a_bank_has_taken_back_for_good_completes_no_order,
    a_payment_of_which_a_bank_has_taken_a_part_completes_its_order,
    the_order_of_the_notices_of_a_payment_and_of_its_dispute_does_not_matter,
    a_refund_whose_money_went_back_in_another_way_is_not_made_after_a_dispute,
}

fn a_dispute_is_listed_until_its_end_and_the_tickets_stay_valid<P: Provider>() {
    for (is_won, end, kept) in [(true, DisputeStatus::Won, 2500), (false, DisputeStatus::Lost, 0)] {
        let shop = Shop::<P>::open();
        let (order, payment) = shop.sale();
        let dispute = shop.fake.dispute(&payment, None);
        let opened = shop.fake.take_notices();
        shop.deliver(&opened);
        let [open] = &shop.disputes()[..] else { panic!("{:?}", shop.disputes()) };
        assert_eq!((open.order_id, open.amount, open.status), (order, eur(2500), DisputeStatus::Open));
        assert_eq!((open.reference.as_str(), open.reason.as_str()), (dispute.as_str(), "fraudulent"));
        assert_eq!(shop.service().backlog().unwrap().disputes_open, 1);
        shop.fake.close_dispute(&dispute, is_won);
        shop.deliver_all();
        // Reports from before the end.
        shop.deliver(&opened);
        let [closed] = &shop.disputes()[..] else { panic!("{:?}", shop.disputes()) };
        assert_eq!((closed.status, shop.service().backlog().unwrap().disputes_open), (end, 0));
        assert_eq!((shop.status(order), shop.sold()), (OrderStatus::Completed, 2));
        let of_order = shop.fixture.read_order(order);
        assert!(of_order.tickets().all(|ticket| ticket.status == TicketStatus::NotCheckedIn));
        shop.assert_ends(order, kept, 0);
    }
}

fn a_disputed_payment_is_refunded_only_after_the_bank_has_decided_for_the_organizer<P: Provider>() {
    // Disputes take weeks, but the cancellation may be younger than the day for which a provider repeats its refusal.
    let hour = Duration::from_hours(1);
    for (is_won, time) in [(true, 20 * DAY), (false, 20 * DAY), (true, hour), (false, hour)] {
        let shop = Shop::<P>::open();
        let (order, payment) = shop.sale();
        let dispute = shop.fake.dispute(&payment, None);
        shop.cancel(order);
        assert_eq!((shop.own_refund().status, shop.own_refund().requires_manual_refund), (RefundStatus::Due, false));
        let sums = shop.balance(order).sums;
        assert_eq!((sums.on_hold, sums.in_flight), (eur(0), eur(0)), "the bank has taken it");
        shop.assert_books(order, 0, 0);
        shop.skip(time);
        shop.fake.close_dispute(&dispute, is_won);
        shop.deliver_all();
        shop.run(2);
        let (status, refunded) = if is_won { (RefundStatus::Done, 2500) } else { (RefundStatus::Refused, 0) };
        assert_eq!(shop.own_refund().status, status, "won: {is_won} after {time:?}");
        assert_eq!(shop.refunded().iter().sum::<i64>(), refunded);
        assert_eq!((shop.summary().refunded_total, shop.summary().manual_refund_total), (eur(refunded), eur(0)));
        shop.assert_ends(order, 0, 0);
    }
}

fn the_end_of_a_dispute_is_found_although_its_notice_was_lost<P: Provider>() {
    for (is_won, end) in [(true, DisputeStatus::Won), (false, DisputeStatus::Lost)] {
        let shop = Shop::<P>::open();
        let (order, payment) = shop.sale();
        let dispute = shop.fake.dispute(&payment, None);
        shop.deliver_all();
        shop.cancel(order);
        shop.fake.close_dispute(&dispute, is_won);
        shop.lose_notices();
        shop.assert_ends(order, 0, 0);
        assert_eq!(shop.disputes()[0].status, end);
    }
}

fn a_payment_that_a_bank_has_taken_back_for_good_completes_no_order<P: Provider>() {
    for is_lost in [true, false] {
        let shop = Shop::<P>::open();
        let (order, checkout) = shop.order();
        let payment = shop.fake.pay(&checkout);
        let dispute = shop.fake.dispute(&payment, None);
        if is_lost {
            shop.fake.close_dispute(&dispute, false);
        }
        let late = shop.fake.take_notices();
        shop.pass_hold();
        let (status, sold) = if is_lost { (OrderStatus::Cancelled, 0) } else { (OrderStatus::Completed, 2) };
        assert_eq!((shop.status(order), shop.sold()), (status, sold), "lost: {is_lost}");
        // The notices arrive after all, that of the payment last.
        shop.deliver(late.iter().rev());
        shop.run(2);
        assert_eq!((shop.status(order), shop.sold()), (status, sold), "lost: {is_lost}");
        assert_eq!(shop.summary().disputed_total, eur(2500));
        if is_lost {
            let late = shop.refund_from(RefundSource::LatePayment);
            assert_eq!((late.status, late.returned, late.owed), (RefundStatus::Refused, eur(0), eur(0)));
        }
        assert!(shop.refunded().is_empty());
        shop.assert_books(order, 0, 0);
    }
}

fn a_payment_of_which_a_bank_has_taken_a_part_completes_its_order<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, checkout) = shop.order();
    let payment = shop.fake.pay(&checkout);
    let dispute = shop.fake.dispute(&payment, Some(1000));
    shop.fake.close_dispute(&dispute, false);
    shop.lose_notices();
    shop.pass_hold();
    assert_eq!((shop.status(order), shop.sold()), (OrderStatus::Completed, 2));
    let [dispute] = &shop.disputes()[..] else { panic!("{:?}", shop.disputes()) };
    assert_eq!((dispute.amount, dispute.status), (eur(1000), DisputeStatus::Lost));
    assert_eq!(shop.refunds(), []);
    shop.assert_books(order, 1500, 0);
}

fn the_order_of_the_notices_of_a_payment_and_of_its_dispute_does_not_matter<P: Provider>() {
    for payment_comes_first in [true, false] {
        let shop = Shop::<P>::open();
        let (order, checkout) = shop.order();
        let payment = shop.fake.pay(&checkout);
        let paid = shop.fake.take_notices();
        let dispute = shop.fake.dispute(&payment, Some(700));
        shop.fake.close_dispute(&dispute, false);
        let disputed = shop.fake.take_notices();
        let (first, second) = if payment_comes_first { (paid, disputed) } else { (disputed, paid) };
        shop.deliver(first.iter().chain(&second));
        assert_eq!(shop.status(order), OrderStatus::Completed, "the payment comes first: {payment_comes_first}");
        assert_eq!(shop.disputes().len(), 1);
        shop.assert_ends(order, 1800, 0);
    }
}

fn a_refund_whose_money_went_back_in_another_way_is_not_made_after_a_dispute<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, payment) = shop.sale();
    shop.refund_part(order, 1000);
    shop.fake.fail_refund(&shop.newest_refund());
    shop.deliver_all();
    shop.assert_books(order, 2500, 1000);
    // Somebody gives the money back in the Dashboard.
    shop.fake.refund(&payment, Some(1000));
    shop.deliver_all();
    shop.assert_books(order, 1500, 0);
    let dispute = shop.fake.dispute(&payment, None);
    shop.fake.close_dispute(&dispute, true);
    shop.deliver_all();
    shop.pass(MINUTE);
    assert_eq!(shop.refunded(), [1000], "the money has gone back already");
    shop.assert_ends(order, 1500, 0);
}
