//! Slow and silent clients: timeouts, the limit on connections, a payment gateway that hangs, and shutdown. Other
//! clients must be served meanwhile.
#![expect(clippy::disallowed_methods, reason = "the tests measure the timeouts of real sockets")]

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::common::http::{Client, EventOnSale, Server, TestResult, event_on_sale, order_of};
use crate::common::processes::{ChildProcess, child_process, child_role, send_to_parent};
use ticketing::Builder;
use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};
use ticketing::server::ServerOptions;

/// Longer than anything takes that the tests wait for, on any machine.
const LONG: Duration = Duration::from_mins(2);

/// So long that a test which waits for one of the timeouts fails.
const NEVER: Duration = Duration::from_hours(1);

/// No connection is closed because its client is slow.
fn no_timeouts(options: &mut ServerOptions) {
    options.head_timeout = NEVER;
    options.request_timeout = NEVER;
    options.idle_timeout = NEVER;
}

const CHILD: &str = concat!(module_path!(), "::a_child_process_opens_slow_connections");

/// The connections are opened by another process, so that the server does not share the limit on open files with them.
#[test]
#[ignore = "other tests start it"]
fn a_child_process_opens_slow_connections() {
    let server = child_role();
    let (address, key) = server.split_once(' ').unwrap();
    let mut connections: Vec<TcpStream> = (0..1000).map(|_| TcpStream::connect(address).unwrap()).collect();
    let incomplete_request = format!(
        "POST /v1/orders HTTP/1.1\r\nHost: a\r\nX-Api-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: 1000\r\n\r\n{{"
    );
    // One third sends nothing, one third a head byte by byte, and one third an incomplete body.
    for stream in connections.iter_mut().skip(2).step_by(3) {
        let _ = stream.write_all(incomplete_request.as_bytes());
    }
    send_to_parent("ready");
    for byte in b"GET /v1/events HTTP/1.1\r\nHost: a\r\nX-Slow: ".iter().cycle() {
        for stream in connections.iter_mut().skip(1).step_by(3) {
            let _ = stream.write_all(&[*byte]);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Starts a process that opens a thousand silent or slow connections, and returns once it has. They stay open until the
/// process is killed.
fn start_slow_connections(server: &Server) -> ChildProcess {
    let mut process = ChildProcess::start(child_process(CHILD, &format!("{} {}", server.address, server.key)));
    assert_eq!(process.next_message().as_deref(), Some("ready"));
    process
}

/// Asserts that orders are created while a thousand slow connections are open.
fn assert_orders_during_slow_connections(adjust: impl FnOnce(&mut ServerOptions)) {
    let server = Server::with(Builder::sandbox_gateway, |options| {
        no_timeouts(options);
        adjust(options);
    });
    let EventOnSale { event, ticket_type } = event_on_sale(&mut server.client(), "summer-night");
    let slow_connections = start_slow_connections(&server);
    for _ in 0..20 {
        server.client().post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201);
    }
    drop(slow_connections);
}

#[test]
fn orders_are_created_while_a_thousand_slow_connections_are_open() {
    assert_orders_during_slow_connections(|_| {});
}

#[test]
fn orders_are_created_while_slow_connections_exceed_the_limit() {
    assert_orders_during_slow_connections(|options| options.connections = 100);
}

#[test]
fn a_connection_that_sends_nothing_is_closed_after_the_head_timeout() {
    let timeout = Duration::from_millis(600);
    let server = Server::with(Builder::sandbox_gateway, |options| {
        no_timeouts(options);
        options.head_timeout = timeout;
    });
    let started = Instant::now();
    assert!(server.client().is_closed_within(LONG));
    assert!(started.elapsed() >= timeout);
}

/// Opens a connection and makes a first request. On a slow machine that may take longer than the head timeout.
fn client_with_a_response(server: &Server) -> Client {
    loop {
        let mut client = server.client();
        client.write(b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n");
        if let Ok(response) = client.read_response() {
            response.expect(200);
            return client;
        }
    }
}

#[test]
fn a_head_sent_byte_by_byte_is_closed_after_the_head_timeout() {
    let timeout = Duration::from_millis(600);
    let server = Server::with(Builder::sandbox_gateway, |options| {
        no_timeouts(options);
        options.head_timeout = timeout;
    });
    let mut client = client_with_a_response(&server);
    let started = Instant::now();
    for byte in b"GET /health/live HTTP/1.1\r\nHost: a\r\nX-A: aaaaaaaaaaaaaaaaaaaaaaaaaa".iter().cycle() {
        client.write(&[*byte]);
        if client.is_closed_within(Duration::from_millis(50)) {
            break;
        }
        assert!(started.elapsed() < LONG, "the connection is still open");
    }
    assert!(started.elapsed() >= timeout);
}

#[test]
fn an_incomplete_body_is_closed_after_the_request_timeout() {
    let timeout = Duration::from_millis(600);
    let server = Server::with(Builder::sandbox_gateway, |options| {
        no_timeouts(options);
        options.request_timeout = timeout;
    });
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
    assert!(client.is_closed_within(LONG));
    assert!(started.elapsed() >= timeout);
}

#[test]
fn an_idle_connection_has_the_idle_timeout_not_the_head_timeout() {
    let timeout = Duration::from_millis(600);
    let server = Server::with(Builder::sandbox_gateway, |options| {
        no_timeouts(options);
        options.head_timeout = timeout;
    });
    let mut client = client_with_a_response(&server);
    std::thread::sleep(2 * timeout);
    client.get("/health/live").expect(200);

    let server = Server::with(Builder::sandbox_gateway, |options| {
        no_timeouts(options);
        options.idle_timeout = timeout;
    });
    let started = Instant::now();
    let mut client = server.client();
    client.get("/health/live").expect(200);
    assert!(client.is_closed_within(LONG), "the connection was idle for longer than the idle timeout");
    assert!(started.elapsed() >= timeout);
}

#[test]
fn at_the_connection_limit_the_connection_that_waited_longest_is_evicted() {
    let server = Server::with(Builder::sandbox_gateway, |options| {
        no_timeouts(options);
        options.connections = 3;
    });
    let mut first = server.client();
    let mut others = [server.client(), server.client()];
    for client in &mut others {
        client.get("/health/live").expect(200);
    }

    // The first connection has waited longest for a head: it never sent one.
    let mut fourth = server.client();
    fourth.get("/health/live").expect(200);
    assert!(first.is_closed_within(LONG));

    // Next, the connection that has been idle longest is evicted.
    others[0].get("/health/live").expect(200);
    let mut fifth = server.client();
    fifth.get("/health/live").expect(200);
    assert!(others[1].is_closed_within(LONG));
    fourth.get("/health/live").expect(200);
    others[0].get("/health/live").expect(200);
}

/// Loopback addresses other than 127.0.0.1 need no configuration on Linux only.
#[cfg(target_os = "linux")]
#[test]
fn at_the_connection_limit_the_address_with_the_most_connections_loses_one() {
    let server = Server::with(Builder::sandbox_gateway, |options| {
        no_timeouts(options);
        options.connections = 10;
    });
    // Two quiet clients with a connection each, for longer than the others.
    let mut quiet = [server.client_from(2), server.client_from(3)];
    for client in &mut quiet {
        client.get("/health/live").expect(200);
    }
    // A third one with many connections: first eight, which fill the server, then fifty more.
    let mut greedy: Vec<Client> = (0..58).map(|_| server.client_from(4)).collect();
    greedy.last_mut().unwrap().get("/health/live").expect(200);
    // A new client gets a connection, which takes the place of another one of the greedy client.
    let mut newcomer = server.client_from(5);
    newcomer.get("/health/live").expect(200);
    for client in &mut quiet {
        client.get("/health/live").expect(200);
    }
    newcomer.get("/health/live").expect(200);
    // The greedy client keeps what the three others leave. Evicted connections are closed by their tasks, soon after.
    let started = Instant::now();
    while greedy.len() > 7 && started.elapsed() < LONG {
        greedy.retain_mut(|client| !client.is_closed_within(Duration::from_millis(1)));
    }
    assert_eq!(greedy.len(), 7);
}

/// Waits until the server works on this number of requests, besides that for the metrics.
fn wait_for_requests_under_way(client: &mut Client, number: usize) {
    let line = format!("ticketing_http_requests_under_way {}\n", number + 1);
    while !client.get("/metrics").expect(200).text().contains(&line) {}
}

/// Loopback addresses other than 127.0.0.1 need no configuration on Linux only.
#[cfg(target_os = "linux")]
#[test]
fn a_client_with_a_slow_body_on_every_connection_does_not_keep_other_addresses_out() {
    let server = Server::with(Builder::sandbox_gateway, |options| {
        no_timeouts(options);
        options.connections = 10;
    });
    let incomplete_request = format!(
        "POST /v1/orders HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\n\
         Content-Length: 1000\r\n\r\n{{",
        server.key
    );
    let mut slow: Vec<Client> = (0..9).map(|_| server.client_from(2)).collect();
    for client in &mut slow {
        client.write(incomplete_request.as_bytes());
    }
    // The server waits for the nine bodies.
    wait_for_requests_under_way(&mut server.client_from(3), 9);
    // Each of the others needs a moment before it sends its request.
    let mut others: Vec<Client> = (10..15).map(|number| server.client_from(number)).collect();
    for client in &mut others {
        assert!(!client.is_closed_within(Duration::from_millis(50)));
    }
    for client in &mut others {
        client.get("/health/live").expect(200);
    }
}

/// A gateway whose checkouts block until the test drops the sender of `release`.
struct BlockingGateway {
    /// Receives a message when a call starts.
    call_started: Mutex<Sender<()>>,
    release: Mutex<Receiver<()>>,
}

impl PaymentGateway for BlockingGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let _ = self.call_started.lock().unwrap_or_else(PoisonError::into_inner).send(());
        let _ = self.release.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let reference = request.order_id.to_string();
        Ok(Checkout::new(format!("https://pay.example/{reference}"), reference))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

/// A [`BlockingGateway`], and the test's ends of its channels.
struct GatewayControl {
    gateway: BlockingGateway,
    call_started: Receiver<()>,
    release: Sender<()>,
}

fn blocking_gateway() -> GatewayControl {
    let (start_sender, start_receiver) = channel();
    let (release_sender, release_receiver) = channel();
    let gateway = BlockingGateway { call_started: Mutex::new(start_sender), release: Mutex::new(release_receiver) };
    GatewayControl { gateway, call_started: start_receiver, release: release_sender }
}

/// The bytes of a request that creates this order.
fn order_request(server: &Server, order: &str) -> String {
    format!(
        "POST /v1/orders HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{order}",
        server.key,
        order.len()
    )
}

/// Asserts that check-in works while two hundred order requests wait for a gateway that hangs, with these limits on
/// calls to the gateway and to the service. Free orders are created meanwhile, if the calls to the gateway leave room
/// for other orders.
fn assert_check_in_during_hanging_gateway(gateway_calls: usize, calls: usize) -> TestResult {
    let control = blocking_gateway();
    let server = Server::with(
        |builder| builder.payment_gateway(control.gateway).gateway_calls(gateway_calls).gateway_timeout(NEVER),
        |options| {
            no_timeouts(options);
            options.calls = calls;
        },
    );
    // A test that fails drops it before the server, which waits for the calls.
    let release = control.release;
    let mut client = server.client();
    let event = serde_json::json!({
        "title": "Summer Night", "slug": "summer-night", "startDate": "9000-06-01T18:00:00Z",
        "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
    });
    let event = crate::common::http::id(&client.post("/v1/events", &event).expect(201));
    let ticket_type = serde_json::json!({"name": "Seat", "price": 12.5, "quantity": 1000});
    let ticket_type =
        crate::common::http::id(&client.post(&format!("/v1/events/{event}/ticket-types"), &ticket_type).expect(201));
    let free_type = serde_json::json!({"name": "Guest", "price": 0, "quantity": 1000});
    let free_type =
        crate::common::http::id(&client.post(&format!("/v1/events/{event}/ticket-types"), &free_type).expect(201));
    let guest = serde_json::json!({
        "ticketId": ticket_type, "quantity": 10, "customer": {"name": "Ada", "email": "ada@example.com"},
    });
    let issued = client.post("/v1/tickets/issue", &guest).expect(201).json();
    let order = order_of(&event, &ticket_type, 1).to_string();
    let mut buyers: Vec<_> = (0..200).map(|_| server.client()).collect();
    for buyer in &mut buyers {
        buyer.write(order_request(&server, &order).as_bytes());
    }
    control.call_started.recv()?;
    // Give the other requests time to arrive and fill the queue for the gateway.
    std::thread::sleep(Duration::from_millis(300));
    let free_order = order_of(&event, &free_type, 1);
    for ticket in issued["issuedTickets"].as_array().unwrap() {
        if gateway_calls < calls / 2 {
            // It waits for no gateway. The orders that are refused by its limit may leave no room until then.
            let is_created = (0..100).any(|_| client.post("/v1/orders", &free_order).status == 201);
            assert!(is_created, "free orders wait for the gateway");
        }
        let scan = serde_json::json!({"code": ticket["code"]});
        client.post("/v1/tickets/check-in", &scan).expect(200);
    }
    drop(release);
    let mut statuses = Vec::new();
    for buyer in &mut buyers {
        statuses.push(buyer.read_response()?.status);
    }
    assert!(statuses.iter().all(|status| [201, 502, 503].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&201));
    Ok(())
}

#[test]
fn check_in_works_while_the_gateway_hangs_and_orders_exceed_its_call_limit() -> TestResult {
    assert_check_in_during_hanging_gateway(64, 256)
}

#[test]
fn check_in_works_while_the_gateway_hangs_and_orders_exceed_the_service_call_limit() -> TestResult {
    assert_check_in_during_hanging_gateway(1000, 64)
}

#[test]
fn requests_in_progress_are_completed_before_the_server_stops() {
    let GatewayControl { gateway, call_started, release } = blocking_gateway();
    let mut server = Server::with(
        |builder| builder.payment_gateway(gateway),
        |options| {
            no_timeouts(options);
            options.shutdown_timeout = NEVER;
        },
    );
    let address = server.address;
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let mut idle = server.client();
    idle.get("/health/live").expect(200);
    let mut silent = server.client();
    let buyer = std::thread::spawn(move || client.post("/v1/orders", &order_of(&event, &ticket_type, 1)));
    call_started.recv().unwrap();
    server.stop();
    assert!(idle.is_closed_within(LONG), "an idle connection is closed");
    assert!(silent.is_closed_within(LONG), "a connection without a request is closed");
    assert!(TcpStream::connect(address).is_err(), "no new connection is accepted");
    drop(release);
    let response = buyer.join().unwrap().expect(201);
    assert_eq!(response.header("connection"), Some("close"));
    // It does not wait for the shutdown timeout.
    let (stopping, stopped) = channel();
    std::thread::spawn(move || {
        server.join();
        let _ = stopping.send(());
    });
    stopped.recv_timeout(LONG).expect("the server has stopped");
}

#[test]
fn the_server_stops_after_the_shutdown_timeout_despite_a_request_in_progress() {
    let GatewayControl { gateway, call_started, release } = blocking_gateway();
    let timeout = Duration::from_millis(300);
    let server = Server::with(|builder| builder.payment_gateway(gateway), |options| options.shutdown_timeout = timeout);
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let order = order_of(&event, &ticket_type, 1).to_string();
    client.write(order_request(&server, &order).as_bytes());
    call_started.recv().unwrap();
    let release_thread = std::thread::spawn(move || {
        // The server does not wait for the call, but the test's runtime waits for its threads when it is dropped.
        assert!(client.is_closed_within(LONG));
        drop(release);
    });
    server.join();
    release_thread.join().unwrap();
}

#[test]
fn the_client_receives_the_response_although_the_server_did_not_read_the_body() {
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
