//! Removal of queued notifications that an endpoint is no longer to get, in batches.
//!
//! The notifications of an endpoint that is deleted, or unsubscribed from their type, are no longer claimed and counted
//! from then on. Most endpoints have few of them: the transaction of the change removes one batch. If there are more,
//! it adds [work](crate::store::work) about the endpoint, which removes the others. Until it is done, the endpoint cannot be
//! subscribed to a further type, which may be one whose notifications are being removed.

use std::time::Duration;

use super::{subscribed_endpoints, webhook_notifications};
use crate::error::Result;
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::{OrganizationId, WebhookId};
use crate::store::work::{self, ClaimedWork, KeyedWork};
use crate::store::{Query, Transaction};

/// The kind of work that removes the notifications of an endpoint.
pub(crate) const KIND: &str = "remove notifications";

/// How long a claim of this work lasts. A transaction takes less.
pub(crate) const CLAIM: Duration = Duration::from_mins(1);

/// How many rows one transaction removes. Other writers wait for as long as this takes.
const BATCH: i64 = 1000;

pub(in crate::store) const DELETE_WAITING: &str = "DELETE FROM webhook_outbox
    WHERE id IN (SELECT id FROM webhook_outbox WHERE endpoint_id = ?1 AND state = 'WAITING' LIMIT ?2)
    RETURNING event_id";
// The history shows what was sent, so that rows are kept until it is deleted.
pub(in crate::store) const REMOVE_WAITING: &str =
    "UPDATE webhook_outbox SET state = 'REMOVED', finished_at = ?3, claim = NULL
    WHERE id IN (SELECT id FROM webhook_outbox
        WHERE endpoint_id = ?1 AND state = 'WAITING' AND type = ?2 LIMIT ?4)";

/// Removes what an endpoint, which was deleted or unsubscribed from a type, is no longer to get: one batch at once, and
/// the rest later.
pub(in crate::store) fn begin(tx: &Transaction<'_>, organization: OrganizationId, endpoint: WebhookId) -> Result<()> {
    if !is_in_progress(tx, endpoint)? && remove_batch(tx, endpoint)? {
        return Ok(());
    }
    set(tx, organization, endpoint)
}

fn set(tx: &Transaction<'_>, organization: OrganizationId, endpoint: WebhookId) -> Result<()> {
    let (key, due_at) = (endpoint.raw(), tx.now());
    work::set(tx, &KeyedWork { kind: KIND, key, organization, event: None, body: "", due_at })
}

/// Whether notifications of an endpoint are being removed.
pub(crate) fn is_in_progress(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<bool> {
    work::is_there(tx, KIND, endpoint.raw())
}

/// Removes a batch for a caller that waits for the end of the removal, in place of an attempt in progress.
pub(crate) fn go_on_at_once(tx: &Transaction<'_>, organization: OrganizationId, endpoint: WebhookId) -> Result<()> {
    set(tx, organization, endpoint)?;
    if remove_batch(tx, endpoint)? { work::cancel(tx, KIND, endpoint.raw()) } else { Ok(()) }
}

/// Removes a batch. Returns whether nothing is left, or another process removes it.
pub(crate) fn go_on(tx: &Transaction<'_>, claimed: &ClaimedWork) -> Result<bool> {
    // One process at a time: another one would find fewer rows than a batch, and take it for the last one.
    if !work::renew(tx, claimed, CLAIM)? {
        return Ok(true);
    }
    remove_batch(tx, WebhookId::from_raw(claimed.work.key.unwrap_or_default()))
}

/// Removes up to a batch of rows. Returns whether these were all.
fn remove_batch(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<bool> {
    let types = subscribed_endpoints::types(tx, endpoint)?;
    let removed = tx.in_parts(BATCH, |part| match &types {
        Some(types) => remove_unsubscribed(tx, endpoint, types, part),
        None => {
            webhook_notifications::delete_rows(tx, Query::changing(DELETE_WAITING), &[endpoint.into(), part.into()])
        }
    })?;
    Ok(removed.is_last)
}

/// Removes up to `most` rows. Returns how many.
fn remove_unsubscribed(tx: &Transaction<'_>, endpoint: WebhookId, types: &[EventType], most: i64) -> Result<usize> {
    let mut removed = 0;
    let mut room = most;
    for event_type in EventType::ALL.iter().filter(|event_type| !types.contains(event_type)) {
        let binds = [endpoint.into(), event_type.as_str().into(), tx.id_time().into(), room.into()];
        let changed = tx.execute_counted(REMOVE_WAITING, &binds)?;
        removed += changed;
        room -= i64::try_from(changed).unwrap_or(room).min(room);
        if room == 0 {
            break;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn a_transaction_for_which_another_caller_waits_removes_a_few_rows() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(&folder).unwrap();
        let rows = [
            "INSERT INTO webhook_notifications (id, body, outbox_rows) VALUES (1, 'body', 500) ON CONFLICT (id) DO NOTHING",
            "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, due_at, created_at)
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                SELECT i, 1, 1, 'ticket.issued', 'WAITING', 0, 0 FROM n WHERE i > 0
                ON CONFLICT (id) DO NOTHING",
        ];
        store.write(None, move |tx| rows.iter().try_for_each(|sql| tx.execute(sql, &[]))).unwrap();
        let left = || {
            let count = "SELECT COUNT(*) AS number FROM webhook_outbox";
            store.read(|tx| tx.query_opt(count, &[], |row| row.count("number"))).unwrap()
        };
        assert_eq!(store.write_while_another_waits(move |tx| remove_batch(tx, WebhookId::from_raw(1))), Ok(false));
        assert_eq!(left(), Some(400));
        assert_eq!(store.write(None, move |tx| remove_batch(tx, WebhookId::from_raw(1))), Ok(true));
        assert_eq!(left(), Some(0));
    }
}
