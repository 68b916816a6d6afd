//! A webhook receiver on a real socket. A test sets its responses. It records the requests.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// How long to wait for requests: the machine may be busy.
const TIMEOUT: Duration = Duration::from_mins(2);

/// How the receiver responds to one request.
#[derive(Debug, Clone)]
pub enum MockResponse {
    /// Responds with this status and no body.
    Status(u16),
    /// Responds with this status and this body.
    Body(u16, String),
    /// Sends these bytes and keeps the connection open.
    Bytes(Vec<u8>),
    /// Sends these bytes and closes the connection.
    Last(Vec<u8>),
    /// Sends these bytes as soon as the connection is open, and closes it without reading a request.
    Early(Vec<u8>),
    /// Sends the first bytes, and then the second bytes again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends these bytes one by one, with a pause before each, and keeps the connection open.
    Dribble(Vec<u8>, Duration),
    /// Waits before it responds.
    After(Duration, Box<MockResponse>),
    /// Never responds.
    Hang,
    /// Closes the connection.
    Close,
    /// Resets the connection.
    Reset,
}

/// A request as it was received.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The server name of the TLS handshake.
    pub server_name: Option<String>,
    /// The request line and the headers.
    pub head: String,
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// The headers, as pairs of a name and a value.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.map(|(name, value)| (name, value.trim()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A running receiver. It stops when it is dropped.
pub struct WebhookReceiver {
    pub address: SocketAddr,
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
    responses: VecDeque<MockResponse>,
    default: MockResponse,
    received: Vec<ReceivedRequest>,
    /// The sockets of the connections by number; `None` when the connection is closed.
    sockets: Vec<Option<TcpStream>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl WebhookReceiver {
    /// Starts a receiver for plain HTTP. By default it responds with status 204.
    pub fn start() -> Self {
        Self::listen(None)
    }

    /// Starts a receiver for HTTPS.
    pub fn start_tls(config: ServerConfig) -> Self {
        Self::listen(Some(Arc::new(config)))
    }

    fn listen(tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = State {
            responses: VecDeque::new(),
            default: MockResponse::Status(204),
            received: Vec::new(),
            sockets: Vec::new(),
        };
        let changed = Condvar::new();
        let stopped = AtomicBool::new(false);
        let shared = Arc::new(Shared { tls, state: Mutex::new(state), changed, stopped });
        let thread = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Sets the response to the next request for which no response is set.
    pub fn enqueue(&self, response: MockResponse) -> &Self {
        self.shared.lock().responses.push_back(response);
        self
    }

    /// Sets the default response, for requests without a response of their own.
    pub fn set_default_response(&self, response: MockResponse) -> &Self {
        self.shared.lock().default = response;
        self
    }

    /// Its URL for plain HTTP.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.lock().received.clone()
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.shared.lock().sockets.len()
    }

    /// Waits until there were this many requests, and returns all of them.
    #[track_caller]
    pub fn wait_for(&self, requests: usize) -> Vec<ReceivedRequest> {
        let missing = |state: &mut State| state.received.len() < requests;
        let (state, waited) = self.shared.changed.wait_timeout_while(self.shared.lock(), TIMEOUT, missing).unwrap();
        assert!(!waited.timed_out(), "{} of {requests} requests", state.received.len());
        state.received.clone()
    }

    /// Closes every open connection. New ones are accepted.
    pub fn close_connections(&self) {
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
        // A response is sent in several pieces. Otherwise the second one waits for the acknowledgement of the first.
        let _ = socket.set_nodelay(true);
        let connection = {
            let mut state = shared.lock();
            state.sockets.push(socket.try_clone().ok());
            state.sockets.len() - 1
        };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // Errors are expected: the sender closes connections, and so do some responses.
            let _ = match &shared.tls {
                None => serve(socket, &shared, |_| None),
                Some(config) => {
                    let secured = ServerConnection::new(Arc::clone(config)).unwrap();
                    let name = |stream: &StreamOwned<ServerConnection, TcpStream>| {
                        stream.conn.server_name().map(str::to_owned)
                    };
                    serve(StreamOwned::new(secured, socket), &shared, name)
                }
            };
            shared.lock().sockets[connection] = None;
        });
    }
}

/// Responds to the requests of one connection, one after the other.
fn serve<S: Read + Write>(
    mut stream: S,
    shared: &Shared,
    server_name: impl Fn(&S) -> Option<String>,
) -> io::Result<()> {
    loop {
        let early = shared.lock().responses.pop_front_if(|response| matches!(response, MockResponse::Early(_)));
        if let Some(MockResponse::Early(bytes)) = early {
            return stream.write_all(&bytes);
        }
        let mut first = [0];
        stream.read_exact(&mut first)?;
        let response = {
            let mut state = shared.lock();
            state.responses.pop_front().unwrap_or_else(|| state.default.clone())
        };
        if matches!(response, MockResponse::Reset) {
            // Closing a socket that has unread data resets the connection.
            return Ok(());
        }
        let (head, body) = read_request(first[0], &mut stream)?;
        let request = ReceivedRequest { server_name: server_name(&stream), head, body };
        shared.lock().received.push(request);
        shared.changed.notify_all();
        if !respond(response, &mut stream)? {
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

/// Sends the response. Returns whether the connection stays open.
fn respond(response: MockResponse, stream: &mut impl Write) -> io::Result<bool> {
    match response {
        MockResponse::Status(status) => respond(MockResponse::Body(status, String::new()), stream),
        MockResponse::Body(status, body) => {
            let length = if status == 204 { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
            write!(stream, "HTTP/1.1 {status} Text\r\n{length}\r\n{body}")?;
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
        MockResponse::After(pause, response) => {
            sleep(pause);
            respond(*response, stream)
        }
        MockResponse::Hang => Ok(true),
        MockResponse::Close | MockResponse::Reset => Ok(false),
    }
}
