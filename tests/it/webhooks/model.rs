//! Random steps, while endpoints change. In one world receivers fail at random, the clock jumps, and senders start and
//! stop: in the end, the history of each notification must be complete, and its final state must follow from it. In the
//! other one everything arrives, and the steps follow one another: each endpoint must get what a model says, in the same
//! order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ticketing::TicketingService;
use ticketing::id::WebhookId;
use ticketing::webhook::{EventType::OrderCompleted, EventType::TicketIssued};
use ticketing::webhook::{FailureKind, NotificationData, SenderOptions, WebhookNotification, WebhookSenderGuard};

/// The number of endpoints.
const ENDPOINTS: usize = 5;
/// How many of them, the first ones, are not changed.
const UNCHANGED: usize = 2;

#[derive(Debug, Clone)]
enum Step {
    Queue(i64),
    /// Advances the clock by seconds. That may end the lease of an attempt in progress.
    Clock(u64),
    /// Waits until nothing is due.
    Settle,
    Pause(u64),
    Start(usize),
    Stop(usize),
    Enable(usize, bool),
    SetUrl(usize),
    Rotate(usize),
    Subscribe(usize, bool),
    Delete(usize),
    Resend(usize),
    Maintain,
}

fn step() -> impl Strategy<Value = Step> {
    let changeable = UNCHANGED..ENDPOINTS;
    prop_oneof![
        6 => (1..4_i64).prop_map(Step::Queue),
        3 => (1..200_u64).prop_map(Step::Clock),
        1 => (200..6000_u64).prop_map(Step::Clock),
        2 => Just(Step::Settle),
        3 => (1..25_u64).prop_map(Step::Pause),
        2 => (0..2_usize).prop_map(Step::Start),
        1 => (0..2_usize).prop_map(Step::Stop),
        3 => (changeable.clone(), any::<bool>()).prop_map(|(which, enabled)| Step::Enable(which, enabled)),
        1 => changeable.clone().prop_map(Step::SetUrl),
        1 => (0..ENDPOINTS).prop_map(Step::Rotate),
        1 => (changeable.clone(), any::<bool>()).prop_map(|(which, subscribed)| Step::Subscribe(which, subscribed)),
        1 => changeable.prop_map(Step::Delete),
        1 => (0..ENDPOINTS).prop_map(Step::Resend),
    ]
}

/// Creates a transport whose receivers succeed, fail and delay at random, depending on the seed.
fn random_transport(seed: u64) -> FakeTransport {
    let state = AtomicU64::new(seed);
    FakeTransport::new(move |_, request, _| {
        // A step of SplitMix64.
        let mut random = state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        random = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        sleep(Duration::from_millis((random >> 8) % 12));
        // The first endpoint always fails.
        match (random >> 32) % 10 {
            _ if request.url.ends_with("/0") => respond(503),
            0..4 => respond(200),
            4..7 => respond(500),
            7 => respond(302),
            8 => Err(failure(FailureKind::ConnectionFailed, "the connection was closed")),
            _ => Err(failure(FailureKind::AddressNotAllowed, "not a public address").connection_tried(false)),
        }
    })
}

struct World {
    fixture: Fixture,
    services: [TicketingService; 2],
    senders: [Option<WebhookSenderGuard>; 2],
    endpoints: Vec<WebhookId>,
    deleted: Vec<WebhookId>,
    transport: FakeTransport,
}

impl World {
    fn new(transport: FakeTransport, number_of_endpoints: usize) -> Self {
        let fixture = Fixture::with_transport(&transport);
        let endpoints =
            (0..number_of_endpoints).map(|number| fixture.ticket_webhook(format!("https://example.com/{number}")));
        let endpoints = endpoints.map(|created| created.endpoint.id).collect();
        let services = [
            fixture.service.clone(),
            fixture.second_service_with(|builder| builder.webhook_transport(transport.clone())),
        ];
        Self { fixture, services, senders: [None, None], endpoints, deleted: Vec::new(), transport }
    }

    fn existing(&self, which: usize) -> Option<WebhookId> {
        let id = self.endpoints[which];
        (!self.deleted.contains(&id)).then_some(id)
    }

    fn start(&mut self, which: usize) {
        let options = SenderOptions::default().workers(4).workers_per_endpoint(2);
        let service = &self.services[which];
        self.senders[which].get_or_insert_with(|| service.start_webhook_sender(options).expect("a sender"));
    }

    fn perform(&mut self, step: &Step) {
        let fixture = &self.fixture;
        match *step {
            Step::Queue(number) => fixture.queue_notifications(number),
            Step::Clock(seconds) => fixture.clock.advance(Duration::from_secs(seconds)),
            Step::Settle => self.settle(),
            Step::Pause(millis) => sleep(Duration::from_millis(millis)),
            Step::Start(which) => self.start(which),
            Step::Stop(which) => self.senders[which] = None,
            Step::Enable(which, enabled) => {
                if let Some(id) = self.existing(which) {
                    fixture.set_webhook_enabled(id, enabled);
                }
            }
            Step::SetUrl(which) => {
                if let Some(id) = self.existing(which) {
                    fixture.set_webhook_url(id, format!("https://example.com/moved/{which}"));
                }
            }
            Step::Rotate(which) => {
                if let Some(id) = self.existing(which) {
                    fixture.service.rotate_webhook_secret(&fixture.caller, id).expect("rotated");
                }
            }
            Step::Subscribe(which, subscribed) => {
                let events: &[_] = if subscribed { &[OrderCompleted, TicketIssued] } else { &[OrderCompleted] };
                if let Some(id) = self.existing(which) {
                    fixture.set_webhook_events(id, events);
                }
            }
            Step::Delete(which) => {
                if let Some(id) = self.existing(which) {
                    fixture.service.delete_webhook(&fixture.caller, id).expect("deleted");
                    self.deleted.push(id);
                }
            }
            Step::Resend(which) => {
                if let Some(id) = self.existing(which)
                    && let Some(delivery) = fixture.delivery_history(id).pop()
                {
                    // It is refused if the endpoint is not subscribed to the type.
                    let _ = fixture.service.resend_webhook_delivery(&fixture.caller, id, delivery.id);
                }
            }
            Step::Maintain => drop(fixture.service.run_maintenance().expect("a run")),
        }
    }

    /// Waits until no enabled endpoint has a row due or an attempt in progress. Returns at once if no sender runs.
    fn settle(&self) {
        if self.senders.iter().all(Option::is_none) {
            return;
        }
        let due = "SELECT COUNT(*) FROM webhook_outbox o JOIN webhook_endpoints e ON e.id = o.endpoint_id
            WHERE o.state = 'WAITING' AND e.enabled = 1 AND o.due_at <= ";
        let due = format!("{due} {}", ticketing::environment::Clock::now(&self.fixture.clock).millis());
        wait_until("nothing is due", || {
            let stored = self.fixture.stored_notifications();
            stored == 0 && self.fixture.stored(&due) == 0 && self.fixture.stored(IN_PROGRESS) == 0
        });
    }

    /// Makes all remaining attempts.
    fn finish(&mut self) {
        self.senders = [None, None];
        self.start(0);
        // Eight attempts, and some that a jump of the clock has interrupted.
        for _ in 0..12 {
            self.settle();
            self.fixture.clock.advance(Duration::from_mins(80));
        }
        self.settle();
        self.senders = [None, None];
    }

    fn check(&self) {
        let database = self.fixture.database();
        let mut attempts: HashMap<i64, Vec<(i64, bool)>> = HashMap::new();
        // Deleted endpoints have no waiting rows, and their history cannot be read. While the clock stands still, the
        // ids that the two services draw are in no order.
        let sql = "SELECT outbox_id, attempt, success FROM webhook_deliveries
            WHERE endpoint_id IN (SELECT id FROM webhook_endpoints) ORDER BY created_at, attempt";
        database.rows(sql, |row| {
            attempts.entry(row.get("outbox_id")).or_default().push((row.get("attempt"), row.get("success")));
        });
        let sql = "SELECT o.id, o.state, o.attempts, o.claim IS NULL AS unclaimed, n.body, e.enabled, e.url
            FROM webhook_outbox o JOIN webhook_endpoints e ON e.id = o.endpoint_id
                JOIN webhook_notifications n ON n.id = o.event_id ORDER BY o.id";
        database.rows(sql, |row| {
            let id: i64 = row.get("id");
            let state: String = row.get("state");
            let number: i64 = row.get("attempts");
            let unclaimed: bool = row.get("unclaimed");
            let body: String = row.get("body");
            let enabled: bool = row.get("enabled");
            let url: String = row.get("url");
            let history = attempts.remove(&id).unwrap_or_default();
            let context = format!("{state} after {number} with {history:?}, endpoint {url:?}, enabled {enabled}");
            assert!(unclaimed, "an attempt is in progress: {context}");
            let numbers: Vec<_> = history.iter().map(|(attempt, _)| *attempt).collect();
            assert_eq!(numbers, (1..=number).collect::<Vec<_>>(), "{context}");
            let successes = history.iter().filter(|(_, success)| *success).count();
            let consistent = match state.as_str() {
                "DELIVERED" => successes == 1 && history.last().is_some_and(|(_, success)| *success),
                "DEAD" => successes == 0 && number == 8,
                // An attempt in progress may have succeeded after the removal.
                "REMOVED" => successes <= 1,
                "WAITING" => successes == 0 && number < 8 && !enabled,
                _ => false,
            };
            assert!(consistent, "{context}");
            if successes > 0 {
                let sent = |body: &str| self.transport.sent().iter().any(|request| request.body == body);
                assert!(sent(&body), "never sent: {context}");
            }
            if url.ends_with("com/0") {
                assert_eq!(state, "DEAD", "{context}");
            }
        });
        assert!(attempts.is_empty(), "attempts without a row in the outbox");
    }
}

const IN_PROGRESS: &str = "SELECT COUNT(*) FROM webhook_outbox o JOIN webhook_endpoints e ON e.id = o.endpoint_id
    WHERE o.state = 'WAITING' AND e.enabled = 1 AND o.claim IS NOT NULL";

fn runner(default_cases: u32, max_shrink_iters: u32) -> TestRunner {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default_cases);
    TestRunner::new(Config { cases, failure_persistence: None, max_shrink_iters, ..Config::default() })
}

#[test]
fn each_notification_has_a_complete_history_and_a_consistent_state() {
    let steps = prop::collection::vec(step(), 20..60);
    let run = |(seed, steps): (u64, Vec<Step>)| {
        let mut world = World::new(random_transport(seed), ENDPOINTS);
        world.start(0);
        for step in &steps {
            world.perform(step);
        }
        world.finish();
        world.check();
        Ok(())
    };
    runner(3, 20).run(&(any::<u64>(), steps), run).unwrap();
}

const FAN_OUT_ENDPOINTS: usize = 28;
const TICKETS: i64 = 10;

fn fan_out_step() -> impl Strategy<Value = Step> {
    let endpoint = 0..FAN_OUT_ENDPOINTS;
    prop_oneof![
        4 => Just(Step::Queue(TICKETS)),
        3 => (endpoint.clone(), any::<bool>()).prop_map(|(which, enabled)| Step::Enable(which, enabled)),
        4 => (endpoint.clone(), any::<bool>()).prop_map(|(which, subscribed)| Step::Subscribe(which, subscribed)),
        1 => endpoint.prop_map(Step::Delete),
        2 => Just(Step::Settle),
        1 => Just(Step::Maintain),
    ]
}

/// What is known of an endpoint, and the tickets whose notifications it waits for or got.
#[derive(Debug, Default)]
struct Endpoint {
    deleted: bool,
    disabled: bool,
    unsubscribed: bool,
    waiting: Vec<String>,
    got: Vec<String>,
}

impl Endpoint {
    fn wants(&self) -> bool {
        !(self.deleted || self.disabled || self.unsubscribed)
    }
}

/// The world beside its model.
struct FanOut {
    world: World,
    endpoints: Vec<Endpoint>,
    /// The tickets whose notifications are stored, and not expanded.
    stored: Vec<String>,
}

impl FanOut {
    fn perform(&mut self, step: &Step) {
        let fixture = &self.world.fixture;
        match *step {
            Step::Queue(number) => {
                // Notifications of one millisecond have no order.
                fixture.clock.advance(Duration::from_millis(1));
                let tickets = fixture.issue(fixture.default_ticket_type(), number);
                if self.endpoints.iter().any(Endpoint::wants) {
                    self.stored.extend(tickets.iter().map(|ticket| ticket.id.to_string()));
                }
            }
            Step::Settle => self.deliver(),
            _ => self.world.perform(step),
        }
        match *step {
            Step::Enable(which, enabled) => self.endpoints[which].disabled = !enabled,
            Step::Subscribe(which, subscribed) => self.endpoints[which].unsubscribed = !subscribed,
            Step::Delete(which) => self.endpoints[which].deleted = true,
            _ => {}
        }
        for endpoint in self.endpoints.iter_mut().filter(|endpoint| endpoint.deleted || endpoint.unsubscribed) {
            endpoint.waiting.clear();
        }
        self.compare();
    }

    fn deliver(&mut self) {
        for endpoint in self.endpoints.iter_mut().filter(|endpoint| endpoint.wants()) {
            endpoint.waiting.extend(self.stored.iter().cloned());
        }
        self.stored.clear();
        let mut expected = 0;
        for endpoint in self.endpoints.iter_mut().filter(|endpoint| !endpoint.disabled) {
            expected += endpoint.waiting.len();
            endpoint.got.append(&mut endpoint.waiting);
        }
        assert_eq!(self.world.fixture.service.deliver_due_webhooks().expect("delivered"), expected);
    }

    fn compare(&self) {
        let backlog = self.world.fixture.service.backlog().expect("a backlog");
        let stored = self.stored.len() * self.endpoints.iter().filter(|endpoint| endpoint.wants()).count();
        let waiting = stored + self.endpoints.iter().map(|endpoint| endpoint.waiting.len()).sum::<usize>();
        let enabled = self.endpoints.iter().filter(|endpoint| !endpoint.disabled);
        let due = stored + enabled.map(|endpoint| endpoint.waiting.len()).sum::<usize>();
        assert_eq!((backlog.webhooks_waiting, backlog.webhooks_due), (waiting as u64, due as u64));
    }

    /// Compares what each endpoint got with the model.
    fn check(&self) {
        let mut got: Vec<Vec<String>> = vec![Vec::new(); FAN_OUT_ENDPOINTS];
        for request in self.world.transport.sent() {
            let (_, number) = request.url.rsplit_once('/').expect("a path");
            let notification: WebhookNotification = serde_json::from_str(&request.body).expect("a notification");
            let NotificationData::TicketIssued(issued) = notification.data else { panic!("{}", request.body) };
            got[number.parse::<usize>().expect("a number")].push(issued.issued_ticket_id.to_string());
        }
        for (endpoint, got) in self.endpoints.iter().zip(got) {
            assert_eq!(got, endpoint.got);
        }
    }
}

#[test]
fn endpoints_that_change_at_random_get_what_was_queued_for_them() {
    let run = |steps: Vec<Step>| {
        let world = World::new(FakeTransport::succeeding(), FAN_OUT_ENDPOINTS);
        let endpoints = (0..FAN_OUT_ENDPOINTS).map(|_| Endpoint::default()).collect();
        let mut fan_out = FanOut { world, endpoints, stored: Vec::new() };
        let enable = (0..FAN_OUT_ENDPOINTS).map(|which| Step::Enable(which, true));
        let first = std::iter::once(Step::Queue(TICKETS));
        for step in first.chain(steps).chain(enable).chain([Step::Settle]) {
            fan_out.perform(&step);
        }
        fan_out.check();
        Ok(())
    };
    runner(2, 5).run(&prop::collection::vec(fan_out_step(), 8..20), run).unwrap();
}
