//! Random interleavings of payments, notices that are lost, doubled or reordered, crashes, cancellations, holds that end,
//! disputes, outside refunds and faults. Whatever happened: Stripe keeps the totals of the completed orders, every other
//! payment goes back once, and nothing can be paid a minute after its order has ended.
//!
//! `TICKETING_STRIPE_CASES` is the number of cases, by default 200.

use std::collections::HashMap;
use std::time::Duration;

use ticketing::environment::Clock;
use ticketing::id::OrderId;
use ticketing::order::OrderStatus;
use ticketing::payment::NoticeError;
use ticketing::{Error, Timestamp};

use crate::common::HOLD;
use crate::common::fake_stripe::{Fault, Notice};
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::random::Random;
use crate::shop::Shop;

/// The price of an order in cents.
const TOTAL: i64 = 2500;

/// Nothing is payable for longer after the end of its order.
const CLOSED_AFTER: Duration = Duration::from_mins(1);

/// What a case knows of an order.
struct Sale {
    order: OrderId,
    session: String,
    hold_until: Timestamp,
    /// The payment, when the customer has paid.
    intent: Option<String>,
    /// Whether somebody refunded or disputed the payment at Stripe.
    is_touched: bool,
    /// When the order was seen to have ended.
    ended_at: Option<Timestamp>,
}

struct Case {
    shop: Shop,
    random: Random,
    sales: Vec<Sale>,
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
        let session = session["id"].as_str().unwrap().to_owned();
        let hold_until = self.now().saturating_add(HOLD);
        self.sales.push(Sale { order, session, hold_until, intent: None, is_touched: false, ended_at: None });
    }

    fn step(&mut self) {
        self.notices.extend(self.shop.fake.take_notices());
        match self.random.below(20) {
            0..4 => self.pay(),
            4 => {
                let index = self.random.below(self.sales.len().max(1));
                if let Some(sale) = self.sales.get(index) {
                    let _ = self.shop.fake.decline(&sale.session);
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
            _ => {
                let waits = [Duration::from_secs(20), HOLD - Duration::from_secs(30), HOLD, HOLD / 2];
                let time = self.random.pick(&waits);
                self.wait(time);
            }
        }
    }

    fn pay(&mut self) {
        let index = self.random.below(self.sales.len().max(1));
        let Some(sale) = self.sales.get_mut(index) else { return };
        if let Ok(intent) = self.shop.fake.pay(&sale.session) {
            sale.intent = Some(intent);
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
        let index = self.random.below(self.sales.len().max(1));
        if let Some(sale) = self.sales.get(index) {
            // An order that has ended cannot be cancelled.
            let _ = self.shop.service().cancel_order(&self.shop.fixture.caller, sale.order);
        }
    }

    /// Somebody refunds a part of a payment at Stripe, or the cardholder disputes it.
    fn touch(&mut self) {
        let index = self.random.below(self.sales.len().max(1));
        let Some(sale) = self.sales.get_mut(index) else { return };
        let Some(intent) = sale.intent.clone().filter(|_| !sale.is_touched) else { return };
        if self.shop.kept(&intent) < TOTAL {
            return;
        }
        sale.is_touched = true;
        if self.random.one_in(2) {
            let dispute = self.shop.fake.dispute(&intent);
            if self.random.one_in(2) {
                self.shop.fake.close_dispute(&dispute, self.random.one_in(2));
            }
        } else {
            let amount =
                if self.random.one_in(2) { None } else { Some(1 + i64::try_from(self.random.below(2000)).unwrap()) };
            self.shop.fake.refund_outside(&intent, amount);
        }
    }

    fn fault(&mut self) {
        let faults = [
            Fault::RateLimited,
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
        let index = self.random.below(self.sales.len().max(1));
        if let Some(sale) = self.sales.get(index) {
            // A session that was never recorded is unknown, and Stripe may not answer.
            let _ = self.shop.service().settle_checkout(&sale.session);
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

    /// Nothing is payable a minute after its order has ended.
    fn check_payable(&mut self) {
        let now = self.now();
        for sale in &mut self.sales {
            let ended_at = match sale.ended_at {
                Some(ended_at) => ended_at,
                None if self.shop.fixture.order_status(sale.order) == OrderStatus::Pending => continue,
                None => *sale.ended_at.insert(now),
            };
            if now > ended_at.saturating_add(CLOSED_AFTER) {
                let is_payable = self.shop.fake.is_payable(&sale.session);
                assert!(!is_payable, "seed {}: {} can be paid", self.seed, sale.session);
            }
        }
    }

    /// All further notices are lost, and Stripe answers again. By the end of all look-ups everything is settled.
    fn settle(&mut self) {
        self.shop.fake.repair();
        self.shop.fake.take_notices();
        self.wait(HOLD + Duration::from_secs(90));
        for pause in [Duration::from_mins(5), Duration::from_hours(1), Duration::from_hours(25)] {
            self.shop.skip(pause);
            for _ in 0..3 {
                self.wait(Duration::from_secs(5));
            }
        }
    }

    fn check_money(&self) {
        let seed = self.seed;
        let mut intents = HashMap::new();
        for intent in self.shop.fake.all("payment_intent") {
            if intent["status"] == "succeeded" {
                intents.insert(intent["id"].as_str().unwrap().to_owned(), intent);
            }
        }
        for sale in &self.sales {
            let status = self.status(sale.order);
            let Some(intent) = sale.intent.as_ref().filter(|intent| intents.contains_key(*intent)) else {
                assert_ne!(status, OrderStatus::Completed, "seed {seed}: nobody paid {}", sale.order);
                continue;
            };
            assert_ne!(status, OrderStatus::Pending, "seed {seed}: {} is paid", sale.order);
            if sale.is_touched {
                continue;
            }
            let refunds = self.shop.fake.all("refund");
            let refunds = refunds.iter().filter(|refund| refund["payment_intent"] == **intent).count();
            let expected = if status == OrderStatus::Completed { (TOTAL, 0) } else { (0, 1) };
            assert_eq!((self.shop.kept(intent), refunds), expected, "seed {seed}: {} is {status:?}", sale.order);
        }
    }
}

fn run_case(seed: u64) {
    let random = Random::new(seed);
    Case { shop: Shop::open(), random, sales: Vec::new(), notices: Vec::new(), seed }.run();
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
