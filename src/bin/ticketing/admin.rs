//! Commands that manage organizations and API keys. There is no HTTP route for these: they need access to the database.

use std::str::FromStr;

use serde_json::{Value, json};
use ticketing::id::{ApiKeyId, EventId, OrganizationId};
use ticketing::organization::{CreateApiKey, CreateOrganization, ListOrganizations, Organization, UpdateOrganization};
use ticketing::{Change, Error, TicketingService, page};

use super::arguments::{AdminCommand, NewOrganization, PageOptions};
use super::database_option::Database;
use super::failure::Failure;

/// Creates an organization. If the database does not exist, creates it too. Returns the organization as JSON.
pub(crate) fn create_organization(database: &Database, options: NewOrganization) -> Result<Value, Failure> {
    let mut organization = CreateOrganization::new(options.name);
    organization.currency = options.currency.unwrap_or(organization.currency);
    organization.timezone = options.timezone.unwrap_or(organization.timezone);
    organization.reference = options.reference;
    let PageOptions { page_name, website, imprint_url, privacy_url } = options.page;
    organization.page_name = page_name;
    organization.website = website;
    organization.imprint_url = imprint_url;
    organization.privacy_url = privacy_url;
    // Before the database is created.
    organization.check()?;
    Ok(json!(database.builder_of_command(true)?.open()?.create_organization(organization)?))
}

/// Executes a command and returns its result as JSON.
pub(crate) fn execute(database: &Database, command: AdminCommand) -> Result<Value, Failure> {
    let service = database.builder_of_command(false)?.open()?;
    match command {
        AdminCommand::ListOrganizations => {
            let organizations: Vec<_> = all_organizations(&service).collect::<ticketing::Result<_>>()?;
            Ok(json!({ "organizations": organizations }))
        }
        AdminCommand::GetOrganization { organization } => {
            Ok(json!(service.get_organization(organization_id(&organization)?)?))
        }
        AdminCommand::UpdateOrganization { organization, name, currency, timezone, reference, page } => {
            let change = |given: Option<String>| given.map_or(Change::Keep, Change::Set);
            let mut changes = UpdateOrganization::default();
            changes.name = change(name);
            changes.currency = change(currency);
            changes.timezone = change(timezone);
            changes.reference = change(reference).map(Some);
            changes.page_name = change(page.page_name).map(Some);
            changes.website = change(page.website).map(Some);
            changes.imprint_url = change(page.imprint_url).map(Some);
            changes.privacy_url = change(page.privacy_url).map(Some);
            Ok(json!(service.update_organization(organization_id(&organization)?, changes)?))
        }
        AdminCommand::SuspendOrganization { organization } => {
            Ok(json!(service.suspend_organization(organization_id(&organization)?)?))
        }
        AdminCommand::ResumeOrganization { organization } => {
            Ok(json!(service.resume_organization(organization_id(&organization)?)?))
        }
        AdminCommand::DeleteOrganization { organization } => {
            let id = organization_id(&organization)?;
            service.delete_organization(id)?;
            Ok(json!({ "deleted": id }))
        }
        AdminCommand::OrganizationUsage { organization } => {
            Ok(json!(service.get_organization_usage(organization_id(&organization)?)?))
        }
        AdminCommand::CreateKey { organization, name, scopes, expires } => {
            let mut key = CreateApiKey::new(name).scopes(scopes);
            key.expires_at = expires;
            let created = service.create_api_key(organization_id(&organization)?, key)?;
            Ok(json!({
                "id": created.api_key.id,
                "key": created.key,
                "organizationId": created.api_key.organization_id,
                "name": created.api_key.name,
                "scopes": created.api_key.scopes,
                "expiresAt": created.api_key.expires_at,
            }))
        }
        AdminCommand::ListKeys { organization } => {
            let keys = service.list_api_keys(organization_id(&organization)?)?;
            Ok(json!({ "keys": keys }))
        }
        AdminCommand::RevokeKey { key_id } => {
            let id = parse_id(&key_id, "API key")?;
            Ok(json!(service.revoke_api_key(organization_of_key(&service, id)?, id)?))
        }
    }
}

/// Returns the organization that an API key belongs to.
fn organization_of_key(service: &TicketingService, id: ApiKeyId) -> Result<OrganizationId, Failure> {
    for organization in all_organizations(service) {
        let organization = organization?;
        if service.list_api_keys(organization.id)?.iter().any(|key| key.id == id) {
            return Ok(organization.id);
        }
    }
    Err(Failure::Run(format!("there is no API key with the id {id}")))
}

/// Iterates over the organizations, newest first.
fn all_organizations(service: &TicketingService) -> impl Iterator<Item = ticketing::Result<Organization>> {
    page::all(|page| service.list_organizations(ListOrganizations::default().page(page)))
}

pub(crate) fn organization_of_event(service: &TicketingService, event: EventId) -> Result<OrganizationId, Failure> {
    for organization in all_organizations(service) {
        let organization = organization?.id;
        match service.get_event(&service.act_for(organization)?, event) {
            Ok(_) => return Ok(organization),
            Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::Run(format!("there is no event with the id {event}")))
}

pub(crate) fn organization_id(id: &str) -> Result<OrganizationId, Failure> {
    parse_id(id, "organization")
}

/// Parses an id. A malformed id is reported like one that does not exist.
pub(crate) fn parse_id<T: FromStr>(id: &str, resource: &str) -> Result<T, Failure> {
    id.parse().map_err(|_| Failure::Run(format!("there is no {resource} with the id {id:?}")))
}
