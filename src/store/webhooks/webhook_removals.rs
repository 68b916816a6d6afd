//! Removal of queued notifications that an endpoint is no longer to get, in batches.
//!
//! The notifications of an endpoint that is deleted, or unsubscribed from their type, are no longer claimed and counted
//! from then on. Most endpoints have few of them: the transaction of the change removes one batch. If there are more, it
//! inserts the endpoint here, and maintenance removes the others.

use super::subscribed_endpoints::{self, Generations};
use super::webhook_notifications;
use crate::error::Result;
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::WebhookId;
use crate::store::{Query, RowLock, Transaction};

/// How many rows one transaction removes. Other writers wait for as long as this takes.
const BATCH: usize = 1000;

// If there is one, it is locked: the process that is at it may be about to delete it.
const INSERT: &str = "INSERT INTO webhook_removals (endpoint_id) VALUES (?1)
    ON CONFLICT (endpoint_id) DO UPDATE SET endpoint_id = excluded.endpoint_id";
const FIND: &str = "SELECT endpoint_id FROM webhook_removals WHERE endpoint_id = ?1";
const DELETE: &str = "DELETE FROM webhook_removals WHERE endpoint_id = ?1";
const NEXT: &str = "SELECT endpoint_id FROM webhook_removals WHERE endpoint_id > ?1 ORDER BY endpoint_id LIMIT 1";
pub(in crate::store) const DELETE_WAITING: &str = "DELETE FROM webhook_outbox
    WHERE id IN (SELECT id FROM webhook_outbox WHERE endpoint_id = ?1 AND state = 'WAITING' LIMIT ?2)
    RETURNING event_id";
// The history shows what was sent, so that rows are kept until it is deleted.
pub(in crate::store) const REMOVE_WAITING: &str =
    "UPDATE webhook_outbox SET state = 'REMOVED', finished_at = ?4, claim = NULL
    WHERE id IN (SELECT id FROM webhook_outbox
        WHERE endpoint_id = ?1 AND state = 'WAITING' AND type = ?2 AND generation < ?3 LIMIT ?5)";

/// Removes what an endpoint, which was deleted or unsubscribed from a type, is no longer to get: one batch at once, and
/// the rest later.
pub(in crate::store) fn begin(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<()> {
    if !remove_batch(tx, endpoint)? {
        tx.execute(INSERT, &[endpoint.into()])?;
    }
    Ok(())
}

/// Returns the next endpoint after `after` that has something to be removed.
pub(crate) fn next(tx: &Transaction<'_>, after: WebhookId) -> Result<Option<WebhookId>> {
    tx.query_opt(NEXT, &[after.into()], |row| row.get("endpoint_id"))
}

/// Removes a batch. Returns whether nothing is left.
pub(crate) fn go_on(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<bool> {
    // One process at a time: another one would find fewer rows than a batch, and take it for the last one.
    if !tx.exists(Query::locking(RowLock::Update, FIND), &[endpoint.into()])? {
        return Ok(true);
    }
    let is_finished = remove_batch(tx, endpoint)?;
    if is_finished {
        tx.execute(DELETE, &[endpoint.into()])?;
    }
    Ok(is_finished)
}

/// Removes up to a batch of rows. Returns whether these were all.
fn remove_batch(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<bool> {
    match subscribed_endpoints::generations(tx, endpoint)? {
        Some(generations) => remove_unsubscribed(tx, endpoint, &generations),
        None => Ok(webhook_notifications::delete_rows(
            tx,
            Query::changing(DELETE_WAITING),
            &[endpoint.into(), limit(BATCH)],
        )? < BATCH),
    }
}

fn remove_unsubscribed(tx: &Transaction<'_>, endpoint: WebhookId, generations: &Generations) -> Result<bool> {
    let mut room = BATCH;
    for event_type in EventType::ALL {
        let generation = generations.of(*event_type);
        let binds = [endpoint.into(), event_type.as_str().into(), generation.into(), tx.id_time().into(), limit(room)];
        room -= tx.execute_counted(REMOVE_WAITING, &binds)?.min(room);
        if room == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

fn limit(rows: usize) -> crate::store::Bind<'static> {
    i64::try_from(rows).unwrap_or(i64::MAX).into()
}
