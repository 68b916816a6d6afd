//! `GET /v1/events/{id}` over 8 connections, beside a bare axum handler that answers the same bytes from a blocking thread.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use ticketing::server::{ServerOptions, serve};

use crate::ratio::Bench;
use crate::store::Shop;

const CONNECTIONS: u64 = 8;

pub fn bench(bench: &mut Bench) {
    let name = "GET /v1/events/{id}, 8 connections";
    if !bench.wants(name) {
        return;
    }
    let shop = Shop::open("http");
    let _maintenance = shop.service.start_maintenance().expect("a thread");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let ours = listener.local_addr().expect("bound");
    runtime.spawn(serve(shop.service.clone(), listener, ServerOptions::default(), std::future::pending()));
    let request =
        format!("GET /v1/events/{} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {}\r\n\r\n", shop.event, shop.key);
    let mut client = Client::connect(ours);
    let (head, body) = client.exchange(&request);
    let bare = runtime.block_on(serve_bare(&head, body.clone()));

    let clients = |address: SocketAddr| (0..CONNECTIONS).map(|_| Client::connect(address)).collect::<Vec<_>>();
    let (mut of_ours, mut of_bare) = (clients(ours), clients(bare));
    assert_eq!(of_bare[0].exchange(&request).1, body, "the same bytes");
    bench.compare(
        name,
        8 * 500,
        |count| load(&mut of_ours, count, &request),
        |count| load(&mut of_bare, count, &request),
    );
    runtime.shutdown_background();
}

/// Sends `count` requests, each connection its share, one after another.
fn load(clients: &mut [Client], count: u64, request: &str) {
    let share = count.div_ceil(CONNECTIONS);
    std::thread::scope(|scope| {
        for client in clients {
            scope.spawn(move || (0..share).for_each(|_| drop(client.exchange(request))));
        }
    });
}

/// Answers every request with the same head fields and body, from a blocking thread.
async fn serve_bare(head: &str, body: Vec<u8>) -> SocketAddr {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let fields = fields.filter(|(name, _)| !["content-length", "date"].contains(&name.to_ascii_lowercase().as_str()));
    let fields: Vec<(String, String)> = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let answer = move || {
        let (fields, body) = (fields.clone(), body.clone());
        async move {
            let body = tokio::task::spawn_blocking(move || body).await.expect("no panic");
            let mut response = axum::response::Response::new(axum::body::Body::from(body));
            for (name, value) in &fields {
                let name: axum::http::HeaderName = name.parse().expect("a name");
                response.headers_mut().insert(name, value.parse().expect("a value"));
            }
            response
        }
    };
    let router = axum::Router::new().route("/v1/events/{id}", axum::routing::get(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        axum::serve(axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true))), router).await
    });
    address
}

/// A client that keeps its connection.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream.set_nodelay(true).expect("set");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends a request and reads the head and the body of its answer.
    fn exchange(&mut self, request: &str) -> (String, Vec<u8>) {
        self.stream.get_mut().write_all(request.as_bytes()).expect("sent");
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
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("the body");
        (head, body)
    }
}
