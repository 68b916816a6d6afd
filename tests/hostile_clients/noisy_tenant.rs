//! A tenant with expensive requests beside one with scans, small orders and reads. All requests of the small one are
//! answered, and its latencies are printed, alone and beside the other.
//!
//! The expensive tenant does what was found to delay others: many writes of one event at the same time, orders that
//! name the event of the other, large orders with many webhook endpoints, long pages of ticket types with logos,
//! searches, events that are cancelled, one link with many tickets, and notices of a gateway whose bodies never come. In a
//! test of its own, it exports without a pause, and in another one, allocations of 10,000 tickets are issued.
//!
//! `TICKETING_NOISY_TENANT` is the number of seconds for each measurement, with `--release`, on a machine without other
//! work. If it is set, the expensive tenant is a process that gets only the time which nothing else wants
//! (`SCHED_IDLE`), so that the latencies are those of the server, not of clients on the same processors. They are
//! compared with those beside a process that only computes, in the same way: on a kernel that does not interrupt
//! processes before the end of their time slice, any process delays the answers of an idle machine by milliseconds. From
//! run to run this is between half a millisecond and a tick of the kernel, which is 4 ms, so it counts as a tick at least.
//! The 99th percentile may at most double, and beside exports and allocations be a fifth longer.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::http::{
    Client, EventOnSale, Server, event_on_sale, id, order_of, other_organization_key, try_event_on_sale,
};
use crate::common::log;
use crate::common::long_runs::repetitions;
use crate::common::processes::{ChildProcess, child_process, child_role, send_to_parent};
use crate::common::transport::FakeTransport;
use crate::common::{LARGEST_FILE, pixel_logo};
use ticketing::Builder;
use ticketing::environment::{Clock, SystemClock};
use ticketing::webhook::SenderOptions;

/// How many requests of the small tenant are measured by default.
const REQUESTS: usize = 200;
/// How many connections the expensive tenant uses, besides those of a burst.
const NOISY_CLIENTS: usize = 6;
/// How many writes of a burst are sent at the same time: more than the server works on.
const BURST: usize = 300;
/// How many ticket types a large order has, and how many seats of each: the most of both.
const TYPES: usize = 5;
const MOST_OF_TYPE: u32 = 100;
/// The pause after each of its requests if latencies are judged: together, its clients stay below 1,200 requests a
/// minute.
const PAUSE: Duration = Duration::from_millis(300);

/// The time after which a kernel with 250 ticks a second interrupts a process at the latest.
const TICK: Duration = Duration::from_millis(4);

/// An event with a free ticket type with many seats, on sale.
fn free_event(client: &mut Client, slug: &str) -> EventOnSale {
    let on_sale = event_on_sale(client, slug);
    EventOnSale { ticket_type: free_type(client, &on_sale.event), ..on_sale }
}

fn free_type(client: &mut Client, event: &str) -> String {
    let free = json!({"name": "Free", "price": 0, "quantity": 10_000_000, "maxPerOrder": MOST_OF_TYPE});
    id(&client.post(&format!("/v1/events/{event}/ticket-types"), &free).expect(201))
}

const ALL: &str = "all";

/// The answers to a tenant's requests.
#[derive(Default)]
struct Answers {
    latencies: Vec<(&'static str, Duration)>,
    refused: Vec<String>,
}

impl Answers {
    /// The latency below which this share of the answers is, in percent: of those of one kind, or of all.
    fn percentile(&self, kind: &str, percent: usize) -> Duration {
        let of_kind = self.latencies.iter().filter(|(of, _)| kind == *of || kind == ALL);
        let mut sorted: Vec<_> = of_kind.map(|(_, latency)| *latency).collect();
        sorted.sort_unstable();
        sorted[(sorted.len() - 1) * percent / 100]
    }

    fn print(&self, name: &str) {
        eprintln!("{name}: {} requests", self.latencies.len());
        for kind in [ALL, "check-in", "order", "read", "check-out"] {
            let (p50, p99) = (self.percentile(kind, 50), self.percentile(kind, 99));
            eprintln!("  {kind}: p50 {p50:?}, p99 {p99:?}");
        }
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
        let read = format!("/v1/events/{}", self.on_sale.event);
        let mut answers = Answers::default();
        while goes_on(answers.latencies.len()) {
            for (kind, path, body, expected) in [
                ("check-in", "/v1/tickets/check-in", &scan, 200),
                ("order", "/v1/orders", &order, 201),
                ("read", &read, &Value::Null, 200),
                ("check-out", "/v1/tickets/check-out", &scan, 200),
            ] {
                let start = SystemClock.monotonic();
                let response = if body.is_null() { self.client.get(path) } else { self.client.post(path, body) };
                answers.latencies.push((kind, SystemClock.monotonic() - start));
                if response.status != expected {
                    answers.refused.push(format!("{path}: {}", response.text()));
                    break;
                }
            }
        }
        answers
    }
}

/// A request of the expensive tenant.
#[derive(serde::Serialize, serde::Deserialize)]
enum Noise {
    Get(String),
    Post(String, Value),
    /// An event is created and cancelled.
    Cancel,
    /// An event is changed by many requests at the same time.
    Burst(String),
    /// A notice of the gateway, whose body never comes.
    Notice,
}

/// The largest order of free tickets.
fn large_order(client: &mut Client, event: &str, ticket_type: String) -> Value {
    let types = (1..TYPES).map(|_| free_type(client, event));
    let types: Vec<String> = std::iter::once(ticket_type).chain(types).collect();
    let item = |ticket_type| json!({"ticketId": ticket_type, "quantity": MOST_OF_TYPE});
    let mut large = order_of(event, &types[0], MOST_OF_TYPE);
    large["items"] = types.iter().map(item).collect();
    large
}

/// Sells tickets, and returns the requests that export them.
#[cfg(feature = "exports")]
fn exports(server: &Server, orders: usize) -> Vec<Noise> {
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = free_event(&mut client, "large");
    let large = large_order(&mut client, &event, ticket_type);
    for _ in 0..orders {
        client.post("/v1/orders", &large).expect(201);
    }
    let export = |kind| Noise::Get(format!("/v1/exports/{kind}?eventId={event}"));
    ["attendees", "orders"].map(export).into()
}

/// Fills an organization, and returns the requests that its clients repeat. `others` is an event of another one.
fn expensive_requests(server: &Server, others: &EventOnSale, endpoints: usize) -> Vec<Noise> {
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = free_event(&mut client, "large");
    for number in 0..endpoints {
        let webhook = json!({"url": format!("https://example.com/{number}"), "events": ["ticket.issued"]});
        client.post("/v1/webhooks", &webhook).expect(201);
    }
    let large = large_order(&mut client, &event, ticket_type);
    let order = client.post("/v1/orders", &large).expect(201).json()["order"]["id"].clone();
    let details = format!("/v1/orders/{}/details", order.as_str().expect("an id"));
    let details = client.get(&details).expect(200).json();
    let link = details["documentsUrl"].as_str().and_then(|url| url.splitn(4, '/').nth(3));
    let logos = event_on_sale(&mut client, "logos").event;
    // A page of ticket types has room for five of them.
    for number in 0..6 {
        let logo = pixel_logo(LARGEST_FILE, 0);
        let with_logo = json!({"name": format!("Logo {number}"), "price": 0, "quantity": 1, "ticketLogo": logo});
        client.post(&format!("/v1/events/{logos}/ticket-types"), &with_logo).expect(201);
    }
    for number in 0..20 {
        event_on_sale(&mut client, &format!("searched-{number}"));
    }
    let mut requests = vec![
        Noise::Burst(format!("/v1/events/{event}")),
        Noise::Post("/v1/orders".to_owned(), large),
        Noise::Get("/v1/events?q=night%25_night&limit=100".to_owned()),
        Noise::Post("/v1/orders".to_owned(), order_of(&others.event, &others.ticket_type, 1)),
        Noise::Get("/v1/tickets?status=CANCELLED&limit=100".to_owned()),
        Noise::Get(format!("/v1/events/{event}/summary")),
        Noise::Get(format!("/v1/events/{logos}/ticket-types?limit=100")),
        Noise::Get("/v1/orders?customerEmail=nobody%40example.com".to_owned()),
        Noise::Cancel,
        Noise::Notice,
    ];
    requests.extend(link.map(|link| Noise::Get(format!("/{link}"))));
    requests
}

/// What the expensive tenant sends, and where.
#[derive(serde::Serialize, serde::Deserialize)]
struct Attack {
    address: SocketAddr,
    key: String,
    /// None: it only computes.
    requests: Vec<Noise>,
    pause: Duration,
}

impl Attack {
    fn client(&self) -> Client {
        Client::new(self.address, &self.key)
    }

    /// Sends requests with several clients until `ends` is set. `sent` counts them.
    fn run(&self, ends: &AtomicBool, sent: &AtomicUsize) {
        std::thread::scope(|scope| {
            for first in 0..NOISY_CLIENTS {
                scope.spawn(move || self.run_client(first, ends, sent));
            }
        });
    }

    fn run_client(&self, first: usize, ends: &AtomicBool, sent: &AtomicUsize) {
        let mut client = self.client();
        let mut requests = self.requests.iter().cycle().skip(first * 2);
        while !ends.load(Ordering::Relaxed) {
            let number = sent.fetch_add(1, Ordering::Relaxed);
            match requests.next() {
                Some(request) => self.send(request, &mut client, number),
                None => std::hint::spin_loop(),
            }
            if !self.pause.is_zero() && !self.requests.is_empty() {
                std::thread::sleep(self.pause);
            }
        }
    }

    /// Sends one request. It may be refused.
    fn send(&self, noise: &Noise, client: &mut Client, number: usize) {
        match noise {
            Noise::Get(path) => drop(client.get(path)),
            Noise::Post(path, body) => drop(client.post(path, body)),
            Noise::Cancel => cancel_an_event(client, number),
            Noise::Burst(path) => self.change_at_once(path),
            Noise::Notice => {
                let mut client = self.client();
                client.write(b"POST /gateway/notices HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n{");
            }
        }
    }

    /// Changes an event by many requests at the same time.
    fn change_at_once(&self, path: &str) {
        let body = json!({"title": "Another title"}).to_string();
        let head = format!("PATCH {path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}", self.key);
        let head = format!("{head}\r\nContent-Type: application/json\r\nContent-Length: {}", body.len());
        let mut clients: Vec<Client> = (0..BURST).map(|_| self.client()).collect();
        for client in &mut clients {
            client.write(format!("{head}\r\n\r\n{body}").as_bytes());
        }
        for client in &mut clients {
            drop(client.read_response());
        }
    }

    /// Starts it as a process with the lowest priority, and waits until it runs.
    fn start_process(&self) -> ChildProcess {
        let this = child_process(PROCESS, &serde_json::to_string(self).expect("JSON"));
        let mut command = Command::new("chrt");
        command.args(["--idle", "0"]).arg(this.get_program()).args(this.get_args());
        command.envs(this.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut process = ChildProcess::start(command);
        assert_eq!(process.next_message().as_deref(), Some("started"));
        process
    }
}

/// Creates an event with pending orders, and cancels it, unless the server refuses the event because the tenant has used
/// up its share.
fn cancel_an_event(client: &mut Client, number: usize) {
    let created = try_event_on_sale(client, &format!("cancelled-{number}"));
    let Ok(EventOnSale { event, ticket_type }) = created else { return };
    for _ in 0..10 {
        client.post("/v1/orders", &order_of(&event, &ticket_type, 5));
    }
    client.patch(&format!("/v1/events/{event}"), &json!({"status": "CANCELLED"}));
}

const PROCESS: &str = concat!(module_path!(), "::a_child_process_is_the_expensive_tenant");

#[test]
#[ignore = "other tests start it"]
fn a_child_process_is_the_expensive_tenant() {
    let attack: Attack = serde_json::from_str(&child_role()).expect("JSON");
    send_to_parent("started");
    let (ends, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| attack.run(&ends, &sent));
        loop {
            std::thread::sleep(Duration::from_secs(1));
            send_to_parent(sent.load(Ordering::Relaxed).to_string());
        }
    });
}

/// Compares the requests of the small tenant alone with those beside the requests of the expensive one. `fill` gets
/// the number of seconds for each measurement, which is 0 by default. Otherwise, the 99th percentile may grow by the
/// factor `most`.
fn compare(most: f64, pause: Duration, fill: impl FnOnce(&Server, &EventOnSale, u64) -> Vec<Noise>) {
    log::capture();
    let transport = FakeTransport::succeeding();
    let build = |builder: Builder| builder.sandbox_gateway().webhook_transport(transport);
    let server = Server::with(build, |options| options.rate_limit = None);
    let _sender = server.service.start_webhook_sender(SenderOptions::default()).expect("a sender");
    let mut small = SmallTenant::new(&server);
    let seconds = repetitions("TICKETING_NOISY_TENANT", 0);
    let requests = fill(&server, &small.on_sale, seconds);
    let attack = |requests| Attack { address: server.address, key: server.key.clone(), requests, pause };
    let mut measure = |name| {
        let end = SystemClock.monotonic() + Duration::from_secs(seconds);
        let attempts = || server.service.statistics().webhooks.attempts.iter().map(|(_, number)| number).sum::<u64>();
        let before = attempts();
        let answers = small.run(|done| if seconds == 0 { done < REQUESTS } else { SystemClock.monotonic() < end });
        answers.print(name);
        eprintln!("  {} webhook attempts", attempts() - before);
        answers
    };
    let alone = measure("alone");
    let (comparable, beside) = if seconds == 0 {
        let (attack, ends, sent) = (attack(requests), AtomicBool::new(false), AtomicUsize::new(0));
        let beside = std::thread::scope(|scope| {
            scope.spawn(|| attack.run(&ends, &sent));
            let beside = measure("beside the other tenant");
            ends.store(true, Ordering::Relaxed);
            beside
        });
        assert!(sent.into_inner() > 0);
        (alone, beside)
    } else {
        let computing = attack(Vec::new()).start_process();
        let comparable = measure("beside a process that computes");
        drop(computing);
        let mut process = attack(requests).start_process();
        let beside = measure("beside the other tenant");
        // It tells each second how many requests it has sent.
        let sent: Vec<usize> = (0..seconds).filter_map(|_| process.next_message()?.parse().ok()).collect();
        eprintln!("  it has sent {} requests", sent.last().unwrap_or(&0));
        assert!(sent.windows(2).filter(|pair| pair[0] < pair[1]).count() * 2 >= sent.len(), "{sent:?}");
        (comparable, beside)
    };
    assert_eq!((&comparable.refused[..], &beside.refused[..]), (&[][..], &[][..]));
    if seconds > 0 {
        let grew = beside.percentile(ALL, 99).div_duration_f64(comparable.percentile(ALL, 99).max(TICK));
        eprintln!("the 99th percentile is {grew:.2} times as long");
        assert!(grew <= most, "the 99th percentile is {grew:.2} times as long");
    }
}

#[test]
fn beside_a_tenant_with_expensive_requests_all_requests_of_another_are_answered() {
    let pause = if repetitions("TICKETING_NOISY_TENANT", 0) == 0 { Duration::ZERO } else { PAUSE };
    compare(2.0, pause, |server, others, seconds| {
        expensive_requests(server, others, if seconds == 0 { 4 } else { 100 })
    });
}

#[test]
#[cfg(feature = "exports")]
fn beside_a_tenant_that_exports_without_a_pause_all_requests_of_another_are_answered() {
    compare(1.2, Duration::ZERO, |server, _, seconds| exports(server, if seconds == 0 { 4 } else { 40 }));
}

#[test]
fn beside_a_tenant_whose_allocations_are_issued_all_requests_of_another_are_answered() {
    compare(1.2, PAUSE, |server, _, _| {
        // The tickets are issued by threads, until the process ends.
        std::mem::forget(server.service.start_maintenance().expect("a thread"));
        let EventOnSale { ticket_type, .. } = free_event(&mut server.client(), "large");
        let path = format!("/v1/ticket-types/{ticket_type}/allocations");
        vec![Noise::Post(path, json!({"name": "Guests", "quantity": 10_000}))]
    });
}

#[test]
fn control_refused_requests_of_the_small_tenant_are_noticed() {
    log::capture();
    let server = Server::with(Builder::sandbox_gateway, |options| options.rate_limit = None);
    let mut small = SmallTenant::new(&server);
    let database = server.database();
    database.begin();
    let answers = small.run(|done| done == 0);
    database.run("ROLLBACK");
    assert_eq!(answers.refused.len(), 1);
    assert!(answers.refused.iter().all(|refused| refused.contains("\"status\":503")), "{:?}", answers.refused);
}
