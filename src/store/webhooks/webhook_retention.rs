//! Deletion of old webhook data: the history of delivery attempts, and finished rows of the outbox.

use std::time::Duration;

use super::webhook_notifications;
use crate::error::Result;
use crate::model::values::timestamp::Timestamp;
use crate::store::newest_id::first_kept;
use crate::store::{Bind, Query, Transaction};

/// How many rows one transaction deletes. Other writers wait for as long as this takes.
const BATCH: i64 = 1000;

/// How much longer than its history an outbox row is kept. The history needs the row to show what was sent.
const OUTBOX_MARGIN: Duration = Duration::from_hours(24);

// Ids contain the time of creation, so attempts are selected by id.
pub(in crate::store) const OLD_DELIVERIES: &str =
    "SELECT id FROM webhook_deliveries WHERE id < ?1 ORDER BY id LIMIT ?2";
pub(in crate::store) const DELETE_DELIVERIES: &str = "DELETE FROM webhook_deliveries
    WHERE id IN (SELECT id FROM webhook_deliveries WHERE id < ?1 ORDER BY id LIMIT ?2)";
// Waiting rows are never deleted here.
pub(in crate::store) const OLD_NOTIFICATIONS: &str =
    "SELECT id FROM webhook_outbox WHERE state <> 'WAITING' AND finished_at <= ?1 ORDER BY finished_at LIMIT ?2";
pub(in crate::store) const DELETE_NOTIFICATIONS: &str = "DELETE FROM webhook_outbox WHERE id IN (
    SELECT id FROM webhook_outbox WHERE state <> 'WAITING' AND finished_at <= ?1 ORDER BY finished_at LIMIT ?2)
    RETURNING event_id";

/// Returns the latest time of a row that is deleted, in milliseconds.
pub(super) fn last_deleted(tx: &Transaction<'_>, kept: Duration) -> i64 {
    tx.now().checked_sub(kept).map_or(-1, Timestamp::millis)
}

/// Whether there is webhook data that is old enough to be deleted.
pub(crate) fn any_old(tx: &Transaction<'_>, kept: Duration) -> Result<bool> {
    Ok(tx.exists(OLD_DELIVERIES, &[first_kept(tx, kept).into(), Bind::Int(1)])?
        || tx
            .exists(OLD_NOTIFICATIONS, &[last_deleted(tx, kept.saturating_add(OUTBOX_MARGIN)).into(), Bind::Int(1)])?)
}

/// How many rows were deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Deleted {
    pub(crate) attempts: usize,
    pub(crate) notifications: usize,
}

/// Deletes a batch of old attempts, or of old outbox rows if there are no such attempts. Deletes nothing while another
/// process does.
pub(crate) fn delete_old(tx: &Transaction<'_>, kept: Duration) -> Result<Deleted> {
    if !tx.try_lock_cleanup()? {
        return Ok(Deleted::default());
    }
    let first_kept = first_kept(tx, kept);
    let delete = |part: i64| tx.execute_counted(DELETE_DELIVERIES, &[first_kept.into(), part.into()]);
    let attempts = tx.in_parts(BATCH, delete)?.rows;
    if attempts > 0 {
        return Ok(Deleted { attempts, notifications: 0 });
    }
    let last = last_deleted(tx, kept.saturating_add(OUTBOX_MARGIN));
    let delete = |part: i64| {
        webhook_notifications::delete_rows(tx, Query::changing(DELETE_NOTIFICATIONS), &[last.into(), part.into()])
    };
    Ok(Deleted { attempts, notifications: tx.in_parts(BATCH, delete)?.rows })
}
