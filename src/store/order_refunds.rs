//! What of the price of an order is given back: how much was decided, how much of it is still to be given back by hand, and
//! whether anything of the payment is left.
//!
//! Each decision is one conditional UPDATE, so that an order never gives back more than was paid for it.

use super::{Transaction, sales_figures};
use crate::error::{Error, ResourceKind, Result};
use crate::model::id::OrderId;

/// The sum `?2` is what the order was completed with, less than which nothing can be decided.
const CLAIM: &str = "UPDATE orders SET refunded = refunded + ?2, updated_at = ?3
    WHERE id = ?1 AND completed_at IS NOT NULL AND refunded + ?2 <= total";
const ADD_MANUAL: &str = "UPDATE orders SET manual_refund_due = manual_refund_due + ?2, updated_at = ?3 WHERE id = ?1";
const MARK_PAYMENT_REFUNDED: &str = "UPDATE orders SET payment_status = 'REFUNDED', updated_at = ?2
    WHERE id = ?1 AND payment_status = 'COMPLETED' AND total <=
        (SELECT CAST(COALESCE(SUM(r.amount), 0) AS BIGINT) FROM refunds r
        WHERE r.order_id = orders.id AND r.status = 'DONE' AND r.payment_reference IS NULL)";
const REOPEN_PAYMENT: &str = "UPDATE orders SET payment_status = 'COMPLETED', updated_at = ?2
    WHERE id = ?1 AND payment_status = 'REFUNDED' AND total >
        (SELECT CAST(COALESCE(SUM(r.amount), 0) AS BIGINT) FROM refunds r
        WHERE r.order_id = orders.id AND r.status = 'DONE' AND r.payment_reference IS NULL)";
const LEDGER: &str = "SELECT o.id, o.total, o.refunded, o.manual_refund_due,
        (SELECT CAST(COALESCE(SUM(r.amount), 0) AS BIGINT) FROM refunds r
        WHERE r.order_id = o.id AND r.status = 'DONE' AND r.source IN ('ORDER', 'OUTSIDE')
            AND r.payment_reference IS NULL) AS done
    FROM orders o WHERE o.id = ?1";
const DUE: &str = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS amount FROM refunds
    WHERE order_id = ?1 AND status = 'DUE' AND source = 'ORDER'";
const SET_REFUNDED: &str = "UPDATE orders SET refunded = ?2, updated_at = ?3 WHERE id = ?1";

/// Claims a part of what was paid for a completed order, so that it can be given back once. Returns `false` if so much is
/// not left.
pub(crate) fn claim(tx: &Transaction<'_>, order: OrderId, amount: i64) -> Result<bool> {
    tx.debug_assert_event_locked();
    Ok(tx.execute(CLAIM, &[order.into(), amount.into(), tx.now().into()])? == 1)
}

/// What of the price of a completed order was given back, in minor units.
struct Ledger {
    total: i64,
    /// What was decided to be given back.
    refunded: i64,
    /// What of it is still to be given back by hand.
    manual_refund_due: i64,
    /// What the gateway has given back.
    done: i64,
}

fn ledger(tx: &Transaction<'_>, order: OrderId) -> Result<Ledger> {
    let found = tx.query_opt(LEDGER, &[order.into()], |row| {
        Ok(Ledger {
            total: row.get("total")?,
            refunded: row.get("refunded")?,
            manual_refund_due: row.get("manual_refund_due")?,
            done: row.get("done")?,
        })
    })?;
    found.ok_or(Error::NotFound(ResourceKind::Order))
}

/// Counts a claimed amount as to be given back by hand. If the gateway has given back the payment in another way, only what
/// is left of it counts. Returns how much that is.
pub(crate) fn add_manual(tx: &Transaction<'_>, order: OrderId, amount: i64) -> Result<i64> {
    tx.debug_assert_event_locked();
    let ledger = ledger(tx, order)?;
    let left = ledger.total - ledger.done - ledger.manual_refund_due;
    let added = amount.min(left.max(0));
    change_manual(tx, order, added)?;
    Ok(added)
}

/// What is to be given back by hand for an order, in minor units.
pub(crate) fn manual_due(tx: &Transaction<'_>, order: OrderId) -> Result<i64> {
    Ok(ledger(tx, order)?.manual_refund_due)
}

/// What was decided to be given back, and is neither given back nor to be, by the gateway or by hand, in minor units.
pub(crate) fn not_given_back(tx: &Transaction<'_>, order: OrderId) -> Result<i64> {
    let ledger = ledger(tx, order)?;
    let due: Option<i64> = tx.query_opt(DUE, &[order.into()], |row| row.get("amount"))?;
    Ok(ledger.refunded - ledger.done - ledger.manual_refund_due - due.unwrap_or(0))
}

fn change_manual(tx: &Transaction<'_>, order: OrderId, amount: i64) -> Result<()> {
    tx.execute(ADD_MANUAL, &[order.into(), amount.into(), tx.now().into()])?;
    sales_figures::refund_manual(tx, order, amount)
}

/// Counts everything that was to be given back by hand as given back. Returns whether there was anything.
pub(crate) fn settle_manual(tx: &Transaction<'_>, order: OrderId) -> Result<bool> {
    tx.debug_assert_event_locked();
    let due = ledger(tx, order)?.manual_refund_due;
    if due > 0 {
        change_manual(tx, order, -due)?;
    }
    Ok(due > 0)
}

/// Claims an amount that somebody has given back in the account at the gateway. It counts first as what was to be given
/// back by hand.
pub(crate) fn claim_outside(tx: &Transaction<'_>, order: OrderId, amount: i64) -> Result<()> {
    tx.debug_assert_event_locked();
    let ledger = ledger(tx, order)?;
    let by_hand = amount.min(ledger.manual_refund_due);
    if by_hand > 0 {
        change_manual(tx, order, -by_hand)?;
    }
    let refunded = ledger.refunded.saturating_add(amount - by_hand).min(ledger.total);
    tx.execute(SET_REFUNDED, &[order.into(), refunded.into(), tx.now().into()])?;
    Ok(())
}

/// Sets the payment status of an order to REFUNDED, if nothing of the payment is left. Returns whether it did.
pub(crate) fn close_payment(tx: &Transaction<'_>, order: OrderId) -> Result<bool> {
    tx.debug_assert_event_locked();
    Ok(tx.execute(MARK_PAYMENT_REFUNDED, &[order.into(), tx.now().into()])? == 1)
}

/// Sets the payment status of an order to COMPLETED again, if a refund has failed and something of the payment is left.
pub(crate) fn reopen_payment(tx: &Transaction<'_>, order: OrderId) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(REOPEN_PAYMENT, &[order.into(), tx.now().into()])?;
    Ok(())
}
