//! Webhook endpoints. What an endpoint may not be sent any more goes out of the outbox with the change that says so.

use super::events::json;
use super::lists::{below, one_more};
use super::{Bind, CommitEvent, Row, Transaction};
use crate::error::{Error, Result};
use crate::model::id::{OrganizationId, WebhookId, kind};
use crate::model::page::Page;
use crate::model::secret::Secret;
use crate::model::text_enum::TextEnum;
use crate::model::webhook::WebhookFields;
use crate::model::webhook::{ListWebhooks, WebhookEndpoint};
use crate::rules::Checked;

/// Of the secret, no more than the hint is read here.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, url, description, events, enabled, created_at, updated_at, SUBSTR(secret, LENGTH(secret) - 3) AS secret_hint,
                revision
            FROM webhook_endpoints WHERE ",
            $rest
        )
    };
}

const INSERT: &str = "INSERT INTO webhook_endpoints (id, organization_id, url, description, events, enabled, secret,
        created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) ON CONFLICT (id) DO NOTHING";
const UPDATE: &str =
    "UPDATE webhook_endpoints SET url = ?3, description = ?4, events = ?5, enabled = ?6, updated_at = ?7,
        revision = revision + 1
    WHERE id = ?1 AND organization_id = ?2";
const ROTATE: &str = "UPDATE webhook_endpoints SET secret = ?3, updated_at = ?4, revision = revision + 1
    WHERE id = ?1 AND organization_id = ?2";
const BY_ID: &str = select!("id = ?1 AND organization_id = ?2");
const EXISTS: &str = "SELECT 1 FROM webhook_endpoints WHERE id = ?1 AND organization_id = ?2";
pub(super) const LIST: &str = select!("organization_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3");
const DELETE: &str = "DELETE FROM webhook_endpoints WHERE id = ?1 AND organization_id = ?2";
pub(super) const REMOVE_WAITING_OF_TYPE: &str =
    "UPDATE webhook_outbox SET state = 'REMOVED', finished_at = ?3, claim = NULL
    WHERE endpoint_id = ?1 AND state = 'WAITING' AND type = ?2";
pub(super) const DELETE_WAITING: &str = "DELETE FROM webhook_outbox WHERE endpoint_id = ?1 AND state = 'WAITING'";

fn decode(row: &Row<'_>) -> Result<WebhookEndpoint> {
    Ok(WebhookEndpoint {
        id: row.get("id")?,
        url: row.get("url")?,
        description: row.get("description")?,
        events: row.json("events")?,
        enabled: row.get("enabled")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        secret_hint: row.get("secret_hint")?,
        revision: row.get("revision")?,
    })
}

/// The columns that creating and updating write, `url` being the first of them.
fn values(fields: &WebhookFields) -> Result<[Bind<'_>; 4]> {
    Ok([(&fields.url).into(), fields.description.as_ref().into(), json(&fields.events)?.into(), fields.enabled.into()])
}

fn not_found() -> Error {
    Error::NotFound("webhook endpoint")
}

pub(crate) fn insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    fields: &Checked<WebhookFields>,
    secret: &Secret,
) -> Result<WebhookEndpoint> {
    let mut binds: Vec<Bind<'_>> = vec![organization.into()];
    binds.extend(values(fields)?);
    binds.extend([secret.expose().into(), tx.now().into()]);
    let id = tx.insert(INSERT, &binds)?;
    get(tx, organization, id)
}

/// Writes the whole endpoint over the `current` one. What waits for it of the types that it wants no more is removed.
pub(crate) fn update(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    current: &WebhookEndpoint,
    fields: &Checked<WebhookFields>,
) -> Result<()> {
    let mut binds: Vec<Bind<'_>> = vec![current.id.into(), organization.into()];
    binds.extend(values(fields)?);
    binds.push(tx.now().into());
    tx.execute(UPDATE, &binds)?;
    for dropped in current.events.iter().filter(|of| !fields.events.contains(of)) {
        tx.execute(REMOVE_WAITING_OF_TYPE, &[current.id.into(), dropped.as_str().into(), tx.now().into()])?;
    }
    tx.record(CommitEvent::EndpointChanged(current.id));
    Ok(())
}

/// Puts another secret in the place of the one that is there.
pub(crate) fn rotate(tx: &Transaction<'_>, organization: OrganizationId, id: WebhookId, secret: &Secret) -> Result<()> {
    let binds = [id.into(), organization.into(), secret.expose().into(), tx.now().into()];
    if tx.execute(ROTATE, &binds)? == 0 {
        return Err(not_found());
    }
    tx.record(CommitEvent::EndpointChanged(id));
    Ok(())
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: WebhookId) -> Result<WebhookEndpoint> {
    tx.query_opt(BY_ID, &[id.into(), organization.into()], decode)?.ok_or_else(not_found)
}

pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListWebhooks>,
) -> Result<Page<WebhookEndpoint, kind::Webhook>> {
    let begin = below(tx, &request.page, EXISTS, organization.into())?;
    let found = tx.query_all(LIST, &[organization.into(), begin, one_more(&request.page)], decode)?;
    Ok(Page::cut(found, request.page.limit, |endpoint| endpoint.id))
}

/// Deletes an endpoint, and what waits for it. The rest goes when it is old; nobody can read it any more.
pub(crate) fn delete(tx: &Transaction<'_>, organization: OrganizationId, id: WebhookId) -> Result<()> {
    if tx.execute(DELETE, &[id.into(), organization.into()])? == 0 {
        return Err(not_found());
    }
    tx.record(CommitEvent::EndpointChanged(id));
    tx.execute(DELETE_WAITING, &[id.into()]).map(drop)
}
