//! Webhook throughput and latency.
//!
//! Throughput is compared with a loop of plain `ureq` calls that sends the same bytes to the same receiver, with the
//! same number of threads. Latency is the time from a commit until a healthy receiver has the notification, while
//! other receivers hang or respond byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use ticketing::environment::{SystemClock, SystemEntropy};
use ticketing::error::Reason;
use ticketing::webhook::SenderOptions;
use ticketing::webhook::{CreateWebhook, EventType};

use crate::common::Fixture;
use crate::common::database::params;
use crate::common::outbox::store_notifications;

use crate::ratio::{Bench, median};

/// Deliveries per round.
const ROUND: u64 = 6000;
/// Rounds per throughput benchmark. The result is the median.
const ROUNDS: usize = 7;

/// Notifications per latency benchmark.
const NOTIFICATIONS: usize = 500;

pub fn bench(bench: &mut Bench) {
    // One endpoint may use 8 of the sender's 64 threads; a thousand endpoints use all of them.
    throughput(bench, 1, 8);
    throughput(bench, 1000, 64);
    latency(bench, "alone", |_, _| {});
    latency(bench, "behind a hanging endpoint with 2,000 due rows", |fixture, slow| {
        create_endpoint(fixture, slow, "/hang");
        queue(fixture, 2000, 0);
    });
    latency(bench, "behind 700 endpoints that respond byte by byte", |fixture, slow| {
        for number in 0..700 {
            create_endpoint(fixture, slow, &format!("/drip/{number}"));
        }
        queue(fixture, 2800, 0);
    });
}

/// Compares the deliveries per second of the sender with those of the loop, in alternating order.
fn throughput(bench: &mut Bench, endpoints: u64, threads: usize) {
    let name = format!("webhook deliveries, endpoints: {endpoints}");
    if !bench.includes(&name) {
        return;
    }
    let receiver = HealthyReceiver::start();
    let fixture = open_fixture();
    for number in 0..endpoints {
        create_endpoint(&fixture, receiver.address, &format!("/hook/{number}"));
    }
    let mut ratios = Vec::new();
    let mut sender_rates = Vec::new();
    let mut loop_rates = Vec::new();
    for round in 0..ROUNDS {
        let batch = round as i64 + 1;
        let sender_rate;
        let loop_rate;
        if round % 2 == 0 {
            sender_rate = sender_rate_of(&fixture, batch, &receiver);
            loop_rate = loop_rate_of(receiver.address, endpoints, threads);
        } else {
            loop_rate = loop_rate_of(receiver.address, endpoints, threads);
            sender_rate = sender_rate_of(&fixture, batch, &receiver);
        }
        ratios.push(sender_rate / loop_rate);
        sender_rates.push(sender_rate);
        loop_rates.push(loop_rate);
    }
    let ratio = median(&mut ratios);
    let sender_rate = median(&mut sender_rates);
    let loop_rate = median(&mut loop_rates);
    let rates = format!("sender {sender_rate:.0}, plain ureq {loop_rate:.0} per second, threads: {threads}");
    bench.report(format!("{name}: ratio {ratio:.2} ({rates})"));
}

/// Returns the requests per second of a loop of `ureq` calls.
fn loop_rate_of(receiver: SocketAddr, endpoints: u64, threads: usize) -> f64 {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .proxy(None)
        .max_idle_connections(threads)
        .max_idle_connections_per_host(threads)
        .build()
        .into();
    let body = body();
    let next = AtomicU64::new(0);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= ROUND {
                        return;
                    }
                    let signature = ticketing::webhook::sign("whsec_", 1_780_336_800, body.as_bytes());
                    let url = format!("http://{receiver}/hook/{}", number % endpoints);
                    let request = agent.post(url).header("Content-Type", "application/json");
                    let request = request.header("User-Agent", "Service-Webhooks/1.0");
                    let request = request.header("X-Service-Signature", signature);
                    let request = request.header("X-Service-Timestamp", "1780336800");
                    let request = request.header("X-Service-Event-Id", "evt_1NR6E9XB00000");
                    let request = request.header("X-Service-Event-Type", "order.completed");
                    let mut response = request.send(&body).expect("a response");
                    assert_eq!(response.body_mut().read_to_string().expect("a body"), "ok");
                }
            });
        }
    });
    ROUND as f64 / started.elapsed().as_secs_f64()
}

/// Measures the time from the end of an operation until a healthy receiver has its notification. `add_load` gets the
/// address of a receiver that is slow.
fn latency(bench: &mut Bench, name: &str, add_load: impl FnOnce(&Fixture, SocketAddr)) {
    let name = format!("webhook latency, {name}");
    if !bench.includes(&name) {
        return;
    }
    let receiver = HealthyReceiver::start();
    let fixture = open_fixture();
    let ticket_type = fixture.new_ticket_type(0, 1_000_000);
    create_endpoint(&fixture, receiver.address, "/");
    let sender = fixture.service.start_webhook_sender(SenderOptions::default()).expect("threads");
    fixture.order(&ticket_type, 1);
    receiver.next_arrival();
    add_load(&fixture, start_slow_receiver());
    // After a second, the other endpoints occupy all workers that they may.
    std::thread::sleep(Duration::from_secs(1));
    let mut millis = Vec::new();
    for _ in 0..NOTIFICATIONS {
        fixture.order(&ticket_type, 1);
        let committed = Instant::now();
        let latency = receiver.next_arrival().saturating_duration_since(committed);
        millis.push(latency.as_secs_f64() * 1e3);
        std::thread::sleep(Duration::from_millis(20));
    }
    let p50 = median(&mut millis);
    let p99 = millis[NOTIFICATIONS * 99 / 100];
    let longest = millis[NOTIFICATIONS - 1];
    bench.report(format!("{name}: p50 {p50:.1} ms, p99 {p99:.1} ms, longest {longest:.1} ms"));
    drop(sender);
}

/// The body of notifications that the benchmark queues itself.
fn body() -> String {
    concat!(
        r#"{"id":"evt_1NR6E9XB00000","type":"order.cancelled","createdAt":"2026-06-01T18:00:00.000Z","#,
        r#""data":{"orderId":"order_1NR6E9XB00000","eventId":"event_1NR6E9XB00000","#,
        r#""customerId":"customer_1NR6E9XB00000","total":25,"currency":"EUR"}}"#
    )
    .to_owned()
}

/// Creates a fixture with the system clock that sends to receivers on this machine.
fn open_fixture() -> Fixture {
    let folder = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/target")).expect("a folder");
    let fixture = Fixture::in_folder(folder, |builder| {
        builder.clock(SystemClock).entropy(SystemEntropy).allow_local_webhooks(true)
    });
    // The rows that these benchmarks queue belong to no orders.
    fixture.skip_final_check();
    fixture
}

fn create_endpoint(fixture: &Fixture, address: SocketAddr, path: &str) {
    // Only the measured endpoint gets notifications of the orders. Those of the others are inserted by `queue`.
    let event = if path == "/" { EventType::OrderCompleted } else { EventType::OrderCancelled };
    let new = CreateWebhook::new(format!("http://{address}{path}"), [event]);
    let created = fixture.service.create_webhook(&fixture.caller, new.clone());
    if created.as_ref().is_err_and(|error| error.reason() == Some(Reason::LimitReached)) {
        // An organization has at most 100 endpoints: each further one is that of another organization.
        fixture.service.create_webhook(&fixture.other_organization(), new).expect("an endpoint");
    } else {
        created.expect("an endpoint");
    }
}

/// Inserts this many rows, spread over all endpoints but the measured one. The rows of each `batch` have their own ids.
fn queue(fixture: &Fixture, rows: u64, batch: i64) {
    let sql = "WITH RECURSIVE
            n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1),
            e (id, number) AS (
                SELECT id, ROW_NUMBER() OVER (ORDER BY id) - 1 FROM webhook_endpoints WHERE url NOT LIKE '%/')
        INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, due_at, created_at)
        SELECT ?2 * 1000000 + i + 1, e.id, ?2 * 1000000 + i + 1, 'order.cancelled', 'WAITING', 0, 0
        FROM n JOIN e ON e.number = i % (SELECT COUNT(*) FROM e)";
    fixture.database().execute(sql, params![i64::try_from(rows).expect("a small number"), batch]);
    store_notifications(&fixture.database(), &body());
}

/// Returns the deliveries per second of the sender, from the first arrival until the last result is recorded.
fn sender_rate_of(fixture: &Fixture, batch: i64, receiver: &HealthyReceiver) -> f64 {
    queue(fixture, ROUND, batch);
    let database = fixture.database();
    let waiting = || database.value::<i64>("SELECT COUNT(*) FROM webhook_outbox WHERE state = 'WAITING'");
    receiver.forget_arrivals();
    let sender = fixture.service.start_webhook_sender(SenderOptions::default()).expect("threads");
    let started = receiver.next_arrival();
    for _ in 1..ROUND {
        receiver.next_arrival();
    }
    while waiting() > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let elapsed = started.elapsed();
    drop(sender);
    ROUND as f64 / elapsed.as_secs_f64()
}

/// A receiver that responds at once and keeps its connections open.
struct HealthyReceiver {
    address: SocketAddr,
    arrivals: Receiver<Instant>,
}

impl HealthyReceiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let (sender, arrivals) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                std::thread::spawn(move || respond(stream, &sender));
            }
        });
        Self { address, arrivals }
    }

    /// Waits for the next notification and returns the time of its arrival.
    fn next_arrival(&self) -> Instant {
        self.arrivals.recv_timeout(Duration::from_secs(60)).expect("a notification")
    }

    fn forget_arrivals(&self) {
        while self.arrivals.try_recv().is_ok() {}
    }
}

/// Responds to the requests of a connection, one after another, and reports their arrivals.
fn respond(stream: TcpStream, arrivals: &Sender<Instant>) {
    drop(stream.set_nodelay(true));
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    let mut length = 0;
    let mut body = Vec::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line == "\r\n" {
            body.resize(length, 0);
            if stream.read_exact(&mut body).is_err() {
                return;
            }
            if arrivals.send(Instant::now()).is_err() {
                return;
            }
            if stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    }
}

/// Starts a receiver that never responds, or for `/drip`, responds with one byte every 100 ms without end.
fn start_slow_receiver() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut start = [0; 8];
                if stream.read_exact(&mut start).is_err() || &start != b"POST /dr" {
                    // Waits until the sender gives up.
                    drop(stream.read_to_end(&mut Vec::new()));
                    return;
                }
                let mut response = b"HTTP/1.1 200 OK\r\nX-Filler: ".iter().chain(std::iter::repeat(&b'x'));
                while response.next().is_some_and(|byte| stream.write_all(&[*byte]).is_ok()) {
                    std::thread::sleep(Duration::from_millis(100));
                }
            });
        }
    });
    address
}
