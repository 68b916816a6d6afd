//! The last time that maintenance acted on.

use std::time::Duration;

use super::Transaction;
use crate::error::Result;
use crate::model::values::timestamp::Timestamp;

const READ: &str = "SELECT believed_at FROM maintenance_clock WHERE id = 1";
const WRITE: &str = "INSERT INTO maintenance_clock (id, believed_at) VALUES (1, ?1)
    ON CONFLICT (id) DO UPDATE SET believed_at = excluded.believed_at";

/// The time of a maintenance run that acted on it; `None` if there was none yet.
pub(crate) fn read(tx: &Transaction<'_>) -> Result<Option<Timestamp>> {
    tx.query_opt(READ, &[], |row| row.get("believed_at"))
}

/// How far the clock goes ahead of the stored time while it is believed: an hour, and as long as the stored time is not
/// written again.
const BELIEVED_FOR: Duration = Duration::from_mins(60 + 10);

/// Whether the clock is so far ahead of the last time that maintenance acted on that it may be wrong.
pub(crate) fn is_in_doubt(tx: &Transaction<'_>) -> Result<bool> {
    if tx.environment().clock.is_trusted() {
        return Ok(false);
    }
    Ok(read(tx)?.is_some_and(|believed_at| tx.now() > believed_at.saturating_add(BELIEVED_FOR)))
}

/// Records that maintenance acts on this time.
pub(crate) fn write(tx: &Transaction<'_>, believed_at: Timestamp) -> Result<()> {
    tx.execute(WRITE, &[believed_at.into()])
}
