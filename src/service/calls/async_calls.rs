//! Calls of the service in asynchronous code.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::{Error, Result, Unavailable};
use crate::service::TicketingService;
use crate::write::spawn_blocking;

/// How long a call waits for a permit.
pub(crate) const MAX_WAIT: Duration = Duration::from_millis(250);

/// The permits for calls in progress, of all services of the process: they share its blocking threads.
static PERMITS: Semaphore = Semaphore::const_new(256);

/// # Asynchronous code
impl TicketingService {
    /// Runs `work`, which may call any methods of the service, on a blocking thread of the tokio runtime, in the
    /// current tracing span. Needs the feature `tokio`.
    ///
    /// At most 256 calls run at the same time in a process; they do not count towards those
    /// of a server. Once started, `work` runs to its end, even if the
    /// returned future is dropped. Only searches and other reads of many rows stop then.
    ///
    /// # Errors
    /// - What `work` returns.
    /// - [`Error::Unavailable`] if a quarter of a second passes before the call can start, or if the runtime shuts
    ///   down.
    /// - [`Error::Internal`] if `work` panics.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let order = CreateOrder::new(event.id, ada, ticket_type.id, 2);
    /// let created = service.run(move |service| service.create_order(&caller, order)).await?;
    /// assert_eq!(created.order.status, OrderStatus::Pending);
    /// # Ok::<(), Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce(&Self) -> Result<T> + Send + 'static) -> Result<T> {
        let Ok(Ok(permit)) = timeout(MAX_WAIT, PERMITS.acquire()).await else {
            return Err(Error::Unavailable(Unavailable::TooManyCalls));
        };
        let service = self.clone();
        let work = move || {
            let _permit = permit;
            work(&service)
        };
        spawn_blocking(work).await?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[tokio::test]
    async fn calls_past_the_limit_fail_and_a_panic_returns_its_permit() {
        let folder = tempfile::tempdir().unwrap();
        let service = TicketingService::open(folder.path().join("ticketing.db")).unwrap();
        let panicked = service.run(|_| -> Result<()> { panic!("on purpose") }).await;
        assert_eq!(panicked, Err(Error::Internal("the call panicked".to_owned())));
        let (release, released) = channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let busy: Vec<_> = (0..256)
            .map(|_| {
                let (service, released) = (service.clone(), Arc::clone(&released));
                tokio::spawn(async move { service.run(move |_| Ok(released.lock().unwrap().recv().is_err())).await })
            })
            .collect();
        while PERMITS.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = service.run(|_| Ok(())).await.unwrap_err();
        assert_eq!(refused.code(), "unavailable");
        assert!(refused.is_retryable());
        drop(release);
        for call in busy {
            assert_eq!(call.await.unwrap(), Ok(true));
        }
        assert_eq!(service.run(TicketingService::ready).await, Ok(()));
    }
}
