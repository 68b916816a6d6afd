//! An event with many paid orders does not take place: each payment is refunded once, whatever Stripe answers, and though the
//! process is killed twice.
//!
//! `TICKETING_CANCELLED_ORDERS` is the number of orders, by default 60.

use std::collections::BTreeMap;

use ticketing::Timestamp;
use ticketing::environment::{Clock, ManualClock, SystemClock};
use ticketing::event::{CancelEventOrders, CancellationRunState, EventStatus};
use ticketing::id::EventId;
use ticketing::order::OrderStatus;
use ticketing::stripe::StripeGateway;

use crate::common::database;
use crate::common::fake_stripe::{Fault, WEBHOOK_SECRET};
use crate::common::long_runs::repetitions;
use crate::common::processes::{ChildProcess, child_process, child_role, child_variable};
use crate::common::webhooks::wait_until_none;
use crate::money::book::{number, text};
use crate::money::shop::Shop;

const CHILD: &str = concat!(module_path!(), "::a_child_process_refunds");

#[test]
#[ignore = "other tests start it"]
fn a_child_process_refunds() {
    child_role();
    let gateway = StripeGateway::builder(child_variable("KEY")).webhook_secret(WEBHOOK_SECRET);
    let gateway = gateway.api_base(child_variable("API")).build().unwrap();
    let now: i64 = child_variable("NOW").parse().unwrap();
    let clock = ManualClock::new(Timestamp::from_millis(now).unwrap());
    let builder = database::builder(child_variable("FILE")).clock(clock.clone());
    let service = builder.payment_gateway(gateway).open().unwrap();
    loop {
        // It is killed.
        drop(service.run_maintenance());
        clock.advance(std::time::Duration::from_secs(30));
    }
}

/// Refunds in a process that is killed when Stripe has made so many refunds.
fn refund_until_killed(shop: &Shop, refunds: usize) {
    let mut command = child_process(CHILD, "refund");
    command.env("KEY", shop.fake.secret_key()).env("API", shop.fake.url()).env("FILE", shop.fixture.path());
    command.env("NOW", shop.now().millis().to_string());
    let mut child = ChildProcess::start(command);
    let left = || i64::try_from(refunds.saturating_sub(shop.fake.created("refund"))).expect("a number");
    wait_until_none("refunds before the end", left);
    child.child.kill().unwrap();
    child.child.wait().unwrap();
}

/// Lets about every fourth request for a refund fail, in all ways.
fn add_faults(shop: &Shop, orders: usize) {
    let faults = [
        Fault::ServerError,
        Fault::RateLimited,
        Fault::ServerErrorAfterEffect,
        Fault::CloseAfter,
        Fault::AsksToRetry,
        Fault::BadGateway,
    ];
    for fault in faults.iter().cycle().take(orders / 4) {
        shop.fake.fail("POST", "/v1/refunds", fault.clone(), 1);
    }
}

#[test]
fn each_payment_of_a_cancelled_event_is_refunded_once() {
    let orders = usize::try_from(repetitions("TICKETING_CANCELLED_ORDERS", 60)).expect("a number");
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    let event: EventId = seats.event_id;
    let elsewhere = shop.ticket_type(700);
    let (kept, _) = shop.sale(&elsewhere, 1);
    let began = SystemClock.monotonic();
    let mut paid: BTreeMap<String, i64> = BTreeMap::new();
    for number in 0..orders {
        let quantity = 1 + i64::try_from(number % 3).expect("small");
        let (_, intent) = shop.sale(&seats, quantity);
        paid.insert(intent, 1250 * quantity);
    }
    let sold = SystemClock.monotonic() - began;
    shop.fixture.set_event_status(event, EventStatus::Cancelled).expect("cancelled");
    let caller = shop.fixture.caller.clone();
    shop.service().cancel_event_orders(&caller, event, CancelEventOrders::default()).expect("a run");
    let began = SystemClock.monotonic();
    add_faults(&shop, orders);
    refund_until_killed(&shop, orders / 3);
    refund_until_killed(&shop, orders * 2 / 3);
    shop.become_quiet();
    eprintln!("{orders} orders: sold in {sold:.1?}, refunded in {:.1?}", SystemClock.monotonic() - began);

    let run = shop.service().get_cancellation_run(&caller, event).expect("the run");
    let count = i64::try_from(orders).expect("a number");
    assert_eq!((run.state, run.orders, run.cancelled, run.failed), (CancellationRunState::Done, count, count, 0));
    assert_eq!((run.refunds_due, run.refunds_done, run.manual), (0, count, 0));
    let mut refunded: BTreeMap<String, (usize, i64)> = BTreeMap::new();
    for refund in shop.fake.all("refund") {
        let of_intent = refunded.entry(text(&refund, "payment_intent").to_owned()).or_default();
        of_intent.0 += 1;
        of_intent.1 += number(&refund, "amount");
    }
    let once: BTreeMap<String, (usize, i64)> = paid.iter().map(|(intent, paid)| (intent.clone(), (1, *paid))).collect();
    assert_eq!(refunded, once, "each payment is refunded once");
    let summary = shop.summary(event);
    assert_eq!(summary.refunded_total, summary.gross_revenue);
    assert_eq!(summary.gross_revenue.minor_units(), paid.values().sum::<i64>());
    assert_eq!(shop.fixture.order_status(kept), OrderStatus::Completed);
    shop.assert_books_are_right("after the run");
}
