//! Attempts to refund a payment: one transaction before the call to the payment gateway, and one after it.

use std::time::Duration;

use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::handler_notification::{NotificationDetails, RefundNotification};
use crate::model::id::{EventId, OrderId, OrganizationId};
use crate::rules::refund::delay_after;
use crate::store::{Transaction, checkouts, handler_queue, refunds, sales_figures};

/// How long a claim keeps other processes from attempting the same refund. This is longer than a call to the gateway.
const CLAIM: Duration = Duration::from_mins(1);

/// A refund that this process has claimed.
#[derive(Debug, Clone)]
pub(crate) struct RefundAttempt {
    pub(crate) order: OrderId,
    pub(crate) organization: OrganizationId,
    pub(crate) event: EventId,
    pub(crate) amount: Amount,
    pub(crate) currency: String,
    /// The gateway's id of the payment, if it returned one.
    pub(crate) reference: Option<String>,
    /// Whether the payment completed the order. Otherwise it came too late, or the order was marked as paid.
    pub(crate) completed_order: bool,
    /// The number of the attempt, counted from 1.
    pub(crate) number: i64,
}

/// Claims the refund of an order. Returns `None` if none is due, or another process has claimed it.
pub(crate) fn claim(tx: &Transaction<'_>, order: OrderId) -> Result<Option<RefundAttempt>> {
    tx.lock_event(order)?;
    let Some(claimed) = refunds::claim(tx, order, tx.now().saturating_add(CLAIM))? else { return Ok(None) };
    let payment = checkouts::payment(tx, order)?;
    Ok(Some(RefundAttempt {
        order,
        organization: payment.organization,
        event: payment.event,
        amount: claimed.amount,
        currency: claimed.currency,
        reference: payment.reference,
        completed_order: payment.completed_order,
        number: claimed.attempt,
    }))
}

/// Records that the gateway refunded the payment.
pub(crate) fn refunded(tx: &Transaction<'_>, attempt: &RefundAttempt) -> Result<()> {
    tx.lock_event(attempt.order)?;
    if refunds::mark_done(tx, attempt.order)? && attempt.completed_order {
        sales_figures::refunded(tx, attempt.order)?;
    }
    Ok(())
}

/// Records that the gateway refused the refund for good. It is not attempted again.
pub(crate) fn refused(tx: &Transaction<'_>, attempt: &RefundAttempt, problem: &str) -> Result<()> {
    tx.lock_event(attempt.order)?;
    if !refunds::mark_refused(tx, attempt.order, problem)? {
        return Ok(());
    }
    if attempt.completed_order {
        sales_figures::refund_manual(tx, attempt.order)?;
    }
    let notification = NotificationDetails::RefundRefused(RefundNotification {
        order_id: attempt.order,
        amount: attempt.amount,
        currency: attempt.currency.clone(),
    });
    handler_queue::report(tx, attempt.organization, [notification])
}

/// Records that the gateway was unavailable, and schedules the next attempt.
pub(crate) fn unavailable(tx: &Transaction<'_>, attempt: &RefundAttempt, problem: &str) -> Result<()> {
    tx.lock_event(attempt.order)?;
    let next = tx.now().saturating_add(delay_after(attempt.number));
    refunds::postpone(tx, attempt.order, next, problem)
}
