//! Refunds that the gateway has made, and is to be asked about later: a refund may fail days after that.

use super::Transaction;
use super::refunds::of_gateway;
use crate::error::Result;
use crate::model::id::{OrderId, OrganizationId, PaymentId, RefundId};
use crate::model::timestamp::Timestamp;

const SCHEDULE: &str = "UPDATE refunds SET check_at = ?2, checks = ?3 WHERE id = ?1";
/// First one of each organization, then the second one of each, and so on.
pub(super) const DUE: &str = concat!(
    "SELECT id, order_id, organization_id FROM (
        SELECT r.id, r.order_id, r.organization_id, r.check_at,
            ROW_NUMBER() OVER (PARTITION BY r.organization_id ORDER BY r.check_at, r.id) AS turn
        FROM refunds r JOIN payments p ON p.id = r.payment_id WHERE r.check_at <= ?1 AND ",
    of_gateway!(),
    ") due ORDER BY turn, check_at, id LIMIT ?2"
);
const CLAIM: &str = "UPDATE refunds SET check_at = ?3
    WHERE id = ?1 AND check_at <= ?2 RETURNING id, order_id, payment_id, checks, updated_at";

/// Sets when the gateway is next asked what became of a refund that it made, and how many times it has answered. `None` if
/// it is not asked again.
pub(crate) fn schedule(tx: &Transaction<'_>, id: RefundId, at: Option<Timestamp>, answers: i64) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(SCHEDULE, &[id.into(), at.into(), answers.into()])?;
    Ok(())
}

/// A refund that the gateway is to be asked about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueCheck {
    pub(crate) id: RefundId,
    pub(crate) order: OrderId,
    pub(crate) organization: OrganizationId,
}

/// Returns up to `limit` refunds that this gateway is to be asked about now, so that organizations take turns. Of each, the
/// one that has been due for the longest time comes first.
pub(crate) fn due(tx: &Transaction<'_>, gateway: &str, limit: i64) -> Result<Vec<DueCheck>> {
    tx.query_all(DUE, &[tx.now().into(), limit.into(), gateway.into()], |row| {
        Ok(DueCheck { id: row.get("id")?, order: row.get("order_id")?, organization: row.get("organization_id")? })
    })
}

/// A refund that this process asks the gateway about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimedCheck {
    pub(crate) id: RefundId,
    pub(crate) order: OrderId,
    pub(crate) payment: PaymentId,
    /// When the refund last changed.
    pub(crate) made_at: Timestamp,
    /// How many times the gateway has answered.
    pub(crate) number: i64,
}

/// Claims a refund: no other process asks about it before `until`. Returns `None` if it is not due now.
pub(crate) fn claim(tx: &Transaction<'_>, id: RefundId, until: Timestamp) -> Result<Option<ClaimedCheck>> {
    tx.debug_assert_event_locked();
    tx.query_opt(CLAIM, &[id.into(), tx.now().into(), until.into()], |row| {
        Ok(ClaimedCheck {
            id: row.get("id")?,
            order: row.get("order_id")?,
            payment: row.get("payment_id")?,
            made_at: row.get("updated_at")?,
            number: row.get("checks")?,
        })
    })
}
