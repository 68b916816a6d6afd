//! Accepts connections, limits their number, and closes those whose clients are too slow, so that slow or idle clients
//! cannot keep others out.
//!
//! hyper serves each connection but has only a timeout for heads; it cannot tell a late head from an idle client, and
//! has no timeout for bodies and no limit on connections. So this module implements the timeouts, and chooses the
//! connection to close when a new one needs room.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Method, Request, Uri};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tower::Service;

use super::byte_stream::{Transport, WatchedBody};
use super::client_connection::ClientConnection;
use super::invalid_http;
use super::open_connections::OpenConnections;
use super::shared_stream::SharedStream;
use crate::server::options::ServerOptions;
use crate::server::prometheus::metrics::GaugeGuard;
use crate::server::responses::problem::Problem;
use crate::server::responses::request_id::{REQUEST_ID, request_id};

/// The maximum size of a request head.
const MAX_HEAD_SIZE: usize = 32 * 1024;

/// How many file handles are left to the rest of the process if the system has fewer than the server wants.
const SPARE_HANDLES: usize = 32;

/// How long the limit on connections is lower after the system had no more file handles.
const LOWERED_FOR: Duration = Duration::from_mins(1);

/// The pause after an error of `accept`, so that the loop does not spin.
const ACCEPT_ERROR_PAUSE: Duration = Duration::from_millis(20);

/// The maximum time for a request head during shutdown.
const SHUTDOWN_HEAD_TIMEOUT: Duration = Duration::from_millis(500);

/// Serves a router on `listener`, as `axum::serve` does, until `shutdown` completes. Then it accepts no more
/// connections, waits up to [`ServerOptions::shutdown_timeout`] for requests in progress, and returns.
///
/// The router may be [`router`](crate::server::router), or one of your own in which the
/// [`Routes`](crate::server::Routes) are mounted among others. All of its routes are protected: connections are limited
/// in number, slow and idle clients are disconnected, and requests that are invalid or ambiguous HTTP are refused with
/// 400: several lengths of the body (request smuggling), no `Host` or several, a path and query of more than 8 KiB. The
/// router gets the client's address as axum's `ConnectInfo<SocketAddr>`.
///
/// A `GET` or `HEAD` request is given up if its client resets the connection, or a second after it has closed its side: a
/// search that nobody waits for ends. Other requests are carried out.
///
/// # Errors
/// If the listener cannot be used. A failure of one connection does not affect others and is not returned.
pub async fn serve(
    listener: std::net::TcpListener,
    router: Router,
    options: ServerOptions,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let mut connections = Connections::new(router, options);
    connections.accept(&listener, shutdown).await;
    drop(listener);
    connections.close().await;
    Ok(())
}

/// The open connections.
struct Connections {
    router: Router,
    options: ServerOptions,
    /// The limit after the system had no more file handles, and until when it counts.
    lowered: Option<(usize, Instant)>,
    open: OpenConnections,
    tasks: JoinSet<()>,
    shutdown: watch::Sender<bool>,
}

impl Connections {
    fn new(router: Router, mut options: ServerOptions) -> Self {
        options.connections = options.connections.max(1);
        let (open, tasks, shutdown) = (OpenConnections::default(), JoinSet::new(), watch::Sender::new(false));
        Self { router, options, lowered: None, open, tasks, shutdown }
    }

    /// How many connections may be open.
    fn limit(&self, now: Instant) -> usize {
        match self.lowered {
            Some((limit, until)) if now < until => limit,
            _ => self.options.connections,
        }
    }

    /// Accepts and serves connections until `shutdown` completes.
    async fn accept(&mut self, listener: &TcpListener, shutdown: impl Future<Output = ()>) {
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            // Tasks of evicted connections may not have ended yet. If there are many, wait for them before accepting
            // more: until they end, their file handles are open.
            let may_accept = self.tasks.len() < self.limit(Instant::now()) + SPARE_HANDLES / 2;
            tokio::select! {
                biased;
                () = &mut shutdown => return,
                Some(ended) = self.tasks.join_next_with_id() => self.remove(&ended),
                accepted = listener.accept(), if may_accept => match accepted {
                    Ok((stream, client)) => self.open(stream, client),
                    Err(error) => self.handle_accept_error(&error).await,
                },
            }
        }
    }

    /// Waits for the requests in progress, then closes what is still open.
    async fn close(mut self) {
        self.shutdown.send_replace(true);
        let all_ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(self.options.shutdown_timeout, all_ended).await.is_err() {
            tracing::warn!(
                target: "ticketing::server",
                connections = self.tasks.len(),
                "closing connections with requests in progress"
            );
            self.tasks.shutdown().await;
        }
    }

    fn open(&mut self, stream: TcpStream, client: SocketAddr) {
        let limit = self.limit(Instant::now());
        if self.open.len() >= limit && !self.open.evict_one(Some(client.ip())) {
            tracing::warn!(
                target: "ticketing::server",
                limit,
                "connection refused: every open connection has a request in progress"
            );
            return;
        }
        let connection = Arc::new(ClientConnection::new());
        // Responses are written whole, so waiting for more data to send would only delay them.
        let _ = stream.set_nodelay(true);
        // Otherwise the system keeps megabytes of a response that the client does not receive, which nothing counts.
        #[cfg(target_os = "linux")]
        let _ = socket2::SockRef::from(&stream).set_tcp_notsent_lowat(128 * 1024);
        let service = ConnectionService {
            router: self.router.clone(),
            client,
            connection: Arc::clone(&connection),
            stream: SharedStream::new(stream),
        };
        let served = serve_connection(service, self.options.clone(), self.shutdown.subscribe());
        let counted = GaugeGuard::new(&self.options.open_connections);
        let task = self.tasks.spawn(async move {
            let _counted = counted;
            served.await;
        });
        self.open.insert(task.id(), client.ip(), connection);
    }

    fn remove(&mut self, ended: &Result<(tokio::task::Id, ()), JoinError>) {
        let id = match ended {
            Ok((id, ())) => *id,
            Err(error) => {
                if error.is_panic() {
                    tracing::error!(target: "ticketing::server", %error, "the task of a connection panicked");
                }
                error.id()
            }
        };
        self.open.remove(id);
    }

    /// If the system has no more file handles, lowers the limit for a while below the number of open connections, so
    /// that new ones can be accepted again and the store can open its files.
    async fn handle_accept_error(&mut self, error: &io::Error) {
        const ENFILE_AND_EMFILE: [i32; 2] = [23, 24];
        if cfg!(unix) && error.raw_os_error().is_some_and(|code| ENFILE_AND_EMFILE.contains(&code)) {
            let limit = self.open.len().saturating_sub(SPARE_HANDLES).max(SPARE_HANDLES).min(self.options.connections);
            self.lowered = Some((limit, Instant::now() + LOWERED_FOR));
            tracing::warn!(
                target: "ticketing::server",
                limit,
                "out of file handles: lowered the limit on connections for a minute"
            );
            while self.open.len() > limit && self.open.evict_one(None) {}
        } else {
            tracing::warn!(target: "ticketing::server", %error, "cannot accept a connection");
        }
        tokio::time::sleep(ACCEPT_ERROR_PAUSE).await;
    }
}

/// Serves one connection until it ends, its client is too slow, or it is closed by the server.
async fn serve_connection(service: ConnectionService, mut options: ServerOptions, mut shutdown: watch::Receiver<bool>) {
    let connection = Arc::clone(&service.connection);
    let transport = TokioIo::new(Transport::new(service.stream.clone(), Arc::clone(&connection)));
    let service = service_fn(|request| service.clone().handle(request));
    let serving = http1::Builder::new()
        // The loop below closes the connection if the head is late.
        .header_read_timeout(None)
        .max_header_size(MAX_HEAD_SIZE)
        .max_buf_size(2 * MAX_HEAD_SIZE)
        // A client that has sent everything may close its side, and still gets the response.
        .half_close(true)
        .serve_connection(transport, service);
    let mut serving = std::pin::pin!(serving);
    let mut is_shutting_down = false;
    // No phase of a connection that starts now can time out sooner.
    let mut shortest = options.head_timeout.min(options.request_timeout).min(options.idle_timeout);
    let mut check = std::pin::pin!(tokio::time::sleep(shortest));
    loop {
        tokio::select! {
            biased;
            // If it ends with an error, hyper has already sent the client a response if that was possible.
            _ = &mut serving => return,
            () = connection.close_requested() => return,
            () = &mut check => {
                let now = Instant::now();
                let deadline = connection.deadline(&options);
                if deadline.is_some_and(|deadline| deadline <= now) {
                    return;
                }
                // A phase that starts after this check cannot time out before the next one.
                let next = now + shortest;
                check.as_mut().reset(deadline.map_or(next, |deadline| deadline.min(next)));
            }
            _ = shutdown.wait_for(|shutdown| *shutdown), if !is_shutting_down => {
                is_shutting_down = true;
                serving.as_mut().graceful_shutdown();
                options.head_timeout = options.head_timeout.min(SHUTDOWN_HEAD_TIMEOUT);
                shortest = shortest.min(SHUTDOWN_HEAD_TIMEOUT);
                check.as_mut().reset(Instant::now() + shortest);
            }
        }
    }
}

/// Handles the requests of one connection.
#[derive(Clone)]
struct ConnectionService {
    router: Router,
    client: SocketAddr,
    connection: Arc<ClientConnection>,
    stream: SharedStream,
}

impl ConnectionService {
    async fn handle(mut self, request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
        let has_body = !hyper::body::Body::is_end_stream(request.body());
        let is_unambiguous = self.connection.head_received(has_body);
        let mut request = request.map(|body| WatchedBody::wrap(body, &self.connection));
        request.extensions_mut().insert(ConnectInfo(self.client));
        request.extensions_mut().insert(Arc::clone(&self.connection));
        let mut response = match invalid_http::refusal(&request, is_unambiguous) {
            Some(response) => Ok(response),
            None if matches!(*request.method(), Method::GET | Method::HEAD) => self.read(request).await,
            None => self.router.call(request).await,
        };
        if !is_unambiguous && let Ok(response) = &mut response {
            // It is not known where the next request starts.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.connection.request_handled();
        response
    }

    /// Handles a request that only reads. Gives up when its client has gone away, so that a long search ends.
    async fn read(&mut self, request: Request<Body>) -> Result<Response, Infallible> {
        let uri = request.uri().clone();
        let id = request.headers().get(REQUEST_ID).cloned();
        tokio::select! {
            biased;
            response = self.router.call(request) => response,
            () = self.stream.client_left() => Ok(client_left(&uri, id)),
        }
    }
}

/// The response to a read that was given up. Only a client that has closed one side of its connection may receive it.
fn client_left(uri: &Uri, id: Option<HeaderValue>) -> Response {
    let id = request_id(&id.map(|id| (REQUEST_ID, id)).into_iter().collect());
    let problem = Problem::unavailable("the client closed its side of the connection more than a second ago");
    let mut response = problem.render(uri.path(), id.to_str().unwrap_or_default());
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_file_handles_the_limit_is_lower_for_a_minute_and_never_above_the_configured_one() {
        for (configured, lowered) in [(4096, SPARE_HANDLES), (10, 10)] {
            let options = ServerOptions { connections: configured, ..ServerOptions::default() };
            let mut connections = Connections::new(Router::new(), options);
            let before = Instant::now();
            // EMFILE
            connections.handle_accept_error(&io::Error::from_raw_os_error(24)).await;
            let after = Instant::now();
            let limit_after = |time: Instant, seconds| connections.limit(time + Duration::from_secs(seconds));
            assert_eq!((limit_after(before, 59), limit_after(after, 60)), (lowered, configured));
        }
    }
}
