//! Payments that the gateway reports for an order, but that are not the payment of the order: another amount or currency
//! than the order costs, or a second payment. They complete nothing and are refunded.

use super::order_refunds;
use crate::error::Result;
use crate::model::checkout::GatewayPayment;
use crate::model::currency::Decimals;
use crate::model::order::PaymentStatus;
use crate::model::refund::RefundSource;
use crate::store::order_status::OrderState;
use crate::store::refunds::{DueRefund, NewRefund};
use crate::store::{Transaction, checkout_attempts, refunds};

/// Why a payment is not refunded without such a gateway.
pub(super) const NO_REFUNDS: &str = "there is no payment gateway that can refund";

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
/// order.
pub(super) fn refund(
    tx: &Transaction<'_>,
    state: &OrderState,
    payment: &GatewayPayment,
    can_refund: bool,
) -> Result<Option<RecordedPayment>> {
    let is_paid = matches!(state.payment, Some(PaymentStatus::Completed | PaymentStatus::Refunded));
    let known = state.checkout_payment.as_deref();
    if is_paid && known.is_none_or(|known| known == payment.payment_reference) {
        return Ok(None);
    }
    let mismatch = !is_for(payment, state);
    if !mismatch && !is_paid {
        return Ok(None);
    }
    if state.checkout.is_some() && !is_paid {
        // Its customer has paid: the gateway has nothing more to say about it.
        checkout_attempts::close(tx, state.id, None)?;
    }
    let minor_units =
        Decimals::of_currency(&payment.currency).and_then(|decimals| payment.amount.minor_with(decimals.get()));
    let Some(amount) = minor_units.filter(|amount| *amount > 0) else {
        // No refund can be stored in a currency that does not exist.
        return Ok(Some(RecordedPayment { mismatch, ..RecordedPayment::KEPT }));
    };
    if refunds::exists_for_other_payment(tx, state.id, &payment.payment_reference)? {
        return Ok(Some(RecordedPayment::KEPT));
    }
    let refund = NewRefund {
        currency: &payment.currency,
        payment_reference: Some(&payment.payment_reference),
        ..order_refunds::refund_of(state, RefundSource::OtherPayment, amount)
    };
    if can_refund {
        let due = order_refunds::record_due(tx, &refund)?;
        return Ok(Some(RecordedPayment { refund_due: Some(due), mismatch, ..RecordedPayment::KEPT }));
    }
    order_refunds::record_refused(tx, &refund, NO_REFUNDS)?;
    Ok(Some(RecordedPayment { refund_refused: Some(NO_REFUNDS), mismatch, ..RecordedPayment::KEPT }))
}

/// Whether a payment has the amount and the currency of the order.
fn is_for(payment: &GatewayPayment, state: &OrderState) -> bool {
    let decimals = Decimals::of_currency(&state.currency);
    let minor_units = decimals.and_then(|decimals| payment.amount.minor_with(decimals.get()));
    payment.currency == state.currency && minor_units == Some(state.total)
}
