//! The seats that pending orders of one customer reserve for an event.

use crate::error::Result;
use crate::model::values::id::{CustomerId, EventId};
use crate::store::LockedEvent;

pub(in crate::store) const RESERVED: &str =
    "SELECT CAST(COALESCE(SUM(limited_seats), 0) AS BIGINT) AS seats FROM orders
    WHERE customer_id = ?1 AND event_id = ?2 AND status = 'PENDING' AND limited_seats IS NOT NULL AND hold_until > ?3";

/// Counts the seats in the pending orders of a customer for an event, of those that were created with a limit.
pub(crate) fn reserved(tx: &LockedEvent<'_>, customer: CustomerId, event: EventId) -> Result<i64> {
    let binds = [customer.into(), event.into(), tx.now().into()];
    Ok(tx.query_opt(RESERVED, &binds, |row| row.get("seats"))?.unwrap_or_default())
}
