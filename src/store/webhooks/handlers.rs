//! The functions of programs that are called with notifications. Each call is [work](crate::store::work), whose kind has
//! the name of the function.
//!
//! The work is added in the transaction of the change that is reported, also if another process has the function: every
//! function is registered in the database.

use std::time::Duration;

use super::webhook_retention::last_deleted;
use crate::error::Result;
use crate::model::notifications::notification::Notification;
use crate::model::notifications::notification_types::{NotificationDetails, NotificationTopic};
use crate::model::values::id::{NotificationId, OrganizationId};
use crate::store::columns::json;
use crate::store::tenants::change_context::{self, Handler};
use crate::store::work::{self, Work};
use crate::store::{Row, Transaction};

const REGISTER: &str = "INSERT INTO notification_handlers (name, topics, seen_at) VALUES (?1, ?2, ?3)
    ON CONFLICT (name) DO UPDATE SET topics = ?2, seen_at = ?3";
const NAMES: &str = "SELECT name FROM notification_handlers ORDER BY name";
const UNUSED: &str = "SELECT name FROM notification_handlers WHERE seen_at <= ?1
    AND NOT EXISTS (SELECT 1 FROM work w WHERE w.kind = 'call ' || name) LIMIT 1";
const DELETE_UNUSED: &str = "DELETE FROM notification_handlers WHERE seen_at <= ?1
    AND NOT EXISTS (SELECT 1 FROM work w WHERE w.kind = 'call ' || name)";

/// The kind of work that calls a function.
pub(crate) fn kind_of(name: &str) -> String {
    format!("call {name}")
}

/// Registers a function with its topics, or records that it is still in use.
pub(crate) fn register(tx: &Transaction<'_>, name: &str, topics: &[NotificationTopic]) -> Result<()> {
    tx.execute(REGISTER, &[name.into(), json(topics)?.into(), tx.now().into()])?;
    tx.clear_cache();
    Ok(())
}

/// Adds a call of every function for each change of its topics.
pub(crate) fn enqueue(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    changes: impl IntoIterator<Item = NotificationDetails>,
) -> Result<()> {
    let handlers = change_context::handlers(tx, organization)?;
    if handlers.is_empty() {
        return Ok(());
    }
    for details in changes {
        insert(tx, organization, &handlers, &details)?;
    }
    Ok(())
}

fn insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    handlers: &[Handler],
    details: &NotificationDetails,
) -> Result<()> {
    let topic = details.topic().as_str();
    let mut handlers = handlers.iter().filter(|handler| handler.wants(topic)).peekable();
    if handlers.peek().is_none() {
        return Ok(());
    }
    let body = json(details)?;
    handlers.try_for_each(|handler| work::add(tx, &kind_of(&handler.name), organization, &body).map(drop))
}

/// The notification with which a function is called.
pub(crate) fn notification(work: &Work) -> Result<Notification, serde_json::Error> {
    Ok(Notification {
        id: NotificationId::from_raw(work.id.raw()),
        organization_id: work.organization_id,
        created_at: work.created_at,
        attempt: u32::try_from(work.attempts + 1).unwrap_or(u32::MAX),
        details: serde_json::from_str(&work.body)?,
    })
}

/// Whether the work of a row can be read, and if it is a call, its notification. If not, the error says why.
pub(in crate::store) fn is_readable(row: &Row<'_>) -> Result<bool> {
    let work = Work::read(row)?;
    Ok(!work.kind.starts_with("call ") || row.json::<NotificationDetails>("body").is_ok())
}

fn names(tx: &Transaction<'_>) -> Result<Vec<String>> {
    tx.query_all(NAMES, &[], |row| row.get("name"))
}

/// Whether there are calls or functions that are old enough to be deleted.
pub(crate) fn any_old(tx: &Transaction<'_>, kept: Duration) -> Result<bool> {
    let since = last_deleted(tx, kept);
    for name in names(tx)? {
        if work::any_abandoned(tx, &kind_of(&name), since)? {
            return Ok(true);
        }
    }
    tx.exists(UNUSED, &[since.into()])
}

/// Deletes a batch of calls that no program has made, and functions that no program has had for as long. Returns how
/// many calls were deleted: none while another process deletes.
pub(crate) fn delete_old(tx: &Transaction<'_>, kept: Duration) -> Result<usize> {
    if !tx.try_lock_cleanup()? {
        return Ok(0);
    }
    let since = last_deleted(tx, kept);
    let mut deleted = 0;
    for name in names(tx)? {
        deleted = work::delete_abandoned(tx, &kind_of(&name), since)?;
        if deleted > 0 {
            return Ok(deleted);
        }
    }
    tx.execute(DELETE_UNUSED, &[since.into()])?;
    tx.clear_cache();
    Ok(deleted)
}
