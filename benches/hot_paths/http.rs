//! Requests over HTTP: `GET /v1/events/{id}` compared with a bare axum handler that returns the same bytes from a
//! blocking thread, and with the same work by hand; and `POST /v1/orders` compared with direct calls of the service from as many threads as there are
//! connections.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};

use ticketing::TicketingService;
use ticketing::server::{ServerOptions, router, serve};

use crate::http_by_hand;
use crate::large_store::{LargeStore, email, scatter};
use crate::orders::{create_order, spread};
use crate::ratio::Bench;

pub const CONNECTIONS: u64 = 8;

/// The number of threads that send orders. Each uses its share of the connections and has one request in progress on
/// every one of them. With a thread per connection, the clients would take processor time from the server.
const CLIENT_THREADS: usize = 4;

pub fn bench(bench: &mut Bench) {
    reads(bench);
    for connections in [8, 64] {
        orders(bench, connections);
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

/// Serves the operations and pages of this service without a limit of requests.
pub async fn serve_api(service: TicketingService, listener: TcpListener) -> std::io::Result<()> {
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
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    runtime.spawn(serve_api(store.fixture.service.clone(), listener));
    let mut clients: Vec<_> = (0..connections).map(|_| Client::connect(address)).collect();
    let next = AtomicU64::new(0);
    let send = |client: &mut Client| {
        let email = email(scatter(next.fetch_add(1, Ordering::Relaxed)));
        let body = format!(
            r#"{{"eventId":"{}","customer":{{"name":"Ada Lovelace","email":"{email}"}},"items":[{{"ticketId":"{}","quantity":2}}]}}"#,
            store.event, store.ticket_type
        );
        let request = format!(
            "POST /v1/orders HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            store.key,
            body.len()
        );
        client.send(&request);
    };
    bench.compare_as(
        &name,
        ("over HTTP", "direct"),
        64 * 80,
        |count| {
            let share = count.div_ceil(connections);
            std::thread::scope(|scope| {
                for part in clients.chunks_mut(usize::try_from(connections).expect("few").div_ceil(CLIENT_THREADS)) {
                    scope.spawn(|| {
                        for _ in 0..share {
                            for client in &mut *part {
                                send(client);
                            }
                            for client in &mut *part {
                                client.receive(201);
                            }
                        }
                    });
                }
            });
        },
        |count| spread(connections, count, |_| create_order(&direct)),
    );
    runtime.shutdown_background();
}

fn reads(bench: &mut Bench) {
    let name = "GET /v1/events/{id}, 8 connections";
    let beside_by_hand = "GET /v1/events/{id} beside axum and rusqlite by hand";
    if !bench.includes(name) && !bench.includes(beside_by_hand) {
        return;
    }
    let store = LargeStore::open();
    let _maintenance = store.fixture.service.start_maintenance().expect("a thread");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = listener.local_addr().expect("bound");
    runtime.spawn(serve_api(store.fixture.service.clone(), listener));
    let request =
        format!("GET /v1/events/{} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {}\r\n\r\n", store.event, store.key);
    let mut client = Client::connect(server);
    let (head, body) = client.exchange(&request, 200);
    let bare = runtime.block_on(serve_bare("/v1/events/{id}", &head, body.clone()));

    let connect_all = |address: SocketAddr| (0..CONNECTIONS).map(|_| Client::connect(address)).collect::<Vec<_>>();
    let mut server_clients = connect_all(server);
    let mut bare_clients = connect_all(bare);
    assert_eq!(bare_clients[0].exchange(&request, 200).1, body, "the same bytes");
    if bench.includes(name) {
        bench.compare(
            name,
            8 * 500,
            |count| load(&mut server_clients, count, &request),
            |count| load(&mut bare_clients, count, &request),
        );
    }
    if bench.includes(beside_by_hand) {
        let path = store.fixture.path();
        let mut hand_clients = connect_all(runtime.block_on(http_by_hand::serve(&store, &path)));
        let by_hand = hand_clients[0].exchange(&request, 200).1;
        let title = |body: &[u8]| serde_json::from_slice::<serde_json::Value>(body).expect("JSON")["title"].clone();
        assert_eq!(title(&by_hand), title(&body), "the same event");
        bench.compare(
            beside_by_hand,
            8 * 500,
            |count| load(&mut server_clients, count, &request),
            |count| load(&mut hand_clients, count, &request),
        );
    }
    runtime.shutdown_background();
}

/// Sends `count` requests. Each connection sends its share, one request at a time.
pub fn load(clients: &mut [Client], count: u64, request: &str) {
    let share = count.div_ceil(CONNECTIONS);
    std::thread::scope(|scope| {
        for client in clients {
            scope.spawn(move || {
                for _ in 0..share {
                    client.exchange(request, 200);
                }
            });
        }
    });
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

/// A client with a persistent connection.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream.set_nodelay(true).expect("set");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends a request and returns the head and the body of the response.
    pub fn exchange(&mut self, request: &str, status: u16) -> (String, Vec<u8>) {
        self.send(request);
        self.receive(status)
    }

    pub fn send(&mut self, request: &str) {
        self.stream.get_mut().write_all(request.as_bytes()).expect("sent");
    }

    pub fn receive(&mut self, status: u16) -> (String, Vec<u8>) {
        let mut head = String::new();
        let mut length = 0;
        loop {
            let start = head.len();
            self.stream.read_line(&mut head).expect("answered");
            let line = &head[start..];
            if line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a length");
            }
        }
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("the body");
        (head, body)
    }
}
