//! The queues of notification handlers: functions of the programs that use the database.
//!
//! A row is one notification for one handler. It is inserted in the transaction of the change that it reports, also if
//! another process has the handler: every handler is registered in the database. A claim has a lease, as with webhooks,
//! so that one process at a time calls the handler with a notification.

use std::time::Duration;

use super::webhook_retention::{first_kept, last_deleted};
use crate::error::{Error, Result};
use crate::model::notifications::notification::Notification;
use crate::model::notifications::notification_types::{NotificationDetails, NotificationTopic};
use crate::model::values::id::{NotificationId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::delivery::{LATEST_DUE, MAX_ATTEMPTS, delay_after};
use crate::store::columns::{json, row_struct};
use crate::store::tenants::change_context::{self, Handler};
use crate::store::{Bind, CommitEvent, Query, Row, RowLock, Transaction};

/// How long a claim lasts. If the process ends during a call, the handler is called again after this time.
const LEASE: Duration = Duration::from_mins(1);

/// How long a notification is skipped that cannot be read.
const DAMAGED_PAUSE: Duration = Duration::from_mins(1);

/// How many organizations a claim looks at to find the one whose turn it is. Those that only have notifications for
/// later count too.
const MAX_LOOKED_AT: usize = 64;

/// How many rows one transaction deletes. Other writers wait for as long as this takes.
const BATCH: i64 = 1000;

const REGISTER: &str = "INSERT INTO notification_handlers (name, topics, seen_at) VALUES (?1, ?2, ?3)
    ON CONFLICT (name) DO UPDATE SET topics = ?2, seen_at = ?3";
const INSERT: &str = "INSERT INTO handler_queue (id, handler, organization_id, body, due_at, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?5) ON CONFLICT (id) DO NOTHING";
pub(in crate::store) const DUE: &str = "SELECT id, organization_id, body, attempts, created_at FROM handler_queue
    WHERE handler = ?1 AND due_at <= ?2 ORDER BY due_at, id LIMIT 1";
pub(in crate::store) const DUE_TOO_LATE: &str =
    "SELECT id, organization_id, body, attempts, created_at FROM handler_queue
    WHERE handler = ?1 AND due_at > ?2 ORDER BY due_at, id LIMIT 1";
pub(in crate::store) const NEXT_ORGANIZATION: &str = "SELECT organization_id FROM handler_queue
    WHERE handler = ?1 AND organization_id > ?2 ORDER BY organization_id LIMIT 1";
pub(in crate::store) const DUE_OF_ORGANIZATION: &str =
    "SELECT id, organization_id, body, attempts, created_at FROM handler_queue
    WHERE handler = ?1 AND organization_id = ?2 AND due_at <= ?3 ORDER BY due_at, id LIMIT 1";
const CLAIM: &str = "UPDATE handler_queue SET claim = ?2, attempts = attempts + 1, due_at = ?3 WHERE id = ?1";
const SKIP: &str = "UPDATE handler_queue SET due_at = ?2 WHERE id = ?1";
const RETRY: &str = "UPDATE handler_queue SET claim = NULL, due_at = ?3 WHERE id = ?1 AND claim = ?2";
const DELETE_CLAIMED: &str = "DELETE FROM handler_queue WHERE id = ?1 AND claim = ?2";
const DELETE: &str = "DELETE FROM handler_queue WHERE id = ?1";
// Ids contain the time of creation.
pub(in crate::store) const OLD: &str = "SELECT id FROM handler_queue WHERE id < ?1 ORDER BY id LIMIT ?2";
pub(in crate::store) const DELETE_OLD: &str = "DELETE FROM handler_queue
    WHERE id IN (SELECT id FROM handler_queue WHERE id < ?1 ORDER BY id LIMIT ?2)";
const UNUSED_HANDLERS: &str = "SELECT name FROM notification_handlers WHERE seen_at <= ?1
    AND NOT EXISTS (SELECT 1 FROM handler_queue q WHERE q.handler = name) LIMIT 1";
const DELETE_UNUSED_HANDLERS: &str = "DELETE FROM notification_handlers WHERE seen_at <= ?1
    AND NOT EXISTS (SELECT 1 FROM handler_queue q WHERE q.handler = name)";

/// Registers a handler with its topics, or records that it is still in use.
pub(crate) fn register(tx: &Transaction<'_>, name: &str, topics: &[NotificationTopic]) -> Result<()> {
    tx.execute(REGISTER, &[name.into(), json(topics)?.into(), tx.now().into()])?;
    tx.clear_cache();
    Ok(())
}

/// Queues a notification of each change for every handler of its topic, and records one for the subscribers.
pub(crate) fn enqueue(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    changes: impl IntoIterator<Item = NotificationDetails>,
) -> Result<()> {
    let handlers = change_context::handlers(tx, organization)?;
    if handlers.is_empty() && !tx.has_subscribers() {
        return Ok(());
    }
    for details in changes {
        insert(tx, organization, &handlers, &details)?;
        if tx.has_subscribers() {
            tx.record_notification(organization, details);
        }
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
    for handler in handlers {
        let binds = [handler.name.as_str().into(), organization.into(), body.as_str().into(), tx.now().into()];
        let _: NotificationId = tx.insert(INSERT, &binds)?;
        tx.record(CommitEvent::HandlerNotified);
    }
    Ok(())
}

/// A notification with which this process may call the handler.
pub(crate) struct ClaimedNotification {
    pub(crate) notification: Notification,
    /// The last organization that was looked at. The next search begins after it.
    pub(crate) turn: OrganizationId,
    /// The token of the claim.
    claim: i64,
}

pub(crate) enum Claim {
    Nothing,
    Call(ClaimedNotification),
    /// The notification cannot be read. It is tried again in a minute.
    Skipped {
        id: NotificationId,
        error: Error,
    },
    /// The notification was removed: all its calls were interrupted by the end of their process.
    Removed {
        id: NotificationId,
    },
}

row_struct! {
    struct DueRow(row) {
        id: NotificationId,
        attempts: i64,
        notification: Result<Notification> = decode(row),
    }
}

fn decode(row: &Row<'_>) -> Result<Notification> {
    let attempts: i64 = row.get("attempts")?;
    Ok(Notification {
        id: row.get("id")?,
        organization_id: row.get("organization_id")?,
        created_at: row.get("created_at")?,
        attempt: u32::try_from(attempts + 1).unwrap_or(u32::MAX),
        details: row.json("body")?,
    })
}

/// Every row, for a check.
pub(in crate::store) const ALL: &str = "SELECT id, organization_id, body, attempts, created_at FROM handler_queue";

/// Whether the notification of a row can be read. If not, the error says why.
pub(in crate::store) fn is_readable(row: &Row<'_>) -> Result<bool> {
    decode(row).map(|_| true)
}

/// Whether a notification is due for the handler. One whose due time comes from a clock that was wrong counts as due.
pub(crate) fn any_due(tx: &Transaction<'_>, handler: &str) -> Result<bool> {
    let latest = tx.now().saturating_add(LATEST_DUE);
    Ok(tx.exists(DUE, &[handler.into(), tx.now().into()])?
        || tx.exists(DUE_TOO_LATE, &[handler.into(), latest.into()])?)
}

/// Returns the notification that has been due for the longest time, or one whose due time comes from a clock that was
/// wrong: it counts as due.
fn find_due(tx: &Transaction<'_>, handler: &str) -> Result<Option<DueRow>> {
    if let Some(due) = find_unlocked(tx, DUE, &[handler.into(), tx.now().into()])? {
        return Ok(Some(due));
    }
    let latest = tx.now().saturating_add(LATEST_DUE);
    find_unlocked(tx, DUE_TOO_LATE, &[handler.into(), latest.into()])
}

/// Returns the first row that no other process is claiming, and locks it.
fn find_unlocked(tx: &Transaction<'_>, sql: &str, binds: &[Bind<'_>]) -> Result<Option<DueRow>> {
    tx.query_opt(Query::locking(RowLock::UpdateUnlocked, sql), binds, DueRow::read)
}

/// Returns a notification of the next organization after `last` that has one due, in the order of the ids, and the last
/// organization that was looked at. Looks at a limited number of organizations.
fn find_next_turn(
    tx: &Transaction<'_>,
    handler: &str,
    last: OrganizationId,
) -> Result<(Option<DueRow>, OrganizationId)> {
    let mut organization = last;
    for _ in 0..MAX_LOOKED_AT {
        let next =
            tx.query_opt(NEXT_ORGANIZATION, &[handler.into(), organization.into()], |row| row.get("organization_id"))?;
        match next {
            Some(next) => organization = next,
            None if organization == OrganizationId::UNKNOWN => return Ok((None, organization)),
            // Those before `last` follow.
            None => {
                organization = OrganizationId::UNKNOWN;
                continue;
            }
        }
        let binds = [handler.into(), organization.into(), tx.now().into()];
        let due = find_unlocked(tx, DUE_OF_ORGANIZATION, &binds)?;
        if due.is_some() || organization == last {
            return Ok((due, organization));
        }
    }
    Ok((None, organization))
}

/// Claims a notification. The organizations take turns, so that one with very many does not delay the others: it is of
/// the first after `last` that has one due. If none is soon found, it is the one that has been due for the longest
/// time, and the next search goes on where this one has ended.
pub(crate) fn claim(tx: &Transaction<'_>, handler: &str, last: OrganizationId) -> Result<Claim> {
    let (found, turn) = find_next_turn(tx, handler, last)?;
    let due = match found {
        Some(due) => due,
        None => match find_due(tx, handler)? {
            Some(due) => due,
            None => return Ok(Claim::Nothing),
        },
    };
    let notification = match due.notification {
        Ok(notification) => notification,
        Err(error) => {
            tx.execute(SKIP, &[due.id.into(), tx.now().saturating_add(DAMAGED_PAUSE).into()])?;
            return Ok(Claim::Skipped { id: due.id, error });
        }
    };
    if due.attempts >= MAX_ATTEMPTS {
        tx.execute(DELETE, &[due.id.into()])?;
        return Ok(Claim::Removed { id: due.id });
    }
    let claim = i64::from_le_bytes(tx.environment().random());
    tx.execute(CLAIM, &[due.id.into(), claim.into(), tx.now().saturating_add(LEASE).into()])?;
    Ok(Claim::Call(ClaimedNotification { notification, turn, claim }))
}

/// Removes a notification that the handler has processed.
pub(crate) fn finish(tx: &Transaction<'_>, claimed: &ClaimedNotification) -> Result<()> {
    tx.execute(DELETE_CLAIMED, &[claimed.notification.id.into(), claimed.claim.into()])
}

/// Schedules the next call after one that failed. Returns when it is; `None` if it was the last one, and the
/// notification is removed.
pub(crate) fn retry(tx: &Transaction<'_>, claimed: &ClaimedNotification) -> Result<Option<Timestamp>> {
    let Some(delay) = delay_after(claimed.notification.attempt.into()) else {
        finish(tx, claimed)?;
        return Ok(None);
    };
    let at = tx.now().saturating_add(delay);
    tx.execute(RETRY, &[claimed.notification.id.into(), claimed.claim.into(), at.into()])?;
    Ok(Some(at))
}

/// Whether there are notifications or handlers that are old enough to be deleted.
pub(crate) fn any_old(tx: &Transaction<'_>, kept: Duration) -> Result<bool> {
    Ok(tx.exists(OLD, &[first_kept(tx, kept).into(), Bind::Int(1)])?
        || tx.exists(UNUSED_HANDLERS, &[last_deleted(tx, kept).into()])?)
}

/// Deletes a batch of notifications that no handler has processed, and handlers that no program has had for as long.
/// Returns how many notifications were deleted: none while another process deletes.
pub(crate) fn delete_old(tx: &Transaction<'_>, kept: Duration) -> Result<usize> {
    if !tx.try_lock_cleanup()? {
        return Ok(0);
    }
    let first_kept = first_kept(tx, kept);
    let deleted = tx.in_parts(BATCH, |part| tx.execute_counted(DELETE_OLD, &[first_kept.into(), part.into()]))?.rows;
    tx.execute(DELETE_UNUSED_HANDLERS, &[last_deleted(tx, kept).into()])?;
    tx.clear_cache();
    Ok(deleted)
}
