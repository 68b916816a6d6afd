//! The state of a connection from a client: whether the server waits for the client, and since when.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::framing::FramingCheck;
use crate::environment::Locked;
use crate::server::options::ServerOptions;

/// What happens on a connection. In every phase but `Handling` the server waits for the client, since the given
/// instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The server is waiting for a head, or the rest of one.
    Head(Instant),
    /// The server is waiting for the rest of a body.
    Body(Instant),
    /// A complete request is being handled.
    Handling,
    /// The response is being sent, or was sent. The next byte from the client starts a new request.
    Idle(Instant),
}

/// The order in which connections of one client network are closed to make room for new ones. Connections that receive
/// a body come last. Within each group, the connection that has waited longest for its client comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::server) struct EvictionOrder {
    receives_body: bool,
    /// Since when the client has sent and received nothing.
    pub(in crate::server) waiting_since: Instant,
}

/// One connection, shared by its task, its transport, and the loop that accepts connections.
#[derive(Debug)]
pub(in crate::server) struct ClientConnection {
    state: Mutex<State>,
    /// Whether a request was answered without reading its body to the end.
    left_body_unread: AtomicBool,
    close: Notify,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// When bytes of the client arrived last.
    received_at: Instant,
    framing: FramingCheck,
}

impl ClientConnection {
    /// A connection that was just accepted and waits for its first head.
    pub(in crate::server) fn new() -> Self {
        let now = Instant::now();
        let state = State { phase: Phase::Head(now), received_at: now, framing: FramingCheck::default() };
        Self { state: Mutex::new(state), left_body_unread: AtomicBool::new(false), close: Notify::new() }
    }

    /// Called whenever bytes of the client arrive.
    pub(in crate::server) fn bytes_received(&self, bytes: &[u8]) {
        let mut state = self.state.locked();
        state.received_at = Instant::now();
        if let Phase::Idle(_) = state.phase {
            state.phase = Phase::Head(state.received_at);
        }
        state.framing.receive(bytes);
    }

    /// Called when the client has received some bytes of a response.
    pub(in crate::server) fn bytes_sent(&self) {
        if let Phase::Idle(since) = &mut self.state.locked().phase {
            *since = Instant::now();
        }
    }

    /// Called when hyper has parsed the head of a request. Returns whether the length of its body is unambiguous.
    pub(in crate::server) fn head_received(&self, has_body: bool) -> bool {
        let mut state = self.state.locked();
        state.phase = match state.phase {
            _ if !has_body => Phase::Handling,
            Phase::Head(since) => Phase::Body(since),
            _ => Phase::Body(Instant::now()),
        };
        state.framing.next_is_unambiguous()
    }

    /// Called when the body of a request has arrived completely.
    pub(in crate::server) fn body_received(&self) {
        let mut state = self.state.locked();
        if let Phase::Body(_) = state.phase {
            state.phase = Phase::Handling;
        }
    }

    /// Called when the rest of a body will not be read.
    pub(in crate::server) fn body_dropped(&self) {
        self.left_body_unread.store(true, Ordering::Relaxed);
        self.body_received();
    }

    /// Called when a request has been handled.
    pub(in crate::server) fn request_handled(&self) {
        self.state.locked().phase = Phase::Idle(Instant::now());
    }

    /// Whether the client may still be sending bytes that the server will not read.
    pub(in crate::server) fn may_have_unread_bytes(&self) -> bool {
        self.left_body_unread.load(Ordering::Relaxed) || matches!(self.state.locked().phase, Phase::Head(_))
    }

    /// When the current phase times out. `None` while a request is being handled.
    pub(in crate::server) fn deadline(&self, options: &ServerOptions) -> Option<Instant> {
        match self.state.locked().phase {
            Phase::Head(since) => Some(since + options.head_timeout),
            Phase::Body(since) => Some(since + options.request_timeout),
            Phase::Idle(since) => Some(since + options.idle_timeout),
            Phase::Handling => None,
        }
    }

    /// The connection with the lowest value is evicted first. `None` while a request is being handled.
    pub(in crate::server) fn eviction_order(&self) -> Option<EvictionOrder> {
        let state = self.state.locked();
        let (receives_body, waiting_since) = match state.phase {
            Phase::Head(since) | Phase::Idle(since) => (false, since),
            Phase::Body(_) => (true, state.received_at),
            Phase::Handling => return None,
        };
        Some(EvictionOrder { receives_body, waiting_since })
    }

    /// Asks the connection's task to close it at once.
    pub(in crate::server) fn close(&self) {
        self.close.notify_one();
    }

    /// Completes after [`ClientConnection::close`].
    pub(in crate::server) async fn close_requested(&self) {
        self.close.notified().await;
    }
}
