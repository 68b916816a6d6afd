//! Access to the store, which is refused for new work once the service is being closed.

use std::sync::Arc;

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::form::object::Form;
use crate::model::tenants::caller::Caller;
use crate::model::values::id::OrganizationId;
use crate::model::values::page::ListRequest;
use crate::rules::{Checked, checked_request};
use crate::service::TicketingService;
use crate::store::{Store, Transaction};

impl TicketingService {
    /// The store, for new work: see [`Writes::store`](crate::write::Writes::store).
    pub(in crate::service) fn store(&self) -> Result<&Arc<Store>> {
        self.inner.writes.store()
    }

    /// The store, for the later steps of an operation that has changed something already, and for counters.
    pub(in crate::service) fn store_in_operation(&self) -> &Arc<Store> {
        self.inner.writes.store_in_operation()
    }

    /// Reads a page of a list of the caller's organization. With filters, it is a search, which may take longer.
    pub(in crate::service) fn list<R: ListRequest + Form, T>(
        &self,
        caller: &Caller,
        scope: Scope,
        request: R,
        list: impl Fn(&Transaction<'_>, OrganizationId, &Checked<R>) -> Result<T>,
    ) -> Result<T> {
        caller.require(scope)?;
        let request = checked_request(request)?;
        self.store()?.list(caller.organization, request.has_filters(), |tx| list(tx, caller.organization, &request))
    }
}
