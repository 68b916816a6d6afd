//! Webhooks: deliveries a second, beside a bare ureq loop that sends the same bytes with as many threads to the same
//! receiver; and how long a healthy receiver waits for a notification while others hang or dribble.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use ticketing::webhook::SenderOptions;
use ticketing::{CreateWebhook, NotificationType, SystemClock, SystemEntropy};

use crate::common::Fixture;
use crate::common::database::params;

use crate::ratio::{Bench, median};

/// Deliveries of a round, and rounds of which the median counts.
const ROUND: u64 = 6000;
const ROUNDS: usize = 7;

/// Notifications of which the delay is measured.
const DELAYS: usize = 500;

pub fn bench(bench: &mut Bench) {
    // One endpoint has 8 of the sender's 64 threads, a thousand have all of them.
    deliveries(bench, 1, 8);
    deliveries(bench, 1000, 64);
    delays(bench, "alone", |_, _| {});
    delays(bench, "behind 2,000 due rows of one that hangs", |fixture, hanging| {
        endpoint(fixture, hanging, "/hang");
        queue(fixture, 2000, 0);
    });
    delays(bench, "behind 700 that dribble", |fixture, hanging| {
        for number in 0..700 {
            endpoint(fixture, hanging, &format!("/dribble/{number}"));
        }
        queue(fixture, 2800, 0);
    });
}

fn deliveries(bench: &mut Bench, endpoints: u64, threads: usize) {
    let name = format!("webhook deliveries, endpoints: {endpoints}");
    if !bench.wants(&name) {
        return;
    }
    let receiver = Healthy::listen();
    let fixture = open_fixture();
    for number in 0..endpoints {
        endpoint(&fixture, receiver.address, &format!("/hook/{number}"));
    }
    let (mut ratios, mut ours, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let sending = || send(&fixture, round as i64 + 1, &receiver);
        let looping = || bare_loop(receiver.address, endpoints, threads);
        let (mine, that) = if round % 2 == 0 {
            let mine = sending();
            (mine, looping())
        } else {
            let that = looping();
            (sending(), that)
        };
        ratios.push(mine / that);
        ours.push(mine);
        bare.push(that);
    }
    let (ratio, ours, bare) = (median(&mut ratios), median(&mut ours), median(&mut bare));
    bench
        .note(format!("{name}: ratio {ratio:.2} (sender {ours:.0}, bare ureq {bare:.0} a second, threads: {threads})"));
}

/// A second's deliveries of a bare loop.
fn bare_loop(receiver: SocketAddr, endpoints: u64, threads: usize) -> f64 {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .proxy(None)
        .max_idle_connections(threads)
        .max_idle_connections_per_host(threads)
        .build()
        .into();
    let body = body();
    let next = AtomicU64::new(0);
    let began = Instant::now();
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
                    let mut answer = request.send(&body).expect("an answer");
                    assert_eq!(answer.body_mut().read_to_string().expect("a body"), "ok");
                }
            });
        }
    });
    ROUND as f64 / began.elapsed().as_secs_f64()
}

/// How long it takes from the end of an operation until its notification is with a receiver that answers at once.
fn delays(bench: &mut Bench, name: &str, disturb: impl FnOnce(&Fixture, SocketAddr)) {
    let name = format!("webhook delay, {name}");
    if !bench.wants(&name) {
        return;
    }
    let receiver = Healthy::listen();
    let fixture = open_fixture();
    let seat = fixture.new_ticket_type(0, 1_000_000);
    endpoint(&fixture, receiver.address, "/");
    let sender = fixture.service.start_webhook_sender(SenderOptions::default()).expect("threads");
    fixture.order(&seat, 1);
    receiver.arrival();
    disturb(&fixture, hanging());
    // They hold what they can get by now.
    std::thread::sleep(Duration::from_secs(1));
    let mut delays: Vec<f64> = (0..DELAYS)
        .map(|_| {
            fixture.order(&seat, 1);
            let committed = Instant::now();
            let delay = receiver.arrival().saturating_duration_since(committed).as_secs_f64() * 1e3;
            std::thread::sleep(Duration::from_millis(20));
            delay
        })
        .collect();
    let middle = median(&mut delays);
    let p99 = delays[DELAYS * 99 / 100];
    let longest = delays[DELAYS - 1];
    bench.note(format!("{name}: p50 {middle:.1} ms, p99 {p99:.1} ms, longest {longest:.1} ms"));
    drop(sender);
}

/// What is sent where no change stands behind it.
fn body() -> String {
    r#"{"id":"evt_1NR6E9XB00000","type":"order.completed","createdAt":"2026-06-01T18:00:00.000Z","data":{"orderId":"order_1NR6E9XB00000","eventId":"event_1NR6E9XB00000","customerId":"customer_1NR6E9XB00000","total":25,"currency":"EUR"}}"#.to_owned()
}

/// A fixture in real time that sends to receivers on this machine.
fn open_fixture() -> Fixture {
    let folder = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/target")).expect("a folder");
    let fixture = Fixture::in_folder(folder, |builder| {
        builder.clock(SystemClock).entropy(SystemEntropy).allow_local_webhooks(true)
    });
    // The rows that these benchmarks queue belong to no orders.
    fixture.skip_final_check();
    fixture
}

fn endpoint(fixture: &Fixture, address: SocketAddr, path: &str) {
    // Only the endpoint whose delay is measured gets notifications of orders. Those of the others are queued by hand.
    let event = if path == "/" { NotificationType::OrderCompleted } else { NotificationType::OrderCancelled };
    let new = CreateWebhook::new(format!("http://{address}{path}"), [event]);
    fixture.service.create_webhook(&fixture.caller, new).expect("an endpoint");
}

/// Queues this many rows, dealt out to all endpoints but the measured one. The rows of each `batch` have ids of their own.
fn queue(fixture: &Fixture, rows: u64, batch: i64) {
    let sql = "WITH RECURSIVE
            n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1),
            e (id, place) AS (SELECT id, ROW_NUMBER() OVER (ORDER BY id) - 1 FROM webhook_endpoints WHERE url NOT LIKE '%/')
        INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, body, state, due_at, created_at)
        SELECT ?2 * 1000000 + i + 1, e.id, i, 'order.completed', ?3, 'WAITING', 0, 0
        FROM n JOIN e ON e.place = i % (SELECT COUNT(*) FROM e)";
    fixture.database().execute(sql, params![i64::try_from(rows).expect("few"), batch, body()]);
}

/// A second's deliveries of the sender, from the first that arrives to the last that is written down.
fn send(fixture: &Fixture, batch: i64, receiver: &Healthy) -> f64 {
    queue(fixture, ROUND, batch);
    let database = fixture.database();
    let left = || database.value::<i64>("SELECT COUNT(*) FROM webhook_outbox WHERE state = 'WAITING'");
    receiver.forget();
    let sender = fixture.service.start_webhook_sender(SenderOptions::default()).expect("threads");
    let began = receiver.arrival();
    for _ in 1..ROUND {
        receiver.arrival();
    }
    while left() > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let took = began.elapsed();
    drop(sender);
    ROUND as f64 / took.as_secs_f64()
}

/// A receiver that answers at once and keeps its connections.
struct Healthy {
    address: SocketAddr,
    arrivals: Receiver<Instant>,
}

impl Healthy {
    fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let (arrived, arrivals) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let arrived = arrived.clone();
                std::thread::spawn(move || answer(stream, &arrived));
            }
        });
        Self { address, arrivals }
    }

    fn arrival(&self) -> Instant {
        self.arrivals.recv_timeout(Duration::from_secs(60)).expect("a notification")
    }

    fn forget(&self) {
        while self.arrivals.try_recv().is_ok() {}
    }
}

/// Answers the requests of a connection, one after another.
fn answer(stream: TcpStream, arrived: &Sender<Instant>) {
    drop(stream.set_nodelay(true));
    let mut stream = BufReader::new(stream);
    let (mut line, mut length, mut body) = (String::new(), 0, Vec::new());
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
            if arrived.send(Instant::now()).is_err() {
                return;
            }
            if stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    }
}

/// A receiver that takes every connection and never answers, or for `/dribble` a byte a second without end.
fn hanging() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut begin = [0; 8];
                if stream.read_exact(&mut begin).is_err() || &begin != b"POST /dr" {
                    // Until the sender gives up.
                    drop(stream.read_to_end(&mut Vec::new()));
                    return;
                }
                let mut answer = b"HTTP/1.1 200 OK\r\nX-Filler: ".iter().chain(std::iter::repeat(&b'x'));
                while answer.next().is_some_and(|byte| stream.write_all(&[*byte]).is_ok()) {
                    std::thread::sleep(Duration::from_millis(100));
                }
            });
        }
    });
    address
}
