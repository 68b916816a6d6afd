//! The pending orders of cancelled events, which are cancelled too.
//!
//! The transaction that cancels an event adds [work](crate::store::work) about it. The orders follow in batches.

use std::time::Duration;

use crate::error::Result;
use crate::model::values::id::{EventId, OrderId, OrganizationId};
use crate::store::Transaction;
use crate::store::columns::row_struct;

/// The kind of work that cancels the pending orders of an event.
pub(crate) const KIND: &str = "cancel orders";

/// How long the caller that cancels an event takes at most to cancel its orders.
pub(crate) const CLAIM: Duration = Duration::from_mins(1);

pub(in crate::store) const PENDING: &str = "SELECT id, event_id, organization_id, hold_until FROM orders
    WHERE status = 'PENDING' AND event_id = ?1 AND (hold_until, id) > (?3, ?4)
    ORDER BY hold_until, id LIMIT ?2";

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
