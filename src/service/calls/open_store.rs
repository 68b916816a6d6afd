//! Access to the store, which is refused for new work once the service is being closed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::error::{Error, Result, Unavailable};
use crate::service::TicketingService;
use crate::store::Store;

impl TicketingService {
    /// The store, for new work. Fails if the service is being closed.
    ///
    /// An operation uses it until it has changed something. From then on it uses
    /// [`store_in_operation`](Self::store_in_operation), so that it is not left half done.
    pub(in crate::service) fn store(&self) -> Result<&Arc<Store>> {
        if self.is_closing() {
            return Err(Error::Unavailable(Unavailable::Closed));
        }
        Ok(&self.inner.store)
    }

    /// The store, for the later steps of an operation that has changed something already, and for counters.
    pub(in crate::service) fn store_in_operation(&self) -> &Store {
        &self.inner.store
    }

    pub(in crate::service) fn is_closing(&self) -> bool {
        self.inner.closing.load(Ordering::SeqCst)
    }
}
