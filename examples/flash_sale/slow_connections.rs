//! Slow connections, which occupy the server without a complete request. One third sends nothing, one third sends a
//! request head one byte at a time, and one third stops in the middle of a request body.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::Result;
use crate::sale_server::SaleServer;

const HEAD: &[u8] =
    b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Each connection is polled once in this interval.
const INTERVAL: Duration = Duration::from_millis(500);

/// A connection that sends a head sends one byte every so many polls.
const POLLS_PER_BYTE: usize = 6;

/// Limits the number of slow connections to what the limit of open files allows. Each connection needs two, because
/// both ends are in this process.
pub(crate) fn limit_to_open_files(wanted: usize, connections: usize) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let open_files = limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next());
    match open_files.and_then(|limit| limit.parse::<usize>().ok()) {
        Some(limit) => wanted.min(limit.saturating_sub(2 * connections + 150) / 2),
        None => wanted,
    }
}

/// Slow connections, and the thread that keeps them open.
pub(crate) struct SlowConnections {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl SlowConnections {
    /// Opens the connections and starts the thread. It replaces the connections that the server closes.
    pub(crate) fn open(server: &SaleServer, number: usize) -> Result<Self> {
        let address = server.address;
        let incomplete_order = server.incomplete_order();
        let connect = move |kind| SlowConnection::open(address, kind, &incomplete_order);
        let kinds = [Kind::Silent, Kind::SlowHead, Kind::IncompleteBody].into_iter().cycle();
        let mut connections = kinds.take(number).map(&connect).collect::<Result<Vec<_>>>()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut closed = 0;
            while !connections.is_empty() && !stopped.load(Ordering::Relaxed) {
                for connection in &mut connections {
                    if connection.poll().is_err()
                        && let Ok(new) = connect(connection.kind)
                    {
                        *connection = new;
                        closed += 1;
                    }
                    // Spreads the polls over the interval.
                    std::thread::sleep(INTERVAL / u32::try_from(number).unwrap_or(u32::MAX));
                }
            }
            closed
        });
        Ok(Self { stop, thread })
    }

    /// Closes all connections. Returns how many the server had closed before.
    pub(crate) fn close(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Sends nothing.
    Silent,
    /// Sends a request head one byte at a time.
    SlowHead,
    /// Sends a request head and the first byte of the body.
    IncompleteBody,
}

struct SlowConnection {
    kind: Kind,
    stream: TcpStream,
    polls: usize,
}

impl SlowConnection {
    fn open(address: SocketAddr, kind: Kind, incomplete_order: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        if kind == Kind::IncompleteBody {
            stream.write_all(incomplete_order.as_bytes())?;
        }
        stream.set_nonblocking(true)?;
        Ok(Self { kind, stream, polls: 0 })
    }

    /// Sends the next byte, if it is time. Fails if the server has responded or closed the connection.
    fn poll(&mut self) -> std::io::Result<()> {
        if self.kind == Kind::SlowHead && self.polls.is_multiple_of(POLLS_PER_BYTE) {
            let next = self.polls / POLLS_PER_BYTE % HEAD.len();
            self.stream.write_all(&HEAD[next..=next])?;
        }
        self.polls += 1;
        match self.stream.read(&mut [0; 1024]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(ErrorKind::ConnectionAborted.into()),
        }
    }
}
