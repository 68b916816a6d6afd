//! What of the price of an order is given back: how much was decided, how much of it is still to be given back by hand, and
//! whether anything of the payment is left.
//!
//! Each decision is one conditional UPDATE, so that an order never gives back more than was paid for it.

use super::{Transaction, sales_figures};
use crate::error::Result;
use crate::model::id::OrderId;

/// The sum `?2` is what the order was completed with, less than which nothing can be decided.
const CLAIM: &str = "UPDATE orders SET refunded = refunded + ?2, updated_at = ?3
    WHERE id = ?1 AND completed_at IS NOT NULL AND refunded + ?2 <= total";
const ADD_MANUAL: &str = "UPDATE orders SET manual_refund_due = manual_refund_due + ?2, updated_at = ?3 WHERE id = ?1";
const MARK_PAYMENT_REFUNDED: &str = "UPDATE orders SET payment_status = 'REFUNDED', updated_at = ?2
    WHERE id = ?1 AND payment_status = 'COMPLETED' AND total <=
        (SELECT CAST(COALESCE(SUM(r.amount), 0) AS BIGINT) FROM refunds r
        WHERE r.order_id = orders.id AND r.status = 'DONE' AND r.source <> 'OTHER_PAYMENT')";

/// Claims a part of what was paid for a completed order, so that it can be given back once. Returns `false` if so much is
/// not left.
pub(crate) fn claim(tx: &Transaction<'_>, order: OrderId, amount: i64) -> Result<bool> {
    tx.debug_assert_event_locked();
    Ok(tx.execute(CLAIM, &[order.into(), amount.into(), tx.now().into()])? == 1)
}

/// Counts a claimed amount as to be given back by hand.
pub(crate) fn add_manual(tx: &Transaction<'_>, order: OrderId, amount: i64) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(ADD_MANUAL, &[order.into(), amount.into(), tx.now().into()])?;
    sales_figures::refund_manual(tx, order, amount)
}

/// Sets the payment status of an order to REFUNDED, if nothing of the payment is left. Returns whether it did.
pub(crate) fn close_payment(tx: &Transaction<'_>, order: OrderId) -> Result<bool> {
    tx.debug_assert_event_locked();
    Ok(tx.execute(MARK_PAYMENT_REFUNDED, &[order.into(), tx.now().into()])? == 1)
}
