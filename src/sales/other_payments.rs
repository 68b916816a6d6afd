//! Payments that the gateway reports for an order, but that are not the payment of the order: another amount or currency
//! than the order costs, or a second payment. They complete nothing and are refunded.

use super::{money_notifications, order_refunds};
use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::checkout::{CheckoutStatus, GatewayPayment};
use crate::model::currency::Decimals;
use crate::model::order::PaymentStatus;
use crate::model::refund::RefundSource;
use crate::store::order_status::OrderState;
use crate::store::refunds::{DueRefund, NewRefund};
use crate::store::{Transaction, checkout_attempts, refunds, refused_refunds};

/// Why a payment is not refunded without such a gateway.
pub(super) const NO_REFUNDS: &str = "there is no payment gateway that can refund";

/// Why a payment is not refunded that has an amount or a currency that does not exist.
const NOT_STORED: &str =
    "the payment is of a currency that does not exist, or of an amount that its currency does not have";

/// The result of recording a completed payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordedPayment {
    /// The refund to ask the gateway for now, because the payment came too late for its order.
    pub(crate) refund_due: Option<DueRefund>,
    /// Why the payment, which came too late for its order, will not be refunded.
    pub(crate) refund_refused: Option<&'static str>,
    /// Whether another amount was paid, or in another currency, than the order costs.
    pub(crate) mismatch: bool,
}

impl RecordedPayment {
    /// There is nothing to refund.
    pub(super) const KEPT: Self = Self { refund_due: None, refund_refused: None, mismatch: false };
}

/// Records the refund of a payment that is not the payment of the order, once. Returns `None` if it is the payment of the
/// order. `is_newest` is whether it was paid under the newest checkout of the order.
pub(super) fn refund(
    tx: &Transaction<'_>,
    state: &OrderState,
    payment: &GatewayPayment,
    is_newest: bool,
    can_refund: bool,
) -> Result<Option<RecordedPayment>> {
    let is_paid = matches!(state.payment, Some(PaymentStatus::Completed | PaymentStatus::Refunded));
    let mismatch = !is_for(payment, state);
    let is_of_order = match state.checkout_payment.as_deref() {
        Some(known) => known == payment.payment_reference,
        // The program has reported a payment without its id. This is the same one, if it can be.
        None => !mismatch,
    };
    if is_paid && is_of_order {
        return Ok(None);
    }
    let has_gone_back = has_gone_back(tx, state, payment)?;
    if !mismatch && !is_paid && !has_gone_back {
        return Ok(None);
    }
    if is_newest && state.checkout.is_some_and(|status| status != CheckoutStatus::Closed) {
        // Its customer has paid: the gateway has nothing more to say about it.
        checkout_attempts::close(tx, state.id, None)?;
    }
    let is_known = refunds::exists_for_other_payment(tx, state.id, &payment.payment_reference)?;
    if is_known || has_gone_back {
        return Ok(Some(RecordedPayment::KEPT));
    }
    if payment.amount <= Amount::ZERO {
        return Ok(Some(RecordedPayment { mismatch, ..RecordedPayment::KEPT }));
    }
    let stored = StoredAmount::of(payment);
    let refund = NewRefund {
        currency: &stored.currency,
        payment_reference: Some(&payment.payment_reference),
        ..order_refunds::refund_of(state, RefundSource::OtherPayment, stored.minor_units)
    };
    money_notifications::payment_returned(tx, state, &refund, mismatch)?;
    if !stored.is_exact {
        let problem = format!("{} was paid, which this service cannot refund", stored.text);
        order_refunds::record_refused(tx, &refund, &problem)?;
        return Ok(Some(RecordedPayment { refund_refused: Some(NOT_STORED), mismatch, ..RecordedPayment::KEPT }));
    }
    if can_refund {
        let due = order_refunds::record_due(tx, &refund)?;
        return Ok(Some(RecordedPayment { refund_due: Some(due), mismatch, ..RecordedPayment::KEPT }));
    }
    order_refunds::record_refused(tx, &refund, NO_REFUNDS)?;
    Ok(Some(RecordedPayment { refund_refused: Some(NO_REFUNDS), mismatch, ..RecordedPayment::KEPT }))
}

/// Whether the whole payment went back before it was recorded: somebody refunded it in the account at the gateway.
fn has_gone_back(tx: &Transaction<'_>, state: &OrderState, payment: &GatewayPayment) -> Result<bool> {
    let decimals = Decimals::of_currency(&payment.currency);
    let minor_units = decimals.and_then(|decimals| payment.amount.minor_with(decimals.get()));
    let done = refused_refunds::done(tx, state.id, Some(&payment.payment_reference))?;
    Ok(minor_units.is_some_and(|amount| amount > 0 && done >= amount))
}

/// The amount and the currency with which a refund of a payment is stored.
struct StoredAmount {
    minor_units: i64,
    currency: String,
    /// Whether the currency exists, and can express the amount. If not, the minor units are rounded up, and a currency
    /// that does not exist is stored as XXX, the code of ISO 4217 for no currency.
    is_exact: bool,
    /// What was paid, for people.
    text: String,
}

impl StoredAmount {
    fn of(payment: &GatewayPayment) -> Self {
        let decimals = Decimals::of_currency(&payment.currency);
        let currency = if decimals.is_some() { &payment.currency } else { "XXX" };
        let exact = decimals.and_then(|decimals| payment.amount.minor_with(decimals.get()));
        let digits = payment.amount.decimals().saturating_sub(decimals.map_or(0, Decimals::get));
        let factor = 10_i64.saturating_pow(u32::from(digits));
        let amount = payment.amount.minor_units();
        let rounded_up = amount / factor + i64::from(amount % factor > 0);
        let is_code = payment.currency.len() <= 10 && payment.currency.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let unit = if is_code { payment.currency.as_str() } else { "of an unknown currency" };
        Self {
            minor_units: exact.unwrap_or(rounded_up),
            currency: currency.to_owned(),
            is_exact: exact.is_some(),
            text: format!("{} {unit}", payment.amount),
        }
    }
}

/// Whether a payment has the amount and the currency of the order.
fn is_for(payment: &GatewayPayment, state: &OrderState) -> bool {
    let decimals = Decimals::of_currency(&state.currency);
    let minor_units = decimals.and_then(|decimals| payment.amount.minor_with(decimals.get()));
    payment.currency == state.currency && minor_units == Some(state.total)
}
