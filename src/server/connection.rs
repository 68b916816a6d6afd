//! What one connection is waiting for, and since when.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::head::HeadScan;

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For the head of a request.
    pub(super) head: Duration,
    /// For a request, head and body.
    pub(super) request: Duration,
    /// From one request to the next, and for taking any part of an answer.
    pub(super) idle: Duration,
}

impl Patience {
    /// The shortest of them: nothing that begins now is overdue sooner.
    pub(super) fn shortest(self) -> Duration {
        self.head.min(self.request).min(self.idle)
    }
}

/// What happens next on a connection. Each but `Answering` waits for the client, since the instant it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A head is to come, or the rest of it.
    Head(Instant),
    /// The rest of a body is to come.
    Body(Instant),
    /// A request is complete, and being answered.
    Answering,
    /// An answer is on its way out, or out; whatever comes is the next request.
    Idle(Instant),
}

/// One connection, as those see it who watch over it.
#[derive(Debug)]
pub(super) struct Connection {
    state: Mutex<(Stage, HeadScan)>,
    /// Whether a body was answered without being read to its end.
    unread_body: AtomicBool,
    closing: Notify,
}

impl Connection {
    /// A connection that was just accepted: its first head is to come.
    pub(super) fn new() -> Self {
        let state = (Stage::Head(Instant::now()), HeadScan::default());
        Self { state: Mutex::new(state), unread_body: AtomicBool::new(false), closing: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, (Stage, HeadScan)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes came in.
    pub(super) fn received(&self, bytes: &[u8]) {
        let (stage, scan) = &mut *self.state();
        if let Stage::Idle(_) = stage {
            *stage = Stage::Head(Instant::now());
        }
        scan.feed(bytes);
    }

    /// Bytes of an answer were taken by the client.
    pub(super) fn sent(&self) {
        if let (Stage::Idle(since), _) = &mut *self.state() {
            *since = Instant::now();
        }
    }

    /// A head was read. Says whether it gives its body one length at most.
    pub(super) fn head_came(&self, body_follows: bool) -> bool {
        let (stage, scan) = &mut *self.state();
        *stage = match *stage {
            _ if !body_follows => Stage::Answering,
            Stage::Head(since) => Stage::Body(since),
            _ => Stage::Body(Instant::now()),
        };
        !scan.next_is_ambiguous()
    }

    /// Nobody wants the rest of the body.
    pub(super) fn body_unwanted(&self) {
        self.unread_body.store(true, Ordering::Relaxed);
        self.body_came();
    }

    /// Whether the client may still be sending what nobody reads.
    pub(super) fn is_being_sent_to(&self) -> bool {
        self.unread_body.load(Ordering::Relaxed) || matches!(self.state().0, Stage::Head(_))
    }

    /// The body is complete.
    pub(super) fn body_came(&self) {
        if let (stage @ Stage::Body(_), _) = &mut *self.state() {
            *stage = Stage::Answering;
        }
    }

    /// The request was answered.
    pub(super) fn answered(&self) {
        self.state().0 = Stage::Idle(Instant::now());
    }

    /// When the client will have taken too long; `None` while it is not the client that is waited for.
    pub(super) fn overdue_at(&self, patience: Patience) -> Option<Instant> {
        match self.state().0 {
            Stage::Head(since) => Some(since + patience.head),
            Stage::Body(since) => Some(since + patience.request),
            Stage::Idle(since) => Some(since + patience.idle),
            Stage::Answering => None,
        }
    }

    /// How readily the connection can be spared: those that wait for a head before those that send a body, and the
    /// longest wait first. `None` while a request is being answered.
    pub(super) fn sparing(&self) -> Option<(bool, Instant)> {
        match self.state().0 {
            Stage::Head(since) | Stage::Idle(since) => Some((false, since)),
            Stage::Body(since) => Some((true, since)),
            Stage::Answering => None,
        }
    }

    /// Has the connection closed, whatever it is doing.
    pub(super) fn close(&self) {
        self.closing.notify_one();
    }

    /// Comes when somebody wants the connection closed.
    pub(super) async fn closing(&self) {
        self.closing.notified().await;
    }
}
