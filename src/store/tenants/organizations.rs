//! Organizations.

use crate::error::{Error, Reason, ResourceKind, Result};
#[cfg(feature = "event-pages")]
use crate::form::text::is_slug;
use crate::form::text_kind::trimmed;
use crate::model::tenants::organization::{ListOrganizations, Organization, OrganizationFields};
use crate::model::values::id::{ApiKeyId, OrganizationId};
use crate::model::values::page::Page;
use crate::rules::Checked;
use crate::store::columns::columns;
use crate::store::lists::list_query::limit_plus_one;
use crate::store::lists::pages::read_page;
use crate::store::{Bind, Constraint, Lock, Query, RowLength, RowLock, StatementError, Transaction, on_violation};

columns! {
    select selected_columns!("") {
        name, currency, timezone, reference, page_name, website, imprint_url, privacy_url, suspended_at, created_at
    }

    read decode(row: &Row<'_>) -> Organization {} and {
        id: row.get("id")?,
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT id", selected_columns!(), " FROM organizations ", $rest)
    };
}

const INSERT: &str = "INSERT INTO organizations
    (id, name, currency, timezone, reference, page_name, website, imprint_url, privacy_url, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (id) DO NOTHING";
const INSERT_FIRST: &str = "INSERT INTO organizations
    (id, name, currency, timezone, reference, page_name, website, imprint_url, privacy_url, created_at)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
    WHERE NOT EXISTS (SELECT 1 FROM organizations) ON CONFLICT (id) DO NOTHING";
const UPDATE: &str = "UPDATE organizations SET name = ?2, currency = ?3, timezone = ?4, reference = ?5, page_name = ?6,
    website = ?7, imprint_url = ?8, privacy_url = ?9 WHERE id = ?1";
const BY_ID: &str = select!("WHERE id = ?1");
pub(in crate::store) const BY_REFERENCE: &str = select!("WHERE reference = ?1");
#[cfg(any(test, feature = "event-pages"))]
pub(in crate::store) const BY_PAGE_NAME: &str = select!("WHERE page_name = ?1");
const LIST: &str = select!("WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
pub(in crate::store) const LIST_BY_REFERENCE: &str =
    select!("WHERE reference = ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2");
const ANY: &str = "SELECT id FROM organizations LIMIT 1";
const LOCK: Query<'_> = Query::locking(RowLock::Update, "SELECT id FROM organizations WHERE id = ?1");
pub(in crate::store) const ALL_SUSPENDED: &str = "SELECT id FROM organizations WHERE suspended_at IS NOT NULL";
const SUSPEND: &str = "UPDATE organizations SET suspended_at = ?2 WHERE id = ?1 AND suspended_at IS NULL";
const RESUME: &str = "UPDATE organizations SET suspended_at = NULL WHERE id = ?1";
const IN_USE: &str = "SELECT id FROM organizations WHERE id = ?1
    AND (EXISTS (SELECT 1 FROM events WHERE organization_id = ?1)
        OR EXISTS (SELECT 1 FROM customers WHERE organization_id = ?1)
        OR EXISTS (SELECT 1 FROM webhook_endpoints WHERE organization_id = ?1))";
const REVOKED_KEYS: &str = "SELECT id FROM api_keys WHERE organization_id = ?1 AND revoked_at IS NOT NULL LIMIT ?2";
const DELETE_KEY: &str = "DELETE FROM api_keys WHERE id = ?1";
pub(in crate::store) const DELETE_IDEMPOTENCY_RECORDS: &str =
    "DELETE FROM idempotency_records WHERE organization_id = ?1
    AND (key, sender) IN (SELECT key, sender FROM idempotency_records WHERE organization_id = ?1 LIMIT ?2)";
const DELETE_KEYS: &str = "DELETE FROM api_keys WHERE organization_id = ?1";
const DELETE: &str = "DELETE FROM organizations WHERE id = ?1";

/// How many revoked keys and idempotency keys one transaction deletes. Other writers wait for as long as this takes.
const BATCH: usize = 1000;

fn values(fields: &OrganizationFields) -> [Bind<'_>; 8] {
    let OrganizationFields { name, currency, timezone, reference, page_name, website, imprint_url, privacy_url } =
        fields;
    [
        name.into(),
        currency.into(),
        timezone.into(),
        reference.as_ref().into(),
        page_name.as_ref().into(),
        website.as_ref().into(),
        imprint_url.as_ref().into(),
        privacy_url.as_ref().into(),
    ]
}

fn reference_taken(fields: &OrganizationFields) -> Error {
    let reference = fields.reference.as_deref().unwrap_or_default();
    Error::conflict(Reason::ReferenceTaken, format!("another organization has the reference {reference}"))
}

fn page_name_taken(fields: &OrganizationFields) -> Error {
    let page_name = fields.page_name.as_deref().unwrap_or_default();
    Error::conflict(Reason::PageNameTaken, format!("another organization has the page name {page_name}"))
}

/// Replaces a violation of a unique index with a conflict that names what another organization has.
fn on_taken<T>(written: Result<T, StatementError>, fields: &OrganizationFields) -> Result<T> {
    let written = on_violation(written, Constraint::OrganizationReference, || reference_taken(fields));
    Ok(on_violation(written, Constraint::OrganizationPageName, || page_name_taken(fields))?)
}

pub(crate) fn insert(tx: &Transaction<'_>, new: &Checked<OrganizationFields>) -> Result<Organization> {
    let mut binds = values(new).to_vec();
    binds.push(tx.now().into());
    let id = on_taken(tx.try_insert(INSERT, &binds), new)?;
    get(tx, id)
}

/// Inserts an organization if the database has none. Returns `None` if it has one.
pub(crate) fn insert_first(tx: &Transaction<'_>, new: &Checked<OrganizationFields>) -> Result<Option<Organization>> {
    tx.lock(Lock::Organizations)?;
    let id: OrganizationId = tx.new_id();
    let mut binds = vec![id.into()];
    binds.extend(values(new));
    binds.push(tx.now().into());
    tx.execute(INSERT_FIRST, &binds)?;
    tx.query_opt(BY_ID, &[id.into()], decode)
}

pub(crate) fn update(tx: &Transaction<'_>, id: OrganizationId, fields: &Checked<OrganizationFields>) -> Result<()> {
    let mut binds = vec![id.into()];
    binds.extend(values(fields));
    on_taken(tx.try_execute(UPDATE, &binds), fields)?;
    Ok(())
}

pub(crate) fn get(tx: &Transaction<'_>, id: OrganizationId) -> Result<Organization> {
    tx.query_opt(BY_ID, &[id.into()], decode)?.ok_or(Error::NotFound(ResourceKind::Organization))
}

/// Finds an organization by its reference. White space at the ends of a reference is cut off when it is stored, which
/// earlier versions did not do.
pub(crate) fn find_by_reference(tx: &Transaction<'_>, reference: &str) -> Result<Organization> {
    for reference in [reference, trimmed(reference)] {
        if let Some(found) = tx.query_opt(BY_REFERENCE, &[reference.into()], decode)? {
            return Ok(found);
        }
    }
    Err(Error::NotFound(ResourceKind::Organization))
}

/// Finds an organization by what stands in the address of a page: its id, or its page name. No text is both, because an
/// id has an underscore.
#[cfg(feature = "event-pages")]
pub(crate) fn find_by_id_or_page_name(tx: &Transaction<'_>, text: &str) -> Result<Organization> {
    if let Ok(id) = text.parse() {
        return get(tx, id);
    }
    // Other texts are not looked up: they cost nothing, and not every database accepts them.
    let found = if is_slug(text) { tx.query_opt(BY_PAGE_NAME, &[text.into()], decode)? } else { None };
    found.ok_or(Error::NotFound(ResourceKind::Organization))
}

/// Lists organizations, newest first. The cursor may be the id of an organization that was deleted: a list is read
/// while others are created and deleted, and there is no owner whose cursor it could be.
pub(crate) fn list(
    tx: &Transaction<'_>,
    request: &Checked<ListOrganizations>,
) -> Result<Page<Organization, OrganizationId>> {
    let cursor = request.page.cursor.map_or(Bind::Int(i64::MAX), Bind::from);
    let mut binds = vec![cursor, limit_plus_one(&request.page)];
    let sql = match &request.reference {
        Some(reference) => {
            binds.push(reference.into());
            LIST_BY_REFERENCE
        }
        None => LIST,
    };
    read_page(tx, RowLength::Short, sql, &binds, &request.page, decode, |organization| organization.id)
}

/// Returns the organization if there is exactly one.
#[cfg(feature = "event-pages")]
pub(crate) fn find_only(tx: &Transaction<'_>) -> Result<Option<Organization>> {
    let mut found: Vec<Organization> = tx.query_all(LIST, &[Bind::Int(i64::MAX), Bind::Int(2)], decode)?;
    Ok(if found.len() == 1 { found.pop() } else { None })
}

/// Whether there is an organization. Reads one row.
pub(crate) fn any(tx: &Transaction<'_>) -> Result<bool> {
    tx.exists(ANY, &[])
}

pub(crate) fn all_suspended(tx: &Transaction<'_>) -> Result<Vec<OrganizationId>> {
    tx.query_all(ALL_SUSPENDED, &[], |row| row.get("id"))
}

/// Suspends an organization. One that is suspended already stays as it is. Waits for the transactions that
/// [require](super::change_context::require_active) it to be active.
pub(crate) fn suspend(tx: &Transaction<'_>, id: OrganizationId) -> Result<Organization> {
    tx.exists(LOCK, &[id.into()])?;
    tx.execute(SUSPEND, &[id.into(), tx.now().into()])?;
    tx.clear_cache();
    get(tx, id)
}

pub(crate) fn resume(tx: &Transaction<'_>, id: OrganizationId) -> Result<Organization> {
    tx.execute(RESUME, &[id.into()])?;
    tx.clear_cache();
    get(tx, id)
}

/// Deletes an organization with its API keys, or a batch of its revoked keys and idempotency keys if it has many.
/// Returns whether the organization is deleted: if not, this is to be called again. Fails with the conflict `in-use` if
/// the organization has events, customers or webhook endpoints. Everything else of an organization belongs to one of
/// these.
pub(crate) fn delete(tx: &Transaction<'_>, id: OrganizationId) -> Result<bool> {
    // Waits for the transactions that create something for the organization.
    tx.exists(LOCK, &[id.into()])?;
    get(tx, id)?;
    if tx.exists(IN_USE, &[id.into()])? {
        return Err(Error::conflict(Reason::InUse, "the organization has events, customers or webhook endpoints"));
    }
    let revoked: Vec<ApiKeyId> = tx.query_all(REVOKED_KEYS, &[id.into(), BATCH.into()], |row| row.get("id"))?;
    for key in &revoked {
        tx.execute(DELETE_KEY, &[(*key).into()])?;
    }
    let room = BATCH - revoked.len().min(BATCH);
    if tx.execute_counted(DELETE_IDEMPOTENCY_RECORDS, &[id.into(), room.into()])? == room {
        return Ok(false);
    }
    tx.execute(DELETE_KEYS, &[id.into()])?;
    tx.execute(DELETE, &[id.into()])?;
    tx.clear_cache();
    Ok(true)
}
