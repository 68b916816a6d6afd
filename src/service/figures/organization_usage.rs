//! How much organizations store.

use crate::error::Result;
use crate::model::tenants::organization::{ListOrganizations, OrganizationUsage, OrganizationWithUsage};
use crate::model::values::id::OrganizationId;
use crate::model::values::page::Page;
use crate::rules;
use crate::service::TicketingService;
use crate::store::tenants::{organization_usage, organizations};

/// # Usage
impl TicketingService {
    /// Counts what an organization stores, for example to bill it.
    ///
    /// This reads all orders and tickets of the organization, on a connection of its own: about a second for a million
    /// of them.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the organization does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let usage = service.get_organization_usage(caller.organization())?;
    /// assert_eq!((usage.events, usage.orders, usage.tickets), (1, 1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_organization_usage(&self, id: OrganizationId) -> Result<OrganizationUsage> {
        self.store()?.read_on_dedicated_connection(|tx| {
            let organization = organizations::get(tx, id)?;
            organization_usage::get(tx, organization.id)
        })
    }

    /// Lists organizations with what they store, newest first, for example to bill them all.
    ///
    /// This reads all orders and tickets of the organizations on the page, on a connection of its own. A page ends
    /// early, with its cursor, after the organization with which it has counted 100,000 rows: it takes about a tenth of
    /// a second, unless its last organization is larger. Each page is one snapshot of the database.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit`.
    ///
    /// ```
    /// use ticketing::organization::ListOrganizations;
    /// use ticketing::page;
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// for billed in page::all(|page| service.list_organization_usage(ListOrganizations::default().page(page))) {
    ///     let billed = billed?;
    ///     assert_eq!((billed.organization.id, billed.usage.orders), (caller.organization(), 1));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_organization_usage(
        &self,
        request: ListOrganizations,
    ) -> Result<Page<OrganizationWithUsage, OrganizationId>> {
        let request = rules::checked_request(request)?;
        self.store()?.read_on_dedicated_connection(|tx| organization_usage::list(tx, &request))
    }
}
