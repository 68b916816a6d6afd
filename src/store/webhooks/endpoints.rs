//! Webhook endpoints. A change of an endpoint also [removes](webhook_removals) its queued notifications of types to
//! which it is no longer subscribed.

use std::sync::LazyLock;

use super::webhook_removals;
use crate::error::{Error, ResourceKind, Result};
use crate::model::notifications::webhook::{ListWebhooks, WebhookEndpoint, WebhookFields};
use crate::model::values::id::{OrganizationId, WebhookId};
use crate::model::values::page::Page;
use crate::model::values::secret::Secret;
use crate::rules::Checked;
use crate::store::columns::columns;
use crate::store::lists::list_query::{cursor_bound, has_at_least, limit_plus_one};
use crate::store::lists::pages::read_page;
use crate::store::{Bind, CommitEvent, RowLength, Transaction};

columns! {
    write WRITTEN, selected_columns!(""), values(fields: &WebhookFields) {
        url,
        description,
        events,
        enabled,
    } and {}

    read decode(row: &Row<'_>) -> WebhookEndpoint {} and {
        id: row.get("id")?,
        secret_hint: row.get("secret_hint")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        revision: row.get("revision")?,
    }
}

/// Selects endpoints. Of the secret, only the last four characters are read, as a hint.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, SUBSTR(secret, LENGTH(secret) - 3) AS secret_hint, created_at, updated_at, revision",
            selected_columns!(),
            " FROM webhook_endpoints WHERE ",
            $rest
        )
    };
}

static INSERT: LazyLock<String> = LazyLock::new(|| WRITTEN.insert("webhook_endpoints", &["organization_id", "secret"]));
static UPDATE: LazyLock<String> = LazyLock::new(|| {
    WRITTEN.update(
        "webhook_endpoints",
        4,
        "updated_at = ?3, revision = revision + 1 WHERE id = ?1 AND organization_id = ?2",
    )
});
const ROTATE: &str = "UPDATE webhook_endpoints SET secret = ?3, updated_at = ?4, revision = revision + 1
    WHERE id = ?1 AND organization_id = ?2";
const BY_ID: &str = select!("id = ?1 AND organization_id = ?2");
const EXISTS: &str = "SELECT id FROM webhook_endpoints WHERE id = ?1 AND organization_id = ?2";
pub(in crate::store) const LIST: &str = select!("organization_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3");
pub(in crate::store) const NTH: &str = "SELECT 1 FROM webhook_endpoints WHERE organization_id = ?1 LIMIT 1 OFFSET ?2";
const DELETE: &str = "DELETE FROM webhook_endpoints WHERE id = ?1 AND organization_id = ?2";

fn not_found() -> Error {
    Error::NotFound(ResourceKind::WebhookEndpoint)
}

pub(crate) fn insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    fields: &Checked<WebhookFields>,
    secret: &Secret,
) -> Result<WebhookEndpoint> {
    let mut binds: Vec<Bind<'_>> = vec![organization.into(), secret.expose().into(), tx.now().into()];
    binds.extend(values(fields)?);
    let id = tx.insert(&INSERT, &binds)?;
    tx.clear_cache();
    get(tx, organization, id)
}

/// Writes all fields of an endpoint. Removes its queued notifications of types to which it is no longer subscribed.
pub(crate) fn update(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    current: &WebhookEndpoint,
    fields: &Checked<WebhookFields>,
) -> Result<()> {
    let mut binds: Vec<Bind<'_>> = vec![current.id.into(), organization.into(), tx.now().into()];
    binds.extend(values(fields)?);
    tx.execute(&UPDATE, &binds)?;
    tx.clear_cache();
    if current.events.iter().any(|old| !fields.events.contains(old)) {
        webhook_removals::begin(tx, organization, current.id)?;
    }
    tx.record(CommitEvent::EndpointChanged(current.id));
    Ok(())
}

pub(crate) fn rotate(tx: &Transaction<'_>, organization: OrganizationId, id: WebhookId, secret: &Secret) -> Result<()> {
    let binds = [id.into(), organization.into(), secret.expose().into(), tx.now().into()];
    if tx.execute_counted(ROTATE, &binds)? == 0 {
        return Err(not_found());
    }
    tx.record(CommitEvent::EndpointChanged(id));
    Ok(())
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: WebhookId) -> Result<WebhookEndpoint> {
    tx.query_opt(BY_ID, &[id.into(), organization.into()], decode)?.ok_or_else(not_found)
}

pub(crate) fn exists(tx: &Transaction<'_>, organization: OrganizationId, id: WebhookId) -> Result<bool> {
    tx.exists(EXISTS, &[id.into(), organization.into()])
}

pub(crate) fn has_at_least_in_organization(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    number: usize,
) -> Result<bool> {
    has_at_least(tx, NTH, organization.into(), number)
}

/// Lists the endpoints of an organization, newest first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListWebhooks>,
) -> Result<Page<WebhookEndpoint, WebhookId>> {
    let cursor = cursor_bound(tx, &request.page, EXISTS, organization.into())?;
    read_page(
        tx,
        RowLength::Short,
        LIST,
        &[organization.into(), cursor, limit_plus_one(&request.page)],
        &request.page,
        decode,
        |endpoint| endpoint.id,
    )
}

/// Deletes an endpoint and its queued notifications. Its deliveries can no longer be read. They are deleted when they
/// reach the age of the webhook retention.
pub(crate) fn delete(tx: &Transaction<'_>, organization: OrganizationId, id: WebhookId) -> Result<()> {
    if tx.execute_counted(DELETE, &[id.into(), organization.into()])? == 0 {
        return Err(not_found());
    }
    tx.clear_cache();
    tx.record(CommitEvent::EndpointChanged(id));
    webhook_removals::begin(tx, organization, id)
}
