//! The notifications about money: refunds, disputes, and payments that go back. No text of an error is in them.

use crate::error::Result;
use crate::model::notifications::handler_notification::RefundNotification;
use crate::model::notifications::notification_data::{
    DisputeNotification, PaymentReturnReason, PaymentReturned, RefundFailed, RefundSucceeded,
};
use crate::model::notifications::notification_types::{NotificationData, NotificationDetails};
use crate::model::payments::dispute::{Dispute, DisputeStatus};
use crate::model::sale::order::{OrderStatus, PaymentStatus};
use crate::store::Transaction;
use crate::store::money::payments::StoredPayment;
use crate::store::money::refunds::StoredRefund;
use crate::store::order::order_status::OrderState;
use crate::store::webhooks::{handlers, outbox};

pub(in crate::sales) fn refund_due(tx: &Transaction<'_>, payment: &StoredPayment, refund: &StoredRefund) -> Result<()> {
    handlers::enqueue(tx, payment.organization, [NotificationDetails::RefundDue(for_program(payment, refund))])
}

/// Reports that the money of a refund went back.
pub(in crate::sales) fn refund_succeeded(
    tx: &Transaction<'_>,
    payment: &StoredPayment,
    refund: &StoredRefund,
) -> Result<()> {
    outbox::enqueue(tx, payment.organization, [NotificationData::RefundSucceeded(succeeded(payment, refund))])
}

/// Reports that a refund was not made, or has failed after it was made.
pub(in crate::sales) fn refund_failed(
    tx: &Transaction<'_>,
    payment: &StoredPayment,
    refund: &StoredRefund,
) -> Result<()> {
    let data = RefundFailed::with_fields_of(succeeded(payment, refund), refund.owed > 0);
    outbox::enqueue(tx, payment.organization, [NotificationData::RefundFailed(data)])?;
    if refund.owed == 0 {
        return Ok(());
    }
    handlers::enqueue(tx, payment.organization, [NotificationDetails::RefundRefused(for_program(payment, refund))])
}

fn succeeded(payment: &StoredPayment, refund: &StoredRefund) -> RefundSucceeded {
    RefundSucceeded {
        refund_id: refund.id,
        order_id: payment.order,
        event_id: payment.event,
        payment_id: Some(payment.id),
        amount: payment.amount(refund.amount),
        currency: payment.currency.clone(),
        source: refund.source,
    }
}

fn for_program(payment: &StoredPayment, refund: &StoredRefund) -> RefundNotification {
    RefundNotification {
        refund_id: Some(refund.id),
        order_id: payment.order,
        amount: payment.amount(refund.amount),
        currency: payment.currency.clone(),
    }
}

/// Reports a dispute that was recorded, or whose status has changed: an open one as opened, any other as closed.
pub(in crate::sales) fn dispute_changed(tx: &Transaction<'_>, state: &OrderState, dispute: &Dispute) -> Result<()> {
    let data = DisputeNotification {
        dispute_id: dispute.id,
        order_id: state.id,
        event_id: state.event,
        amount: dispute.amount,
        currency: dispute.currency.clone(),
        reason: dispute.reason.clone(),
        status: dispute.status,
    };
    let data = match dispute.status {
        DisputeStatus::Open => NotificationData::DisputeOpened(data),
        DisputeStatus::Won | DisputeStatus::Lost => NotificationData::DisputeClosed(data),
    };
    outbox::enqueue(tx, state.organization, [data])
}

/// Reports that a payment completes no order and goes back. `state` is that of the order before the payment.
pub(in crate::sales) fn payment_returned(
    tx: &Transaction<'_>,
    state: &OrderState,
    payment: &StoredPayment,
    mismatch: bool,
) -> Result<()> {
    let data = NotificationData::PaymentReturned(PaymentReturned {
        payment_id: Some(payment.id),
        order_id: state.id,
        event_id: state.event,
        amount: payment.amount(payment.sums.received),
        currency: payment.currency.clone(),
        reason: return_reason(state, mismatch),
    });
    outbox::enqueue(tx, state.organization, [data])
}

/// Why a payment goes back that does not complete an order. `state` is that of the order before the payment.
fn return_reason(state: &OrderState, mismatch: bool) -> PaymentReturnReason {
    let is_paid = state.status == OrderStatus::Completed
        || matches!(state.payment, Some(PaymentStatus::Completed | PaymentStatus::Refunded));
    if is_paid {
        PaymentReturnReason::Second
    } else if mismatch {
        PaymentReturnReason::OtherAmount
    } else {
        PaymentReturnReason::Late
    }
}
