//! Random interleavings of payments at once and delayed ones, notices that are lost, doubled or reordered, crashes,
//! renewals, cancellations, refunds of parts, holds that end, disputes, outside refunds and faults, with two clocks
//! that differ. After each of them, Stripe keeps the totals of the completed orders less what was refunded of them,
//! every other payment goes back once, an order is never payable twice, and nothing can be paid a minute after its
//! order has ended.
//!
//! What Stripe does not give back, because the payment is disputed or somebody has refunded it in the Dashboard, stays
//! listed.
//!
//! `TICKETING_STRIPE_CASES` is the number of cases, by default 200.

mod checks;

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;
use ticketing::environment::Clock;
use ticketing::error::Reason;
use ticketing::id::OrderId;
use ticketing::order::OrderStatus;
use ticketing::payment::{NoticeError, RefundOrder};
use ticketing::ticket::TicketStatus;
use ticketing::{Error, Timestamp};

use crate::common::HOLD;
use crate::common::eur;
use crate::common::fake_stripe::{Fault, Notice};
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::random::Random;
use crate::stripe::shop::Shop;

/// The price of an order in cents.
const TOTAL: i64 = 2500;

/// Nothing is payable for longer after the end of its order.
const CLOSED_AFTER: Duration = Duration::from_mins(1);

/// How much Stripe's clock may be ahead of ours or behind it, in seconds.
const MAX_SKEW: usize = 20;

/// A payment method that reports the payment later. It is newer than the list of those that our sessions exclude.
const DELAYED_METHOD: &str = "a_method_of_next_year";

/// What a case knows of an order.
struct Sale {
    order: OrderId,
    hold_until: Timestamp,
    /// The refunds of parts of the order, in cents.
    given_back: i64,
    /// When the order was seen to have ended.
    ended_at: Option<Timestamp>,
}

struct Case {
    shop: Shop,
    random: Random,
    sales: Vec<Sale>,
    /// The payments that somebody has refunded or disputed at Stripe.
    touched: HashSet<String>,
    /// The notices that are on their way.
    notices: Vec<Notice>,
    seed: u64,
}

impl Case {
    fn run(&mut self) {
        for _ in 0..1 + self.random.below(3) {
            self.order();
        }
        for _ in 0..10 + self.random.below(20) {
            self.step();
            self.check_payable();
        }
        self.settle();
        self.check_money();
    }

    fn order(&mut self) {
        let before = self.shop.fake.all("checkout.session").len();
        let created = self.shop.fixture.try_order(&self.shop.ticket_type, 2);
        let sessions = self.shop.fake.all("checkout.session").split_off(before);
        // A start that failed may have left a session, with an order that has ended.
        let Some(session) = sessions.first() else { return assert!(created.is_err(), "seed {}", self.seed) };
        let order = session["client_reference_id"].as_str().unwrap().parse().unwrap();
        let hold_until = self.now().saturating_add(HOLD);
        self.sales.push(Sale { order, hold_until, given_back: 0, ended_at: None });
    }

    fn step(&mut self) {
        self.notices.extend(self.shop.fake.take_notices());
        match self.random.below(25) {
            0..4 => self.pay(),
            4 => {
                if let Some(session) = self.some_session() {
                    let _ = self.shop.fake.decline(&session);
                }
            }
            5..10 => self.deliver(),
            10 => self.notices.clear(),
            11 => self.cancel(),
            12 => self.shop.crash(),
            13 => self.order(),
            14 => self.touch(),
            15 => self.fault(),
            16 => self.come_back(),
            17 => self.wait(Duration::from_secs(1)),
            18 => self.wait(Duration::from_mins(2)),
            19 => self.renew(),
            20 => {
                if let Some(session) = self.some_session() {
                    let _ = self.shop.fake.pay_later(&session, DELAYED_METHOD);
                }
            }
            21 => self.settle_later(),
            22 => self.refund_part(),
            23 => self.expire_session(),
            _ => {
                let waits = [Duration::from_secs(20), HOLD - Duration::from_secs(30), HOLD, HOLD / 2];
                let time = self.random.pick(&waits);
                self.wait(time);
            }
        }
    }

    fn some_order(&mut self) -> Option<OrderId> {
        let index = self.random.below(self.sales.len().max(1));
        self.sales.get(index).map(|sale| sale.order)
    }

    /// A session of some order: also one that was replaced.
    fn some_session(&mut self) -> Option<String> {
        let order = self.some_order()?;
        let sessions = sessions_of(&self.shop, order);
        let index = self.random.below(sessions.len().max(1));
        sessions.get(index).map(id)
    }

    fn pay(&mut self) {
        if let Some(session) = self.some_session() {
            let _ = self.shop.fake.pay(&session);
        }
    }

    fn renew(&mut self) {
        let Some(order) = self.some_order() else { return };
        // Stripe is asked about a session once in this time. What it said before may have changed since.
        self.shop.skip(Duration::from_secs(4));
        match self.shop.service().renew_checkout(&self.shop.fixture.caller, order) {
            Ok(renewed) => {
                // A customer who opens the page now can pay.
                let payable: Vec<_> =
                    sessions_of(&self.shop, order).into_iter().filter(|session| !session["url"].is_null()).collect();
                assert_eq!(payable.len(), 1, "seed {}: {renewed:?}", self.seed);
                assert_eq!(payable[0]["url"], renewed.checkout_url, "seed {}", self.seed);
            }
            Err(Error::CheckoutNotRenewed(_)) => {}
            Err(error) => {
                let expected = [
                    Some(Reason::OrderNotPending),
                    Some(Reason::PaymentInProgress),
                    Some(Reason::CheckoutInProgress),
                    Some(Reason::LimitReached),
                ];
                assert!(expected.contains(&error.reason()), "seed {}: {error:?}", self.seed);
            }
        }
    }

    /// Some delayed payment succeeds or fails.
    fn settle_later(&mut self) {
        let sessions = self.shop.fake.all("checkout.session");
        let waiting = sessions.iter().filter(|session| session["status"] == "complete").map(id);
        let waiting: Vec<_> = waiting
            .filter(|session| {
                let intent = self.shop.fake.get(session)["payment_intent"].as_str().map(str::to_owned);
                intent.is_some_and(|intent| self.shop.fake.get(&intent)["status"] == "processing")
            })
            .collect();
        let index = self.random.below(waiting.len().max(1));
        if let Some(session) = waiting.get(index) {
            let is_paid = !self.random.one_in(3);
            self.shop.fake.settle_later(session, is_paid);
        }
    }

    /// Somebody expires an open session in the Dashboard.
    fn expire_session(&mut self) {
        if let Some(session) = self.some_session().filter(|session| self.shop.fake.is_payable(session)) {
            self.shop.fake.expire(&session);
        }
    }

    /// The organizer refunds a ticket or an amount of a completed order.
    fn refund_part(&mut self) {
        let index = self.random.below(self.sales.len().max(1));
        let Some(sale) = self.sales.get_mut(index) else { return };
        let order = self.shop.fixture.read_order(sale.order);
        let valid = order.tickets().find(|ticket| ticket.status != TicketStatus::Cancelled);
        let request = match valid {
            Some(ticket) if self.random.one_in(2) => RefundOrder::of_tickets([ticket.id]),
            _ => RefundOrder::of_amount(eur(1 + i64::try_from(self.random.below(1500)).unwrap())),
        };
        let caller = self.shop.fixture.caller_with_new_key();
        if let Ok(refunded) = self.shop.service().refund_order(&caller, sale.order, request) {
            sale.given_back += refunded.value.amount.minor_units();
        }
    }

    /// Delivers a notice, and forgets it or keeps it to deliver it again.
    fn deliver(&mut self) {
        if self.notices.is_empty() {
            return;
        }
        let index = self.random.below(self.notices.len());
        let received = self.shop.receive(&self.notices[index]);
        // Some notices need an answer of Stripe, which may have a fault. Stripe sends them again.
        let is_refused =
            matches!(received, Err(Error::NoticeRefused(NoticeError::Unavailable(_)) | Error::Unavailable(_)));
        assert!(received.is_ok() || is_refused, "seed {}: {received:?}", self.seed);
        if received.is_ok() && !self.random.one_in(3) {
            self.notices.remove(index);
        }
    }

    fn cancel(&mut self) {
        if let Some(order) = self.some_order() {
            // An order that has ended cannot be cancelled.
            let _ = self.shop.service().cancel_order(&self.shop.fixture.caller, order);
        }
    }

    /// Somebody refunds a part of a payment at Stripe, or the cardholder disputes it.
    fn touch(&mut self) {
        let Some(order) = self.some_order() else { return };
        let Some(intent) = payments_of(&self.shop, order).pop().filter(|intent| !self.touched.contains(intent)) else {
            return;
        };
        let kept = self.shop.kept(&intent);
        if kept == 0 {
            return;
        }
        self.touched.insert(intent.clone());
        if self.random.one_in(2) {
            let dispute = self.shop.fake.dispute(&intent);
            if self.random.one_in(2) {
                self.shop.fake.close_dispute(&dispute, self.random.one_in(2));
            }
        } else {
            let most = usize::try_from(kept).unwrap();
            let part = 1 + i64::try_from(self.random.below(most)).unwrap();
            let amount = if self.random.one_in(2) { None } else { Some(part) };
            self.shop.fake.refund_outside(&intent, amount);
        }
    }

    fn fault(&mut self) {
        let faults = [
            Fault::RateLimited,
            Fault::RateLimitedForLong,
            Fault::ServerError,
            Fault::ServerErrorAfterEffect,
            Fault::BadGateway,
            Fault::CloseBefore,
            Fault::CloseAfter,
        ];
        let fault = faults[self.random.below(faults.len())].clone();
        let targets = [
            ("POST", "/v1/checkout/sessions"),
            ("GET", "/v1/checkout/sessions"),
            ("POST", "/v1/refunds"),
            ("GET", "/v1/refunds"),
        ];
        let (method, path) = self.random.pick(&targets);
        self.shop.fake.fail(method, path, fault, 1);
    }

    /// The customer's browser opens the page to which Stripe returns.
    fn come_back(&mut self) {
        if let Some(session) = self.some_session() {
            // A session that was never recorded is unknown, and Stripe may not answer.
            let _ = self.shop.service().settle_checkout(&session);
        }
    }

    /// Lets time pass. The maintenance runs when it has something to do, and a little later than it would.
    fn wait(&mut self, time: Duration) {
        let end = self.now().saturating_add(time);
        while self.now() < end {
            let next = self.next_run().map_or(end, |next| next.min(end));
            self.shop.skip(next.duration_since(self.now()).unwrap());
            self.shop.maintain();
            self.check_payable();
        }
    }

    /// When the maintenance should run next: around the end of each hold, and often after the end of an order.
    fn next_run(&self) -> Option<Timestamp> {
        let now = self.now();
        let after = |seconds| now.saturating_add(Duration::from_secs(seconds));
        let of_sale = |sale: &Sale| match sale.ended_at {
            Some(ended_at) if now <= ended_at.saturating_add(CLOSED_AFTER) => vec![after(10)],
            Some(_) => Vec::new(),
            None => [-60, 0, 5]
                .map(|seconds| Timestamp::from_millis(sale.hold_until.millis() + seconds * 1000).unwrap())
                .to_vec(),
        };
        self.sales.iter().flat_map(of_sale).filter(|at| *at > now).min()
    }

    fn now(&self) -> Timestamp {
        self.shop.fixture.clock.now()
    }

    fn status(&self, order: OrderId) -> OrderStatus {
        self.shop.fixture.order_status(order)
    }

    /// All further notices are lost, and Stripe answers again. By the end of all look-ups everything is settled.
    fn settle(&mut self) {
        self.shop.fake.repair();
        self.shop.fake.take_notices();
        while self.shop.fake.all("payment_intent").iter().any(|intent| intent["status"] == "processing") {
            self.settle_later();
        }
        self.shop.fake.take_notices();
        self.wait(HOLD + Duration::from_secs(90));
        for pause in [Duration::from_mins(5), Duration::from_hours(1), Duration::from_hours(25)] {
            self.shop.skip(pause);
            for _ in 0..3 {
                self.wait(Duration::from_secs(5));
            }
        }
    }
}

fn id(object: &Value) -> String {
    object["id"].as_str().unwrap().to_owned()
}

/// The sessions of an order, the oldest first.
fn sessions_of(shop: &Shop, order: OrderId) -> Vec<Value> {
    let mut sessions = shop.fake.all("checkout.session");
    sessions.retain(|session| session["client_reference_id"] == order.to_string());
    sessions
}

/// The ids of the payments for an order that have arrived at Stripe.
fn payments_of(shop: &Shop, order: OrderId) -> Vec<String> {
    let intents = shop.fake.all("payment_intent").into_iter();
    let paid = intents.filter(|it| it["metadata"]["order"] == order.to_string() && it["status"] == "succeeded");
    paid.map(|intent| id(&intent)).collect()
}

fn run_case(seed: u64) {
    let mut random = Random::new(seed);
    let shop = Shop::open();
    // Stripe's clock is behind ours by up to 20 seconds, or ahead of it.
    let skew = i64::try_from(random.below(2 * MAX_SKEW + 1)).unwrap() - i64::try_from(MAX_SKEW).unwrap();
    shop.clock.set(Timestamp::from_millis(shop.clock.now().millis() + skew * 1000).unwrap());
    Case { shop, random, sales: Vec::new(), touched: HashSet::new(), notices: Vec::new(), seed }.run();
}

#[test]
fn money_is_kept_for_completed_orders_only_in_any_interleaving() {
    let cases = repetitions("TICKETING_STRIPE_CASES", 200);
    let first = first_seed();
    eprintln!("seeds {first} to {}", first + cases - 1);
    std::thread::scope(|scope| {
        scope.spawn(|| (first..first + cases).step_by(2).for_each(run_case));
        (first + 1..first + cases).step_by(2).for_each(run_case);
    });
}
