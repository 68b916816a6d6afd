//! The notifications about money: refunds, disputes, and payments that go back. No text of an error is in them.

use crate::error::Result;
use crate::model::amount::Amount;
use crate::model::dispute::{Dispute, DisputeStatus};
use crate::model::id::{EventId, OrderId, OrganizationId, RefundId};
use crate::model::notification_data::{
    DisputeNotification, PaymentReturnReason, PaymentReturned, RefundFailed, RefundSucceeded,
};
use crate::model::notification_types::NotificationData;
use crate::model::order::{OrderStatus, PaymentStatus};
use crate::model::refund::RefundSource;
use crate::rules::money::decimals_of_stored;
use crate::store::order_status::OrderState;
use crate::store::refunds::{NewRefund, StoredRefund};
use crate::store::{Transaction, outbox};

/// A refund that is reported.
pub(super) struct ReportedRefund {
    pub(super) organization: OrganizationId,
    pub(super) order: OrderId,
    pub(super) event: EventId,
    pub(super) id: RefundId,
    pub(super) amount: Amount,
    pub(super) currency: String,
    pub(super) source: RefundSource,
}

impl ReportedRefund {
    /// A refund that was just recorded.
    pub(super) fn recorded(refund: &NewRefund<'_>, id: RefundId) -> Result<Self> {
        Ok(Self {
            organization: refund.organization,
            order: refund.order,
            event: refund.event,
            id,
            amount: Amount::in_currency(refund.amount, decimals_of_stored(refund.currency)?),
            currency: refund.currency.to_owned(),
            source: refund.source,
        })
    }

    /// A refund of an order that is stored.
    pub(super) fn stored(state: &OrderState, refund: &StoredRefund) -> Self {
        Self {
            organization: state.organization,
            order: state.id,
            event: state.event,
            id: refund.id,
            amount: Amount::in_currency(refund.amount, refund.decimals),
            currency: refund.currency.clone(),
            source: refund.source,
        }
    }
}

/// Reports that a refund was made.
pub(super) fn refund_succeeded(tx: &Transaction<'_>, refund: ReportedRefund) -> Result<()> {
    let data = NotificationData::RefundSucceeded(RefundSucceeded {
        refund_id: refund.id,
        order_id: refund.order,
        event_id: refund.event,
        payment_id: None,
        amount: refund.amount,
        currency: refund.currency,
        source: refund.source,
    });
    outbox::report(tx, refund.organization, [data])
}

/// Reports that a refund was not made, or has failed after it was made.
pub(super) fn refund_failed(tx: &Transaction<'_>, refund: ReportedRefund, requires_manual_refund: bool) -> Result<()> {
    let data = NotificationData::RefundFailed(RefundFailed {
        refund_id: refund.id,
        order_id: refund.order,
        event_id: refund.event,
        payment_id: None,
        amount: refund.amount,
        currency: refund.currency,
        source: refund.source,
        requires_manual_refund,
    });
    outbox::report(tx, refund.organization, [data])
}

/// Reports a dispute that was recorded, or whose status has changed: an open one as opened, any other as closed.
pub(super) fn dispute_changed(tx: &Transaction<'_>, state: &OrderState, dispute: Dispute) -> Result<()> {
    let data = DisputeNotification {
        dispute_id: dispute.id,
        order_id: state.id,
        event_id: state.event,
        amount: dispute.amount,
        currency: dispute.currency,
        reason: dispute.reason,
        status: dispute.status,
    };
    let data = match dispute.status {
        DisputeStatus::Open => NotificationData::DisputeOpened(data),
        DisputeStatus::Won | DisputeStatus::Lost => NotificationData::DisputeClosed(data),
    };
    outbox::report(tx, state.organization, [data])
}

/// Reports that a payment completes no order and goes back. `refund` is the refund of it, and `mismatch` is whether the
/// payment has another amount or currency than the order costs.
pub(super) fn payment_returned(
    tx: &Transaction<'_>,
    state: &OrderState,
    refund: &NewRefund<'_>,
    mismatch: bool,
) -> Result<()> {
    let data = NotificationData::PaymentReturned(PaymentReturned {
        payment_id: None,
        order_id: state.id,
        event_id: state.event,
        amount: Amount::in_currency(refund.amount, decimals_of_stored(refund.currency)?),
        currency: refund.currency.to_owned(),
        reason: return_reason(state, mismatch),
    });
    outbox::report(tx, state.organization, [data])
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
