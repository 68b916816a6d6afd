//! Runs service calls on blocking threads. The service waits for the disk, so its methods must not run on the async
//! threads; a limit on calls in progress keeps a slow disk or gateway from occupying every blocking thread.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync;
use tokio::task::JoinError;

use super::problem::Problem;
use crate::fair::{Permit, Semaphore, Tenant};
use crate::model::cancellation::{CancelOnDrop, CancellationToken};
use crate::service::TicketingService;

/// How long a request waits for a permit before it is refused with 503.
pub(super) const MAX_WAIT: Duration = Duration::from_millis(250);

/// The service, with a limit on the number of calls in progress.
#[derive(Debug, Clone)]
pub(super) struct BlockingService {
    service: TicketingService,
    permits: Arc<sync::Semaphore>,
    /// Additional permits for calls that may wait for the payment gateway. There are three quarters as many, so that a slow
    /// gateway leaves room for check-in and everything else. An organization gets half of them at most: more than it can
    /// have calls to the gateway, so that its free orders need not wait for it.
    pub(super) gateway: Semaphore,
    /// Additional permits for the pages to which customers come back, and for those of tickets and orders. They are an eighth of
    /// all, and none of those for orders: anybody who has such a page can load it again and again.
    pub(super) pages: Semaphore,
    /// Additional permits for documents, which may wait for seconds for logos of other hosts. They are a sixteenth of all.
    /// How many are rendered at the same time is decided behind them, after the logos were fetched.
    #[cfg(feature = "documents")]
    pub(super) documents: Semaphore,
}

/// As many documents may be in progress even if few calls may, so that several organizations have a permit.
#[cfg(feature = "documents")]
const MIN_DOCUMENTS: usize = 4;

/// What a call may have to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// Only the store.
    Store,
    /// The store and the payment gateway, which may take many seconds.
    Gateway,
    /// The store and a document.
    #[cfg(feature = "documents")]
    Document,
}

impl BlockingService {
    pub(super) fn new(service: TicketingService, max_calls: usize) -> Self {
        let max_calls = max_calls.clamp(2, sync::Semaphore::MAX_PERMITS);
        let permits = Arc::new(sync::Semaphore::new(max_calls));
        let gateway = Semaphore::new(max_calls - max_calls.div_ceil(4));
        let pages = Semaphore::new((max_calls / 8).max(1));
        Self {
            service,
            permits,
            gateway,
            pages,
            #[cfg(feature = "documents")]
            documents: Semaphore::new((max_calls / 16).max(MIN_DOCUMENTS)),
        }
    }

    /// The service, for methods that neither wait nor use the store.
    pub(super) fn service(&self) -> &TicketingService {
        &self.service
    }

    /// The permits that a call needs in addition.
    pub(super) const fn additional_permits(&self, waits_for: WaitsFor) -> Option<&Semaphore> {
        match waits_for {
            WaitsFor::Store => None,
            WaitsFor::Gateway => Some(&self.gateway),
            #[cfg(feature = "documents")]
            WaitsFor::Document => Some(&self.documents),
        }
    }

    /// Runs `work` on a blocking thread. Once started, it runs to its end even if the client has gone away. Only reads
    /// that may take long stop then.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => Box::pin(wait_for(&self.permits)).await?,
        };
        let service = self.service.clone();
        let run = move || {
            let _permit = permit;
            work(&service).map_err(Problem::prepare)
        };
        spawn_blocking(run).await.unwrap_or_else(|panic| Err(Problem::internal(panic)))
    }

    /// Like [`call`](Self::call), for an organization that needs one of these permits too.
    pub(super) async fn call_with<T: Send + 'static>(
        &self,
        permits: &Semaphore,
        tenant: Tenant,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = acquire(permits, tenant).await?;
        self.call(move |service| {
            let _permit = permit;
            work(service)
        })
        .await
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

/// Waits for a permit that organizations share.
async fn acquire(permits: &Semaphore, tenant: Tenant) -> Result<Permit, Problem> {
    let permit = match permits.request(tenant) {
        Some(waiter) => tokio::time::timeout(MAX_WAIT, waiter).await.ok(),
        None => None,
    };
    permit.ok_or_else(|| Problem::unavailable("too many requests are in progress; try again later"))
}

/// Waits for a permit.
async fn wait_for(permits: &Arc<sync::Semaphore>) -> Result<sync::OwnedSemaphorePermit, Problem> {
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
                blocking.call(wait).await.is_ok()
            })
        });
        while blocking.permits.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = blocking.call(|_| Ok(())).await.unwrap_err();
        assert_eq!(refused.status(), 503);
        drop(release);
        for call in busy {
            assert!(call.await.unwrap());
        }
        assert!(blocking.call(|_| Ok(())).await.is_ok());
    }

    #[tokio::test]
    async fn gateway_calls_leave_permits_to_others() {
        let (_folder, service) = service();
        let blocking = BlockingService::new(service, 2);
        let (release, released) = channel::<()>();
        let slow = tokio::spawn({
            let blocking = blocking.clone();
            let hang = move |_: &TicketingService| Ok(released.recv().is_err());
            async move { blocking.call_with(&blocking.gateway, None, hang).await.is_ok() }
        });
        while blocking.permits.available_permits() > 1 {
            tokio::task::yield_now().await;
        }
        let refused = blocking.call_with(&blocking.gateway, None, |_| Ok(())).await.unwrap_err();
        assert_eq!(refused.status(), 503);
        assert!(blocking.call(|_| Ok(())).await.is_ok());
        drop(release);
        assert!(slow.await.unwrap());
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error_and_returns_its_permit() {
        let (_folder, service) = service();
        let blocking = BlockingService::new(service, 2);
        for _ in 0..3 {
            let panicked = blocking.call(|_| -> Result<(), Problem> { panic!("on purpose") }).await;
            assert_eq!(panicked.unwrap_err().status(), 500);
        }
    }
}
