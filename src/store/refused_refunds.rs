//! Refunds that the gateway will not make: which of them are still owed, and which went back in another way.

use super::Transaction;
use super::refunds::{StoredRefund, decode_stored, stored_columns};
use crate::error::Result;
use crate::model::id::{OrderId, RefundId};

/// How the money of a refused refund went back.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SettledBy {
    /// Somebody gave it back by hand.
    Hand,
    /// It went back at the gateway, or a bank took it.
    Gateway,
}

impl SettledBy {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Hand => "HAND",
            Self::Gateway => "GATEWAY",
        }
    }
}

const SETTLE: &str = "UPDATE refunds SET settled_by = ?2, updated_at = ?3
    WHERE id = ?1 AND status = 'REFUSED' AND settled_by IS NULL";
const SETTLE_ALL: &str = "UPDATE refunds SET settled_by = ?2, updated_at = ?3
    WHERE order_id = ?1 AND status = 'REFUSED' AND settled_by IS NULL";
const OWED: &str = concat!(
    "SELECT ",
    stored_columns!(),
    " FROM refunds WHERE order_id = ?1 AND status = 'REFUSED' AND settled_by IS NULL"
);
/// The next attempt is the second one: it looks first whether the gateway has made the refund. If it makes one now, that
/// has another id than one that failed.
macro_rules! attempt_again {
    ($condition:literal) => {
        concat!(
            "UPDATE refunds SET status = 'DUE', settled_by = NULL, reference = NULL, attempts = 1, next_attempt_at = ?2,
                updated_at = ?2
            WHERE order_id = ?1 AND status = 'REFUSED' AND settled_by = 'GATEWAY' AND ",
            $condition
        )
    };
}

const ATTEMPT_AGAIN: &str = attempt_again!("id = ?3");
const ATTEMPT_PAYMENT_AGAIN: &str =
    attempt_again!("source IN ('LATE_PAYMENT', 'OTHER_PAYMENT') AND COALESCE(payment_reference, '') = ?3");
const RETURNED: &str = concat!(
    "SELECT ",
    stored_columns!(),
    " FROM refunds WHERE order_id = ?1 AND status = 'REFUSED' AND settled_by = 'GATEWAY' AND source <> 'OUTSIDE'
    ORDER BY id"
);
const DONE_OF_ORDER: &str = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS amount FROM refunds
    WHERE order_id = ?1 AND status = 'DONE' AND payment_reference IS NULL";
const DONE_OF_PAYMENT: &str = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS amount FROM refunds
    WHERE order_id = ?1 AND status = 'DONE' AND payment_reference = ?2";
pub(super) const COUNT_OWED: &str =
    "SELECT COUNT(*) AS number FROM refunds WHERE status = 'REFUSED' AND settled_by IS NULL";

/// Records how the money of a refused refund went back.
pub(crate) fn settle(tx: &Transaction<'_>, id: RefundId, by: SettledBy) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(SETTLE, &[id.into(), by.as_str().into(), tx.now().into()])?;
    Ok(())
}

/// Records how the money of all refused refunds of an order went back. Returns whether there were any.
pub(crate) fn settle_all(tx: &Transaction<'_>, order: OrderId, by: SettledBy) -> Result<bool> {
    tx.debug_assert_event_locked();
    Ok(tx.execute(SETTLE_ALL, &[order.into(), by.as_str().into(), tx.now().into()])? > 0)
}

/// Returns the refused refunds of an order whose money has not gone back.
pub(crate) fn owed(tx: &Transaction<'_>, order: OrderId) -> Result<Vec<StoredRefund>> {
    tx.query_all(OWED, &[order.into()], decode_stored)
}

/// Returns the refunds of an order that were refused because a bank had taken the money, or because it had gone back.
pub(crate) fn returned(tx: &Transaction<'_>, order: OrderId) -> Result<Vec<StoredRefund>> {
    tx.query_all(RETURNED, &[order.into()], decode_stored)
}

/// Makes such a refund due again.
pub(crate) fn attempt_again(tx: &Transaction<'_>, order: OrderId, id: RefundId) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(ATTEMPT_AGAIN, &[order.into(), tx.now().into(), id.into()])?;
    Ok(())
}

/// Makes the refund of a payment that completed no order due again, which was refused because the payment had gone back.
pub(crate) fn attempt_payment_again(tx: &Transaction<'_>, order: OrderId, other_payment: Option<&str>) -> Result<()> {
    tx.debug_assert_event_locked();
    let payment = other_payment.unwrap_or_default();
    tx.execute(ATTEMPT_PAYMENT_AGAIN, &[order.into(), tx.now().into(), payment.into()])?;
    Ok(())
}

/// What has gone back of a payment at the gateway, in minor units: of the payment of an order, or of another one with this
/// id.
pub(crate) fn done(tx: &Transaction<'_>, order: OrderId, other_payment: Option<&str>) -> Result<i64> {
    let amount = match other_payment {
        None => tx.query_opt(DONE_OF_ORDER, &[order.into()], |row| row.get("amount"))?,
        Some(payment) => tx.query_opt(DONE_OF_PAYMENT, &[order.into(), payment.into()], |row| row.get("amount"))?,
    };
    Ok(amount.unwrap_or(0))
}

/// Counts the refunds that will not be attempted again, and whose money has not gone back in another way, over all
/// organizations.
pub(crate) fn count_owed(tx: &Transaction<'_>) -> Result<u64> {
    tx.query_opt(COUNT_OWED, &[], |row| row.count("number")).map(Option::unwrap_or_default)
}
