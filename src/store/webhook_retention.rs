//! What is forgotten of webhooks when it is old: the history of attempts, and the notifications that it tells of.

use std::time::Duration;

use super::Transaction;
use super::engine::ids::first_of;
use crate::error::Result;
use crate::model::timestamp::Timestamp;

/// How many rows go in one transaction: others wait no longer than this takes.
const BATCH: i64 = 1000;

/// How much longer a notification stays than its history, which it must outlive.
const MARGIN: Duration = Duration::from_hours(24);

// An attempt is as old as its id.
pub(super) const OLD_DELIVERIES: &str = "SELECT id FROM webhook_deliveries WHERE id < ?1 ORDER BY id LIMIT ?2";
pub(super) const DELETE_DELIVERIES: &str = "DELETE FROM webhook_deliveries
    WHERE id IN (SELECT id FROM webhook_deliveries WHERE id < ?1 ORDER BY id LIMIT ?2)";
// What waits never grows old.
pub(super) const OLD_NOTIFICATIONS: &str =
    "SELECT id FROM webhook_outbox WHERE state <> 'WAITING' AND finished_at <= ?1 ORDER BY finished_at LIMIT ?2";
pub(super) const DELETE_NOTIFICATIONS: &str = "DELETE FROM webhook_outbox WHERE id IN (
    SELECT id FROM webhook_outbox WHERE state <> 'WAITING' AND finished_at <= ?1 ORDER BY finished_at LIMIT ?2)";

/// The first id of an attempt that is kept.
fn first_kept(tx: &Transaction<'_>, kept: Duration) -> i64 {
    match tx.now().minus(kept) {
        Some(limit) => first_of(Timestamp::from_millis(limit.millis() + 1)),
        None => 0,
    }
}

/// The latest end of a notification that is forgotten.
fn last_forgotten(tx: &Transaction<'_>, kept: Duration) -> i64 {
    tx.now().minus(kept.saturating_add(MARGIN)).map_or(-1, Timestamp::millis)
}

/// Whether there is anything that is older than what is `kept`.
pub(crate) fn any_old(tx: &Transaction<'_>, kept: Duration) -> Result<bool> {
    Ok(tx.exists(OLD_DELIVERIES, &[first_kept(tx, kept).into(), 1.into()])?
        || tx.exists(OLD_NOTIFICATIONS, &[last_forgotten(tx, kept).into(), 1.into()])?)
}

/// Deletes the oldest attempts that are no longer `kept`, and where there are no more of those, the oldest notifications;
/// says how many attempts.
pub(crate) fn delete_old(tx: &Transaction<'_>, kept: Duration) -> Result<usize> {
    let deleted = tx.execute(DELETE_DELIVERIES, &[first_kept(tx, kept).into(), BATCH.into()])?;
    if deleted == 0 {
        tx.execute(DELETE_NOTIFICATIONS, &[last_forgotten(tx, kept).into(), BATCH.into()])?;
    }
    Ok(deleted)
}
