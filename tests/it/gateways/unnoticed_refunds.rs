//! Refunds that somebody makes in the Dashboard, and of which no notice arrives in time: none is made a second time.

use ticketing::id::OrderId;
use ticketing::payment::{RefundOrder, RefundSource, RefundStatus};

use super::shop::{MINUTE, Shop};
use super::{Call, Provider, Trouble, contract};
use crate::common::eur;

contract! {
    a_part_from_the_dashboard_whose_notice_was_lost_is_not_refunded_again,
    only_what_a_lost_part_from_the_dashboard_leaves_is_refunded,
    a_ticket_refunded_in_the_dashboard_before_a_restart_is_not_refunded_again,
    another_process_looks_before_the_first_attempt_at_a_new_decision,
    the_second_part_of_a_refund_is_not_made_if_the_dashboard_has_made_it,
    nothing_is_asked_for_while_the_provider_does_not_list_the_refunds,
}

/// Refunds a part in the Dashboard. The notices are lost.
fn refund_unnoticed<P: Provider>(shop: &Shop<P>, payment: &str, cents: i64) {
    shop.fake.refund(payment, Some(cents));
    shop.lose_notices();
}

/// Refunds a part, which the provider does not make now.
fn refund_later<P: Provider>(shop: &Shop<P>, order: OrderId, cents: i64) {
    shop.fake.fail(Call::Refund, Trouble::NoAnswer);
    shop.refund_part(order, cents);
    shop.fake.repair();
    assert_eq!(shop.own_refund().status, RefundStatus::Due);
}

#[track_caller]
fn assert_done<P: Provider>(shop: &Shop<P>, order: OrderId, cents: i64) {
    let refund = shop.own_refund();
    assert_eq!((refund.status, refund.returned), (RefundStatus::Done, eur(cents)));
    assert!(shop.refunds().iter().all(|refund| refund.source != RefundSource::Outside), "{:#?}", shop.refunds());
    assert_eq!(shop.refunded().iter().sum::<i64>(), cents);
    shop.assert_ends(order, 2500 - cents, 0);
}

fn a_part_from_the_dashboard_whose_notice_was_lost_is_not_refunded_again<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, payment) = shop.sale();
    refund_later(&shop, order, 300);
    refund_unnoticed(&shop, &payment, 300);
    let asked = shop.fake.requests(Call::Refund);
    shop.pass(MINUTE);
    assert_eq!(shop.fake.requests(Call::Refund), asked, "nothing is left to ask for");
    assert_done(&shop, order, 300);
}

fn only_what_a_lost_part_from_the_dashboard_leaves_is_refunded<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, payment) = shop.sale();
    refund_later(&shop, order, 500);
    refund_unnoticed(&shop, &payment, 300);
    shop.pass(MINUTE);
    assert_eq!(shop.refunded(), [300, 200]);
    assert_done(&shop, order, 500);
}

fn a_ticket_refunded_in_the_dashboard_before_a_restart_is_not_refunded_again<P: Provider>() {
    let mut shop = Shop::<P>::open();
    let (order, payment) = shop.sale();
    shop.fake.fail(Call::Refund, Trouble::NoAnswer);
    let ticket = shop.fixture.read_order(order).tickets().next().unwrap().id;
    shop.service().refund_order(&shop.fixture.caller, order, RefundOrder::of_tickets([ticket])).unwrap();
    shop.fake.repair();
    shop.fake.refund(&payment, Some(1250));
    let late = shop.fake.take_notices();
    shop.restart();
    shop.pass(MINUTE);
    shop.deliver(&late);
    assert_done(&shop, order, 1250);
}

/// The process was killed between the decision and its first attempt, less than a minute ago.
fn another_process_looks_before_the_first_attempt_at_a_new_decision<P: Provider>() {
    let mut shop = Shop::<P>::open();
    let (order, payment) = shop.sale();
    refund_later(&shop, order, 300);
    assert_eq!(shop.fixture.database().execute("UPDATE refunds SET attempts = 0", []), 1);
    let reset = "UPDATE work SET due_at = created_at WHERE kind LIKE 'refund %'";
    assert_eq!(shop.fixture.database().execute(reset, []), 1);
    refund_unnoticed(&shop, &payment, 300);
    shop.restart();
    shop.maintain();
    assert_done(&shop, order, 300);
}

fn the_second_part_of_a_refund_is_not_made_if_the_dashboard_has_made_it<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, payment) = shop.sale();
    refund_later(&shop, order, 1000);
    shop.fake.refund(&payment, Some(400));
    shop.deliver_all();
    // The first part is known. The provider does not make the second one now, and the Dashboard does.
    shop.fake.fail(Call::Refund, Trouble::NoAnswer);
    shop.pass(MINUTE);
    shop.fake.repair();
    assert_eq!((shop.own_refund().status, shop.refunded()), (RefundStatus::Due, vec![400]));
    refund_unnoticed(&shop, &payment, 600);
    shop.pass(MINUTE);
    assert_done(&shop, order, 1000);
}

fn nothing_is_asked_for_while_the_provider_does_not_list_the_refunds<P: Provider>() {
    let shop = Shop::<P>::open();
    let (order, _) = shop.sale();
    refund_later(&shop, order, 300);
    shop.fake.fail(Call::ListRefunds, Trouble::NoAnswer);
    let asked = shop.fake.requests(Call::Refund);
    shop.pass(MINUTE);
    let refund = shop.own_refund();
    assert_eq!((refund.status, refund.attempts, shop.fake.requests(Call::Refund)), (RefundStatus::Due, 2, asked));
    assert!(refund.last_error.is_some());
    shop.fake.repair();
    shop.pass(MINUTE);
    assert_done(&shop, order, 300);
}
