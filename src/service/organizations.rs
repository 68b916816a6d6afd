//! Organizations, and acting for one.

use super::TicketingService;
use crate::error::{FieldErrors, Result};
use crate::model::id::OrganizationId;
use crate::model::organization::{Caller, CreateOrganization, Organization};
use crate::model::scope::Scopes;
use crate::rules;
use crate::store::organizations;

impl TicketingService {
    /// Creates an organization. This is the program's own affair: it takes no caller, and there is no route for it.
    ///
    /// # Errors
    /// A validation error names `name` (at least 1 character), `currency` (ISO 4217) or `timezone` (IANA).
    ///
    /// ```
    /// use ticketing::CreateOrganization;
    /// # let (_folder, service, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/example_shop.rs"));
    /// let organization = service.create_organization(CreateOrganization {
    ///     name: "Jazz Cellar".to_owned(),
    ///     timezone: "Europe/Berlin".to_owned(),
    ///     ..Default::default()
    /// })?;
    /// assert_eq!(organization.currency, "EUR");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_organization(&self, request: CreateOrganization) -> Result<Organization> {
        let new = rules::organization::check(request, FieldErrors::default())?;
        self.store().write(move |tx| organizations::insert(tx, &new))
    }

    /// Every organization, newest first.
    ///
    /// # Errors
    /// Only those of the store.
    ///
    /// ```
    /// # let (_folder, service, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/example_shop.rs"));
    /// assert_eq!(service.list_organizations()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_organizations(&self) -> Result<Vec<Organization>> {
        self.store().read(organizations::all)
    }

    /// A caller for the program itself: every scope, no key.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) where there is no such organization.
    ///
    /// ```
    /// # let (_folder, service, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/example_shop.rs"));
    /// let organization = service.list_organizations()?.remove(0);
    /// let caller = service.act_for(organization.id)?;
    /// assert_eq!(caller.organization(), organization.id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn act_for(&self, organization: OrganizationId) -> Result<Caller> {
        let organization = self.store().read(|tx| organizations::get(tx, organization))?.id;
        Ok(Caller { organization, scopes: Scopes::all(), key: None })
    }
}
