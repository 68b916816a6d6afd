//! A tenant with expensive requests beside one with scans and small orders. All requests of the small one are answered,
//! and its latencies are printed, alone and beside the other.
//!
//! `TICKETING_NOISY_TENANT` is the number of seconds for each of the two measurements. If it is set, the 99th percentile
//! of the small tenant may at most double: use it with `--release`, on a machine without other work.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::common::http::{Client, EventOnSale, Server, event_on_sale, id, order_of, other_organization_key};
use crate::common::log;
use crate::common::long_runs::repetitions;
use ticketing::environment::{Clock, SystemClock};

/// How many requests of the small tenant are measured by default.
const REQUESTS: usize = 200;
/// How many connections the expensive tenant uses.
const NOISY_CLIENTS: usize = 6;
/// The pause after each of its requests if latencies are judged: together, its clients stay below 1,200 requests a minute.
const PAUSE: Duration = Duration::from_millis(300);

/// A free ticket type with many seats, on sale.
fn free_event(client: &mut Client, slug: &str) -> EventOnSale {
    let mut on_sale = event_on_sale(client, slug);
    let free = json!({"name": "Free", "price": 0, "quantity": 10_000_000, "maxPerOrder": 100});
    on_sale.ticket_type = id(&client.post(&format!("/v1/events/{}/ticket-types", on_sale.event), &free).expect(201));
    on_sale
}

/// The answers to a tenant's requests.
#[derive(Default)]
struct Answers {
    latencies: Vec<Duration>,
    refused: Vec<String>,
}

impl Answers {
    /// The latency below which this share of the answers is, in percent.
    fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() - 1) * percent / 100]
    }
}

/// The tenant with scans and small orders.
struct SmallTenant {
    client: Client,
    on_sale: EventOnSale,
    code: String,
}

impl SmallTenant {
    fn new(server: &Server) -> Self {
        let mut client = server.client_with(&other_organization_key(&server.service));
        let on_sale = free_event(&mut client, "small");
        let sold = client.post("/v1/orders", &order_of(&on_sale.event, &on_sale.ticket_type, 1)).expect(201).json();
        let code = sold["issuedTickets"][0]["code"].as_str().unwrap().to_owned();
        Self { client, on_sale, code }
    }

    /// Sends requests one after another, as long as `goes_on` returns `true` for their number.
    fn run(&mut self, goes_on: impl Fn(usize) -> bool) -> Answers {
        let order = order_of(&self.on_sale.event, &self.on_sale.ticket_type, 1);
        let scan = json!({"code": self.code});
        let mut answers = Answers::default();
        while goes_on(answers.latencies.len()) {
            for (path, body, expected) in [
                ("/v1/tickets/check-in", &scan, 200),
                ("/v1/orders", &order, 201),
                ("/v1/tickets/check-out", &scan, 200),
            ] {
                let start = SystemClock.monotonic();
                let response = self.client.post(path, body);
                answers.latencies.push(SystemClock.monotonic() - start);
                if response.status != expected {
                    answers.refused.push(format!("{path}: {}", response.text()));
                    break;
                }
            }
        }
        answers
    }
}

/// Fills an organization, and returns the requests that its clients repeat.
fn expensive_requests(server: &Server) -> Vec<(&'static str, String, serde_json::Value)> {
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = free_event(&mut client, "large");
    for _ in 0..5 {
        client.post("/v1/orders", &order_of(&event, &ticket_type, 100)).expect(201);
    }
    for number in 0..20 {
        event_on_sale(&mut client, &format!("searched-{number}"));
    }
    vec![
        ("POST", "/v1/orders".to_owned(), order_of(&event, &ticket_type, 100)),
        ("GET", "/v1/events?q=night%25_night&limit=100".to_owned(), json!(null)),
        ("GET", "/v1/tickets?status=CANCELLED&limit=100".to_owned(), json!(null)),
        ("GET", format!("/v1/events/{event}/summary"), json!(null)),
        ("GET", "/v1/orders?customerEmail=nobody%40example.com".to_owned(), json!(null)),
        ("CANCEL", String::new(), json!(null)),
    ]
}

/// Creates an event with pending orders, and cancels it.
fn cancel_an_event(client: &mut Client, number: usize) {
    let EventOnSale { event, ticket_type } = event_on_sale(client, &format!("cancelled-{number}"));
    for _ in 0..10 {
        client.post("/v1/orders", &order_of(&event, &ticket_type, 5));
    }
    client.patch(&format!("/v1/events/{event}"), &json!({"status": "CANCELLED"}));
}

#[test]
fn beside_a_tenant_with_expensive_requests_all_requests_of_another_are_answered() {
    log::capture();
    let server = Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None);
    let mut small = SmallTenant::new(&server);
    let requests = expensive_requests(&server);
    let seconds = repetitions("TICKETING_NOISY_TENANT", 0);
    let mut measure = || {
        let end = SystemClock.monotonic() + Duration::from_secs(seconds);
        small.run(|done| if seconds == 0 { done < REQUESTS } else { SystemClock.monotonic() < end })
    };
    let alone = measure();
    let ends = AtomicBool::new(false);
    let noise = AtomicUsize::new(0);
    let beside = std::thread::scope(|scope| {
        for first in 0..NOISY_CLIENTS {
            let (server, requests, ends, noise) = (&server, &requests, &ends, &noise);
            scope.spawn(move || {
                let mut client = server.client();
                for (method, path, body) in requests.iter().cycle().skip(first) {
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                    let number = noise.fetch_add(1, Ordering::Relaxed);
                    // The expensive requests may be refused.
                    match *method {
                        "GET" => drop(client.get(path)),
                        "CANCEL" => cancel_an_event(&mut client, number),
                        _ => drop(client.post(path, body)),
                    }
                    if seconds > 0 {
                        std::thread::sleep(PAUSE);
                    }
                }
            });
        }
        let beside = measure();
        ends.store(true, Ordering::Relaxed);
        beside
    });
    let noise = noise.into_inner();
    for (name, answers) in [("alone", &alone), ("beside the other tenant", &beside)] {
        let (p50, p99) = (answers.percentile(50), answers.percentile(99));
        eprintln!("{name}: {} requests, p50 {p50:?}, p99 {p99:?}", answers.latencies.len());
    }
    eprintln!("{noise} expensive requests");
    assert!(noise > 0);
    assert_eq!((&alone.refused[..], &beside.refused[..]), (&[][..], &[][..]));
    if seconds > 0 {
        assert!(beside.percentile(99) <= 2 * alone.percentile(99), "the 99th percentile more than doubled");
    }
}

#[test]
fn control_refused_requests_of_the_small_tenant_are_noticed() {
    log::capture();
    let server = Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None);
    let mut small = SmallTenant::new(&server);
    let database = server.database();
    database.begin();
    let answers = small.run(|done| done == 0);
    database.run("ROLLBACK");
    assert_eq!(answers.refused.len(), 1);
    assert!(answers.refused.iter().all(|refused| refused.contains("\"status\":503")), "{:?}", answers.refused);
}
