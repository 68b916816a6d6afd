//! A receiver of notifications on a real socket, which answers as it is told and remembers what it was sent.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is done with one request.
#[derive(Debug, Clone)]
pub(crate) enum MockResponse {
    /// This status and no body.
    Status(u16),
    /// This status and this body.
    Body(u16, String),
    /// These bytes, and the connection stays.
    Bytes(Vec<u8>),
    /// These bytes, and the connection is closed.
    Last(Vec<u8>),
    /// These bytes before anything of the request is read, and the connection is closed without reading it.
    Early(Vec<u8>),
    /// The first bytes, and then the others again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes one by one, with a pause before each, and then nothing.
    Dribble(Vec<u8>, Duration),
    /// The other answer, after a while.
    After(Duration, Box<MockResponse>),
    /// Nothing.
    Hang,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
}

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    /// On which connection, from 0.
    pub(crate) connection: usize,
    /// The name that the sender asked for when it secured the connection.
    pub(crate) server_name: Option<String>,
    /// The request line and the headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// A running receiver. It stops when it goes.
pub(crate) struct WebhookReceiver {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    tls: Option<Arc<ServerConfig>>,
    state: Mutex<State>,
    changed: Condvar,
    stopped: AtomicBool,
}

struct State {
    answers: VecDeque<MockResponse>,
    otherwise: MockResponse,
    received: Vec<ReceivedRequest>,
    /// One for each connection that was made, as long as it is open.
    sockets: Vec<Option<TcpStream>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl WebhookReceiver {
    /// One that speaks plain HTTP. What nothing else is said about it answers with 204.
    pub(crate) fn start() -> Self {
        Self::listen(None)
    }

    /// One that speaks HTTPS.
    pub(crate) fn start_tls(config: ServerConfig) -> Self {
        Self::listen(Some(Arc::new(config)))
    }

    fn listen(tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = State {
            answers: VecDeque::new(),
            otherwise: MockResponse::Status(204),
            received: Vec::new(),
            sockets: Vec::new(),
        };
        let (changed, stopped) = (Condvar::new(), AtomicBool::new(false));
        let shared = Arc::new(Shared { tls, state: Mutex::new(state), changed, stopped });
        let thread = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// What it does with the next request that nothing is planned for.
    pub(crate) fn enqueue(&self, answer: MockResponse) -> &Self {
        self.shared.lock().answers.push_back(answer);
        self
    }

    /// What it does with every request that nothing is planned for.
    pub(crate) fn set_default_response(&self, answer: MockResponse) -> &Self {
        self.shared.lock().otherwise = answer;
        self
    }

    /// Where it is, with plain HTTP.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.lock().received.clone()
    }

    /// How many connections were made to it.
    pub(crate) fn connections(&self) -> usize {
        self.shared.lock().sockets.len()
    }

    /// Waits until so many requests have come, and gives all of them.
    #[track_caller]
    pub(crate) fn wait_for(&self, requests: usize) -> Vec<ReceivedRequest> {
        let missing = |state: &mut State| state.received.len() < requests;
        let (state, waited) = self.shared.changed.wait_timeout_while(self.shared.lock(), PATIENCE, missing).unwrap();
        assert!(!waited.timed_out(), "{} of {requests} requests", state.received.len());
        state.received.clone()
    }

    /// Closes every connection, and takes new ones.
    pub(crate) fn close_connections(&self) {
        for socket in self.shared.lock().sockets.iter().flatten() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for WebhookReceiver {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.close_connections();
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for socket in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(socket) = socket else { continue };
        let connection = {
            let mut state = shared.lock();
            state.sockets.push(socket.try_clone().ok());
            state.sockets.len() - 1
        };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // What goes wrong here is what the sender does, or what the test wants.
            let _ = match &shared.tls {
                None => serve(socket, connection, &shared, |_| None),
                Some(config) => {
                    let secured = ServerConnection::new(Arc::clone(config)).unwrap();
                    let name = |stream: &StreamOwned<ServerConnection, TcpStream>| {
                        stream.conn.server_name().map(str::to_owned)
                    };
                    serve(StreamOwned::new(secured, socket), connection, &shared, name)
                }
            };
            shared.lock().sockets[connection] = None;
        });
    }
}

/// Answers the requests of one connection, one after the other.
fn serve<S: Read + Write>(
    mut stream: S,
    connection: usize,
    shared: &Shared,
    server_name: impl Fn(&S) -> Option<String>,
) -> io::Result<()> {
    loop {
        let early = shared.lock().answers.pop_front_if(|answer| matches!(answer, MockResponse::Early(_)));
        if let Some(MockResponse::Early(bytes)) = early {
            return stream.write_all(&bytes);
        }
        let mut first = [0];
        stream.read_exact(&mut first)?;
        let answer = {
            let mut state = shared.lock();
            state.answers.pop_front().unwrap_or_else(|| state.otherwise.clone())
        };
        if matches!(answer, MockResponse::Reset) {
            // The rest of the request is not read: the system says so to the sender.
            return Ok(());
        }
        let (head, body) = read_request(first[0], &mut stream)?;
        let request = ReceivedRequest { connection, server_name: server_name(&stream), head, body };
        shared.lock().received.push(request);
        shared.changed.notify_all();
        if !give(answer, &mut stream)? {
            return Ok(());
        }
    }
}

fn read_request(first: u8, stream: &mut impl Read) -> io::Result<(String, Vec<u8>)> {
    let mut bytes = vec![first];
    let mut chunk = [0; 4096];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        match stream.read(&mut chunk)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            amount => bytes.extend_from_slice(&chunk[..amount]),
        }
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8(bytes).unwrap();
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::to_owned));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    let read = body.len();
    body.resize(length, 0);
    stream.read_exact(&mut body[read..])?;
    Ok((head, body))
}

/// Answers, and tells whether the connection stays.
fn give(answer: MockResponse, stream: &mut impl Write) -> io::Result<bool> {
    match answer {
        MockResponse::Status(status) => give(MockResponse::Body(status, String::new()), stream),
        MockResponse::Body(status, body) => {
            let length = if status == 204 { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
            write!(stream, "HTTP/1.1 {status} Whatever\r\n{length}\r\n{body}")?;
            stream.flush().map(|()| true)
        }
        MockResponse::Bytes(bytes) => stream.write_all(&bytes).and_then(|()| stream.flush()).map(|()| true),
        MockResponse::Last(bytes) | MockResponse::Early(bytes) => {
            stream.write_all(&bytes).and_then(|()| stream.flush()).map(|()| false)
        }
        MockResponse::Endless(first, again) => {
            stream.write_all(&first)?;
            loop {
                stream.write_all(&again)?;
            }
        }
        MockResponse::Dribble(bytes, pause) => {
            for byte in bytes {
                sleep(pause);
                stream.write_all(&[byte])?;
                stream.flush()?;
            }
            Ok(true)
        }
        MockResponse::After(pause, answer) => {
            sleep(pause);
            give(*answer, stream)
        }
        MockResponse::Hang => Ok(true),
        MockResponse::Close | MockResponse::Reset => Ok(false),
    }
}
