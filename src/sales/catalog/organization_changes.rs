//! Creation and changes of organizations and their API keys.

use crate::error::{Error, ResourceKind, Result};
use crate::form::request::Request;
use crate::model::tenants::door_link::{CreateDoorLink, CreatedDoorLink, DoorLink};
use crate::model::tenants::organization::{
    ApiKey, CreateApiKey, CreatedApiKey, Organization, OrganizationFields, UpdateOrganization,
};
use crate::model::values::id::{EventId, OrganizationId};
use crate::model::values::secret::Secret;
use crate::rules::count_limit::API_KEYS;
use crate::rules::entrance::door;
use crate::rules::{self, Checked};
use crate::store::sale::events;
use crate::store::tenants::{api_keys, organizations};
use crate::store::tickets::scan_log;
use crate::store::{Lock, Transaction};

/// A new API key. Only its hash is stored.
#[derive(Debug, Clone)]
pub(crate) struct NewApiKey {
    pub(crate) request: Checked<CreateApiKey>,
    pub(crate) key: Secret,
    /// The SHA-256 hash of the key.
    pub(crate) hash: [u8; 32],
}

impl NewApiKey {
    fn insert(&self, tx: &Transaction<'_>, organization: &Organization) -> Result<CreatedApiKey> {
        let api_key = api_keys::insert(tx, organization, &self.request, &self.hash)?;
        Ok(CreatedApiKey { api_key, key: self.key.clone() })
    }
}

/// Creates an organization with an API key, unless there is an organization already.
pub(crate) fn create_first(
    tx: &Transaction<'_>,
    organization: &Checked<OrganizationFields>,
    key: &NewApiKey,
) -> Result<Option<(Organization, CreatedApiKey)>> {
    let Some(organization) = organizations::insert_first(tx, organization)? else { return Ok(None) };
    let key = key.insert(tx, &organization)?;
    Ok(Some((organization, key)))
}

pub(crate) fn create_with_key(
    tx: &Transaction<'_>,
    organization: &Checked<OrganizationFields>,
    key: &NewApiKey,
) -> Result<(Organization, CreatedApiKey)> {
    let organization = organizations::insert(tx, organization)?;
    let key = key.insert(tx, &organization)?;
    Ok((organization, key))
}

pub(crate) fn update(
    tx: &Transaction<'_>,
    id: OrganizationId,
    request: &Request<UpdateOrganization>,
) -> Result<Organization> {
    tx.lock(Lock::Organization(id))?;
    let current = organizations::get(tx, id)?;
    let (fields, errors) = OrganizationFields::update(&current, request);
    let fields = rules::organization::check(fields, errors)?;
    organizations::update(tx, id, &fields)?;
    organizations::get(tx, id)
}

pub(crate) fn suspend(tx: &Transaction<'_>, id: OrganizationId) -> Result<Organization> {
    let organization = organizations::suspend(tx, id)?;
    api_keys::set_suspended(tx, &organization)?;
    Ok(organization)
}

pub(crate) fn resume(tx: &Transaction<'_>, id: OrganizationId) -> Result<Organization> {
    tx.lock(Lock::Organization(id))?;
    let organization = organizations::resume(tx, id)?;
    api_keys::set_suspended(tx, &organization)?;
    Ok(organization)
}

/// Creates an API key of an organization. If it is one of an event, the event is locked.
pub(crate) fn create_api_key(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    key: &NewApiKey,
) -> Result<CreatedApiKey> {
    tx.lock(Lock::Organization(organization))?;
    let organization = organizations::get(tx, organization)?;
    if api_keys::has_at_least_usable(tx, organization.id, API_KEYS.most)? {
        api_keys::revoke_expired(tx, organization.id)?;
        API_KEYS.check_room(api_keys::has_at_least_usable(tx, organization.id, API_KEYS.most)?)?;
    }
    if let Some(event) = key.request.event_id {
        let exists = events::exists(tx, organization.id, event)?;
        if !exists {
            return Err(Error::field("eventId", "must be an event of this organization"));
        }
        scan_log::start(tx, organization.id, event)?;
    }
    key.insert(tx, &organization)
}

/// Creates a link for the staff of an entrance of an event that is locked. `key` is its API key, and the hash of that.
pub(crate) fn create_door_link(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    request: &Request<CreateDoorLink>,
    (key, hash): &(Secret, [u8; 32]),
    public_url: Option<&str>,
) -> Result<CreatedDoorLink> {
    let sale = events::sale(tx, organization, event)?.ok_or(Error::NotFound(ResourceKind::Event))?;
    let public_url = public_url.ok_or_else(|| Error::field("public_url", "must be set for links to the page"))?;
    let request = door::check_link(request.clone(), event, sale.status, sale.over_at, tx.now())?;
    let new = NewApiKey { request, key: key.clone(), hash: *hash };
    let created = create_api_key(tx, organization, &new)?;
    let url = Secret::from(format!("{public_url}/door/#{event}/{}", created.key.expose()));
    Ok(CreatedDoorLink { link: DoorLink::of(event, created.api_key), url })
}

/// Returns the API keys of an organization, newest first.
pub(crate) fn list_api_keys(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Vec<ApiKey>> {
    let organization = organizations::get(tx, organization)?;
    api_keys::list(tx, organization.id)
}
