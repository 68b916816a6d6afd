//! Money that was returned manually.

use super::order_lifecycle;
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::form::request::Request;
use crate::model::sale::received_payment::ManualMethod;
use crate::model::sale::refund::{MarkRefunded, MarkRefundedResponse, Refund, RefundMethod, SettledRefund};
use crate::model::tenants::caller::Recorder;
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::rules::money::amount_limits::{check_total, decimals_of_stored};
use crate::sales::money::refund_lifecycle::Account;
use crate::store::money::payments::StoredPayment;
use crate::store::money::{payments, refunds};
use crate::store::order::{order_status, orders};
use crate::store::{LockedEvent, Transaction};

/// Records money that was returned manually for an order: all that is owed, or this amount, or for this refund. The
/// oldest refunds come first.
pub(crate) fn mark_refunded(
    tx: &LockedEvent<'_>,
    (organization, recorded_by): (OrganizationId, &Recorder),
    id: OrderId,
    request: &Request<MarkRefunded>,
) -> Result<MarkRefundedResponse> {
    let state = order_lifecycle::load(tx, organization, id)?;
    let decimals = decimals_of_stored(&state.currency)?;
    let amount = check_amount(request, decimals)?;
    let MarkRefunded { refund_id, note, how, .. } = &request.body;
    let method = how.and_then(RefundMethod::manual).unwrap_or(ManualMethod::Other);
    let owing = payments::of_order(tx, id)?.into_iter().filter(|payment| payment.owed > 0);
    let of_currency = |payment: &StoredPayment| amount.is_none() || payment.currency == state.currency;
    let mut left = amount;
    let mut settled = Vec::new();
    for payment in owing.filter(of_currency) {
        let (currency, decimals) = (payment.currency.clone(), payment.decimals);
        let mut account = Account::load(tx, payment)?;
        let most = left.unwrap_or(i64::MAX);
        let given = account.give_back(most, *refund_id, method, note.as_deref(), recorded_by)?;
        account.follow()?;
        for (refund_id, minor_units) in given {
            left = left.map(|left| left - minor_units);
            let amount = Amount::in_currency(minor_units, decimals);
            settled.push(SettledRefund { refund_id, amount, currency: currency.clone() });
        }
    }
    let subject = if refund_id.is_some() { "this refund" } else { "this order" };
    if settled.is_empty() {
        let detail = format!("nothing of {subject} is to be given back by hand");
        return Err(Error::conflict(Reason::NoManualRefundDue, detail));
    }
    if let Some((amount, left)) = amount.zip(left.filter(|left| *left > 0)) {
        let owed = Amount::in_currency(amount - left, decimals);
        let detail = format!("only {owed} {} of {subject} is to be given back by hand", state.currency);
        return Err(Error::conflict(Reason::NoManualRefundDue, detail));
    }
    Ok(MarkRefundedResponse { order: orders::get(tx, organization, id)?, settled })
}

/// The payments for an order and its refunds, before the gateway is asked about them.
pub(crate) fn before_asking(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: OrderId,
) -> Result<(Vec<StoredPayment>, Vec<Refund>)> {
    let state = order_status::load(tx, organization, id)?;
    Ok((payments::of_order(tx, state.id)?, refunds::of_order(tx, organization, state.id)?))
}

/// What has gone back for an order since it was read, because the gateway was asked.
pub(crate) fn settled_since(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: OrderId,
    before: &[Refund],
) -> Result<MarkRefundedResponse> {
    let mut settled = Vec::new();
    for refund in refunds::of_order(tx, organization, id)? {
        let earlier = before.iter().find(|earlier| earlier.id == refund.id);
        let amount = earlier.map_or(Some(refund.returned), |earlier| refund.returned.checked_sub(earlier.returned));
        if let Some(amount) = amount.filter(|amount| *amount > Amount::ZERO) {
            settled.push(SettledRefund { refund_id: refund.id, amount, currency: refund.currency });
        }
    }
    Ok(MarkRefundedResponse { order: orders::get(tx, organization, id)?, settled })
}

fn check_amount(request: &Request<MarkRefunded>, decimals: Decimals) -> Result<Option<i64>> {
    let mut errors: FieldErrors = request.errors.clone();
    if let Some(amount) = request.body.amount.filter(|_| errors.is_empty()) {
        check_total(&mut errors, "amount", amount, decimals);
    }
    errors.into_result()?;
    Ok(request.body.amount.and_then(|amount| amount.minor_with(decimals.get())))
}
