//! Attempts to refund a payment: one transaction before the call to the payment gateway, and one after it.

use std::time::Duration;

use super::money_notifications::{self, ReportedRefund};
use super::order_refunds::owe;
use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::handler_notification::RefundNotification;
use crate::model::id::{EventId, OrderId, OrganizationId, RefundId};
use crate::model::notification_types::NotificationDetails;
use crate::model::refund::RefundSource;
use crate::model::timestamp::Timestamp;
use crate::rules::refund::{FIRST_CHECK, MAX_ATTEMPTS, delay_after};
use crate::store::refunds::DueRefund;
use crate::store::refused_refunds::{self, SettledBy};
use crate::store::{Transaction, checkouts, handler_queue, order_refunds, refund_checks, refunds, sales_figures};

/// How long a claim keeps other processes from attempting the same refund. This is longer than a call to the gateway.
const CLAIM: Duration = Duration::from_mins(1);

/// A refund that this process has claimed.
#[derive(Debug, Clone)]
pub(crate) struct RefundAttempt {
    pub(crate) id: RefundId,
    pub(crate) order: OrderId,
    pub(crate) organization: OrganizationId,
    pub(crate) event: EventId,
    pub(crate) amount: Amount,
    pub(crate) currency: String,
    /// The gateway's reference of the checkout of the order, if it returned one.
    pub(crate) reference: Option<String>,
    /// The references of the earlier checkouts of the order, the newest first, if the gateway's id of the payment is
    /// not known.
    pub(crate) earlier_references: Vec<String>,
    /// The gateway's id of the payment, if it was reported.
    pub(crate) payment_reference: Option<String>,
    pub(crate) source: RefundSource,
    /// The number of the attempt, counted from 1.
    pub(crate) number: i64,
    pub(crate) decided_at: Timestamp,
    pub(crate) claimed_at: Timestamp,
    /// Whether the refund is not attempted again if this attempt fails too.
    pub(crate) is_last: bool,
}

impl RefundAttempt {
    /// The idempotency key, the same for every attempt. A refund of version 0.1 has the id of its order.
    pub(crate) fn idempotency_key(&self) -> String {
        if self.id.raw() == self.order.raw() { format!("refund-{}", self.order) } else { format!("refund-{}", self.id) }
    }
}

/// Claims a refund. Returns `None` if it is not due, or another process has claimed it.
pub(crate) fn claim(tx: &Transaction<'_>, refund: DueRefund) -> Result<Option<RefundAttempt>> {
    let DueRefund { id, order, .. } = refund;
    tx.lock_event(order)?;
    let Some(claimed) = refunds::claim(tx, id, tx.now().saturating_add(CLAIM))? else { return Ok(None) };
    let payment = checkouts::payment(tx, order)?;
    let payment_reference = claimed.payment_reference.or(payment.payment_reference);
    let earlier_references = match &payment_reference {
        Some(_) => Vec::new(),
        None => checkouts::replaced_references(tx, order)?,
    };
    Ok(Some(RefundAttempt {
        id,
        order,
        organization: payment.organization,
        event: payment.event,
        amount: claimed.amount,
        currency: claimed.currency,
        reference: payment.reference,
        earlier_references,
        payment_reference,
        source: claimed.source,
        number: claimed.attempt,
        decided_at: claimed.decided_at,
        claimed_at: tx.now(),
        is_last: claimed.attempt >= MAX_ATTEMPTS,
    }))
}

/// Records that the gateway made the refund.
pub(crate) fn refunded(tx: &Transaction<'_>, attempt: &RefundAttempt) -> Result<()> {
    tx.lock_event(attempt.order)?;
    if !refunds::mark_done(tx, attempt.id)? {
        return Ok(());
    }
    refund_checks::schedule(tx, attempt.id, tx.now().saturating_add(FIRST_CHECK))?;
    if attempt.source == RefundSource::Order {
        sales_figures::refunded(tx, attempt.order, attempt.amount.minor_units())?;
    }
    order_refunds::close_payment(tx, attempt.order)?;
    money_notifications::refund_succeeded(tx, reported(attempt))
}

fn reported(attempt: &RefundAttempt) -> ReportedRefund {
    ReportedRefund {
        organization: attempt.organization,
        order: attempt.order,
        event: attempt.event,
        id: attempt.id,
        amount: attempt.amount,
        currency: attempt.currency.clone(),
        source: attempt.source,
    }
}

/// Why a refund will not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The gateway refuses to make it, or has not made it for too long.
    ForGood,
    /// The gateway says that nothing of the payment is left to refund.
    NothingLeft,
}

/// The result of recording that a refund will not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordedRefusal {
    /// Somebody has to give the money back by hand.
    Owed,
    /// The money has gone back in another way, or a bank has taken it.
    Settled,
    /// The refund was not due any more, or another process attempts it.
    NotDue,
}

/// Records that the refund will not be made. It is not attempted again.
pub(crate) fn refused(
    tx: &Transaction<'_>,
    attempt: &RefundAttempt,
    refusal: Refusal,
    problem: &str,
) -> Result<RecordedRefusal> {
    tx.lock_event(attempt.order)?;
    let refund = refunds::find(tx, attempt.organization, attempt.order, attempt.id)?;
    let Some(refund) = refund else { return Ok(RecordedRefusal::NotDue) };
    let done = refused_refunds::done(tx, attempt.order, refund.payment_reference.as_deref())?;
    let problem = match done {
        0 => problem.to_owned(),
        done => {
            let done = Amount::in_currency(done, refund.decimals);
            format!("{problem}; {done} {} of the payment has gone back already", refund.currency)
        }
    };
    if !refunds::mark_refused(tx, attempt.id, attempt.number, &problem)? {
        return Ok(RecordedRefusal::NotDue);
    }
    let is_owed = match refusal {
        Refusal::ForGood => owe(tx, attempt.order, &refund)?,
        Refusal::NothingLeft => {
            refused_refunds::settle(tx, attempt.id, SettledBy::Gateway)?;
            false
        }
    };
    money_notifications::refund_failed(tx, reported(attempt), is_owed)?;
    if !is_owed {
        return Ok(RecordedRefusal::Settled);
    }
    let notification = NotificationDetails::RefundRefused(RefundNotification {
        refund_id: Some(attempt.id),
        order_id: attempt.order,
        amount: attempt.amount,
        currency: attempt.currency.clone(),
    });
    handler_queue::report(tx, attempt.organization, [notification])?;
    Ok(RecordedRefusal::Owed)
}

/// Records that the gateway was unavailable, and schedules the next attempt.
pub(crate) fn unavailable(tx: &Transaction<'_>, attempt: &RefundAttempt, problem: &str) -> Result<()> {
    tx.lock_event(attempt.order)?;
    let next = tx.now().saturating_add(delay_after(attempt.number));
    refunds::postpone(tx, attempt.id, attempt.number, next, problem)
}
