//! A server on a real socket, and an HTTP client that controls every byte that it sends.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use flate2::read::GzDecoder;
use serde_json::Value;
use ticketing::environment::{SystemClock, SystemEntropy};
use ticketing::id::OrganizationId;
use ticketing::organization::{CreateApiKey, CreateOrganization, Scope, Scopes};
use ticketing::server::{ServerOptions, router, serve};
use ticketing::{Builder, TicketingService};
use tokio::sync::oneshot;

use super::database::Database;
use super::fixture::Fixture;

/// How long a client waits for a response: the machine may be busy.
const READ_TIMEOUT: Duration = Duration::from_mins(2);

pub type TestResult = Result<(), Box<dyn std::error::Error>>;

/// A running server. It stops when it is dropped.
pub struct Server {
    /// The service behind it, with the system's clock unless the test sets another.
    pub service: TicketingService,
    pub organization: OrganizationId,
    /// An API key with every scope.
    pub key: String,
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
    fixture: Fixture,
}

impl Server {
    /// Starts a server with the sandbox gateway.
    pub fn start() -> Self {
        Self::with(Builder::sandbox_gateway, |_| {})
    }

    /// Starts a server whose service `configure` sets up, and whose options `adjust` changes. It has no payment gateway
    /// by default.
    pub fn with(configure: impl FnOnce(Builder) -> Builder, adjust: impl FnOnce(&mut ServerOptions)) -> Self {
        Self::with_app(configure, adjust, router)
    }

    /// Starts a server like [`Server::with`] that serves the router that `app` creates.
    pub fn with_app(
        configure: impl FnOnce(Builder) -> Builder,
        adjust: impl FnOnce(&mut ServerOptions),
        app: impl FnOnce(TicketingService, &ServerOptions) -> Router,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let fixture = Fixture::with(|builder| {
            let builder = builder.clock(SystemClock).entropy(SystemEntropy);
            configure(builder.public_url(format!("http://{address}")))
        });
        Self::serving(listener, fixture, adjust, app)
    }

    /// Starts a server for the service of a fixture. It has no rate limit.
    pub fn of(fixture: Fixture) -> Self {
        Self::serving(TcpListener::bind("127.0.0.1:0").unwrap(), fixture, |options| options.rate_limit = None, router)
    }

    fn serving(
        listener: TcpListener,
        fixture: Fixture,
        adjust: impl FnOnce(&mut ServerOptions),
        app: impl FnOnce(TicketingService, &ServerOptions) -> Router,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let mut options = ServerOptions::default();
        adjust(&mut options);
        let (stop, stopped) = oneshot::channel::<()>();
        let app = app(fixture.service.clone(), &options);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
            runtime.block_on(serve(listener, app, options, async { drop(stopped.await) }))
        });
        let service = fixture.service.clone();
        let organization = fixture.caller.organization();
        let key = new_key(&service, organization, Scopes::all());
        Self { service, organization, key, address, stop: Some(stop), thread: Some(thread), fixture }
    }

    /// Creates an API key with these scopes.
    pub fn key_with(&self, scopes: impl IntoIterator<Item = Scope>) -> String {
        new_key(&self.service, self.organization, scopes.into_iter().collect())
    }

    /// Opens a connection whose requests have the server's API key.
    pub fn client(&self) -> Client {
        Client::new(self.address, &self.key)
    }

    pub fn client_with(&self, key: &str) -> Client {
        Client::new(self.address, key)
    }

    /// Connects without an API key from another loopback address: `127.0.0.` and this number.
    pub fn client_from(&self, last_octet: u8) -> Client {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let stream = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind(([127, 0, 0, last_octet], 0).into()).unwrap();
            socket.connect(self.address).await.unwrap().into_std().unwrap()
        });
        stream.set_nonblocking(false).unwrap();
        Client::of(stream)
    }

    /// The path of the database file.
    pub fn file(&self) -> PathBuf {
        self.fixture.path()
    }

    /// Opens a connection to the database, next to the service's.
    pub fn database(&self) -> Database {
        self.fixture.database()
    }

    /// Opens a connection for statements that violate constraints.
    pub fn database_without_constraints(&self) -> Database {
        Database::open_without_constraints(&self.file())
    }

    /// Skips the check at the end, for a test that changes the database.
    pub fn skip_final_check(&self) {
        self.fixture.skip_final_check();
    }

    /// Tells the server to stop, without waiting for it.
    pub fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Stops the server and waits until it has stopped.
    pub fn join(mut self) {
        self.stop();
        self.thread.take().unwrap().join().unwrap().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let stopped = thread.join();
            assert!(std::thread::panicking() || matches!(stopped, Ok(Ok(()))));
        }
    }
}

/// Creates another organization and returns an API key of it that has every scope.
pub fn other_organization_key(service: &TicketingService) -> String {
    let organization = service.create_organization(CreateOrganization::default()).unwrap().id;
    new_key(service, organization, Scopes::all())
}

fn new_key(service: &TicketingService, organization: OrganizationId, scopes: Scopes) -> String {
    let request = CreateApiKey::new("Test").scopes(scopes);
    service.create_api_key(organization, request).unwrap().key.expose().to_owned()
}

/// A response as it was received.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the value of a header. Panics if there is more than one of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let first = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} comes twice: {:?}", self.headers);
        first
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body of a response in gzip.
    pub fn decompressed(&self) -> Vec<u8> {
        let mut plain = Vec::new();
        GzDecoder::new(self.body.as_slice()).read_to_end(&mut plain).unwrap();
        plain
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the problem in the body. Panics if it is not well formed.
    pub fn problem(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        assert_eq!(problem["requestId"], self.header("x-request-id").unwrap());
        assert!(!problem["title"].as_str().unwrap().is_empty() && !problem["detail"].as_str().unwrap().is_empty());
        problem
    }

    /// Returns the code of the problem in the body.
    pub fn code(&self) -> String {
        self.problem()["type"].as_str().unwrap().strip_prefix("urn:ticketing:problem:").unwrap().to_owned()
    }

    /// Returns the paths of the field errors of a problem.
    pub fn paths(&self) -> Vec<String> {
        assert_eq!((self.status, self.code().as_str()), (422, "validation-failed"));
        let problem = self.json();
        let errors = problem["errors"].as_array().unwrap();
        errors.iter().map(|error| error["path"].as_str().unwrap().to_owned()).collect()
    }

    /// Asserts that the response has this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

/// A client with one connection.
pub struct Client {
    stream: TcpStream,
    key: String,
    /// Precedes the path of every request.
    prefix: &'static str,
}

impl Client {
    /// Connects to the server. Every request has this API key, unless it is empty.
    pub fn new(address: SocketAddr, key: &str) -> Self {
        Self { key: key.to_owned(), ..Self::of(TcpStream::connect(address).unwrap()) }
    }

    /// Creates a client without an API key on an existing connection.
    pub fn of(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        Self { stream, key: String::new(), prefix: "" }
    }

    /// The same client for routes that are nested under `prefix`.
    pub fn under(self, prefix: &'static str) -> Self {
        Self { prefix, ..self }
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.send("GET", path, &[], b"")
    }

    pub fn delete(&mut self, path: &str) -> Response {
        self.send("DELETE", path, &[], b"")
    }

    /// Sends a POST request without a body.
    pub fn post_empty(&mut self, path: &str) -> Response {
        self.send("POST", path, &[], b"")
    }

    pub fn post(&mut self, path: &str, body: &Value) -> Response {
        self.json("POST", path, body)
    }

    pub fn patch(&mut self, path: &str, body: &Value) -> Response {
        self.json("PATCH", path, body)
    }

    pub fn json(&mut self, method: &str, path: &str, body: &Value) -> Response {
        self.send(method, path, &["Content-Type: application/json"], body.to_string().as_bytes())
    }

    /// Sends a POST request with an idempotency key. It has no body if `body` is null.
    pub fn post_with_key(&mut self, idempotency_key: &str, path: &str, body: &Value) -> Response {
        let line = format!("Idempotency-Key: {idempotency_key}");
        match body {
            Value::Null => self.send("POST", path, &[&line], b""),
            body => self.send("POST", path, &["Content-Type: application/json", &line], body.to_string().as_bytes()),
        }
    }

    /// Sends a request with the client's API key and these header lines, and reads the response.
    pub fn send(&mut self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Response {
        let mut lines = vec![format!("X-Api-Key: {}", self.key)];
        lines.extend(headers.iter().map(|line| (*line).to_owned()));
        if !body.is_empty() || method == "POST" {
            lines.push(format!("Content-Length: {}", body.len()));
        }
        let prefix = self.prefix;
        let mut bytes =
            format!("{method} {prefix}{path} HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n", lines.join("\r\n"));
        if self.key.is_empty() {
            bytes = bytes.replace("X-Api-Key: \r\n", "");
        }
        let bytes = [bytes.as_bytes(), body].concat();
        self.write(&bytes);
        self.read_response_to(method).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Sends exactly these bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        // The server may respond and close the connection before it has read everything.
        let _ = self.stream.write_all(bytes);
    }

    /// Shuts down the sending half of the connection.
    pub fn end(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }

    /// Waits for the first byte of a response, without reading it.
    pub fn wait_for_bytes(&mut self) {
        assert_eq!(self.stream.peek(&mut [0]).unwrap(), 1);
    }

    /// Whether a byte of a response arrives within this time. It is not read.
    pub fn has_bytes_within(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        peeked.is_ok_and(|bytes| bytes > 0)
    }

    pub fn read_response(&mut self) -> io::Result<Response> {
        self.read_response_to("GET")
    }

    /// Reads the response to a request with this method: a response to HEAD has no body.
    pub fn read_response_to(&mut self, method: &str) -> io::Result<Response> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            head.extend(byte);
        }
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let headers: Vec<_> = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut response = Response { status, headers, body: Vec::new() };
        let length = response.header("content-length").map_or(0, |length| length.parse().unwrap());
        assert!(response.header("transfer-encoding").is_none());
        if method != "HEAD" {
            response.body.resize(length, 0);
            self.stream.read_exact(&mut response.body)?;
        }
        Ok(response)
    }

    /// Whether the server closes the connection within this time.
    pub fn is_closed_within(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let read = self.stream.read(&mut [0; 1024]);
        self.stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        match read {
            Ok(length) => length == 0,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        }
    }
}

/// The ids of a published event and its ticket type.
pub struct EventOnSale {
    pub event: String,
    pub ticket_type: String,
}

/// Creates a published event with a ticket type of 100 seats at 12.50 EUR.
pub fn event_on_sale(client: &mut Client, slug: &str) -> EventOnSale {
    try_event_on_sale(client, slug).unwrap_or_else(|refused| panic!("{refused:?}"))
}

/// Like [`event_on_sale`]. Returns the answer that is not 201, if there is one.
pub fn try_event_on_sale(client: &mut Client, slug: &str) -> Result<EventOnSale, Response> {
    let created = |answer: Response| if answer.status == 201 { Ok(id(&answer)) } else { Err(answer) };
    let event = serde_json::json!({
        "title": "Summer Night", "slug": slug, "startDate": "9000-06-01T18:00:00Z",
        "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
    });
    let event = created(client.post("/v1/events", &event))?;
    let ticket_type = serde_json::json!({"name": "Seat", "price": 12.5, "quantity": 100});
    let ticket_type = created(client.post(&format!("/v1/events/{event}/ticket-types"), &ticket_type))?;
    Ok(EventOnSale { event, ticket_type })
}

/// The body of a request for an order.
pub fn order_of(event: &str, ticket_type: &str, quantity: u32) -> Value {
    serde_json::json!({
        "eventId": event,
        "customer": {"name": "Ada", "email": "ada@example.com"},
        "items": [{"ticketId": ticket_type, "quantity": quantity}],
    })
}

/// Returns the `id` in the body of a response.
pub fn id(response: &Response) -> String {
    response.json()["id"].as_str().unwrap().to_owned()
}
