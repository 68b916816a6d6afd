//! The end of a service: closing it, and handles that do not keep it open.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::environment::{Clock, Locked, SystemClock};
use crate::error::Error;
use crate::service::TicketingService;
use crate::service::state::ticketing_service::Inner;

/// How often closing looks whether the other handles are gone.
const POLL: Duration = Duration::from_millis(2);

/// For how long the end of a service stores what was counted in memory: the database may be busy.
const MAX_STORING: Duration = Duration::from_secs(5);

/// The error of [`TicketingService::close`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseError {
    /// Other handles of the service still exist. Their operations fail, and the database is closed when the last of
    /// them is dropped.
    #[error("the service is still in use: {handles} other {} must be dropped", if *.handles == 1 { "handle" } else { "handles" })]
    #[non_exhaustive]
    StillInUse {
        /// How many: clones of the service, operations and notification handlers that are running, and webhook senders
        /// that were started with [`start_webhook_sender`](TicketingService::start_webhook_sender).
        handles: usize,
    },
    /// The service is closed, but the database file is not complete by itself: the write-ahead log next to it is
    /// needed. The next opening uses it, so no data is lost.
    #[error("the service is closed, but its write-ahead log is still needed: {0}")]
    LogRemains(Error),
}

/// A handle that does not keep the service open, for what the service itself owns and what calls it: a payment gateway
/// or a webhook transport. A [`TicketingService`] in one of those would never be closed. Handlers of notifications need
/// none, because they get the service with each call.
///
/// ```
#[doc = include_str!("../../doc_fixture.md")]
/// let weak = service.downgrade();
/// assert!(weak.upgrade().is_some());
/// service.close(std::time::Duration::from_secs(1))?;
/// assert!(weak.upgrade().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct WeakTicketingService {
    inner: Weak<Inner>,
    /// That of the handle it was made of.
    ignores_suspension: bool,
}

impl WeakTicketingService {
    /// Returns a handle of the service; `None` if the service is closed or being closed.
    #[must_use]
    pub fn upgrade(&self) -> Option<TicketingService> {
        let service = TicketingService { inner: self.inner.upgrade()?, ignores_suspension: self.ignores_suspension };
        (!service.writes().is_closing()).then_some(service)
    }
}

impl fmt::Debug for WeakTicketingService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakTicketingService")
    }
}

/// # Closing
impl TicketingService {
    /// Returns a handle that does not keep the service open. If this handle goes on
    /// [while an organization is suspended](Self::even_if_suspended), the returned one does so too.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let weak = service.downgrade();
    /// drop(service);
    /// assert!(weak.upgrade().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn downgrade(&self) -> WeakTicketingService {
        WeakTicketingService { inner: Arc::downgrade(&self.inner), ignores_suspension: self.ignores_suspension }
    }

    /// Closes the service, so that the database is one complete file without a write-ahead log, which can be copied or
    /// moved.
    ///
    /// From this call on, every operation of the other handles fails with
    /// [`Error::Unavailable`](crate::Error::Unavailable). Operations that are running finish. The threads that the
    /// [`Builder`](crate::Builder) has started are stopped, which can take a few seconds longer than `timeout`.
    /// Then the method waits up to `timeout` for the other handles to be dropped.
    ///
    /// The write-ahead log remains if another process has the database open.
    ///
    /// # Errors
    /// - [`CloseError::StillInUse`] if there are other handles after `timeout`. Their operations still fail. The
    ///   database is closed when the last of them is dropped.
    /// - [`CloseError::LogRemains`] if the last checkpoint could not be made, for example because the disk is full, or
    ///   because the store has [`stopped`](Self::stopped).
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let path = folder.path().join("ticketing.db");
    /// service.close(std::time::Duration::from_secs(10))?;
    /// assert!(path.exists() && !path.with_extension("db-wal").exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(self, timeout: Duration) -> Result<(), CloseError> {
        self.inner.writes.close();
        let background = std::mem::take(&mut *self.inner.background.locked());
        let queues = std::mem::take(&mut *self.inner.queues.locked());
        background.stop();
        drop(queues);
        let mut inner = self.inner;
        let mut remaining = timeout;
        loop {
            let handles = other_handles(&inner);
            if handles == 0 {
                match Arc::try_unwrap(inner) {
                    // Dropping the store makes the last checkpoint.
                    Ok(last) => {
                        let result = last.writes.store_in_operation().closing_result();
                        drop(last);
                        return result.get().cloned().unwrap_or(Ok(())).map_err(CloseError::LogRemains);
                    }
                    // A weak handle was upgraded in between, and is about to find out that the service is closing.
                    Err(shared) => inner = shared,
                }
            } else if remaining.is_zero() {
                return Err(CloseError::StillInUse { handles });
            }
            let pause = POLL.min(remaining);
            std::thread::sleep(pause);
            remaining -= pause;
        }
    }
}

impl Drop for Inner {
    /// Stores what was counted in memory, the uses of API keys first: they are fewer.
    fn drop(&mut self) {
        let start = SystemClock.monotonic();
        let store = self.writes.store_in_operation();
        let is_late = || store.stopped().is_some() || SystemClock.monotonic().saturating_sub(start) >= MAX_STORING;
        let stored = self.store_key_uses(&is_late).and(self.store_page_views(&is_late));
        let (events, keys) = (self.page_views.len(), self.keys_used.len());
        if events + keys > 0 {
            let error = stored.err().map(tracing::field::display);
            tracing::warn!(
                target: "ticketing::store",
                events,
                keys,
                error,
                "the last page views of these events, or the last uses of these API keys, are lost"
            );
        }
    }
}

/// The handles that keep the database open, other than this one.
fn other_handles(inner: &Arc<Inner>) -> usize {
    let services = Arc::strong_count(inner) - 1;
    let senders = Arc::strong_count(inner.writes.store_in_operation()) - 1;
    // The service and its payments have one each.
    let workers = Arc::strong_count(&inner.writes).saturating_sub(2);
    services + senders + workers
}
