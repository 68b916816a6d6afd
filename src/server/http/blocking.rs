//! Runs service calls on blocking threads. The service waits for the disk, so its methods must not run on the async
//! threads; a limit on calls in progress keeps a slow disk or gateway from occupying every blocking thread.
//!
//! Organizations share the permits for calls: while all requests of one wait for a lock of its own, others go on.

use crate::fair::{Limits, Permit, Semaphore, Tenant};
use crate::server::responses::problem::Problem;
use crate::service::TicketingService;
use crate::service::calls::async_calls::{MAX_WAIT, spawn_blocking};

/// How many health checks may run at the same time.
const HEALTH_CHECKS: usize = 4;

/// The service, with a limit on the number of calls in progress.
#[derive(Debug, Clone)]
pub(in crate::server) struct BlockingService {
    service: TicketingService,
    /// Seven eighths of all permits. An organization gets half of them at most.
    calls: Semaphore,
    /// The other eighth, for what reads a few rows, so that it goes on when all other calls wait.
    look_ups: Semaphore,
    /// Of their own, so that health checks wait for no organization.
    health: Semaphore,
    /// Additional permits for calls that may wait for the payment gateway. There are three quarters as many, so that a
    /// slow gateway leaves room for check-in and everything else. An organization gets half of them at most: more than
    /// it can have calls to the gateway, so that its free orders need not wait for it.
    pub(in crate::server) gateway: Semaphore,
    /// Additional permits for the pages to which customers come back, and for those of tickets and orders. They are an
    /// eighth of all, and none of those for orders: anybody who has such a page can load it again and again.
    pub(in crate::server) pages: Semaphore,
    /// Additional permits for documents, which may wait for seconds for logos of other hosts. They are a sixteenth of
    /// all, and so many that several organizations have one. How many are rendered at the same time is decided behind them, after the logos were fetched.
    #[cfg(feature = "documents")]
    pub(in crate::server) documents: Semaphore,
}

/// What a call may have to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum WaitsFor {
    /// Only the store.
    Store,
    /// The store and the payment gateway, which may take many seconds.
    Gateway,
    /// The store, which may look at many rows.
    #[cfg(feature = "exports")]
    Search,
    /// The store and a document.
    #[cfg(feature = "documents")]
    Document,
    /// A file that is exported.
    #[cfg(feature = "exports")]
    Export,
}

impl BlockingService {
    pub(in crate::server) fn new(service: TicketingService, max_calls: usize) -> Self {
        let max_calls = max_calls.max(4);
        let look_ups = (max_calls / 8).max(1);
        let calls = max_calls - look_ups;
        Self {
            service,
            calls: Semaphore::new(calls),
            look_ups: Semaphore::new(look_ups),
            health: Semaphore::with(Limits { one_may_use_all: true, ..Limits::new(HEALTH_CHECKS) }),
            gateway: Semaphore::new(calls - calls.div_ceil(4)),
            pages: Semaphore::new(look_ups),
            #[cfg(feature = "documents")]
            documents: Semaphore::new((max_calls / 16).max(4)),
        }
    }

    /// The service, for methods that neither wait nor use the store.
    pub(in crate::server) fn service(&self) -> &TicketingService {
        &self.service
    }

    /// The permits that a call needs in addition.
    pub(in crate::server) const fn additional_permits(&self, waits_for: WaitsFor) -> Option<&Semaphore> {
        match waits_for {
            WaitsFor::Store => None,
            #[cfg(feature = "exports")]
            WaitsFor::Search | WaitsFor::Export => None,
            WaitsFor::Gateway => Some(&self.gateway),
            #[cfg(feature = "documents")]
            WaitsFor::Document => Some(&self.documents),
        }
    }

    /// Runs `work` for a tenant on a blocking thread. Once started, it runs to its end even if the client has gone
    /// away. Only reads that may take long stop then.
    pub(in crate::server) async fn call<T: Send + 'static>(
        &self,
        tenant: Tenant,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = acquire(&self.calls, tenant).await?;
        self.run(permit, work).await
    }

    /// Like [`call`](Self::call), for work that reads a few rows: it also gets the permits that are kept for this.
    pub(in crate::server) async fn look_up<T: Send + 'static>(
        &self,
        tenant: Tenant,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = match self.calls.try_acquire(tenant) {
            Some(permit) => permit,
            None => acquire(&self.look_ups, tenant).await?,
        };
        self.run(permit, work).await
    }

    /// Like [`call`](Self::call), with one of these permits too.
    pub(in crate::server) async fn call_with<T: Send + 'static>(
        &self,
        permits: &Semaphore,
        tenant: Tenant,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = acquire(permits, tenant).await?;
        self.call(tenant, move |service| {
            let _permit = permit;
            work(service)
        })
        .await
    }

    /// Like [`call`](Self::call), for a health check.
    pub(in crate::server) async fn check_health<T: Send + 'static>(
        &self,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = acquire(&self.health, None).await?;
        self.run(permit, work).await
    }

    /// The call and its permit.
    async fn run<T: Send + 'static>(
        &self,
        permit: Permit,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let service = self.service.clone();
        let run = move || {
            let _permit = permit;
            work(&service).map_err(Problem::prepare)
        };
        spawn_blocking(run).await.unwrap_or_else(|panic| Err(Problem::internal(panic)))
    }
}

/// Waits for a permit that organizations share.
async fn acquire(permits: &Semaphore, tenant: Tenant) -> Result<Permit, Problem> {
    if let Some(permit) = permits.try_acquire(tenant) {
        return Ok(permit);
    }
    // Boxed, because most requests need not wait, and the future of each has room for it.
    let permit = match permits.request(tenant) {
        Some(waiter) => Box::pin(tokio::time::timeout(MAX_WAIT, waiter)).await.ok(),
        None => None,
    };
    permit.ok_or_else(|| Problem::unavailable("too many requests are in progress; try again later"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Mutex};

    use tokio::task::JoinHandle;

    use super::*;
    use crate::model::values::id::OrganizationId;

    fn service() -> (tempfile::TempDir, TicketingService) {
        let folder = tempfile::tempdir().unwrap();
        let service = TicketingService::open(folder.path().join("ticketing.db")).unwrap();
        (folder, service)
    }

    fn organization(number: i64) -> OrganizationId {
        OrganizationId::from_raw(number)
    }

    /// Calls that run until the sender is dropped: as many as an organization may have.
    fn fill(blocking: &BlockingService, number: i64) -> (Sender<()>, Vec<JoinHandle<bool>>) {
        let (release, released) = channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let mut running = Vec::new();
        while let Some(permit) = blocking.calls.try_acquire(Some(organization(number))) {
            let (blocking, released) = (blocking.clone(), Arc::clone(&released));
            let wait = move |_: &TicketingService| Ok(released.lock().unwrap().recv().is_err());
            running.push(tokio::spawn(async move { blocking.run(permit, wait).await.is_ok() }));
        }
        (release, running)
    }

    #[tokio::test]
    async fn an_organization_whose_calls_all_wait_delays_no_other_and_no_health_check() {
        let (_folder, service) = service();
        let blocking = BlockingService::new(service, 16);
        let (first, second) = (Some(organization(1)), Some(organization(2)));
        let (release, running) = fill(&blocking, 1);
        assert_eq!(running.len(), 7, "half of fourteen");
        assert_eq!(blocking.call(first, |_| Ok(())).await.unwrap_err().status(), 503);
        assert!(blocking.look_up(first, |_| Ok(())).await.is_ok(), "two are kept for look-ups");
        assert!(blocking.call(second, |_| Ok(())).await.is_ok());
        assert!(blocking.check_health(|_| Ok(())).await.is_ok());
        // Also when no call of anybody may begin.
        let held: Vec<_> =
            (2..20).filter_map(|number| blocking.calls.try_acquire(Some(organization(number)))).collect();
        assert_eq!(blocking.call(Some(organization(20)), |_| Ok(())).await.unwrap_err().status(), 503);
        assert!(blocking.look_up(second, |_| Ok(())).await.is_ok());
        assert!(blocking.check_health(|_| Ok(())).await.is_ok());
        drop((release, held));
        for call in running {
            assert!(call.await.unwrap());
        }
        assert!(blocking.call(first, |_| Ok(())).await.is_ok());
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error_and_returns_its_permit() {
        let (_folder, service) = service();
        let blocking = BlockingService::new(service, 4);
        for _ in 0..3 {
            let panicked = blocking.call(None, |_| -> Result<(), Problem> { panic!("on purpose") }).await;
            assert_eq!(panicked.unwrap_err().status(), 500);
        }
    }
}
