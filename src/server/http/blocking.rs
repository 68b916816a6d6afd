//! Runs service calls on blocking threads. The service waits for the disk, so its methods must not run on the async
//! threads; a limit on calls in progress keeps a slow disk or gateway from occupying every blocking thread.
//!
//! Two kinds of calls need no such thread on a database file: look-ups that take microseconds, and the most frequent
//! writes, which the thread of the store runs. Each of them is [prepared](crate::write::Prepared): it looks up a few rows,
//! and is then queued.
//!
//! Organizations share the permits for calls: while all requests of one wait for a lock of its own, others go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::response::Response;
use tokio::runtime::Handle;
use tracing::Instrument as _;

use super::direct_look_ups::DirectLookUps;
use crate::error::Error;
use crate::fair::{Limits, Permit, Semaphore, Tenant};
use crate::server::responses::problem::Problem;
use crate::service::TicketingService;
use crate::service::calls::async_calls::MAX_WAIT;
use crate::write::{Prepared, spawn_blocking};

/// How many health checks may run at the same time.
const HEALTH_CHECKS: usize = 4;

/// What a call does, which decides which permits it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Class {
    /// Reads a few rows. It goes on when all slow calls wait.
    LookUp,
    /// A page for customers. It needs none of the permits of orders, because anybody who has the page of a ticket or an
    /// order can load it again and again.
    Page,
    /// Waits for the store: everything else.
    Store,
    /// May wait for the payment gateway too, for many seconds.
    Gateway,
    /// A document, which may wait for seconds for logos of other hosts. How many are rendered at the same time is decided
    /// later, after the logos were fetched.
    #[cfg(feature = "documents")]
    Document,
    /// A health check, which waits for no organization.
    Health,
}

/// The service, with a limit on the number of calls in progress.
#[derive(Debug, Clone)]
pub(in crate::server) struct BlockingService {
    service: TicketingService,
    pub(in crate::server) quick: Semaphore,
    slow: Semaphore,
    gateway: Semaphore,
    #[cfg(feature = "documents")]
    pub(in crate::server) documents: Semaphore,
    health: Semaphore,
    direct: Arc<DirectLookUps>,
}

impl BlockingService {
    /// Of each kind of permit, an organization gets half at most.
    pub(in crate::server) fn new(service: TicketingService, max_calls: usize) -> Self {
        let max_calls = max_calls.max(4);
        let quick = (max_calls / 8).max(1);
        let slow = max_calls - quick;
        Self {
            service,
            quick: Semaphore::new(quick),
            slow: Semaphore::new(slow),
            // A slow gateway leaves room for check-in and everything else. Half of these are more calls to the gateway
            // than an organization can have, so that its free orders need not wait for it.
            gateway: Semaphore::new(slow - slow.div_ceil(4)),
            // So many that several organizations have one.
            #[cfg(feature = "documents")]
            documents: Semaphore::new((max_calls / 16).max(4)),
            health: Semaphore::with(Limits { one_may_use_all: true, ..Limits::new(HEALTH_CHECKS) }),
            direct: Arc::default(),
        }
    }

    /// The permits that a call of each class needs: one of the first kind, and one of the second in addition.
    const fn permits(&self, class: Class) -> (&Semaphore, Option<&Semaphore>) {
        match class {
            Class::LookUp | Class::Page => (&self.quick, None),
            Class::Store => (&self.slow, None),
            Class::Gateway => (&self.slow, Some(&self.gateway)),
            #[cfg(feature = "documents")]
            Class::Document => (&self.slow, Some(&self.documents)),
            Class::Health => (&self.health, None),
        }
    }

    /// The service, for methods that neither wait nor use the store.
    pub(in crate::server) fn service(&self) -> &TicketingService {
        &self.service
    }

    /// Runs `work`, which looks up a few rows and writes nothing, in one transaction: on this thread if that takes
    /// microseconds, else like [`call`](Self::call).
    pub(in crate::server) async fn look_up<T: Send + 'static>(
        &self,
        tenant: Tenant,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        match self.direct.run(&self.service, work) {
            Ok(result) => result,
            Err(work) => {
                let look_up = move |service: &TicketingService| service.with_look_ups(|| work(service))?;
                Box::pin(self.call(Class::LookUp, tenant, look_up)).await
            }
        }
    }

    /// Makes a write that `prepare` prepares, which looks up a few rows: without a blocking thread, if look-ups take
    /// microseconds. Once started, the write goes on even if the client has gone away.
    pub(in crate::server) async fn queue(
        &self,
        class: Class,
        tenant: Tenant,
        prepare: impl FnOnce(&TicketingService) -> Result<PreparedResponse, Problem> + Send + 'static,
    ) -> Result<Response, Problem> {
        let permits = self.acquire(class, tenant).await?;
        match self.direct.run(&self.service, prepare) {
            Ok(prepared) => {
                let prepared = prepared?;
                let write = async move {
                    let _permits = permits;
                    prepared.queue().await
                };
                let panicked = || Err(Error::Internal("the call panicked".to_owned()));
                ToItsEnd::new(write).await.unwrap_or_else(panicked)?
            }
            Err(prepare) => Box::pin(self.call_with(permits, move |service| prepare(service)?.run()?)).await,
        }
    }

    /// Runs `work` for a tenant on a blocking thread. Once started, it runs to its end even if the client has gone
    /// away. Only reads that may take long stop then.
    pub(in crate::server) async fn call<T: Send + 'static>(
        &self,
        class: Class,
        tenant: Tenant,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permits = self.acquire(class, tenant).await?;
        self.call_with(permits, work).await
    }

    async fn call_with<T: Send + 'static>(
        &self,
        permits: Permits,
        work: impl FnOnce(&TicketingService) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let service = self.service.clone();
        let run = move || {
            let _permits = permits;
            work(&service).map_err(Problem::prepare)
        };
        spawn_blocking(run).await?
    }

    /// Waits for the permits of a call.
    async fn acquire(&self, class: Class, tenant: Tenant) -> Result<Permits, Problem> {
        let (permits, additional) = self.permits(class);
        let additional = match additional {
            Some(permits) => Some(acquire(permits, tenant).await?),
            None => None,
        };
        // Look-ups leave the quick permits to others while there are slow ones.
        let slow = if class == Class::LookUp { self.slow.try_acquire(tenant) } else { None };
        let permit = match slow {
            Some(permit) => permit,
            None => acquire(permits, tenant).await?,
        };
        Ok((permit, additional))
    }
}

/// A write whose result is a response.
pub(in crate::server) type PreparedResponse = Prepared<Result<Response, Problem>>;

/// The permits of a call in progress.
type Permits = (Permit, Option<Permit>);

/// A future that goes on as a task of its own if nobody waits for it any more.
struct ToItsEnd<F: Future<Output: Send> + Send + 'static> {
    future: Option<Pin<Box<F>>>,
    span: tracing::Span,
}

impl<F: Future<Output: Send> + Send + 'static> ToItsEnd<F> {
    fn new(future: F) -> Self {
        Self { future: Some(Box::pin(future)), span: tracing::Span::current() }
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for ToItsEnd<F> {
    /// `None` if it panicked.
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.future else { return Poll::Ready(None) };
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        if !matches!(polled, Ok(Poll::Pending)) {
            self.future = None;
        }
        polled.map_or(Poll::Ready(None), |polled| polled.map(Some))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for ToItsEnd<F> {
    fn drop(&mut self) {
        if let Some(future) = self.future.take()
            && let Ok(runtime) = Handle::try_current()
        {
            drop(runtime.spawn(future.instrument(self.span.clone())));
        }
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
    use super::*;
    use crate::fair::tenant;

    fn blocking(max_calls: usize) -> BlockingService {
        BlockingService::new(TicketingService::temporary().open().unwrap(), max_calls)
    }

    /// Takes all permits that a tenant can have.
    fn take(permits: &Semaphore, number: i64) -> Vec<Permit> {
        std::iter::from_fn(|| permits.try_acquire(tenant(number))).collect()
    }

    /// The status of a call that does nothing.
    async fn status(blocking: &BlockingService, class: Class, number: i64) -> u16 {
        let called = blocking.call(class, tenant(number), |_| Ok(200)).await;
        called.unwrap_or_else(|problem| problem.status().as_u16())
    }

    #[tokio::test]
    async fn an_organization_whose_calls_all_wait_delays_no_other_and_no_health_check() {
        let blocking = blocking(16);
        let waiting = take(&blocking.slow, 1);
        assert_eq!(waiting.len(), 7, "half of fourteen");
        assert_eq!(status(&blocking, Class::Store, 1).await, 503);
        assert_eq!(status(&blocking, Class::LookUp, 1).await, 200, "two are kept for look-ups");
        assert_eq!(status(&blocking, Class::Store, 2).await, 200);
        assert_eq!(status(&blocking, Class::Health, 0).await, 200);
        // Also when no call of anybody may begin.
        let others: Vec<_> = (2..20).map(|number| take(&blocking.slow, number)).collect();
        assert_eq!(status(&blocking, Class::Store, 20).await, 503);
        assert_eq!(status(&blocking, Class::LookUp, 2).await, 200);
        let pages = take(&blocking.quick, 1);
        assert_eq!(status(&blocking, Class::LookUp, 2).await, 200, "pages of others leave permits to look-ups");
        assert_eq!(status(&blocking, Class::Health, 0).await, 200);
        drop((waiting, others, pages));
        assert_eq!(status(&blocking, Class::Store, 1).await, 200);
    }

    #[tokio::test]
    async fn a_write_goes_on_if_nobody_waits_for_it_and_a_panic_is_noticed() {
        let (begin, begins) = tokio::sync::oneshot::channel::<()>();
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let mut write = ToItsEnd::new(async move {
            begins.await.unwrap();
            end.send(()).unwrap();
        });
        assert!(tokio::time::timeout(std::time::Duration::ZERO, &mut write).await.is_err());
        drop(write);
        begin.send(()).unwrap();
        ended.await.unwrap();
        assert_eq!(ToItsEnd::new(async { 1 }).await, Some(1));
        let panics = std::future::poll_fn(|_| -> Poll<()> { panic!("on purpose") });
        assert_eq!(ToItsEnd::new(panics).await, None);
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error_and_returns_its_permits() {
        let blocking = blocking(4);
        for _ in 0..3 {
            let panicked =
                blocking.call(Class::Gateway, None, |_| -> Result<(), Problem> { panic!("on purpose") }).await;
            assert_eq!(panicked.unwrap_err().status(), 500);
        }
    }
}
