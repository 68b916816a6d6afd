//! Accepts connections and watches over them. A client that sends nothing, or slowly, is closed when its time is up, or
//! sooner where its place is needed: it never keeps others out.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
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

use super::connection::{Connection, Patience};
use super::exchange::AmbiguousLength;
use super::metrics::{Metrics, Present};
use super::transport::{Transport, WatchedBody};

/// How large the head of a request may be.
const LARGEST_HEAD: usize = 32 * 1024;

/// How many file handles are left to the rest of the process where the system gives no more.
const SPARE_HANDLES: usize = 32;

/// How long the loop rests after the system refused a connection, so that it does not spin.
const REST: Duration = Duration::from_millis(20);

/// How long a client may take for a head once the server is stopping.
const LAST_HEADS: Duration = Duration::from_millis(500);

/// The connections that are open, and what they lead to.
pub(super) struct Connections {
    router: Router,
    metrics: Arc<Metrics>,
    patience: Patience,
    at_most: usize,
    open: HashMap<tokio::task::Id, Arc<Connection>>,
    tasks: JoinSet<()>,
    stopping: watch::Sender<bool>,
}

impl Connections {
    pub(super) fn new(router: Router, metrics: Arc<Metrics>, patience: Patience, at_most: usize) -> Self {
        let (open, tasks, stopping) = (HashMap::new(), JoinSet::new(), watch::Sender::new(false));
        Self { router, metrics, patience, at_most: at_most.max(1), open, tasks, stopping }
    }

    /// Serves whoever comes, until `shutdown` does. Those that made room must really be gone before many more come in,
    /// or the system's handles would run out in spite of the bound.
    pub(super) async fn accept(&mut self, listener: &TcpListener, shutdown: impl Future<Output = ()>) {
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => return,
                Some(ended) = self.tasks.join_next_with_id() => self.forget(&ended),
                accepted = listener.accept(), if self.tasks.len() < self.at_most + SPARE_HANDLES / 2 => match accepted {
                    Ok((stream, client)) => self.open(stream, client),
                    Err(error) => self.refused(&error).await,
                },
            }
        }
    }

    /// Lets the requests under way be answered, for so long, and closes the rest.
    pub(super) async fn close(mut self, grace: Duration) {
        self.stopping.send_replace(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            tracing::warn!(connections = self.tasks.len(), "closing connections whose requests are not answered");
            self.tasks.shutdown().await;
        }
    }

    fn open(&mut self, stream: TcpStream, client: SocketAddr) {
        if self.open.len() >= self.at_most && !self.spare_one() {
            tracing::warn!("a connection was refused: all that are open are being answered");
            return;
        }
        let connection = Arc::new(Connection::new());
        let leading = Leading { router: self.router.clone(), client, connection: Arc::clone(&connection) };
        let driven = drive(stream, leading, self.patience, self.stopping.subscribe());
        let driven = count(driven, self.metrics.connection());
        self.open.insert(self.tasks.spawn(driven).id(), connection);
    }

    fn forget(&mut self, ended: &Result<(tokio::task::Id, ()), JoinError>) {
        let id = match ended {
            Ok((id, ())) => *id,
            Err(error) => {
                if error.is_panic() {
                    tracing::error!(%error, "a connection failed");
                }
                error.id()
            }
        };
        self.open.remove(&id);
    }

    /// Closes the connection that can best be spared, if there is one.
    fn spare_one(&mut self) -> bool {
        let sparing = self.open.iter().filter_map(|(id, connection)| Some((connection.sparing()?, *id)));
        let Some((_, id)) = sparing.min_by_key(|(sparing, _)| *sparing) else { return false };
        if let Some(connection) = self.open.remove(&id) {
            connection.close();
        }
        true
    }

    /// The system gave no connection. Where it has no more file handles, its bound is lower than ours: from now on ours
    /// is lower than its, so that new connections still get in, and the store can open its files.
    async fn refused(&mut self, error: &io::Error) {
        const OUT_OF_HANDLES: [i32; 2] = [23, 24];
        if cfg!(unix) && error.raw_os_error().is_some_and(|code| OUT_OF_HANDLES.contains(&code)) {
            self.at_most = self.open.len().saturating_sub(SPARE_HANDLES).max(SPARE_HANDLES);
            tracing::warn!(at_most = self.at_most, "out of file handles: fewer connections are kept from now on");
            while self.open.len() > self.at_most && self.spare_one() {}
        } else {
            tracing::warn!(%error, "a connection could not be accepted");
        }
        tokio::time::sleep(REST).await;
    }
}

/// Counts a connection for as long as it is driven.
async fn count(driven: impl Future<Output = ()>, _open: Present) {
    driven.await;
}

/// Serves one connection until it ends, its client takes too long, or somebody wants it closed.
async fn drive(stream: TcpStream, leading: Leading, mut patience: Patience, mut stopping: watch::Receiver<bool>) {
    // An answer leaves whole; to hold it back for more would only make it late.
    let _ = stream.set_nodelay(true);
    let connection = Arc::clone(&leading.connection);
    let transport = TokioIo::new(Transport::new(stream, Arc::clone(&connection)));
    let service = service_fn(|request| leading.clone().answer(request));
    // The time a client may take is kept here and not by hyper, which knows no difference between a head that is late
    // and a client that has nothing to ask.
    let serving = http1::Builder::new()
        .header_read_timeout(None)
        .max_header_size(LARGEST_HEAD)
        .max_buf_size(2 * LARGEST_HEAD)
        // Who has said everything may still listen.
        .half_close(true)
        .serve_connection(transport, service);
    let mut serving = std::pin::pin!(serving);
    let mut stopped = false;
    let mut look = std::pin::pin!(tokio::time::sleep(patience.shortest()));
    loop {
        tokio::select! {
            biased;
            // What the client did wrong it was told, as far as that is possible.
            _ = &mut serving => return,
            () = connection.closing() => return,
            () = &mut look => {
                let (now, overdue) = (Instant::now(), connection.overdue_at(patience));
                if overdue.is_some_and(|at| at <= now) {
                    return;
                }
                // Whatever begins after this look is overdue no sooner than the next one.
                let next = now + patience.shortest();
                look.as_mut().reset(overdue.map_or(next, |at| at.min(next)));
            }
            _ = stopping.wait_for(|stopping| *stopping), if !stopped => {
                stopped = true;
                serving.as_mut().graceful_shutdown();
                patience.head = patience.head.min(LAST_HEADS);
                look.as_mut().reset(Instant::now() + LAST_HEADS.min(patience.shortest()));
            }
        }
    }
}

/// What the requests of one connection lead to.
#[derive(Clone)]
struct Leading {
    router: Router,
    client: SocketAddr,
    connection: Arc<Connection>,
}

impl Leading {
    async fn answer(mut self, request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
        let body_follows = !hyper::body::Body::is_end_stream(request.body());
        let is_clear = self.connection.head_came(body_follows);
        let mut request = request.map(|body| WatchedBody::of(body, &self.connection));
        request.extensions_mut().insert(ConnectInfo(self.client));
        if !is_clear {
            request.extensions_mut().insert(AmbiguousLength);
        }
        let mut response = self.router.call(request).await;
        if let (false, Ok(response)) = (is_clear, &mut response) {
            // Nobody can say where the next request begins.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.connection.answered();
        response
    }
}
