//! Operations on refunds.

use super::operation::{Operation, Route, operation};
use crate::enums::scope::Scope::{OrdersRead, PaymentsWrite};
use crate::error::Reason::{NoManualRefundDue, RefundExceedsPayment, RefundInProgress, RefundSettled, TicketCancelled};
use crate::model::sale::refund::{ListRefunds, MarkRefunded, Refund, RefundOrder, RefundStatus};
use crate::model::values::amount::Amount;
use crate::model::values::page::Page;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list(Route::new("list_refunds", "/refunds", OrdersRead), |call, request: ListRefunds| {
            let Page { data, next_cursor } = call.service.list_refunds(call.caller, request)?;
            Ok(Page { data: data.into_iter().map(without_text_of_gateway).collect(), next_cursor })
        })
        .docs(
            "List refunds",
            "Decisions that money goes back, newest first, whether it has gone back or not. An order may have \
             several. What is `owed` of one has to be returned manually.",
        ),
        operation!(action, refund_order::<RefundOrder>(keyed, id), "/orders/{orderId}/refunds", PaymentsWrite)
            .calls_gateway()
            .may_require_key()
            .docs(
                "Refund a part of an order",
                "`tickets` cancels these tickets, and gives back their share of what was paid: the final amount of an \
                 item, divided by its tickets. The order becomes CANCELLED with its last ticket. `amount` gives back \
                 money and cancels nothing; it needs an `Idempotency-Key`, so that a client that repeats its request \
                 does not pay twice. A payment that was made through the payment gateway is refunded through it.",
            )
            .conflicts(&[TicketCancelled, RefundExceedsPayment]),
        operation!(
            action_with_options,
            mark_order_refunded::<MarkRefunded>(keyed, id),
            "/orders/{orderId}/mark-refunded",
            PaymentsWrite
        )
        .calls_gateway()
        .docs(
            "Mark an order as refunded manually",
            "For money that was to be returned manually: all that is owed for the order, or this amount, or that \
             of this refund. The answer says what was recorded for which refund. `\"how\": \"GATEWAY\"` records \
             nothing, but asks the payment gateway for its refunds at once.",
        )
        .conflicts(&[NoManualRefundDue]),
        Operation::action_on(Route::new("withdraw_refund", "/refunds/{refundId}/withdraw", PaymentsWrite), |call| {
            call.service.withdraw_refund(call.keyed, call.id()).map(|refund| refund.map(without_text_of_gateway))
        })
        .calls_gateway()
        .docs(
            "Withdraw a refund",
            "Takes back what has not gone back of a refund: the money stays with the organizer. If the payment gateway \
             was asked for the refund before, it is asked first whether it has made it. The answer may have been lost.",
        )
        .conflicts(&[RefundInProgress, RefundSettled]),
    ]
}

/// A refund without the gateway's own text of its error, which may reveal internal addresses.
fn without_text_of_gateway(refund: Refund) -> Refund {
    let last_error = refund.last_error.as_ref().map(|_| match refund.status {
        RefundStatus::Due => "the payment gateway has not made the refund yet; it is asked again",
        _ if refund.owed > Amount::ZERO => "the payment gateway does not make the refund; return the money manually",
        _ => "the payment gateway does not make the refund; its money has gone back in another way",
    });
    Refund { last_error: last_error.map(str::to_owned), ..refund }
}
