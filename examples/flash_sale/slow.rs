//! Connections that keep a server busy with nothing: some say nothing at all, some send a head a byte at a time, some
//! stop in the middle of a body.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::Result;
use crate::box_office::BoxOffice;

const HEAD: &[u8] =
    b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
/// How often each of them is looked after.
const PACE: Duration = Duration::from_millis(500);

/// How often it is looked after for each byte that it sends.
const LOOKS_PER_BYTE: usize = 6;

/// How many of the slow connections the system gives handles for, of which each takes two: its other end is here too.
pub(crate) fn that_fit(wanted: usize, connections: usize) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let handles = limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next());
    match handles.and_then(|handles| handles.parse::<usize>().ok()) {
        Some(handles) => wanted.min(handles.saturating_sub(2 * connections + 150) / 2),
        None => wanted,
    }
}

/// Slow connections, on a thread of their own.
pub(crate) struct Crowd {
    enough: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Crowd {
    /// Opens so many connections, and keeps up their number: a server closes who takes too long.
    pub(crate) fn gather(office: &BoxOffice, number: usize) -> Result<Self> {
        let (address, half) = (office.address, office.half_an_order());
        let connect = move |kind| Slow::connect(address, kind, &half);
        let mut connections = (0..number).map(&connect).collect::<Result<Vec<_>>>()?;
        let enough = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&enough);
        let thread = std::thread::spawn(move || {
            let mut closed = 0;
            while !connections.is_empty() && !told.load(Ordering::Relaxed) {
                for slow in &mut connections {
                    if slow.goes_on().is_err()
                        && let Ok(another) = connect(slow.kind)
                    {
                        *slow = another;
                        closed += 1;
                    }
                    // Not all of them at once.
                    std::thread::sleep(PACE / u32::try_from(number).unwrap_or(u32::MAX));
                }
            }
            closed
        });
        Ok(Self { enough, thread })
    }

    /// Lets them all go, and says how many the server had closed before.
    pub(crate) fn disperse(self) -> usize {
        self.enough.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

struct Slow {
    kind: usize,
    stream: TcpStream,
    looks: usize,
}

impl Slow {
    fn connect(address: SocketAddr, kind: usize, half: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        if kind % 3 == 2 {
            stream.write_all(half.as_bytes())?;
        }
        stream.set_nonblocking(true)?;
        Ok(Self { kind, stream, looks: 0 })
    }

    /// Sends next to nothing. An error where the server has had enough.
    fn goes_on(&mut self) -> std::io::Result<()> {
        if self.kind % 3 == 1 && self.looks.is_multiple_of(LOOKS_PER_BYTE) {
            let next = self.looks / LOOKS_PER_BYTE % HEAD.len();
            self.stream.write_all(&HEAD[next..=next])?;
        }
        self.looks += 1;
        match self.stream.read(&mut [0; 1024]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(ErrorKind::ConnectionAborted.into()),
        }
    }
}
