//! Calls to the gateway, with a bound on how long one takes and on how many there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::{GatewayError, PaymentGateway};

/// The gateway, and how many calls it may have at once.
#[derive(Clone)]
pub(crate) struct GatewayCalls {
    gateway: Arc<dyn PaymentGateway>,
    limits: Limits,
    running: Arc<AtomicUsize>,
}

/// How long a call may take, and how many may run at once. One that overstays counts until it really ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) timeout: Duration,
    pub(crate) at_once: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(20), at_once: 64 }
    }
}

/// One of the calls that may run at once, given back when the call ends, however it ends.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl GatewayCalls {
    pub(crate) fn new(gateway: Arc<dyn PaymentGateway>, limits: Limits) -> Self {
        Self { gateway, limits, running: Arc::default() }
    }

    pub(crate) fn can_refund(&self) -> bool {
        self.gateway.can_refund()
    }

    /// Makes a call on a thread of its own and waits for it, at most as long as the limits say.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Result<T, GatewayError> {
        let unavailable = |why: &str| GatewayError::Unavailable(why.to_owned());
        let place = self.place().ok_or_else(|| unavailable("too many calls wait for it"))?;
        let gateway = Arc::clone(&self.gateway);
        let (answer, answered) = sync_channel(1);
        let run = move || {
            let _place = place;
            // Whoever asked may have stopped waiting.
            let _ = answer.send(work(&*gateway));
        };
        let thread = std::thread::Builder::new().name("ticketing-gateway".to_owned()).spawn(run);
        thread.map_err(|error| GatewayError::Unavailable(error.to_string()))?;
        answered.recv_timeout(self.limits.timeout).unwrap_or_else(|error| {
            Err(match error {
                RecvTimeoutError::Timeout => unavailable("it did not answer in time"),
                RecvTimeoutError::Disconnected => unavailable("the call panicked"),
            })
        })
    }

    fn place(&self) -> Option<Place> {
        let place = Place(Arc::clone(&self.running));
        let before = self.running.fetch_add(1, Ordering::Relaxed);
        (before < self.limits.at_once).then_some(place)
    }
}
