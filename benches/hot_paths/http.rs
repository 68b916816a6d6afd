//! Requests over HTTP: `GET /v1/events/{id}` compared with a bare axum handler that returns the same bytes from a
//! blocking thread, and with the same work by hand; orders and scans, compared with direct calls of the service from as
//! many threads as there are connections.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ticketing::TicketingService;
use ticketing::server::{ServerOptions, router, serve};
use ticketing::ticket::CheckInTicket;
use tokio::runtime::Runtime;

use crate::check_in::nth;
use crate::http_by_hand;
use crate::http_clients::{Client, Connections};
use crate::large_store::{LargeStore, code, email, scatter};
use crate::orders::{create_order, spread};
use crate::ratio::Bench;

pub const CONNECTIONS: u64 = 8;

pub fn bench(bench: &mut Bench) {
    reads(bench);
    for connections in [8, 64] {
        orders(bench, connections);
        check_ins(bench, connections);
    }
}

fn unlimited() -> ServerOptions {
    let mut options = ServerOptions::default();
    options.rate_limit = None;
    #[cfg(feature = "event-pages")]
    {
        options.orders_per_network = u32::MAX;
    }
    options
}

/// Serves a store on a runtime of its own, and returns the address of the server.
pub fn serve_store(store: &LargeStore) -> (Runtime, SocketAddr) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    runtime.spawn(serve_api(store.fixture.service.clone(), listener));
    (runtime, address)
}

/// Serves the operations and pages of this service without a limit of requests.
async fn serve_api(service: TicketingService, listener: TcpListener) -> std::io::Result<()> {
    let options = unlimited();
    serve(listener, router(service, &options), options, std::future::pending()).await
}

fn orders(bench: &mut Bench, connections: u64) {
    let name = format!("POST /v1/orders, {connections} connections");
    if !bench.includes(&name) {
        return;
    }
    let store = LargeStore::open();
    let direct = LargeStore::open();
    let (runtime, address) = serve_store(&store);
    let mut clients = Connections::open(address, connections);
    let next = Arc::new(AtomicU64::new(0));
    let (event, ticket_type, key) = (store.event, store.ticket_type, store.key.clone());
    let request = move || {
        let email = email(scatter(next.fetch_add(1, Ordering::Relaxed)));
        let body = format!(
            r#"{{"eventId":"{event}","customer":{{"name":"Ada Lovelace","email":"{email}"}},"items":[{{"ticketId":"{ticket_type}","quantity":2}}]}}"#
        );
        post("/v1/orders", &key, &body)
    };
    bench.compare_as(
        &name,
        ("over HTTP", "direct"),
        64 * 80,
        |count| clients.send(count, 201, request.clone()),
        |count| spread(connections, count, |_| create_order(&direct)),
    );
    runtime.shutdown_background();
}

/// Scans of tickets over HTTP, compared with direct calls.
fn check_ins(bench: &mut Bench, connections: u64) {
    let name = format!("POST /v1/tickets/check-in, {connections} connections");
    if !bench.includes(&name) {
        return;
    }
    let store = LargeStore::open();
    let direct = LargeStore::open();
    let (runtime, address) = serve_store(&store);
    let mut clients = Connections::open(address, connections);
    let (next, key) = (Arc::new(AtomicU64::new(0)), store.key.clone());
    let request = move || {
        let code = code(nth(next.fetch_add(1, Ordering::Relaxed)));
        post("/v1/tickets/check-in", &key, &format!(r#"{{"code":"{code}"}}"#))
    };
    let next_direct = AtomicU64::new(0);
    bench.compare_as(
        &name,
        ("over HTTP", "direct"),
        32 * 150,
        |count| clients.send(count, 200, request.clone()),
        |count| {
            spread(connections, count, |_| {
                let scan = CheckInTicket::new(code(nth(next_direct.fetch_add(1, Ordering::Relaxed))));
                direct.fixture.service.check_in_ticket(&direct.fixture.caller, scan).expect("accepted");
            });
        },
    );
    runtime.shutdown_background();
}

/// A request with a body.
fn post(path: &str, key: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn reads(bench: &mut Bench) {
    let name = "GET /v1/events/{id}, 8 connections";
    let beside_by_hand = "GET /v1/events/{id} beside axum and rusqlite by hand";
    if !bench.includes(name) && !bench.includes(beside_by_hand) {
        return;
    }
    let store = LargeStore::open();
    let _maintenance = store.fixture.service.start_maintenance().expect("a thread");
    let (runtime, server) = serve_store(&store);
    let request =
        format!("GET /v1/events/{} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {}\r\n\r\n", store.event, store.key);
    let mut client = Client::connect(server);
    let (head, body) = client.exchange(&request, 200);
    let bare = runtime.block_on(serve_bare("/v1/events/{id}", &head, body.clone()));

    let mut server_clients = Connections::open(server, CONNECTIONS);
    let load = |clients: &mut Connections, count| {
        let request = request.clone();
        clients.send(count, 200, move || request.clone());
    };
    assert_eq!(Client::connect(bare).exchange(&request, 200).1, body, "the same bytes");
    if bench.includes(name) {
        let mut bare_clients = Connections::open(bare, CONNECTIONS);
        bench.compare(name, 8 * 500, |count| load(&mut server_clients, count), |count| load(&mut bare_clients, count));
    }
    if bench.includes(beside_by_hand) {
        let path = store.fixture.path();
        let by_hand_server = runtime.block_on(http_by_hand::serve(&store, &path));
        let by_hand = Client::connect(by_hand_server).exchange(&request, 200).1;
        let mut hand_clients = Connections::open(by_hand_server, CONNECTIONS);
        let title = |body: &[u8]| serde_json::from_slice::<serde_json::Value>(body).expect("JSON")["title"].clone();
        assert_eq!(title(&by_hand), title(&body), "the same event");
        bench.compare(
            beside_by_hand,
            8 * 500,
            |count| load(&mut server_clients, count),
            |count| load(&mut hand_clients, count),
        );
    }
    runtime.shutdown_background();
}

/// Serves the same headers and body for every request, from a blocking thread.
pub async fn serve_bare(path: &str, head: &str, body: Vec<u8>) -> SocketAddr {
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = headers.filter(|(name, _)| !["content-length", "date"].contains(&name.to_ascii_lowercase().as_str()));
    let headers: Vec<(String, String)> = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let handle = move || {
        let headers = headers.clone();
        let body = body.clone();
        async move {
            let body = tokio::task::spawn_blocking(move || body).await.expect("no panic");
            let mut response = axum::response::Response::new(axum::body::Body::from(body));
            for (name, value) in &headers {
                let name: axum::http::HeaderName = name.parse().expect("a name");
                response.headers_mut().insert(name, value.parse().expect("a value"));
            }
            response
        }
    };
    let router = axum::Router::new().route(path, axum::routing::get(handle));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        axum::serve(axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true))), router).await
    });
    address
}
