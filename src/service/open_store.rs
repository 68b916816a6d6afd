//! Access to the store for new work, which is refused once the service is being closed.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::TicketingService;
use crate::error::{Error, Result};
use crate::model::backup::BackupProgress;
use crate::model::check::{CheckProgress, CheckReport};
use crate::model::id::OrganizationId;
use crate::store::{EventKey, Store, Transaction};

/// The store, for work that may be refused because the service is being closed. It has the methods of [`Store`].
///
/// An operation uses it until it has changed something. From then on it uses
/// [`store_in_operation`](TicketingService::store_in_operation), so that it is not left half done.
pub(super) struct OpenStore<'s> {
    service: &'s TicketingService,
}

impl TicketingService {
    /// The store, for work that is refused once the service is being closed.
    pub(super) fn store(&self) -> OpenStore<'_> {
        OpenStore { service: self }
    }

    /// The store, for the later steps of an operation that has changed something already, and for counters.
    pub(super) fn store_in_operation(&self) -> &Store {
        &self.inner.store
    }

    pub(super) fn is_closing(&self) -> bool {
        self.inner.closing.load(Ordering::SeqCst)
    }
}

impl<'s> OpenStore<'s> {
    /// The store itself, or the error that the service is closed.
    pub(super) fn get(&self) -> Result<&'s Arc<Store>> {
        if self.service.is_closing() {
            return Err(Error::Unavailable("the service is closed"));
        }
        Ok(&self.service.inner.store)
    }

    pub(super) fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.get()?.write(work)
    }

    pub(super) fn write_for<T: Send + 'static>(
        &self,
        organization: OrganizationId,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.get()?.write_for(organization, work)
    }

    pub(super) fn write_event<T: Send + 'static>(
        &self,
        organization: OrganizationId,
        event: EventKey,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.get()?.write_event(organization, event, work)
    }

    pub(super) fn write_unless_locked<T: Send + 'static>(
        &self,
        event: EventKey,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        self.get()?.write_unless_locked(event, work)
    }

    pub(super) fn write_event_and_read<T: Send + 'static, R: Send + 'static>(
        &self,
        organization: OrganizationId,
        event: EventKey,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
        read: impl Fn(&Transaction<'_>) -> Result<R> + Copy + Send + 'static,
    ) -> Result<(T, R)> {
        self.get()?.write_event_and_read(organization, event, work, read)
    }

    pub(super) fn tidy(&self) -> Result<()> {
        self.get()?.tidy()
    }

    pub(super) fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.get()?.read(work)
    }

    pub(super) fn read_one<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.get()?.read_one(work)
    }

    pub(super) fn scan<T>(
        &self,
        organization: Option<OrganizationId>,
        work: impl FnMut(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.get()?.scan(organization, work)
    }

    /// Reads a page of a list. A list without filters is a look-up: the page is a range of an index.
    pub(super) fn list<T>(
        &self,
        organization: OrganizationId,
        has_filters: bool,
        work: impl FnMut(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        match has_filters {
            true => self.scan(Some(organization), work),
            false => self.read(work),
        }
    }

    pub(super) fn read_on_dedicated_connection<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.get()?.read_on_dedicated_connection(work)
    }

    pub(super) fn check(&self, progress: &mut dyn FnMut(CheckProgress) -> ControlFlow<()>) -> Result<CheckReport> {
        self.get()?.check(progress)
    }

    pub(super) fn with_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.get()?.with_snapshot(work)
    }

    #[cfg(feature = "http")]
    pub(super) fn with_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.get()?.with_look_ups(work)
    }

    #[cfg(feature = "postgres")]
    pub(super) fn copy_to(
        &self,
        target: &crate::store::PostgresOptions,
        progress: &mut dyn FnMut(crate::model::backup::CopyProgress) -> ControlFlow<()>,
    ) -> Result<crate::model::backup::CopyProgress> {
        self.get()?.copy_to(target, progress)
    }

    pub(super) fn backup(
        &self,
        target: &Path,
        progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        self.get()?.backup(target, progress)
    }
}
