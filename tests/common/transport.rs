//! A webhook transport without a network. A test sets its responses.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ticketing::webhook::{FailureKind, Transport, WebhookFailure, WebhookRequest, WebhookResponse};

use super::webhooks::wait_until;

type SendFn =
    dyn Fn(&FakeTransport, &WebhookRequest, Duration) -> Result<WebhookResponse, WebhookFailure> + Send + Sync;

/// A transport that runs a function of the test for each request, and records the requests. Clones share their state.
#[derive(Clone)]
pub struct FakeTransport(Arc<Inner>);

struct Inner {
    send: Box<SendFn>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    sent: Vec<WebhookRequest>,
    released: bool,
    interrupted: bool,
}

impl FakeTransport {
    pub fn new(
        send: impl Fn(&Self, &WebhookRequest, Duration) -> Result<WebhookResponse, WebhookFailure> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner { send: Box::new(send), state: Mutex::default(), changed: Condvar::new() }))
    }

    /// Creates a transport for which every receiver answers 204.
    pub fn succeeding() -> Self {
        Self::new(|_, _, _| respond(204))
    }

    /// Creates a transport that blocks every request whose URL contains `part` until [`Self::release`], and answers
    /// 204.
    pub fn blocking(part: &'static str) -> Self {
        Self::new(move |transport, request, timeout| match request.url.contains(part) {
            true => transport.block(timeout),
            false => respond(204),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the requests so far, in the order in which they were sent.
    pub fn sent(&self) -> Vec<WebhookRequest> {
        self.state().sent.clone()
    }

    /// Returns the number of requests so far whose URL contains `part`.
    pub fn sent_to(&self, part: &str) -> usize {
        self.state().sent.iter().filter(|request| request.url.contains(part)).count()
    }

    /// Waits until there were `number` requests, and returns all of them.
    #[track_caller]
    pub fn wait_for(&self, number: usize) -> Vec<WebhookRequest> {
        wait_until(&format!("{number} requests"), || self.state().sent.len() >= number);
        self.sent()
    }

    /// Blocks until [`Self::release`], and answers 204. Fails at the timeout, or if the sender interrupts the
    /// transport.
    pub fn block(&self, timeout: Duration) -> Result<WebhookResponse, WebhookFailure> {
        let blocked = |state: &mut State| !state.released && !state.interrupted;
        let state = self.0.changed.wait_timeout_while(self.state(), timeout, blocked);
        let (state, _) = state.unwrap_or_else(PoisonError::into_inner);
        match (state.released, state.interrupted) {
            (true, _) => respond(204),
            (false, true) => Err(failure(FailureKind::ConnectionFailed, "the sender was stopped")),
            (false, false) => Err(failure(FailureKind::TimedOut, "timed out")),
        }
    }

    /// Lets all blocked requests go on, and blocks no more.
    pub fn release(&self) {
        self.state().released = true;
        self.0.changed.notify_all();
    }
}

impl Transport for FakeTransport {
    fn send(&self, request: &WebhookRequest, timeout: Duration) -> Result<WebhookResponse, WebhookFailure> {
        self.state().sent.push(request.clone());
        (self.0.send)(self, request, timeout)
    }

    fn interrupt(&self) {
        self.state().interrupted = true;
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for FakeTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FakeTransport")
    }
}

/// A response with an empty body.
pub fn respond(status: u16) -> Result<WebhookResponse, WebhookFailure> {
    Ok(WebhookResponse::new(status, []))
}

pub fn failure(kind: FailureKind, message: &str) -> WebhookFailure {
    WebhookFailure::new(kind, message).connection_tried(true)
}

/// Returns the value of a header of a request.
#[track_caller]
pub fn header<'r>(request: &'r WebhookRequest, name: &str) -> &'r str {
    let found = request.headers.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("{name} is missing"))
}
