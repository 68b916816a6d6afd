//! Refunds that the gateway has accepted, and is to be asked about later: a refund may fail days after that.

use super::Transaction;
use crate::error::Result;
use crate::model::id::{OrderId, OrganizationId, RefundId};
use crate::model::timestamp::Timestamp;

const SCHEDULE: &str = "UPDATE refunds SET check_at = ?2 WHERE id = ?1 AND status = 'DONE'";
/// First one of each organization, then the second one of each, and so on.
pub(super) const DUE: &str = "SELECT id, order_id, organization_id FROM (
        SELECT id, order_id, organization_id, check_at,
            ROW_NUMBER() OVER (PARTITION BY organization_id ORDER BY check_at, id) AS turn
        FROM refunds WHERE check_at <= ?1) due
    ORDER BY turn, check_at, id LIMIT ?2";
const CLAIM: &str = "UPDATE refunds SET check_at = ?3
    WHERE id = ?1 AND check_at <= ?2 RETURNING id, order_id, organization_id, checks, updated_at,
        COALESCE(payment_reference,
            (SELECT c.payment_reference FROM checkouts c WHERE c.order_id = refunds.order_id)) AS payment";
const ANSWERED: &str =
    "UPDATE refunds SET checks = checks + 1, check_at = CASE WHEN status = 'DONE' THEN CAST(?2 AS BIGINT) ELSE NULL END
    WHERE id = ?1";
const POSTPONE: &str = "UPDATE refunds SET check_at = ?2 WHERE id = ?1 AND check_at IS NOT NULL";

/// Sets when the gateway is first asked what became of a refund that is done.
pub(crate) fn schedule(tx: &Transaction<'_>, id: RefundId, at: Timestamp) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(SCHEDULE, &[id.into(), at.into()])?;
    Ok(())
}

/// A refund that the gateway is to be asked about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueCheck {
    pub(crate) id: RefundId,
    pub(crate) order: OrderId,
    pub(crate) organization: OrganizationId,
}

/// Returns up to `limit` refunds that the gateway is to be asked about now, so that organizations take turns. Of each, the
/// one that has been due for the longest time comes first.
pub(crate) fn due(tx: &Transaction<'_>, limit: i64) -> Result<Vec<DueCheck>> {
    tx.query_all(DUE, &[tx.now().into(), limit.into()], |row| {
        Ok(DueCheck { id: row.get("id")?, order: row.get("order_id")?, organization: row.get("organization_id")? })
    })
}

/// A refund that this process asks the gateway about.
#[derive(Debug, Clone)]
pub(crate) struct RefundCheck {
    pub(crate) id: RefundId,
    pub(crate) order: OrderId,
    pub(crate) organization: OrganizationId,
    /// When it was made, or when the gateway's id of it was reported after that.
    pub(crate) made_at: Timestamp,
    /// How many times the gateway has answered.
    pub(crate) number: i64,
    /// The gateway's id of the payment, if it was reported.
    pub(crate) payment: Option<String>,
}

/// Claims a refund: no other process asks about it before `until`. Returns `None` if it is not due now.
pub(crate) fn claim(tx: &Transaction<'_>, id: RefundId, until: Timestamp) -> Result<Option<RefundCheck>> {
    tx.debug_assert_event_locked();
    tx.query_opt(CLAIM, &[id.into(), tx.now().into(), until.into()], |row| {
        Ok(RefundCheck {
            id: row.get("id")?,
            order: row.get("order_id")?,
            organization: row.get("organization_id")?,
            made_at: row.get("updated_at")?,
            number: row.get("checks")?,
            payment: row.get("payment")?,
        })
    })
}

/// Records that the gateway has answered. It is asked again at `next`, unless the refund has failed.
pub(crate) fn answered(tx: &Transaction<'_>, id: RefundId, next: Option<Timestamp>) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(ANSWERED, &[id.into(), next.into()])?;
    Ok(())
}

/// Records that the gateway has not answered. It is asked again at `until`, if at all.
pub(crate) fn postpone(tx: &Transaction<'_>, id: RefundId, until: Option<Timestamp>) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(POSTPONE, &[id.into(), until.into()])?;
    Ok(())
}
