//! Organizations, and acting for one.

use super::TicketingService;
use crate::error::{FieldErrors, Result};
use crate::model::caller::Caller;
use crate::model::id::OrganizationId;
use crate::model::organization::{CreateApiKey, CreateOrganization, CreatedApiKey, Organization};
use crate::model::scope::Scopes;
use crate::rules;
use crate::store::{api_keys, organizations};

impl CreateOrganization {
    /// Checks the request as [`TicketingService::create_organization`] does, without a store.
    ///
    /// # Errors
    /// A validation error that names every field that breaks its limit.
    ///
    /// ```
    /// use ticketing::CreateOrganization;
    /// let request = CreateOrganization { currency: "EURO".to_owned(), ..Default::default() };
    /// assert_eq!(request.check().unwrap_err().fields()[0].path, "currency");
    /// ```
    pub fn check(&self) -> Result<()> {
        rules::organization::check(self.clone(), FieldErrors::default()).map(drop)
    }
}

impl TicketingService {
    /// Creates an organization. This is the program's own affair: it takes no caller, and there is no route for it.
    ///
    /// # Errors
    /// A validation error names `name` (at least 1 character), `currency` (ISO 4217) or `timezone` (IANA).
    ///
    /// ```
    /// use ticketing::CreateOrganization;
    #[doc = include_str!("../doc_fixture.md")]
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

    /// Creates an organization and a key of it where there is no organization yet, both or neither; `None` where there
    /// is one. Of several that ask at once, in other processes too, one gets an answer. It is how a server makes a fresh
    /// file usable.
    ///
    /// # Errors
    /// Those of [`create_organization`](Self::create_organization) and [`create_api_key`](Self::create_api_key).
    ///
    /// ```
    /// use ticketing::{CreateApiKey, CreateOrganization, Scopes, TicketingService};
    /// let folder = tempfile::tempdir()?;
    /// let service = TicketingService::open(folder.path().join("ticketing.db"))?;
    /// let key = CreateApiKey { name: "Office".to_owned(), scopes: Scopes::all(), expires_at: None };
    /// let first = service.create_first_organization(CreateOrganization::default(), key.clone())?;
    /// let (organization, created) = first.expect("the file is fresh");
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
        let (key, hash, secret) = self.new_key(key)?;
        let created = self.store().write(move |tx| {
            let Some(organization) = organizations::insert_first(tx, &organization)? else { return Ok(None) };
            let api_key = api_keys::insert(tx, organization.id, &key, &hash)?;
            Ok(Some((organization, api_key)))
        })?;
        Ok(created.map(|(organization, api_key)| (organization, CreatedApiKey { api_key, key: secret })))
    }

    /// Every organization, newest first.
    ///
    /// # Errors
    /// Only those of the store.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
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
    #[doc = include_str!("../doc_fixture.md")]
    /// let organization = service.list_organizations()?.remove(0);
    /// let caller = service.act_for(organization.id)?;
    /// assert_eq!(caller.organization(), organization.id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn act_for(&self, organization: OrganizationId) -> Result<Caller> {
        let organization = self.store().read(|tx| organizations::get(tx, organization))?.id;
        Ok(Caller::new(organization, Scopes::all(), None))
    }
}
