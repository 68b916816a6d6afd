//! Cancelled events whose pending orders are still to be cancelled.
//!
//! The transaction that cancels an event inserts it here. The orders follow in batches, and the last one removes it.

use crate::error::Result;
use crate::model::values::id::{EventId, OrderId, OrganizationId};
use crate::store::columns::row_struct;
use crate::store::{LockedEvent, Transaction};

const INSERT: &str = "INSERT INTO event_cancellations (event_id) VALUES (?1) ON CONFLICT (event_id) DO NOTHING";
const EXISTS: &str = "SELECT 1 FROM event_cancellations WHERE event_id = ?1";
const DELETE: &str = "DELETE FROM event_cancellations WHERE event_id = ?1";
const NEXT: &str = "SELECT event_id FROM event_cancellations WHERE event_id > ?1 ORDER BY event_id LIMIT 1";
pub(in crate::store) const PENDING: &str = "SELECT id, event_id, organization_id, hold_until FROM orders
    WHERE status = 'PENDING' AND event_id = ?1 AND (hold_until, id) > (?3, ?4)
    ORDER BY hold_until, id LIMIT ?2";

/// Records that the pending orders of an event are to be cancelled.
pub(crate) fn insert(tx: &LockedEvent<'_>, event: EventId) -> Result<()> {
    tx.execute(INSERT, &[event.into()])
}

/// Whether there are pending orders of the event to be cancelled.
pub(crate) fn exists(tx: &Transaction<'_>, event: EventId) -> Result<bool> {
    tx.exists(EXISTS, &[event.into()])
}

/// Records that all pending orders of the event are cancelled.
pub(crate) fn delete(tx: &Transaction<'_>, event: EventId) -> Result<()> {
    tx.execute(DELETE, &[event.into()])
}

/// The next event after `after` that has pending orders to be cancelled.
pub(crate) fn next(tx: &Transaction<'_>, after: EventId) -> Result<Option<EventId>> {
    tx.query_opt(NEXT, &[after.into()], |row| row.get("event_id"))
}

row_struct! {
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct OrderToCancel(row) {
        pub(crate) order: OrderId => id,
        pub(crate) event: EventId => event_id,
        pub(crate) organization: OrganizationId => organization_id,
        /// The end of its hold, in milliseconds.
        hold_until: i64,
    }
}

/// Up to `limit` pending orders of an event, the earliest hold first, beginning after `after`.
pub(crate) fn pending(
    tx: &Transaction<'_>,
    event: EventId,
    after: Option<OrderToCancel>,
    limit: i64,
) -> Result<Vec<OrderToCancel>> {
    let (hold_until, order) = after.map_or((i64::MIN, i64::MIN), |last| (last.hold_until, last.order.raw()));
    tx.query_all(PENDING, &[event.into(), limit.into(), hold_until.into(), order.into()], OrderToCancel::read)
}
