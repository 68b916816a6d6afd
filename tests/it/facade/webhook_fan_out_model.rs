//! Random steps: tickets are issued for many endpoints, which change before their notifications are sent. Each endpoint
//! must get what a model says, in the same order.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::transport::FakeTransport;
use crate::common::*;
use ticketing::id::WebhookId;
use ticketing::webhook::{EventType, NotificationData, WebhookNotification};

/// So many that ten tickets are a fan-out while nearly all are enabled, and rows for every endpoint otherwise.
const ENDPOINTS: usize = 28;
const TICKETS: i64 = 10;

#[derive(Debug, Clone)]
enum Step {
    Issue,
    Enable(usize, bool),
    Subscribe(usize, bool),
    Delete(usize),
    Deliver,
    Maintain,
}

fn step() -> impl Strategy<Value = Step> {
    let endpoint = 0..ENDPOINTS;
    prop_oneof![
        4 => Just(Step::Issue),
        3 => (endpoint.clone(), any::<bool>()).prop_map(|(which, enabled)| Step::Enable(which, enabled)),
        4 => (endpoint.clone(), any::<bool>()).prop_map(|(which, subscribed)| Step::Subscribe(which, subscribed)),
        1 => endpoint.prop_map(Step::Delete),
        2 => Just(Step::Deliver),
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

struct World {
    fixture: Fixture,
    transport: FakeTransport,
    ids: Vec<WebhookId>,
    endpoints: Vec<Endpoint>,
    fan_outs: i64,
}

impl World {
    fn new() -> Self {
        let transport = FakeTransport::succeeding();
        let fixture = Fixture::with_transport(&transport);
        let new = |number: usize| fixture.ticket_webhook(format!("https://example.com/{number}")).endpoint.id;
        let ids = (0..ENDPOINTS).map(new).collect();
        let endpoints = (0..ENDPOINTS).map(|_| Endpoint::default()).collect();
        Self { fixture, transport, ids, endpoints, fan_outs: 0 }
    }

    fn perform(&mut self, step: &Step) {
        let fixture = &self.fixture;
        let exists = |which: usize| !self.endpoints[which].deleted;
        match *step {
            Step::Issue => {
                // Notifications of one millisecond have no order.
                fixture.clock.advance(Duration::from_millis(1));
                let tickets = fixture.issue(fixture.default_ticket_type(), TICKETS);
                for endpoint in &mut self.endpoints {
                    if !(endpoint.deleted || endpoint.disabled || endpoint.unsubscribed) {
                        endpoint.waiting.extend(tickets.iter().map(|ticket| ticket.id.to_string()));
                    }
                }
                self.fan_outs += fixture.stored("SELECT COUNT(*) FROM webhook_fan_outs");
            }
            Step::Enable(which, enabled) if exists(which) => {
                fixture.set_webhook_enabled(self.ids[which], enabled);
                self.endpoints[which].disabled = !enabled;
            }
            Step::Subscribe(which, subscribed) if exists(which) => {
                let event_type = if subscribed { EventType::TicketIssued } else { EventType::OrderCompleted };
                fixture.set_webhook_events(self.ids[which], &[event_type]);
                self.endpoints[which].unsubscribed = !subscribed;
                if !subscribed {
                    self.endpoints[which].waiting.clear();
                }
            }
            Step::Delete(which) if exists(which) => {
                fixture.service.delete_webhook(&fixture.caller, self.ids[which]).expect("deleted");
                self.endpoints[which].deleted = true;
                self.endpoints[which].waiting.clear();
            }
            Step::Enable(..) | Step::Subscribe(..) | Step::Delete(_) => {}
            Step::Deliver => self.deliver(),
            Step::Maintain => drop(fixture.service.run_maintenance().expect("a run")),
        }
        self.compare();
    }

    fn deliver(&mut self) {
        let mut expected = 0;
        for endpoint in self.endpoints.iter_mut().filter(|endpoint| !endpoint.disabled) {
            expected += endpoint.waiting.len();
            endpoint.got.append(&mut endpoint.waiting);
        }
        assert_eq!(self.fixture.service.deliver_due_webhooks().expect("delivered"), expected);
    }

    fn compare(&self) {
        let backlog = self.fixture.service.backlog().expect("a backlog");
        let waiting: usize = self.endpoints.iter().map(|endpoint| endpoint.waiting.len()).sum();
        let enabled = self.endpoints.iter().filter(|endpoint| !endpoint.disabled);
        let due: usize = enabled.map(|endpoint| endpoint.waiting.len()).sum();
        assert_eq!((backlog.webhooks_waiting, backlog.webhooks_due), (waiting as u64, due as u64));
    }

    /// Compares what each endpoint got with the model.
    fn check(&self) {
        let mut got: Vec<Vec<String>> = vec![Vec::new(); ENDPOINTS];
        for request in self.transport.sent() {
            let (_, number) = request.url.rsplit_once('/').expect("a path");
            let notification: WebhookNotification = serde_json::from_str(&request.body).expect("a notification");
            let NotificationData::TicketIssued(issued) = notification.data else { panic!("{}", request.body) };
            got[number.parse::<usize>().expect("a number")].push(issued.issued_ticket_id.to_string());
        }
        for (endpoint, got) in self.endpoints.iter().zip(got) {
            assert_eq!(got, endpoint.got);
        }
        assert!(self.fixture.service.check().expect("a check").is_clean());
    }
}

#[test]
fn endpoints_that_change_at_random_get_what_was_queued_for_them() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 5, ..Config::default() };
    let fan_outs = std::cell::Cell::new(0);
    let run = |steps: Vec<Step>| {
        let mut world = World::new();
        world.perform(&Step::Issue);
        for step in &steps {
            world.perform(step);
        }
        for which in 0..ENDPOINTS {
            world.perform(&Step::Enable(which, true));
        }
        world.perform(&Step::Deliver);
        world.check();
        fan_outs.set(fan_outs.get() + world.fan_outs);
        Ok(())
    };
    TestRunner::new(config).run(&prop::collection::vec(step(), 8..20), run).unwrap();
    assert!(fan_outs.get() > 0, "there were fan-outs");
}
