//! Clients that send nothing, or slowly, or never end, and a buyer beside them.
#![cfg(feature = "server")]
#![expect(
    clippy::disallowed_methods,
    reason = "real sockets take real time, and how much is what these tests are about"
)]

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use common::http::{Client, Server, TestResult, event_on_sale, order_of};
use ticketing::server::ServerOptions;
use ticketing::{Builder, Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest};

/// Long enough for a loaded machine, far shorter than what it is compared with.
const SOON: Duration = Duration::from_secs(5);

fn hurried(options: &mut ServerOptions) {
    options.head_timeout = Duration::from_millis(600);
    options.request_timeout = Duration::from_millis(1200);
    options.idle_timeout = Duration::from_millis(1800);
}

/// The name by which this program knows that it is a crowd, not a test: the process has handles of its own for its
/// connections, and leaves the server's to the server.
const CROWD: &str = "TICKETING_TEST_CROWD";

/// Not a test of its own: what [`crowd`] starts.
#[test]
fn the_crowd() {
    let Ok(wanted) = std::env::var(CROWD) else { return };
    let (address, key) = wanted.split_once(' ').unwrap();
    let mut connections: Vec<TcpStream> = (0..1000).map(|_| TcpStream::connect(address).unwrap()).collect();
    let half = format!(
        "POST /v1/orders HTTP/1.1\r\nHost: a\r\nX-Api-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: 1000\r\n\r\n{{"
    );
    // A third sends nothing, a third a byte at a time, a third half a body.
    for stream in connections.iter_mut().skip(2).step_by(3) {
        let _ = stream.write_all(half.as_bytes());
    }
    println!("ready");
    for byte in b"GET /v1/events HTTP/1.1\r\nHost: a\r\nX-Slow: ".iter().cycle() {
        for stream in connections.iter_mut().skip(1).step_by(3) {
            let _ = stream.write_all(&[*byte]);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A thousand connections that keep a server busy with nothing, while the returned process lives.
fn crowd(server: &Server) -> std::process::Child {
    let mut crowd = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_crowd", "--nocapture"])
        .env(CROWD, format!("{} {}", server.address, server.key))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = std::io::BufReader::new(crowd.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut output, &mut line).unwrap(), 0, "the crowd went away");
    }
    crowd
}

fn buy_beside_a_crowd(adjust: impl FnOnce(&mut ServerOptions)) {
    let server = Server::with(Builder::sandbox_gateway, adjust);
    let (event, seat) = event_on_sale(&mut server.client(), "summer-night");
    let mut crowd = crowd(&server);
    for _ in 0..20 {
        let started = Instant::now();
        server.client().post("/v1/orders", &order_of(&event, &seat, 1)).expect(201);
        assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    }
    crowd.kill().unwrap();
    crowd.wait().unwrap();
}

#[test]
fn a_thousand_connections_that_only_take_place_keep_nobody_from_buying() {
    buy_beside_a_crowd(|_| {});
}

#[test]
fn a_thousand_connections_keep_nobody_from_buying_where_only_a_hundred_may_be_open() {
    buy_beside_a_crowd(|options| options.connections = 100);
}

#[test]
fn a_connection_that_sends_nothing_is_closed_when_a_head_is_due() {
    let server = Server::with(Builder::sandbox_gateway, hurried);
    let started = Instant::now();
    assert!(server.client().is_closed_within(SOON));
    assert!(started.elapsed() >= Duration::from_millis(600));
}

#[test]
fn a_head_that_comes_byte_by_byte_is_closed_when_it_is_due() {
    let server = Server::with(Builder::sandbox_gateway, hurried);
    let mut client = server.client();
    client.get("/health/live").expect(200);
    let started = Instant::now();
    for byte in b"GET /health/live HTTP/1.1\r\nHost: a\r\nX-A: aaaaaaaaaaaaaaaaaaaaaaaaaa".iter().cycle() {
        client.write(&[*byte]);
        if client.is_closed_within(Duration::from_millis(50)) {
            break;
        }
        assert!(started.elapsed() < SOON, "it is still open");
    }
    assert!(started.elapsed() >= Duration::from_millis(600));
}

#[test]
fn a_body_that_never_ends_is_closed_when_the_request_is_due() {
    let server = Server::with(Builder::sandbox_gateway, hurried);
    let mut client = server.client();
    let started = Instant::now();
    client.write(
        format!(
            "POST /v1/events HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\n\
             Content-Length: 100\r\n\r\n{{",
            server.key
        )
        .as_bytes(),
    );
    assert!(client.is_closed_within(SOON));
    assert!(started.elapsed() >= Duration::from_millis(1200));
}

#[test]
fn a_connection_between_two_requests_stays_open_longer_than_a_head_may_take() {
    let server = Server::with(Builder::sandbox_gateway, hurried);
    let mut client = server.client();
    client.get("/health/live").expect(200);
    std::thread::sleep(Duration::from_millis(1000));
    client.get("/health/live").expect(200);
    assert!(client.is_closed_within(SOON), "idle for too long");
}

#[test]
fn at_the_cap_the_longest_wait_makes_room_for_a_new_connection() {
    let server = Server::with(Builder::sandbox_gateway, |options| options.connections = 3);
    let mut first = server.client();
    let mut others = [server.client(), server.client()];
    for client in &mut others {
        client.get("/health/live").expect(200);
    }
    // The first has waited longest for a head: it never sent one.
    let mut fourth = server.client();
    fourth.get("/health/live").expect(200);
    assert!(first.is_closed_within(SOON));
    // Then the one of the others that has been idle longest.
    others[0].get("/health/live").expect(200);
    let mut fifth = server.client();
    fifth.get("/health/live").expect(200);
    assert!(others[1].is_closed_within(SOON));
    fourth.get("/health/live").expect(200);
    others[0].get("/health/live").expect(200);
}

/// A gateway that answers when it is told to, and says when it was asked.
struct Hanging {
    asked: Mutex<Sender<()>>,
    released: Mutex<Receiver<()>>,
}

impl PaymentGateway for Hanging {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let _ = self.asked.lock().unwrap_or_else(PoisonError::into_inner).send(());
        let _ = self.released.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let reference = request.order_id.to_string();
        Ok(Checkout { link: format!("https://pay.example/{reference}"), reference })
    }

    fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
        Ok(())
    }
}

fn hanging() -> (Hanging, Receiver<()>, Sender<()>) {
    let ((asked, was_asked), (release, released)) = (channel(), channel());
    (Hanging { asked: Mutex::new(asked), released: Mutex::new(released) }, was_asked, release)
}

/// However many calls the gateway may have, and two hundred paid orders wait for it: the door stays open.
fn scan_beside_a_gateway_that_hangs(gateway_calls: usize, calls: usize) -> TestResult {
    let (gateway, was_asked, release) = hanging();
    let server = Server::with(
        |builder| builder.payment_gateway(gateway).gateway_calls(gateway_calls),
        |options| options.calls = calls,
    );
    let mut client = server.client();
    let event = serde_json::json!({
        "title": "Summer Night", "slug": "summer-night", "startDate": "9000-06-01T18:00:00Z",
        "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
    });
    let event = common::http::id(&client.post("/v1/events", &event).expect(201));
    let seat = serde_json::json!({"name": "Seat", "price": 12.5, "quantity": 1000});
    let seat = common::http::id(&client.post(&format!("/v1/events/{event}/ticket-types"), &seat).expect(201));
    let guest = serde_json::json!({
        "ticketId": seat, "quantity": 10, "customer": {"name": "Ada", "email": "ada@example.com"},
    });
    let issued = client.post("/v1/tickets/issue", &guest).expect(201).json();
    let order = order_of(&event, &seat, 1).to_string();
    let mut waiting: Vec<_> = (0..200).map(|_| server.client()).collect();
    for buyer in &mut waiting {
        let head = format!(
            "POST /v1/orders HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{order}",
            server.key,
            order.len()
        );
        buyer.write(head.as_bytes());
    }
    was_asked.recv()?;
    // The others come in, and as many as may wait do.
    std::thread::sleep(Duration::from_millis(300));
    for ticket in issued["issuedTickets"].as_array().unwrap() {
        let started = Instant::now();
        let scan = serde_json::json!({"code": ticket["code"]});
        client.post("/v1/tickets/check-in", &scan).expect(200);
        assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    }
    drop(release);
    let statuses: Vec<_> = waiting.iter_mut().map(|buyer| buyer.read_response().map(|answer| answer.status)).collect();
    let statuses = statuses.into_iter().collect::<Result<Vec<_>, _>>()?;
    assert!(statuses.iter().all(|status| [201, 502, 503].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&201));
    Ok(())
}

#[test]
fn a_gateway_that_hangs_leaves_the_door_open() -> TestResult {
    scan_beside_a_gateway_that_hangs(64, 256)
}

#[test]
fn a_gateway_with_room_for_every_call_leaves_the_door_open_too() -> TestResult {
    scan_beside_a_gateway_that_hangs(1000, 64)
}

#[test]
fn what_is_under_way_is_answered_before_the_server_stops() {
    let (gateway, was_asked, release) = hanging();
    let mut server = Server::with(|builder| builder.payment_gateway(gateway), |_| {});
    let address = server.address;
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let mut idle = server.client();
    idle.get("/health/live").expect(200);
    let mut silent = server.client();
    let buyer = std::thread::spawn(move || client.post("/v1/orders", &order_of(&event, &seat, 1)));
    was_asked.recv().unwrap();
    server.stop();
    assert!(idle.is_closed_within(SOON), "an idle connection keeps nobody");
    assert!(silent.is_closed_within(SOON), "nor does one that never asked for anything");
    assert!(TcpStream::connect(address).is_err(), "no new connections");
    drop(release);
    let answer = buyer.join().unwrap().expect(201);
    assert_eq!(answer.header("connection"), Some("close"));
    let started = Instant::now();
    server.join();
    assert!(started.elapsed() < SOON);
}

#[test]
fn a_server_that_is_to_stop_does_not_wait_for_ever() {
    let (gateway, was_asked, release) = hanging();
    let patience = Duration::from_millis(300);
    let server =
        Server::with(|builder| builder.payment_gateway(gateway), |options| options.shutdown_timeout = patience);
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
    let order = order_of(&event, &seat, 1).to_string();
    let head = format!(
        "POST /v1/orders HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{order}",
        server.key,
        order.len()
    );
    client.write(head.as_bytes());
    was_asked.recv().unwrap();
    let releasing = std::thread::spawn(move || {
        // The runtime that the test made waits for its threads when it goes, and the server does not.
        assert!(client.is_closed_within(SOON));
        drop(release);
    });
    server.join();
    releasing.join().unwrap();
}

#[test]
fn an_answer_arrives_though_the_body_was_not_wanted() {
    let server = Server::start();
    let mut client: Client = server.client();
    let head = format!(
        "POST /v1/events HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\n\
         Content-Length: 3000000\r\n\r\n",
        server.key
    );
    client.write(head.as_bytes());
    client.write(&vec![b' '; 3_000_000]);
    assert_eq!(client.read_response().unwrap().expect(413).code(), "payload-too-large");
}
