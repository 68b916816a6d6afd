//! Operations on refunds.

use serde::Serialize;

use super::super::operation::Operation;
use crate::error::Reason::{NoManualRefundDue, RefundExceedsPayment, TicketCancelled};
use crate::form::request::Request;
use crate::model::amount::Amount;
use crate::model::id::{OrderId, RefundId};
use crate::model::page::Page;
use crate::model::refund::{ListRefunds, Refund, RefundOrder, RefundSource, RefundStatus};
use crate::model::timestamp::Timestamp;
use crate::scope::Scope::{OrdersRead, PaymentsWrite};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list("list_refunds", "/refunds", OrdersRead, |call, request: ListRefunds| {
            let Page { data, next_cursor } = call.service.list_refunds(call.caller, request)?;
            Ok(Page { data: data.into_iter().map(RefundResource::from).collect(), next_cursor })
        })
        .docs(
            "List refunds",
            "Refunds through the payment gateway, newest first. An order may have several. A REFUSED one has to be made by hand if `requiresManualRefund` is true. \
             Orders that the gateway cannot refund at all have none: see `manualRefundTotal` of the event's summary.",
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
        Operation::action_on("mark_order_refunded", "/orders/{orderId}/mark-refunded", PaymentsWrite, |call| {
            call.service.mark_order_refunded(call.keyed, call.id())
        })
        .docs(
            "Mark an order as refunded by hand",
            "For money that was to be given back by hand. Until then it counts in `manualRefundTotal` of the event's \
             summary.",
        )
        .conflicts(&[NoManualRefundDue]),
    ]
}

/// A refund of a payment through the payment gateway, or of a part of it. An order may have several.
// The last error of the gateway is left out, because it may reveal internal addresses.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Refund")]
struct RefundResource {
    /// The id.
    id: RefundId,
    /// The order.
    order_id: OrderId,
    /// What is refunded.
    source: RefundSource,
    /// The amount.
    amount: Amount,
    /// The currency of the payment: an ISO 4217 code.
    currency: String,
    /// Why the organization refunds it. Not set if it gave no reason.
    reason: Option<String>,
    /// The gateway's id of the refund. Not set until the gateway has reported it.
    reference: Option<String>,
    /// The state.
    status: RefundStatus,
    /// Whether somebody has to give the money back by hand: the refund is REFUSED, and the money has not gone back in
    /// another way.
    requires_manual_refund: bool,
    /// How many requests were made to the gateway.
    attempts: i64,
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
