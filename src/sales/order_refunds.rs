//! Decisions to give money back: which part of it through the gateway, and which part by hand.

use super::money_notifications::{self, ReportedRefund};
use crate::error::{Error, Reason, Result};
use crate::model::amount::Amount;
use crate::model::handler_notification::RefundNotification;
use crate::model::id::{OrderId, RefundId};
use crate::model::notification_types::NotificationDetails;
use crate::model::refund::RefundSource;
use crate::rules::money::decimals_of_stored;
use crate::store::order_status::OrderState;
use crate::store::refunds::{DueRefund, NewRefund, StoredRefund};
use crate::store::refused_refunds::{self, SettledBy};
use crate::store::{Transaction, handler_queue, order_refunds, refunds};

/// Gives back a part of what was paid for a completed order: through the gateway, or else by hand. The amount is in minor
/// units and more than 0. Returns the refund to ask the gateway for.
pub(super) fn decide(
    tx: &Transaction<'_>,
    state: &OrderState,
    amount: i64,
    reason: Option<&str>,
    by_gateway: bool,
) -> Result<Option<DueRefund>> {
    if !order_refunds::claim(tx, state.id, amount)? {
        let detail = "more is to be refunded than is left of what was paid for the order";
        return Err(Error::conflict(Reason::RefundExceedsPayment, detail));
    }
    if !by_gateway {
        order_refunds::add_manual(tx, state.id, amount)?;
        return Ok(None);
    }
    let refund = NewRefund { reason, ..refund_of(state, RefundSource::Order, amount) };
    record_due(tx, &refund).map(Some)
}

/// Records a refund that the gateway is to make, and reports it.
pub(super) fn record_due(tx: &Transaction<'_>, refund: &NewRefund<'_>) -> Result<DueRefund> {
    let id = refunds::insert_due(tx, refund)?;
    let notification = NotificationDetails::RefundDue(notification(refund, id)?);
    handler_queue::report(tx, refund.organization, [notification])?;
    Ok(DueRefund { id, order: refund.order, organization: refund.organization })
}

/// Records a refund that the gateway cannot make, and reports it.
pub(super) fn record_refused(tx: &Transaction<'_>, refund: &NewRefund<'_>, problem: &str) -> Result<()> {
    let id = refunds::insert_refused(tx, refund, problem)?;
    let notification = NotificationDetails::RefundRefused(notification(refund, id)?);
    handler_queue::report(tx, refund.organization, [notification])?;
    money_notifications::refund_failed(tx, ReportedRefund::recorded(refund, id)?, true)
}

/// Decides whether the money of a refund that was refused has to be given back by hand, and counts it then. It need not be
/// if the payment has gone back in another way.
pub(super) fn owe(tx: &Transaction<'_>, order: OrderId, refund: &StoredRefund) -> Result<bool> {
    let is_owed = match refund.source {
        RefundSource::Order => order_refunds::add_manual(tx, order, refund.amount)? > 0,
        RefundSource::LatePayment | RefundSource::OtherPayment => !has_gone_back(tx, order, refund)?,
        RefundSource::Outside => false,
    };
    if !is_owed {
        refused_refunds::settle(tx, refund.id, SettledBy::Gateway)?;
    }
    Ok(is_owed)
}

/// Marks the refused refunds of an order as settled whose money has gone back in another way meanwhile.
pub(super) fn settle_returned(tx: &Transaction<'_>, order: OrderId) -> Result<()> {
    for refund in refused_refunds::owed(tx, order)? {
        let is_settled = match refund.source {
            RefundSource::Order | RefundSource::Outside => order_refunds::manual_due(tx, order)? == 0,
            RefundSource::LatePayment | RefundSource::OtherPayment => has_gone_back(tx, order, &refund)?,
        };
        if is_settled {
            refused_refunds::settle(tx, refund.id, SettledBy::Gateway)?;
        }
    }
    Ok(())
}

/// Makes the refunds of an order due again that a bank had left nothing for, and whose money has not gone back in another
/// way.
pub(super) fn attempt_again(tx: &Transaction<'_>, order: OrderId) -> Result<()> {
    for refund in refused_refunds::returned(tx, order)? {
        let is_open = match refund.source {
            RefundSource::Order => refund.amount <= order_refunds::not_given_back(tx, order)?,
            RefundSource::LatePayment | RefundSource::OtherPayment => !has_gone_back(tx, order, &refund)?,
            RefundSource::Outside => false,
        };
        if is_open {
            refused_refunds::attempt_again(tx, order, refund.id)?;
        }
    }
    Ok(())
}

/// Whether a whole payment, which a refund was to give back, has gone back in another way.
fn has_gone_back(tx: &Transaction<'_>, order: OrderId, refund: &StoredRefund) -> Result<bool> {
    Ok(refused_refunds::done(tx, order, refund.payment_reference.as_deref())? >= refund.amount)
}

fn notification(refund: &NewRefund<'_>, id: RefundId) -> Result<RefundNotification> {
    Ok(RefundNotification {
        refund_id: Some(id),
        order_id: refund.order,
        amount: Amount::in_currency(refund.amount, decimals_of_stored(refund.currency)?),
        currency: refund.currency.to_owned(),
    })
}

/// A refund of an amount of the payment of an order, in minor units.
pub(super) fn refund_of(state: &OrderState, source: RefundSource, amount: i64) -> NewRefund<'_> {
    NewRefund {
        organization: state.organization,
        order: state.id,
        event: state.event,
        source,
        amount,
        currency: &state.currency,
        reason: None,
        payment_reference: None,
    }
}
