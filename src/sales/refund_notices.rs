//! What the payment gateway reports about refunds and disputes. A report may arrive several times, late, and in any order.

use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::currency::Decimals;
use crate::model::dispute::DisputeStatus;
use crate::model::handler_notification::{NotificationDetails, RefundNotification};
use crate::model::id::{OrderId, OrganizationId, RefundId};
use crate::model::order::{OrderStatus, PaymentStatus};
use crate::model::refund::{RefundSource, RefundStatus};
use crate::store::disputes::ReportedDispute;
use crate::store::order_status::OrderState;
use crate::store::refunds::{NewRefund, StoredRefund};
use crate::store::{Transaction, disputes, handler_queue, order_refunds, refunds, sales_figures};

use super::order_lifecycle;
use super::order_refunds::refund_of;

/// Records what became of a refund that this service asked for. One that has failed after the gateway accepted it is
/// REFUSED, and its money has to be given back by hand. Returns whether that was new.
pub(crate) fn own_refund(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    id: RefundId,
    reference: &str,
    failed: Option<&str>,
) -> Result<bool> {
    tx.lock_event(order)?;
    let Some(refund) = refunds::find(tx, organization, order, id)? else { return Ok(false) };
    refunds::set_reference(tx, id, reference)?;
    match failed {
        None if refund.status == RefundStatus::Due => {
            refunds::mark_done(tx, id)?;
            if refund.source == RefundSource::Order {
                sales_figures::refunded(tx, order, refund.amount)?;
            }
            order_refunds::close_payment(tx, order)?;
            Ok(true)
        }
        Some(problem) if refund.status != RefundStatus::Refused => {
            refunds::fail(tx, id, problem)?;
            if refund.source == RefundSource::Order {
                if refund.status == RefundStatus::Done {
                    sales_figures::refunded(tx, order, -refund.amount)?;
                }
                order_refunds::add_manual(tx, order, refund.amount)?;
            }
            order_refunds::reopen_payment(tx, order)?;
            let notification = NotificationDetails::RefundRefused(RefundNotification {
                refund_id: Some(id),
                order_id: order,
                amount: Amount::in_currency(refund.amount, refund.decimals),
                currency: refund.currency,
            });
            handler_queue::report(tx, organization, [notification])?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// A refund that this service did not ask for.
pub(crate) struct OutsideRefund<'a> {
    /// The gateway's id of the refund.
    pub(crate) reference: &'a str,
    /// The gateway's id of the payment, if the gateway has named it.
    pub(crate) payment_reference: Option<&'a str>,
    pub(crate) amount: Amount,
    pub(crate) currency: &'a str,
    pub(crate) failed: bool,
}

/// Records a refund that this service did not ask for, once. If it leaves nothing of the payment of a completed order, the
/// order is cancelled, and nothing is asked of the gateway. Returns whether it was new.
pub(crate) fn outside_refund(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    refund: &OutsideRefund<'_>,
) -> Result<bool> {
    let state = order_lifecycle::load(tx, organization, order)?;
    if let Some(known) = refunds::by_reference(tx, order, refund.reference)? {
        return take_back(tx, &state, &known, refund.failed);
    }
    let minor_units =
        Decimals::of_currency(refund.currency).and_then(|decimals| refund.amount.minor_with(decimals.get()));
    let Some(amount) = minor_units.filter(|amount| *amount > 0) else { return Ok(false) };
    let of_order = is_of_order(&state, refund);
    let new = NewRefund {
        currency: refund.currency,
        payment_reference: if of_order { None } else { Some(refund.payment_reference.unwrap_or_default()) },
        ..refund_of(&state, RefundSource::Outside, amount)
    };
    let status = if refund.failed { RefundStatus::Refused } else { RefundStatus::Done };
    refunds::insert_reported(tx, &new, refund.reference, status)?;
    if refund.failed || !of_order {
        return Ok(true);
    }
    if state.paid_by_gateway {
        order_refunds::claim_outside(tx, order, amount)?;
        sales_figures::refunded(tx, order, amount)?;
    }
    let nothing_left = order_refunds::close_payment(tx, order)?;
    if nothing_left && state.paid_by_gateway && state.status == OrderStatus::Completed {
        order_lifecycle::end(tx, &state, false)?;
    }
    Ok(true)
}

/// Takes back an outside refund that has failed after it was reported. The order stays as it is.
fn take_back(tx: &Transaction<'_>, state: &OrderState, known: &StoredRefund, failed: bool) -> Result<bool> {
    let counts = known.source == RefundSource::Outside && known.status == RefundStatus::Done;
    if !failed || !counts {
        return Ok(false);
    }
    refunds::fail(tx, known.id, "the gateway reports that it has failed")?;
    if known.of_order && state.paid_by_gateway {
        sales_figures::refunded(tx, state.id, -known.amount)?;
        order_refunds::add_manual(tx, state.id, known.amount)?;
    }
    order_refunds::reopen_payment(tx, state.id)?;
    Ok(true)
}

/// Whether a refund is of the payment of the order, and not of another payment for it.
fn is_of_order(state: &OrderState, refund: &OutsideRefund<'_>) -> bool {
    let is_paid = matches!(state.payment, Some(PaymentStatus::Completed | PaymentStatus::Refunded));
    let same_payment = match (refund.payment_reference, state.checkout_payment.as_deref()) {
        (Some(named), Some(known)) => named == known,
        _ => true,
    };
    is_paid && same_payment && refund.currency == state.currency
}

/// A dispute of a payment.
pub(crate) struct DisputeNotice<'a> {
    /// The gateway's id of the dispute.
    pub(crate) reference: &'a str,
    pub(crate) amount: Amount,
    pub(crate) currency: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) status: DisputeStatus,
}

/// Records a dispute, or its decision. Returns whether that was new.
pub(crate) fn dispute(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    notice: &DisputeNotice<'_>,
) -> Result<bool> {
    let state = order_lifecycle::load(tx, organization, order)?;
    let minor_units =
        Decimals::of_currency(notice.currency).and_then(|decimals| notice.amount.minor_with(decimals.get()));
    let Some(amount) = minor_units.filter(|amount| *amount >= 0) else { return Ok(false) };
    disputes::record(
        tx,
        &ReportedDispute {
            organization,
            order,
            event: state.event,
            reference: notice.reference,
            amount,
            currency: notice.currency,
            reason: notice.reason,
            status: notice.status,
        },
    )
}
