//! Calls to the payment gateway: each runs on a thread of its own, has a timeout, and needs a permit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::{CheckoutTerms, GatewayError, GatewayNotice, NoticeError, NoticeHeaders, PaymentGateway};
use crate::model::timestamp::Timestamp;

/// How many calls of background work may run at the same time.
const MAX_IN_BACKGROUND: usize = 16;

/// How many calls for notices may run at the same time. The provider sends a notice again for which none is free.
const MAX_FOR_NOTICES: usize = 8;

/// How many calls for the pages to which customers come back may run at the same time. Anybody who has paid once can open
/// such a page as often as they like.
const MAX_FOR_PAGES: usize = 4;

/// A payment gateway, and the calls to it that are running. Clones share both.
#[derive(Clone)]
pub(crate) struct GatewayCalls {
    gateway: Arc<dyn PaymentGateway>,
    limits: CallLimits,
    running: Arc<AtomicUsize>,
    running_in_background: Arc<AtomicUsize>,
    running_for_notices: Arc<AtomicUsize>,
    running_for_pages: Arc<AtomicUsize>,
}

/// How long the service waits for a call, and how many calls may run at the same time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallLimits {
    pub(crate) timeout: Duration,
    pub(crate) max_concurrent: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(20), max_concurrent: 64 }
    }
}

/// The right to run one call. The thread of the call holds it until the gateway returns, also after the timeout.
struct Permit {
    running: Arc<AtomicUsize>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl GatewayCalls {
    pub(crate) fn new(gateway: Arc<dyn PaymentGateway>, limits: CallLimits) -> Self {
        Self {
            gateway,
            limits,
            running: Arc::default(),
            running_in_background: Arc::default(),
            running_for_notices: Arc::default(),
            running_for_pages: Arc::default(),
        }
    }

    /// How long a call may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.limits.timeout
    }

    pub(crate) fn can_refund(&self) -> bool {
        self.gateway.can_refund()
    }

    /// The least amount in minor units of a currency that the gateway refunds, at least 1.
    pub(crate) fn refund_step(&self, currency: &str) -> i64 {
        catch_unwind(AssertUnwindSafe(|| self.gateway.refund_step(currency))).map_or(1, |step| step.max(1))
    }

    pub(crate) fn shortest_checkout(&self) -> Duration {
        self.gateway.shortest_checkout()
    }

    /// Asks the gateway whether it can take the payment of an order, on this thread. `None` if it panics.
    pub(crate) fn check_checkout(&self, terms: &CheckoutTerms) -> Option<Result<(), String>> {
        catch_unwind(AssertUnwindSafe(|| self.gateway.check_checkout(terms))).ok()
    }

    /// Lets the gateway read a notice, on this thread.
    pub(crate) fn read_notice(
        &self,
        headers: &NoticeHeaders,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Vec<GatewayNotice>, NoticeError> {
        let read = catch_unwind(AssertUnwindSafe(|| self.gateway.read_notice(headers, body, now)));
        read.unwrap_or_else(|_| Err(NoticeError::Unavailable("the gateway panicked".to_owned())))
    }

    /// How many further calls the background work may make at the same time. Calls that hang count until they return, so
    /// that background work leaves at least half of the permits to customers.
    pub(crate) fn free_in_background(&self) -> usize {
        let most = (self.limits.max_concurrent / 2).clamp(1, MAX_IN_BACKGROUND);
        most.saturating_sub(self.running_in_background.load(Ordering::Relaxed))
    }

    /// Like [`call`](Self::call), for background work.
    pub(crate) fn call_in_background<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Result<T, GatewayError> {
        let running = Arc::clone(&self.running_in_background);
        running.fetch_add(1, Ordering::Relaxed);
        let in_background = Permit { running };
        self.call(move |gateway| {
            let _in_background = in_background;
            work(gateway)
        })
    }

    /// Like [`call`](Self::call), for a notice.
    pub(crate) fn call_for_notice<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Result<T, GatewayError> {
        let called = self.call_within(&self.running_for_notices, MAX_FOR_NOTICES, work);
        called.unwrap_or_else(|| Err(GatewayError::NotExecuted("too many notices wait for it already".to_owned())))
    }

    /// Like [`call`](Self::call), for a page to which a customer has come back. Returns `None` if too many of them wait for
    /// the gateway already, so that they leave the permits to those who order.
    pub(crate) fn call_for_page<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Option<Result<T, GatewayError>> {
        self.call_within(&self.running_for_pages, MAX_FOR_PAGES, work)
    }

    /// Like [`call`](Self::call), unless `most` calls of this kind, or a quarter of all permits, are `running` already.
    fn call_within<T: Send + 'static>(
        &self,
        running: &Arc<AtomicUsize>,
        most: usize,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Option<Result<T, GatewayError>> {
        let most = (self.limits.max_concurrent / 4).clamp(1, most);
        let permit = try_acquire(running, most)?;
        Some(self.call(move |gateway| {
            let _permit = permit;
            work(gateway)
        }))
    }

    /// Calls the gateway on a new thread, in the current tracing span, and waits for its answer until the timeout.
    /// Returns [`GatewayError::NotExecuted`] if no permit is free or the thread cannot be started, and
    /// [`GatewayError::Unavailable`] if the timeout passes or the gateway panics.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Result<T, GatewayError> {
        let permit = try_acquire(&self.running, self.limits.max_concurrent).ok_or_else(|| {
            let limit = self.limits.max_concurrent;
            GatewayError::NotExecuted(format!("{limit} calls are running already, which is the limit"))
        })?;
        let gateway = Arc::clone(&self.gateway);
        let (sender, receiver) = sync_channel(1);
        let span = tracing::Span::current();
        let run = move || {
            let _permit = permit;
            // Fails after the timeout: the receiver has been dropped.
            let _ = sender.send(span.in_scope(|| work(&*gateway)));
        };
        let thread = std::thread::Builder::new().name("ticketing-gateway".to_owned()).spawn(run);
        thread.map_err(|error| GatewayError::NotExecuted(format!("cannot start a thread: {error}")))?;
        match receiver.recv_timeout(self.limits.timeout) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.limits.timeout.as_secs_f64();
                Err(GatewayError::Unavailable(format!("no answer within {seconds} s")))
            }
            Err(RecvTimeoutError::Disconnected) => Err(GatewayError::Unavailable("the call panicked".to_owned())),
        }
    }
}

fn try_acquire(running: &Arc<AtomicUsize>, most: usize) -> Option<Permit> {
    let permit = Permit { running: Arc::clone(running) };
    let running_before = running.fetch_add(1, Ordering::Relaxed);
    (running_before < most).then_some(permit)
}
