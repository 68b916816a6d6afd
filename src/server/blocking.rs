//! Runs service calls on blocking threads. The service waits for the disk, so its methods must not run on the async
//! threads; a limit on calls in progress keeps a slow disk or gateway from occupying every blocking thread.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;

use super::problem::Problem;
use crate::model::cancellation::{CancelOnDrop, CancellationToken};
use crate::service::TicketingService;

/// How long a request waits for a permit before it is refused with 503.
pub(super) const MAX_WAIT: Duration = Duration::from_millis(250);

/// The service, with a limit on the number of calls in progress.
#[derive(Debug, Clone)]
pub(super) struct BlockingService {
    service: TicketingService,
    permits: Arc<Semaphore>,
    /// Additional permits for calls that may wait for the payment gateway. There are half as many, so that a slow
    /// gateway leaves room for check-in and everything else.
    gateway_permits: Arc<Semaphore>,
    /// Additional permits for the pages to which customers come back. They are an eighth of all, and none of those for
    /// orders: anybody who has such a page can load it again and again.
    page_permits: Arc<Semaphore>,
}

/// What a call may have to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// Only the store.
    Store,
    /// The store and the payment gateway, which may take many seconds.
    Gateway,
    /// The store and the payment gateway, for a page that needs no key.
    GatewayForPage,
}

impl BlockingService {
    pub(super) fn new(service: TicketingService, max_calls: usize) -> Self {
        let max_calls = max_calls.clamp(2, Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(max_calls));
        let gateway_permits = Arc::new(Semaphore::new(max_calls / 2));
        let page_permits = Arc::new(Semaphore::new((max_calls / 8).max(1)));
        Self { service, permits, gateway_permits, page_permits }
    }

    /// Whether a call that waits for the gateway would have to wait for a permit.
    pub(super) fn gateway_permits_are_used_up(&self) -> bool {
        self.gateway_permits.available_permits() == 0
    }

    /// Runs `work` on a blocking thread. Once started, it runs to its end even if the client has gone away. Only reads
    /// that may take long stop then.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        waits_for: WaitsFor,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let gateway_permit = match waits_for {
            WaitsFor::Gateway => Some(acquire(&self.gateway_permits).await?),
            WaitsFor::GatewayForPage => Some(acquire(&self.page_permits).await?),
            WaitsFor::Store => None,
        };
        let permit = acquire(&self.permits).await?;
        let service = self.service.clone();
        let run = move || {
            let _permits = (permit, gateway_permit);
            work(&service).map_err(Problem::prepare)
        };
        spawn_blocking(run).await.unwrap_or_else(|panic| Err(Problem::internal(panic)))
    }
}

/// Runs `work` on a blocking thread, in the current span. If the returned future is dropped, `work` is told that nobody
/// waits for its result.
pub(super) async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let span = tracing::Span::current();
    let token = CancellationToken::default();
    let _cancel = CancelOnDrop(token.clone());
    tokio::task::spawn_blocking(move || span.in_scope(|| token.run(work))).await
}

async fn acquire(permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
    if let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
        return Ok(permit);
    }
    match tokio::time::timeout(MAX_WAIT, Arc::clone(permits).acquire_owned()).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Problem::unavailable("too many requests are in progress; try again later")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn service() -> (tempfile::TempDir, TicketingService) {
        let folder = tempfile::tempdir().unwrap();
        let service = TicketingService::open(folder.path().join("ticketing.db")).unwrap();
        (folder, service)
    }

    #[tokio::test]
    async fn a_call_past_the_limit_is_refused_with_503() {
        let (_folder, service) = service();
        let blocking = BlockingService::new(service, 2);
        let (release, released) = channel::<()>();
        let released = Arc::new(std::sync::Mutex::new(released));
        let busy = [0, 1].map(|_| {
            let blocking = blocking.clone();
            let released = Arc::clone(&released);
            tokio::spawn(async move {
                let wait = move |_: &TicketingService| Ok(released.lock().unwrap().recv().is_err());
                blocking.call(WaitsFor::Store, wait).await.is_ok()
            })
        });
        while blocking.permits.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = blocking.call(WaitsFor::Store, |_| Ok(())).await.unwrap_err();
        assert_eq!(refused.status(), 503);
        drop(release);
        for call in busy {
            assert!(call.await.unwrap());
        }
        assert!(blocking.call(WaitsFor::Store, |_| Ok(())).await.is_ok());
    }

    #[tokio::test]
    async fn gateway_calls_take_at_most_half_of_the_permits() {
        let (_folder, service) = service();
        let blocking = BlockingService::new(service, 2);
        let (release, released) = channel::<()>();
        let slow = tokio::spawn({
            let blocking = blocking.clone();
            async move { blocking.call(WaitsFor::Gateway, move |_| Ok(released.recv().is_err())).await.is_ok() }
        });
        while blocking.gateway_permits.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(blocking.call(WaitsFor::Gateway, |_| Ok(())).await.unwrap_err().status(), 503);
        assert!(blocking.call(WaitsFor::Store, |_| Ok(())).await.is_ok());
        drop(release);
        assert!(slow.await.unwrap());
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error_and_returns_its_permit() {
        let (_folder, service) = service();
        let blocking = BlockingService::new(service, 2);
        for _ in 0..3 {
            let panicked = blocking.call(WaitsFor::Store, |_| -> Result<(), Problem> { panic!("on purpose") }).await;
            assert_eq!(panicked.unwrap_err().status(), 500);
        }
    }
}
