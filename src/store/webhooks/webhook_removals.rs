//! Removal of queued notifications that an endpoint is no longer to get, in batches.
//!
//! The notifications of an endpoint that is deleted, or unsubscribed from their type, are no longer claimed and counted
//! from then on. Most endpoints have few of them: the transaction of the change removes one batch. If there are more,
//! it inserts the endpoint here, and maintenance removes the others.

use super::subscribed_endpoints::{self, Generations};
use super::webhook_notifications;
use crate::error::Result;
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::WebhookId;
use crate::store::{Query, RowLock, Transaction};

/// How many rows one transaction removes. Other writers wait for as long as this takes.
const BATCH: i64 = 1000;

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
    let generations = subscribed_endpoints::generations(tx, endpoint)?;
    let removed = tx.in_parts(BATCH, |part| match &generations {
        Some(generations) => remove_unsubscribed(tx, endpoint, generations, part),
        None => {
            webhook_notifications::delete_rows(tx, Query::changing(DELETE_WAITING), &[endpoint.into(), part.into()])
        }
    })?;
    Ok(removed.is_last)
}

/// Removes up to `most` rows. Returns how many.
fn remove_unsubscribed(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    generations: &Generations,
    most: i64,
) -> Result<usize> {
    let mut removed = 0;
    let mut room = most;
    for event_type in EventType::ALL {
        let (type_name, generation) = (event_type.as_str(), generations.of(*event_type));
        let binds = [endpoint.into(), type_name.into(), generation.into(), tx.id_time().into(), room.into()];
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
            "INSERT INTO webhook_removals (endpoint_id) VALUES (1) ON CONFLICT (endpoint_id) DO NOTHING",
            "INSERT INTO webhook_notifications (id, body, outbox_rows) VALUES (1, 'body', 500) ON CONFLICT (id) DO NOTHING",
            "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, generation, state, due_at, created_at)
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                SELECT i, 1, 1, 'ticket.issued', 0, 'WAITING', 0, 0 FROM n WHERE i > 0
                ON CONFLICT (id) DO NOTHING",
        ];
        store.write(None, move |tx| rows.iter().try_for_each(|sql| tx.execute(sql, &[]))).unwrap();
        let endpoint = WebhookId::from_raw(1);
        let left = || {
            let count = "SELECT COUNT(*) AS number FROM webhook_outbox";
            store.read(|tx| tx.query_opt(count, &[], |row| row.count("number"))).unwrap()
        };
        assert_eq!(store.write_while_another_waits(move |tx| go_on(tx, endpoint)), Ok(false));
        assert_eq!(left(), Some(400));
        assert_eq!(store.write(None, move |tx| go_on(tx, endpoint)), Ok(true));
        assert_eq!(left(), Some(0));
    }
}
