//! The last time that maintenance acted on.

use super::Transaction;
use crate::error::Result;
use crate::model::timestamp::Timestamp;

const READ: &str = "SELECT believed_at FROM maintenance_clock WHERE id = 1";
const WRITE: &str = "INSERT INTO maintenance_clock (id, believed_at) VALUES (1, ?1)
    ON CONFLICT (id) DO UPDATE SET believed_at = excluded.believed_at";

/// The time of a maintenance run that acted on it; `None` if there was none yet.
pub(crate) fn read(tx: &Transaction<'_>) -> Result<Option<Timestamp>> {
    tx.query_opt(READ, &[], |row| row.get("believed_at"))
}

/// Records that maintenance acts on this time.
pub(crate) fn write(tx: &Transaction<'_>, believed_at: Timestamp) -> Result<()> {
    tx.execute(WRITE, &[believed_at.into()])?;
    Ok(())
}
