//! Organizations, and callers that act for them.

use crate::enums::scope::Scopes;
use crate::error::Result;
use crate::form::request::Request;
use crate::model::tenants::caller::Caller;
use crate::model::tenants::organization::{
    CreateApiKey, CreateOrganization, CreatedApiKey, ListOrganizations, Organization, UpdateOrganization,
};
use crate::model::values::id::OrganizationId;
use crate::model::values::page::Page;
use crate::rules;
use crate::sales::catalog::organization_changes;
use crate::service::TicketingService;
use crate::store::tenants::organizations;

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
        rules::organization::check_new(self.clone()).map(drop)
    }
}

/// # Organizations
///
/// They are the tenants of a service: see the [guide](crate::guide::tenants). These methods take no caller, because
/// they are for the program that embeds the service. The server has no routes for them.
impl TicketingService {
    /// Creates an organization, which sells tickets. Its currency and time zone are the defaults of its events.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for `name` (at least 1 character), `currency` (an ISO 4217
    ///   code), `timezone` (an IANA name), `reference` (1 to 255 characters), `pageName` (a slug of 1 to 60 characters),
    ///   `website`, `imprintUrl` or `privacyUrl` (`https` URLs of at most 2,048 characters).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `reference-taken` or `page-name-taken` if another
    ///   organization has the same reference or page name.
    ///
    /// ```
    /// use ticketing::organization::CreateOrganization;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let cellar = CreateOrganization::new("Jazz Cellar").timezone("Europe/Berlin");
    /// let organization = service.create_organization(cellar)?;
    /// assert_eq!(organization.currency, "EUR");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_organization(&self, request: CreateOrganization) -> Result<Organization> {
        let fields = rules::organization::check_new(request)?;
        self.store()?.write(None, move |tx| organizations::insert(tx, &fields))
    }

    /// Creates an organization together with its first API key, in one transaction.
    ///
    /// # Errors
    /// Those of [`create_organization`](Self::create_organization) and [`create_api_key`](Self::create_api_key).
    ///
    /// ```
    /// use ticketing::organization::{CreateApiKey, CreateOrganization};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let cellar = CreateOrganization::new("Jazz Cellar").reference("customer-17");
    /// let key = CreateApiKey::new("Box office");
    /// let (organization, created) = service.create_organization_with_key(cellar, key)?;
    /// assert_eq!(service.authenticate(&created.key)?.organization(), organization.id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_organization_with_key(
        &self,
        organization: CreateOrganization,
        key: CreateApiKey,
    ) -> Result<(Organization, CreatedApiKey)> {
        let organization = rules::organization::check_new(organization)?;
        let key = self.generate_api_key(key)?;
        self.store()?.write(None, move |tx| organization_changes::create_with_key(tx, &organization, &key))
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
    /// use ticketing::organization::{CreateApiKey, CreateOrganization};
    /// use ticketing::TicketingService;
    /// let folder = tempfile::tempdir()?;
    /// let service = TicketingService::open(folder.path().join("ticketing.db"))?;
    /// let key = CreateApiKey::new("Box office");
    /// let first = service.create_first_organization(CreateOrganization::default(), key.clone())?;
    /// let (organization, created) = first.expect("the database is new");
    /// assert_eq!(service.authenticate(&created.key)?.organization(), organization.id);
    /// assert!(service.create_first_organization(CreateOrganization::default(), key)?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_first_organization(
        &self,
        organization: CreateOrganization,
        key: CreateApiKey,
    ) -> Result<Option<(Organization, CreatedApiKey)>> {
        let organization = rules::organization::check_new(organization)?;
        let key = self.generate_api_key(key)?;
        self.store()?.write(None, move |tx| organization_changes::create_first(tx, &organization, &key))
    }

    /// Lists all organizations, newest first. [`page::all`](crate::page::all) iterates over all pages.
    ///
    /// An organization that is deleted between two pages does not stop the iteration: every id is a valid cursor.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit`.
    ///
    /// ```
    /// use ticketing::organization::ListOrganizations;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let page = service.list_organizations(ListOrganizations::default())?;
    /// assert_eq!((page.data.len(), page.next_cursor), (1, None));
    ///
    /// use ticketing::page;
    /// for organization in page::all(|page| service.list_organizations(ListOrganizations::default().page(page))) {
    ///     println!("{}", organization?.name);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_organizations(&self, request: ListOrganizations) -> Result<Page<Organization, OrganizationId>> {
        let request = rules::checked_request(request)?;
        self.store()?.read(|tx| organizations::list(tx, &request))
    }

    /// Returns an organization.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the organization does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let organization = service.get_organization(caller.organization())?;
    /// assert_eq!(organization.currency, "EUR");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_organization(&self, id: OrganizationId) -> Result<Organization> {
        self.store()?.read_one(|tx| organizations::get(tx, id))
    }

    /// Returns the organization with this `reference`: the name that the embedding program has given it.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if no organization has exactly this reference.
    ///
    /// ```
    /// use ticketing::organization::CreateOrganization;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let cellar = service.create_organization(CreateOrganization::new("Jazz Cellar").reference("customer-17"))?;
    /// assert_eq!(service.get_organization_by_reference("customer-17")?, cellar);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_organization_by_reference(&self, reference: &str) -> Result<Organization> {
        self.store()?.read_one(|tx| organizations::find_by_reference(tx, reference))
    }

    /// Updates an organization. A new currency or time zone is the default of events that are created from then on;
    /// existing events keep theirs.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the organization does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) and [`Error::Conflict`](crate::Error::Conflict) as for
    ///   [`create_organization`](Self::create_organization).
    ///
    /// ```
    /// use ticketing::organization::UpdateOrganization;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let changes = UpdateOrganization::default().name("Jazz Cellar").timezone("Europe/Berlin");
    /// let organization = service.update_organization(caller.organization(), changes)?;
    /// assert_eq!(organization.timezone, "Europe/Berlin");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_organization(
        &self,
        id: OrganizationId,
        request: impl Into<Request<UpdateOrganization>>,
    ) -> Result<Organization> {
        let request = request.into();
        self.store()?.write(id, move |tx| organization_changes::update(tx, id, &request))
    }

    /// Deletes an empty organization with its API keys: one without events, customers and webhook endpoints. Orders and
    /// tickets are kept for good, so an organization that has sold anything can be
    /// [suspended](Self::suspend_organization), but not deleted. With a [`Caller`] that the program has kept, lists of
    /// a deleted organization are empty, and everything else is not found.
    ///
    /// Of more than a thousand revoked keys and idempotency keys, a thousand are deleted in one transaction, so that
    /// other writes wait only for one of these. If the program ends in between, the organization is left without them,
    /// and can be used, or deleted again.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the organization does not exist.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `in-use` if the organization is not empty.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let mistake = service.create_organization(Default::default())?;
    /// service.delete_organization(mistake.id)?;
    /// assert!(service.get_organization(mistake.id).is_err());
    ///
    /// let refused = service.delete_organization(caller.organization()).unwrap_err();
    /// assert_eq!(refused.reason(), Some(Reason::InUse));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_organization(&self, id: OrganizationId) -> Result<()> {
        while !self.store()?.write(id, move |tx| organizations::delete(tx, id))? {}
        self.inner.suspended.set(id, false);
        Ok(())
    }

    /// Returns a caller that acts for an organization with all scopes and without an API key. For a
    /// [suspended](Self::suspend_organization) organization, it can only report payments, unless this is a handle of
    /// [`even_if_suspended`](Self::even_if_suspended).
    ///
    /// It is for the program that embeds the service. Requests of clients are authenticated with
    /// [`authenticate`](Self::authenticate).
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the organization does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let organization = service.list_organizations(ListOrganizations::default())?.data.remove(0);
    /// let caller = service.act_for(organization.id)?;
    /// assert_eq!(caller.organization(), organization.id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn act_for(&self, organization: OrganizationId) -> Result<Caller> {
        let organization = self.store()?.read_one(|tx| organizations::get(tx, organization))?;
        self.inner.suspended.set(organization.id, organization.suspended_at.is_some());
        let suspended = (!self.ignores_suspension).then(|| self.inner.suspended.clone());
        Ok(Caller {
            organization: organization.id,
            scopes: Scopes::all(),
            key: None,
            event: None,
            name: None,
            suspended,
        })
    }
}

#[cfg(all(test, feature = "event-pages"))]
mod tests {
    use super::*;
    use crate::error::{Error, ResourceKind};

    #[test]
    fn the_organization_of_a_page_is_found_by_its_id_and_by_its_exact_page_name() {
        let service = TicketingService::temporary().open().unwrap();
        let of_page = |text: &str| service.store()?.read_one(|tx| organizations::find_by_id_or_page_name(tx, text));
        let not_found = Err(Error::NotFound(ResourceKind::Organization));
        let cellar = CreateOrganization::new("Jazz Cellar").page_name("jazz-cellar");
        let cellar = service.create_organization(cellar).unwrap();
        let other = service.create_organization(CreateOrganization::new("Attic")).unwrap();
        assert_eq!(of_page("jazz-cellar"), Ok(cellar.clone()));
        assert_eq!(of_page(&cellar.id.to_string()), Ok(cellar.clone()));
        assert_eq!(of_page(&other.id.to_string()), Ok(other));
        for unknown in ["", "jazz", "Jazz-Cellar", "jazz-cellar ", "jazz-cellar\0", "org_0000000000001", "\u{e9}"] {
            assert_eq!(of_page(unknown), not_found, "{unknown:?}");
        }
        let renamed = UpdateOrganization::default().page_name("cellar");
        let renamed = service.update_organization(cellar.id, renamed).unwrap();
        assert_eq!((of_page("jazz-cellar"), of_page("cellar")), (not_found, Ok(renamed)));
    }
}
