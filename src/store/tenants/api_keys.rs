//! API keys. Only their hashes are stored.

use crate::enums::scope::Scopes;
use crate::error::{Error, ResourceKind, Result};
use crate::model::tenants::door_link::{DoorLink, ListDoorLinks};
use crate::model::tenants::organization::{ApiKey, CreateApiKey, Organization};
use crate::model::values::id::{ApiKeyId, EventId, OrganizationId};
use crate::model::values::page::Page;
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::entrance::scan_log::MOST_WITHOUT_TICKET;
use crate::store::columns::columns;
use crate::store::lists::list_query::{cursor_bound, has_at_least, limit_plus_one};
use crate::store::lists::pages::read_page;
use crate::store::{Bind, Row, RowLength, Transaction};

columns! {
    select selected_columns!("") {
        organization_id, name, event_id, expires_at, created_at, last_used_at, revoked_at
    }

    read decode(row: &Row<'_>) -> ApiKey {} and {
        id: row.get("id")?,
        scopes: scopes(row)?,
    }
}

const INSERT: &str = "INSERT INTO api_keys (id, organization_id, key_hash, name, scopes, expires_at, created_at,
        organization_suspended_at, event_id)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO NOTHING";
pub(in crate::store) const BY_ORGANIZATION: &str =
    concat!("SELECT id, scopes", selected_columns!(), " FROM api_keys WHERE organization_id = ?1 ORDER BY id DESC");
pub(in crate::store) const NTH: &str =
    "SELECT 1 FROM api_keys WHERE organization_id = ?1 AND revoked_at IS NULL LIMIT 1 OFFSET ?2";
const BY_ID: &str =
    concat!("SELECT id, scopes", selected_columns!(), " FROM api_keys WHERE id = ?1 AND organization_id = ?2");
/// The organization is not read, because every request authenticates: its keys have a copy of `suspended_at`.
pub(in crate::store) const VALID: &str =
    "SELECT organization_id, scopes, event_id, id, last_used_at, organization_suspended_at
    FROM api_keys
    WHERE key_hash = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)";
// There may be any number of revoked keys, and they are refused anyway.
pub(in crate::store) const SET_SUSPENDED: &str =
    "UPDATE api_keys SET organization_suspended_at = ?2 WHERE organization_id = ?1 AND revoked_at IS NULL";
const REVOKE: &str =
    "UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1 AND organization_id = ?3 AND revoked_at IS NULL";
// Those that have expired are refused anyway.
const REVOKE_EXPIRED: &str = "UPDATE api_keys SET revoked_at = expires_at
    WHERE organization_id = ?1 AND revoked_at IS NULL AND expires_at <= ?2";
pub(in crate::store) const OF_EVENT: &str = concat!(
    "SELECT id, scopes",
    selected_columns!(),
    " FROM api_keys WHERE event_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
);
const EXISTS: &str = "SELECT 1 FROM api_keys WHERE id = ?1 AND event_id = ?2";
const REVOKE_OF_EVENT: &str = "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?2)
    WHERE id = ?1 AND organization_id = ?3 AND event_id = ?4";
pub(in crate::store) const DELETE_OF_EVENT: &str = "DELETE FROM api_keys WHERE event_id = ?1";
const NAME: &str = "SELECT id, name FROM api_keys WHERE id = ?1";
const COUNT_SCAN_WITHOUT_TICKET: &str = "UPDATE api_keys SET scans_without_ticket = scans_without_ticket + 1
    WHERE id = ?1 AND scans_without_ticket < ?2";
const RECORD_USE: &str =
    "UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";

fn scopes(row: &Row<'_>) -> Result<Scopes> {
    row.parsed("scopes", Scopes::from_text, "names an unknown scope")
}

/// Inserts a key with this hash. The key itself is not stored.
pub(crate) fn insert(
    tx: &Transaction<'_>,
    organization: &Organization,
    new: &Checked<CreateApiKey>,
    hash: &[u8],
) -> Result<ApiKey> {
    let values: [Bind<'_>; 8] = [
        organization.id.into(),
        hash.into(),
        (&new.name).into(),
        new.scopes.to_string().into(),
        new.expires_at.into(),
        tx.now().into(),
        organization.suspended_at.into(),
        new.event_id.into(),
    ];
    let id = tx.insert(INSERT, &values)?;
    get(tx, organization.id, id)
}

fn get(tx: &Transaction<'_>, organization: OrganizationId, id: ApiKeyId) -> Result<ApiKey> {
    tx.query_opt(BY_ID, &[id.into(), organization.into()], decode)?.ok_or(Error::NotFound(ResourceKind::ApiKey))
}

/// Copies to the keys of an organization that are not revoked since when it is suspended.
pub(crate) fn set_suspended(tx: &Transaction<'_>, organization: &Organization) -> Result<()> {
    tx.execute(SET_SUSPENDED, &[organization.id.into(), organization.suspended_at.into()])
}

/// Whether an organization has at least this number of keys that are not revoked.
pub(crate) fn has_at_least_usable(tx: &Transaction<'_>, organization: OrganizationId, number: usize) -> Result<bool> {
    has_at_least(tx, NTH, organization.into(), number)
}

/// Lists the keys of an organization, newest first.
pub(crate) fn list(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Vec<ApiKey>> {
    tx.query_all(BY_ORGANIZATION, &[organization.into()], decode)
}

/// Lists the links of the entrances of an event, newest first.
pub(crate) fn list_door_links(
    tx: &Transaction<'_>,
    event: EventId,
    request: &Checked<ListDoorLinks>,
) -> Result<Page<DoorLink, ApiKeyId>> {
    let cursor = cursor_bound(tx, &request.page, EXISTS, event.into())?;
    let binds = [event.into(), cursor, limit_plus_one(&request.page)];
    let decode = |row: &Row<'_>| Ok(DoorLink::of(event, decode(row)?));
    read_page(tx, RowLength::Short, OF_EVENT, &binds, &request.page, decode, |link| link.id)
}

/// A valid key.
pub(crate) struct AuthenticatedKey {
    pub(crate) id: ApiKeyId,
    pub(crate) organization: OrganizationId,
    pub(crate) scopes: Scopes,
    pub(crate) event: Option<EventId>,
    /// The last use that is stored.
    pub(crate) last_used_at: Option<Timestamp>,
    /// Whether the organization is suspended.
    pub(crate) is_suspended: bool,
    /// When the key was read.
    pub(crate) read_at: Timestamp,
}

/// Returns the key with this hash; `None` if it is unknown, revoked or expired.
pub(crate) fn authenticate(tx: &Transaction<'_>, hash: &[u8]) -> Result<Option<AuthenticatedKey>> {
    tx.query_opt(VALID, &[hash.into(), tx.now().into()], |row| {
        Ok(AuthenticatedKey {
            organization: row.get("organization_id")?,
            scopes: scopes(row)?,
            event: row.get("event_id")?,
            id: row.get("id")?,
            last_used_at: row.get("last_used_at")?,
            is_suspended: !row.is_null("organization_suspended_at")?,
            read_at: tx.now(),
        })
    })
}

/// Revokes a key. A key that was revoked before stays as it is.
pub(crate) fn revoke(tx: &Transaction<'_>, organization: OrganizationId, id: ApiKeyId) -> Result<ApiKey> {
    tx.execute(REVOKE, &[id.into(), tx.now().into(), organization.into()])?;
    get(tx, organization, id)
}

/// Revokes the link of an entrance. A link that was revoked before stays as it is.
pub(crate) fn revoke_door_link(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    id: ApiKeyId,
) -> Result<()> {
    let binds = [id.into(), tx.now().into(), organization.into(), event.into()];
    match tx.execute_counted(REVOKE_OF_EVENT, &binds)? {
        0 => Err(Error::NotFound(ResourceKind::DoorLink)),
        _ => Ok(()),
    }
}

pub(crate) fn revoke_expired(tx: &Transaction<'_>, organization: OrganizationId) -> Result<()> {
    tx.execute(REVOKE_EXPIRED, &[organization.into(), tx.now().into()])
}

pub(crate) fn delete_of_event(tx: &Transaction<'_>, event: EventId) -> Result<()> {
    tx.execute(DELETE_OF_EVENT, &[event.into()])
}

/// The name of a key. `None` if it was deleted.
pub(crate) fn name(tx: &Transaction<'_>, id: ApiKeyId) -> Result<Option<String>> {
    tx.query_opt(NAME, &[id.into()], |row| row.get("name"))
}

/// Counts a scan without a ticket that a key reports. Returns `false`, and counts none, if it may not report another one.
pub(crate) fn count_scan_without_ticket(tx: &Transaction<'_>, id: ApiKeyId) -> Result<bool> {
    Ok(tx.execute_counted(COUNT_SCAN_WITHOUT_TICKET, &[id.into(), MOST_WITHOUT_TICKET.into()])? == 1)
}

/// Stores when a key was last used. Does nothing if a later use is stored already.
pub(crate) fn record_use(tx: &Transaction<'_>, id: ApiKeyId, at: Timestamp) -> Result<()> {
    tx.execute(RECORD_USE, &[id.into(), at.into()])
}
