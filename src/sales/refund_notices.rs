//! What the payment gateway reports about refunds and disputes. A report may arrive several times, late, and in any order.

use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::checkout::GatewayPayment;
use crate::model::currency::Decimals;
use crate::model::dispute::DisputeStatus;
use crate::model::gateway_report::{GatewayDispute, GatewayRefund, RefundState};
use crate::model::handler_notification::RefundNotification;
use crate::model::id::{OrderId, OrganizationId};
use crate::model::notification_types::NotificationDetails;
use crate::model::order::{OrderStatus, PaymentStatus};
use crate::model::refund::{RefundSource, RefundStatus};
use crate::rules::refund::FIRST_CHECK;
use crate::store::disputes::DisputedOrder;
use crate::store::order_status::OrderState;
use crate::store::refunds::{NewRefund, StoredRefund};
use crate::store::refused_refunds::{self, SettledBy};
use crate::store::{
    Transaction, checkouts, disputes, handler_queue, order_refunds, order_status, refund_checks, refunds, sales_figures,
};

use super::money_notifications::{self, ReportedRefund};
use super::order_lifecycle;
use super::order_refunds::{attempt_again, owe, refund_of, settle_returned};

/// The result of recording what became of a refund that claims to be one of this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordedRefund {
    /// It is no refund that this service asked for.
    NotOurs,
    /// Nothing changed.
    Known,
    Changed,
    /// It has failed, and somebody has to give the money back by hand.
    Owed,
}

/// Records what became of a refund that this service asked for. One that has failed after the gateway accepted it is
/// REFUSED, and its money has to be given back by hand, unless it has gone back in another way.
pub(crate) fn own_refund(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    payment: Option<&str>,
    report: &GatewayRefund,
) -> Result<RecordedRefund> {
    tx.lock_event(order)?;
    let Some(refund) = find_own(tx, organization, order, payment, report)? else {
        return Ok(RecordedRefund::NotOurs);
    };
    let id = refund.id;
    let reported = ReportedRefund::stored(&order_status::load(tx, organization, order)?, &refund);
    refunds::set_reference(tx, id, &report.reference)?;
    match &report.state {
        RefundState::Pending | RefundState::RequiresAction | RefundState::Succeeded
            if refund.status == RefundStatus::Due =>
        {
            refunds::mark_done(tx, id)?;
            refund_checks::schedule(tx, id, tx.now().saturating_add(FIRST_CHECK))?;
            if refund.source == RefundSource::Order {
                sales_figures::refunded(tx, order, refund.amount)?;
            }
            order_refunds::close_payment(tx, order)?;
            money_notifications::refund_succeeded(tx, reported)?;
            Ok(RecordedRefund::Changed)
        }
        // It was given up, because the gateway did not answer for too long.
        RefundState::Pending | RefundState::RequiresAction | RefundState::Succeeded
            if refund.status == RefundStatus::Refused && refund.reference.is_none() =>
        {
            refunds::reinstate(tx, id)?;
            refund_checks::schedule(tx, id, tx.now().saturating_add(FIRST_CHECK))?;
            if refund.source == RefundSource::Order {
                order_refunds::claim_outside(tx, order, refund.amount)?;
                sales_figures::refunded(tx, order, refund.amount)?;
            }
            order_refunds::close_payment(tx, order)?;
            money_notifications::refund_succeeded(tx, reported)?;
            Ok(RecordedRefund::Changed)
        }
        RefundState::Failed(problem) if refund.status != RefundStatus::Refused => {
            refunds::fail(tx, id, problem)?;
            if refund.source == RefundSource::Order && refund.status == RefundStatus::Done {
                sales_figures::refunded(tx, order, -refund.amount)?;
            }
            order_refunds::reopen_payment(tx, order)?;
            let is_owed = owe(tx, order, &refund)?;
            money_notifications::refund_failed(tx, reported, is_owed)?;
            if !is_owed {
                return Ok(RecordedRefund::Changed);
            }
            let notification = NotificationDetails::RefundRefused(RefundNotification {
                refund_id: Some(id),
                order_id: order,
                amount: Amount::in_currency(refund.amount, refund.decimals),
                currency: refund.currency,
            });
            handler_queue::report(tx, organization, [notification])?;
            Ok(RecordedRefund::Owed)
        }
        _ => Ok(RecordedRefund::Known),
    }
}

/// Finds the refund of this service that a report names. The id in a report proves nothing, because an organization may
/// be able to write it into refunds of its own account: everything else that is known must fit too.
fn find_own(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    payment: Option<&str>,
    report: &GatewayRefund,
) -> Result<Option<StoredRefund>> {
    let Some(id) = report.refund_id else { return Ok(None) };
    let Some(refund) = refunds::find(tx, organization, order, id)? else { return Ok(None) };
    if let Some(known) = refunds::by_reference(tx, order, &report.reference)?
        && known.id != id
    {
        return Ok(None);
    }
    let payment_of_order = checkouts::payment(tx, order)?.payment_reference;
    let expected = refund.payment_reference.as_ref().or(payment_of_order.as_ref());
    let same_payment = payment.zip(expected).is_none_or(|(named, expected)| named == expected);
    let same_reference = refund.reference.as_ref().is_none_or(|known| *known == report.reference);
    let same_amount =
        report.currency == refund.currency && report.amount.minor_with(refund.decimals.get()) == Some(refund.amount);
    let is_ours = refund.source != RefundSource::Outside && same_payment && same_reference && same_amount;
    Ok(is_ours.then_some(refund))
}

/// Records a refund that this service did not ask for, once. If it leaves nothing of the payment of a completed order, the
/// order is cancelled, and nothing is asked of the gateway. `payment` is the gateway's id of the payment, if the gateway
/// has named it. Returns whether it was new.
pub(crate) fn outside_refund(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    payment: Option<&str>,
    refund: &GatewayRefund,
) -> Result<bool> {
    let state = order_lifecycle::load(tx, organization, order)?;
    // One that is pending counts as made: gateways report it once, and then only if it fails.
    let failed = matches!(refund.state, RefundState::Failed(_));
    if let Some(known) = refunds::by_reference(tx, order, &refund.reference)? {
        return take_back(tx, &state, &known, failed);
    }
    let minor_units =
        Decimals::of_currency(&refund.currency).and_then(|decimals| refund.amount.minor_with(decimals.get()));
    let Some(amount) = minor_units.filter(|amount| *amount > 0) else { return Ok(false) };
    let of_order = is_of_order(&state, payment, refund);
    let new = NewRefund {
        currency: &refund.currency,
        payment_reference: if of_order { None } else { Some(payment.unwrap_or_default()) },
        ..refund_of(&state, RefundSource::Outside, amount)
    };
    let status = if failed { RefundStatus::Refused } else { RefundStatus::Done };
    let id = refunds::insert_reported(tx, &new, &refund.reference, status)?;
    let reported = ReportedRefund::recorded(&new, id)?;
    if failed {
        refused_refunds::settle(tx, id, SettledBy::Gateway)?;
        money_notifications::refund_failed(tx, reported, false)?;
        return Ok(true);
    }
    money_notifications::refund_succeeded(tx, reported)?;
    if of_order && state.paid_by_gateway {
        order_refunds::claim_outside(tx, order, amount)?;
        sales_figures::refunded(tx, order, amount)?;
    }
    settle_returned(tx, order)?;
    let nothing_left = of_order && order_refunds::close_payment(tx, order)?;
    if nothing_left && state.paid_by_gateway && state.status == OrderStatus::Completed {
        order_lifecycle::end(tx, &state, false)?;
    }
    Ok(true)
}

/// Records that a whole payment has gone back that completed no order. What no refund accounts for, because a bank has
/// taken it or the gateway does not list it, is recorded as an outside refund with the id of the payment.
pub(crate) fn returned_payment(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    payment: &GatewayPayment,
) -> Result<()> {
    let state = order_lifecycle::load(tx, organization, order)?;
    let reference = &payment.payment_reference;
    let is_recorded = state.checkout_payment.as_ref() == Some(reference);
    if is_recorded || refunds::by_reference(tx, order, reference)?.is_some() {
        return Ok(());
    }
    let decimals = Decimals::of_currency(&payment.currency);
    let Some(amount) = decimals.and_then(|decimals| payment.amount.minor_with(decimals.get())) else { return Ok(()) };
    let rest = amount - refused_refunds::done(tx, order, Some(reference))?;
    if rest <= 0 {
        return Ok(());
    }
    let new = NewRefund {
        currency: &payment.currency,
        payment_reference: Some(reference),
        ..refund_of(&state, RefundSource::Outside, rest)
    };
    let id = refunds::insert_reported(tx, &new, reference, RefundStatus::Done)?;
    money_notifications::refund_succeeded(tx, ReportedRefund::recorded(&new, id)?)?;
    settle_returned(tx, order)
}

/// Takes back an outside refund that has failed after it was reported. The order stays as it is.
fn take_back(tx: &Transaction<'_>, state: &OrderState, known: &StoredRefund, failed: bool) -> Result<bool> {
    let counts = known.source == RefundSource::Outside && known.status == RefundStatus::Done;
    if !failed || !counts {
        return Ok(false);
    }
    refunds::fail(tx, known.id, "the gateway reports that it has failed")?;
    let mut owed = 0;
    if known.payment_reference.is_none() && state.paid_by_gateway {
        sales_figures::refunded(tx, state.id, -known.amount)?;
        owed = order_refunds::add_manual(tx, state.id, known.amount)?;
    }
    // Of a payment that completed no order, this service gives the money back itself.
    refused_refunds::attempt_payment_again(tx, state.id, known.payment_reference.as_deref())?;
    if owed == 0 {
        refused_refunds::settle(tx, known.id, SettledBy::Gateway)?;
    }
    order_refunds::reopen_payment(tx, state.id)?;
    money_notifications::refund_failed(tx, ReportedRefund::stored(state, known), owed > 0)?;
    Ok(true)
}

/// Whether a refund is of the payment of the order, and not of another payment for it.
fn is_of_order(state: &OrderState, payment: Option<&str>, refund: &GatewayRefund) -> bool {
    let is_paid = matches!(state.payment, Some(PaymentStatus::Completed | PaymentStatus::Refunded));
    let same_payment = match (payment, state.checkout_payment.as_deref()) {
        (Some(named), Some(known)) => named == known,
        _ => true,
    };
    is_paid && same_payment && refund.currency == state.currency
}

/// Records a dispute, or its decision. If the bank has decided for the organizer, refunds are attempted again that it had
/// left nothing for. Returns whether the report was new.
pub(crate) fn dispute(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    dispute: &GatewayDispute,
) -> Result<bool> {
    let state = order_lifecycle::load(tx, organization, order)?;
    let minor_units =
        Decimals::of_currency(&dispute.currency).and_then(|decimals| dispute.amount.minor_with(decimals.get()));
    let Some(amount) = minor_units.filter(|amount| *amount >= 0) else { return Ok(false) };
    let of = DisputedOrder { organization, order, event: state.event, amount };
    let Some(recorded) = disputes::record(tx, &of, dispute)? else { return Ok(false) };
    money_notifications::dispute_changed(tx, &state, recorded)?;
    if dispute.status == DisputeStatus::Won {
        // The bank has given the money back to the account at the gateway.
        attempt_again(tx, order)?;
    }
    Ok(true)
}
