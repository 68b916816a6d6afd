//! Clients with persistent connections: one for single requests, and many on one thread, which generate load.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// A client with one connection.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        Self { stream: BufReader::new(connect(address)) }
    }

    /// Sends a request and returns the head and the body of the response.
    pub fn exchange(&mut self, request: &str, status: u16) -> (String, Vec<u8>) {
        self.stream.get_mut().write_all(request.as_bytes()).expect("sent");
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.stream.read_line(&mut head).expect("answered") > 0, "the connection was closed");
        }
        let mut body = vec![0; response_length(head.as_bytes(), status).expect("a head") - head.len()];
        self.stream.read_exact(&mut body).expect("the body");
        (head, body)
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_nodelay(true).expect("set");
    stream
}

/// The length of the response whose beginning was received, with its head; `None` if the head is not complete.
fn response_length(received: &[u8], status: u16) -> Option<usize> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(received).expect("HTTP") else { return None };
    assert_eq!(response.code, Some(status), "{}", String::from_utf8_lossy(received));
    let length = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|length| str::from_utf8(length.value).ok()?.parse::<usize>().ok());
    Some(head + length.unwrap_or(0))
}

/// Connections of one thread. Each sends its next request when its last one is answered, and waits for no other: a thread
/// for each would take more processor time from the server.
pub struct Connections {
    runtime: Runtime,
    open: Vec<tokio::net::TcpStream>,
}

impl Connections {
    pub fn open(address: SocketAddr, number: u64) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
        let guard = runtime.enter();
        let connect = |_| {
            let stream = connect(address);
            stream.set_nonblocking(true).expect("set");
            tokio::net::TcpStream::from_std(stream).expect("a runtime")
        };
        let open = (0..number).map(connect).collect();
        drop(guard);
        Self { runtime, open }
    }

    /// Sends `count` requests, and waits for their responses.
    pub fn send(&mut self, count: u64, status: u16, request: impl Fn() -> String + Send + Sync + 'static) {
        let (request, sent) = (Arc::new(request), Arc::new(AtomicU64::new(0)));
        let mut tasks = JoinSet::new();
        for stream in self.open.drain(..) {
            let (request, sent) = (Arc::clone(&request), Arc::clone(&sent));
            let work = async move {
                let mut received = Vec::with_capacity(16 * 1024);
                while sent.fetch_add(1, Ordering::Relaxed) < count {
                    exchange(&stream, request().as_bytes(), status, &mut received).await.expect("answered");
                }
                stream
            };
            tasks.spawn_on(work, self.runtime.handle());
        }
        self.open = self.runtime.block_on(tasks.join_all());
    }
}

async fn exchange(
    stream: &tokio::net::TcpStream,
    mut request: &[u8],
    status: u16,
    received: &mut Vec<u8>,
) -> std::io::Result<()> {
    while !request.is_empty() {
        match stream.try_write(request) {
            Ok(written) => request = &request[written..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    received.clear();
    while response_length(received, status).is_none_or(|length| received.len() < length) {
        stream.readable().await?;
        match stream.try_read_buf(received) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
