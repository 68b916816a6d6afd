//! Operations on refunds.

use serde::Serialize;

use super::operation::Operation;
use crate::enums::scope::Scope::{OrdersRead, PaymentsWrite};
use crate::error::Reason::{NoManualRefundDue, RefundExceedsPayment, RefundInProgress, RefundSettled, TicketCancelled};
use crate::form::request::Request;
use crate::model::payments::refund::{ListRefunds, MarkRefunded, Refund, RefundOrder, RefundSource, RefundStatus};
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrderId, PaymentId, RefundId};
use crate::model::values::page::Page;
use crate::model::values::timestamp::Timestamp;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list("list_refunds", "/refunds", OrdersRead, |call, request: ListRefunds| {
            let Page { data, next_cursor } = call.service.list_refunds(call.caller, request)?;
            Ok(Page { data: data.into_iter().map(RefundResource::from).collect(), next_cursor })
        })
        .docs(
            "List refunds",
            "Decisions that money goes back, newest first, whether it has gone back or not. An order may have several. \
             What is `owed` of one has to be returned manually.",
        ),
        Operation::action(
            "refund_order",
            "/orders/{orderId}/refunds",
            PaymentsWrite,
            |call, request: Request<RefundOrder>| call.service.refund_order(call.keyed, call.id(), request),
        )
        .calls_gateway()
        .may_require_key()
        .docs(
            "Refund a part of an order",
            "`tickets` cancels these tickets, and gives back their share of what was paid: the final amount of an item, \
             divided by its tickets. The order becomes CANCELLED with its last ticket. `amount` gives back money and \
             cancels nothing; it needs an `Idempotency-Key`, so that a client that repeats its request does not pay \
             twice. A payment that was made through the payment gateway is refunded through it.",
        )
        .conflicts(&[TicketCancelled, RefundExceedsPayment]),
        Operation::action_with_options(
            "mark_order_refunded",
            "/orders/{orderId}/mark-refunded",
            PaymentsWrite,
            |call, request: Request<MarkRefunded>| call.service.mark_order_refunded(call.keyed, call.id(), request),
        )
        .calls_gateway()
        .docs(
            "Mark an order as refunded manually",
            "For money that was to be returned manually: all that is owed for the order, or this amount, or that of this \
             refund. The answer says what was recorded for which refund. `\"how\": \"GATEWAY\"` records nothing, but asks \
             the payment gateway for its refunds at once.",
        )
        .conflicts(&[NoManualRefundDue]),
        Operation::action_on("withdraw_refund", "/refunds/{refundId}/withdraw", PaymentsWrite, |call| {
            let refund = call.service.withdraw_refund(call.keyed, call.id())?;
            Ok(Replayable { value: RefundResource::from(refund.value), replayed: refund.replayed })
        })
        .docs(
            "Withdraw a refund",
            "Takes back what has not gone back of a refund: the money stays with the organizer.",
        )
        .conflicts(&[RefundInProgress, RefundSettled]),
    ]
}

/// A decision that money of a payment goes back: the whole payment or a part of it. An order may have several.
// The error of the gateway is shortened, because its own text may reveal internal addresses.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Refund")]
struct RefundResource {
    /// The id.
    id: RefundId,
    /// The order.
    order_id: OrderId,
    /// The payment.
    payment_id: PaymentId,
    /// The name of the payment gateway that is asked for it. Not set if the payment was made manually, or the gateway is
    /// not known.
    gateway: Option<String>,
    /// What is refunded.
    source: RefundSource,
    /// The amount.
    amount: Amount,
    /// What went back for it.
    returned: Amount,
    /// What of it has to be returned manually.
    owed: Amount,
    /// The currency of the payment: an ISO 4217 code.
    currency: String,
    /// Why the organization refunds it. Not set if it gave no reason.
    reason: Option<String>,
    /// The gateway's id of the newest refund that it made for this one.
    reference: Option<String>,
    /// The state.
    status: RefundStatus,
    /// Whether something has to be returned manually.
    requires_manual_refund: bool,
    /// How many requests were made to the gateway.
    attempts: i64,
    /// Why the money has not gone back yet, without the text of the gateway. Not set if nothing has failed.
    last_error: Option<&'static str>,
    /// When the refund was decided, or when the gateway reported it.
    created_at: Timestamp,
    /// When the refund last changed.
    updated_at: Timestamp,
}

impl From<Refund> for RefundResource {
    fn from(refund: Refund) -> Self {
        Self {
            id: refund.id,
            order_id: refund.order_id,
            payment_id: refund.payment_id,
            last_error: last_error(&refund),
            gateway: refund.gateway,
            returned: refund.returned,
            owed: refund.owed,
            source: refund.source,
            amount: refund.amount,
            currency: refund.currency,
            reason: refund.reason,
            reference: refund.reference,
            status: refund.status,
            requires_manual_refund: refund.requires_manual_refund,
            attempts: refund.attempts,
            created_at: refund.created_at,
            updated_at: refund.updated_at,
        }
    }
}

/// What an API client may know of an error of the gateway.
fn last_error(refund: &Refund) -> Option<&'static str> {
    refund.last_error.as_ref()?;
    Some(match refund.status {
        RefundStatus::Due => "the payment gateway has not made the refund yet; it is asked again",
        _ if refund.owed > Amount::ZERO => "the payment gateway does not make the refund; return the money manually",
        _ => "the payment gateway does not make the refund; its money has gone back in another way",
    })
}
