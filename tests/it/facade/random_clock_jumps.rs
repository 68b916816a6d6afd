//! A wall clock that jumps at random between the steps of a sale, and is put right within the hour. The stored data is
//! sound after each step, nothing expires before its time, and in the end all holds are released and all notifications
//! are sent.
//!
//! `TICKETING_CLOCK_JUMPS` is the number of sequences of steps, by default 12.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::common::clock::MachineClock;
use crate::common::database::stored_id;
use crate::common::invariants::assert_consistent;
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::random::Random;
use crate::common::transport::{FakeTransport, respond};
use crate::common::*;
use ticketing::Timestamp;
use ticketing::environment::Clock;
use ticketing::event::Event;
use ticketing::id::OrderId;
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::TicketType;
use ticketing::webhook::{CreateWebhook, EventType};

const STEPS: usize = 60;
const DAY: i64 = 24 * 60;

struct World {
    fixture: Fixture,
    clock: MachineClock,
    random: Random,
    /// What a clock that never jumps would show.
    right: Timestamp,
    /// How long the clock has been wrong.
    wrong_for: Duration,
    /// The event ends on the way.
    event: Event,
    free: TicketType,
    paid: TicketType,
    orders: Vec<OrderId>,
    codes: Vec<String>,
    /// Until when the orders that were created at the right time hold their seats.
    holds: HashMap<i64, Timestamp>,
    receiver_is_well: Arc<AtomicBool>,
}

impl World {
    fn new(seed: u64, clock: MachineClock) -> Self {
        let receiver_is_well = Arc::new(AtomicBool::new(false));
        let transport = {
            let (is_well, requests) = (Arc::clone(&receiver_is_well), AtomicU64::new(0));
            FakeTransport::new(move |_, _, _| {
                let fails = requests.fetch_add(1, Ordering::Relaxed) % 3 == 0;
                respond(if fails && !is_well.load(Ordering::Relaxed) { 500 } else { 200 })
            })
        };
        let fixture = Fixture::with_gateway(|builder| builder.clock(clock.clone()).webhook_transport(transport));
        let topics = [EventType::OrderCompleted, EventType::OrderCancelled, EventType::TicketCheckedIn];
        let webhook = CreateWebhook::new("https://example.com/hook", topics);
        fixture.service.create_webhook(&fixture.caller, webhook).unwrap();
        let event = fixture.event();
        let (free, paid) = (fixture.ticket_type(&event, 0, 10_000), fixture.ticket_type(&event, 1250, 10_000));
        fixture.service.run_maintenance().unwrap();
        let right = clock.now();
        let random = Random::new(seed);
        let (orders, codes, holds, wrong_for) = Default::default();
        Self { fixture, clock, random, right, wrong_for, event, free, paid, orders, codes, holds, receiver_is_well }
    }

    fn is_right(&self) -> bool {
        self.clock.now() == self.right
    }

    fn pass(&mut self, minutes: u64) {
        let time = Duration::from_mins(minutes);
        if !self.is_right() {
            self.wrong_for += time;
            // A clock that is wrong for an hour is believed.
            if self.wrong_for >= Duration::from_mins(55) {
                self.put_right();
            }
        }
        self.clock.pass(time);
        self.right = self.right.saturating_add(time);
    }

    fn put_right(&mut self) {
        self.clock.jump_to(self.right);
        self.wrong_for = Duration::ZERO;
    }

    fn jump(&mut self) {
        // Hours, days and years: shorter jumps are like time that passes.
        let farthest = self.random.pick(&[2 * 60, 2 * DAY, 800 * DAY]);
        let minutes = 90 + i64::try_from(self.random.below(usize::try_from(farthest).unwrap())).unwrap();
        let minutes = if self.random.one_in(2) { minutes } else { -minutes };
        let wall = Timestamp::from_millis(self.right.millis() + minutes * 60_000).unwrap();
        self.clock.jump_to(wall);
    }

    fn step(&mut self) {
        let fixture = &self.fixture;
        let (service, caller) = (&fixture.service, &fixture.caller);
        // A refusal is a right answer as well: the hold has expired, or the ticket has been used.
        match self.random.below(12) {
            0 => self.jump(),
            1 => self.put_right(),
            2 | 3 => {
                let minutes = self.random.pick(&[1, 7, 29, 45]);
                self.pass(minutes);
            }
            4 | 5 => {
                if let Ok(order) = fixture.try_order(&self.paid, 2) {
                    self.orders.push(order.id);
                    if self.is_right() {
                        self.holds.insert(stored_id(order.id), self.right.saturating_add(HOLD));
                    }
                }
            }
            6 => {
                let request = new_order(self.event.id, self.free.id, 1);
                if let Ok(created) = service.create_order(caller, request) {
                    self.codes.extend(created.issued_tickets.into_iter().map(|ticket| ticket.code));
                }
            }
            7 if !self.orders.is_empty() => {
                let _ = service.payment_completed(caller, self.random.pick(&self.orders));
            }
            8 if !self.orders.is_empty() => {
                let _ = service.cancel_order(caller, self.random.pick(&self.orders));
            }
            9 if !self.codes.is_empty() => {
                let code = &self.codes[self.random.below(self.codes.len())];
                let _ = service.check_in_ticket(caller, CheckInTicket::new(code));
            }
            10 => drop(service.deliver_due_webhooks().unwrap()),
            _ => drop(service.run_maintenance().unwrap()),
        }
    }

    /// The orders and events that are stored as expired, although their time has not come.
    fn expired_early(&self) -> Vec<String> {
        let database = self.fixture.database();
        let orders: Vec<i64> = database.column("SELECT id FROM orders WHERE status = 'EXPIRED'");
        let early = |id: &i64| self.holds.get(id).is_some_and(|until| *until > self.right);
        let orders = orders.into_iter().filter(early).map(|id| format!("order {id}"));
        let events: i64 = database.value("SELECT COUNT(*) FROM events WHERE status = 'EXPIRED'");
        let event = (events > 0 && self.right < at(EVENT_END)).then(|| "the event".to_owned());
        orders.chain(event).collect()
    }

    /// Puts the clock right, and lets the time pass after which nothing is left to do.
    fn finish(&mut self) {
        self.put_right();
        self.receiver_is_well.store(true, Ordering::Relaxed);
        for _ in 0..3 {
            self.pass(90);
            self.fixture.service.run_maintenance().unwrap();
            self.fixture.service.deliver_due_webhooks().unwrap();
        }
        let database = self.fixture.database();
        let overdue =
            format!("SELECT COUNT(*) FROM orders WHERE status = 'PENDING' AND hold_until <= {}", self.right.millis());
        assert_eq!(database.value::<i64>(&overdue), 0, "holds are left");
        let unsent = "SELECT (SELECT COUNT(*) FROM webhook_outbox WHERE state <> 'DELIVERED')
        + (SELECT COUNT(*) FROM webhook_notifications WHERE organization_id IS NOT NULL)";
        assert_eq!(database.value::<i64>(unsent), 0, "notifications are left");
    }
}

/// Runs a sequence of steps. Returns what expired early.
fn run(seed: u64, clock: MachineClock) -> Vec<String> {
    let mut world = World::new(seed, clock);
    for step in 0..STEPS {
        world.step();
        assert_consistent(&world.fixture.database());
        let early = world.expired_early();
        if !early.is_empty() {
            return early;
        }
        if step % 20 == 0 {
            let report = world.fixture.service.check().unwrap();
            assert!(report.is_clean(), "{:?}", report.findings);
        }
    }
    world.finish();
    Vec::new()
}

#[test]
fn with_a_clock_that_jumps_the_data_stays_sound_and_nothing_expires_early_or_is_left() {
    for seed in first_seed()..first_seed() + repetitions("TICKETING_CLOCK_JUMPS", 12) {
        let early = std::panic::catch_unwind(|| run(seed, MachineClock::new(at(NOW))));
        let early = early.unwrap_or_else(|panic| {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic)
        });
        assert!(early.is_empty(), "seed {seed}: {early:?}");
    }
}

#[test]
fn control_with_a_clock_that_is_believed_orders_and_events_expire_early() {
    assert!((1..=12).any(|seed| !run(seed, MachineClock::trusted(at(NOW))).is_empty()));
}
