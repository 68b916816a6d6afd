//! Organizations, and callers that act for them.

use super::TicketingService;
use super::api_keys::GeneratedApiKey;
use crate::error::{FieldErrors, Result};
use crate::model::caller::Caller;
use crate::model::id::OrganizationId;
use crate::model::organization::{CreateApiKey, CreateOrganization, CreatedApiKey, Organization};
use crate::rules;
use crate::sales;
use crate::scope::Scopes;
use crate::store::organizations;

impl CreateOrganization {
    /// Checks the request as [`TicketingService::create_organization`] does, without a database.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits.
    ///
    /// ```
    /// use ticketing::organization::CreateOrganization;
    /// let request = CreateOrganization::default().currency("EURO");
    /// assert_eq!(request.check().unwrap_err().fields()[0].path, "currency");
    /// ```
    pub fn check(&self) -> Result<()> {
        rules::organization::check(self.clone(), FieldErrors::default()).map(drop)
    }
}

/// # Organizations
///
/// They are the tenants of a service. These methods are for the program that embeds the service: they need no caller.
impl TicketingService {
    /// Creates an organization, which sells tickets. Its currency and time zone are the defaults of its events.
    ///
    /// This method takes no caller: it is for the program that embeds the service. The HTTP server has no route for it.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for `name` (at least 1 character), `currency` (an ISO 4217
    ///   code) or `timezone` (an IANA name).
    ///
    /// ```
    /// use ticketing::organization::CreateOrganization;
    #[doc = include_str!("../doc_fixture.md")]
    /// let cellar = CreateOrganization::new("Jazz Cellar").timezone("Europe/Berlin");
    /// let organization = service.create_organization(cellar)?;
    /// assert_eq!(organization.currency, "EUR");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_organization(&self, request: CreateOrganization) -> Result<Organization> {
        let request = rules::organization::check(request, FieldErrors::default())?;
        self.store().write(move |tx| organizations::insert(tx, &request))
    }

    /// Creates the first organization of a database together with an API key. A server uses it to make a new database
    /// usable.
    ///
    /// Returns `None`, and creates nothing, if there is already an organization. Of several simultaneous calls, also in
    /// different processes, exactly one creates the organization.
    ///
    /// # Errors
    /// Those of [`create_organization`](Self::create_organization) and [`create_api_key`](Self::create_api_key).
    ///
    /// ```
    /// use ticketing::organization::{CreateApiKey, CreateOrganization, Scopes};
    /// use ticketing::TicketingService;
    /// let folder = tempfile::tempdir()?;
    /// let service = TicketingService::open(folder.path().join("ticketing.db"))?;
    /// let key = CreateApiKey::new("Box office", Scopes::all());
    /// let first = service.create_first_organization(CreateOrganization::default(), key.clone())?;
    /// let (organization, created) = first.expect("the database is new");
    /// assert_eq!(service.authenticate(created.key.expose())?.organization(), organization.id);
    /// assert!(service.create_first_organization(CreateOrganization::default(), key)?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_first_organization(
        &self,
        organization: CreateOrganization,
        key: CreateApiKey,
    ) -> Result<Option<(Organization, CreatedApiKey)>> {
        let organization = rules::organization::check(organization, FieldErrors::default())?;
        let GeneratedApiKey { stored, key } = self.generate_api_key(key)?;
        let first = self.store().write(move |tx| sales::organizations::create_first(tx, &organization, &stored))?;
        Ok(first.map(|first| (first.organization, CreatedApiKey { api_key: first.api_key, key })))
    }

    /// Returns all organizations, newest first.
    ///
    /// This method takes no caller: it is for the program that embeds the service.
    ///
    /// # Errors
    /// Only those of the [store](crate::Error::Store).
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// assert_eq!(service.list_organizations()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_organizations(&self) -> Result<Vec<Organization>> {
        self.store().read(organizations::all)
    }

    /// Returns a caller that acts for an organization with all scopes and without an API key.
    ///
    /// It is for the program that embeds the service. Requests of clients are authenticated with
    /// [`authenticate`](Self::authenticate).
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the organization does not exist.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let organization = service.list_organizations()?.remove(0);
    /// let caller = service.act_for(organization.id)?;
    /// assert_eq!(caller.organization(), organization.id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn act_for(&self, organization: OrganizationId) -> Result<Caller> {
        let organization = self.store().read(|tx| organizations::get(tx, organization))?;
        Ok(Caller::new(organization.id, Scopes::all(), None))
    }
}
