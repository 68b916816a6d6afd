//! Organizations.

use super::{Row, Transaction};
use crate::error::{Error, ResourceKind, Result};
use crate::model::id::OrganizationId;
use crate::model::organization::{CreateOrganization, Organization};
use crate::rules::Checked;

const INSERT: &str = "INSERT INTO organizations (id, name, currency, timezone, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING";
const INSERT_FIRST: &str = "INSERT INTO organizations (id, name, currency, timezone, created_at)
    SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM organizations) ON CONFLICT (id) DO NOTHING";
const BY_ID: &str = "SELECT id, name, currency, timezone, created_at FROM organizations WHERE id = ?1";
const ALL: &str = "SELECT id, name, currency, timezone, created_at FROM organizations ORDER BY id DESC";

fn decode(row: &Row<'_>) -> Result<Organization> {
    Ok(Organization {
        id: row.get("id")?,
        name: row.get("name")?,
        currency: row.get("currency")?,
        timezone: row.get("timezone")?,
        created_at: row.get("created_at")?,
    })
}

pub(crate) fn insert(tx: &Transaction<'_>, new: &Checked<CreateOrganization>) -> Result<Organization> {
    let name = new.name.clone();
    let currency = new.currency.clone();
    let timezone = new.timezone.clone();
    let created_at = tx.now();
    let id = tx.insert(INSERT, &[(&name).into(), (&currency).into(), (&timezone).into(), created_at.into()])?;
    Ok(Organization { id, name, currency, timezone, created_at })
}

/// Inserts an organization if the database has none. Returns `None` if it has one.
pub(crate) fn insert_first(tx: &Transaction<'_>, new: &Checked<CreateOrganization>) -> Result<Option<Organization>> {
    let id: OrganizationId = tx.new_id();
    let binds = [id.into(), (&new.name).into(), (&new.currency).into(), (&new.timezone).into(), tx.now().into()];
    tx.execute(INSERT_FIRST, &binds)?;
    tx.query_opt(BY_ID, &[id.into()], decode)
}

pub(crate) fn get(tx: &Transaction<'_>, id: OrganizationId) -> Result<Organization> {
    tx.query_opt(BY_ID, &[id.into()], decode)?.ok_or(Error::NotFound(ResourceKind::Organization))
}

pub(crate) fn all(tx: &Transaction<'_>) -> Result<Vec<Organization>> {
    tx.query_all(ALL, &[], decode)
}
