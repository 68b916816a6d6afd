//! Operations on refunds.

use serde::Serialize;

use super::super::operation::Operation;
use crate::model::amount::Amount;
use crate::model::id::OrderId;
use crate::model::page::Page;
use crate::model::refund::{ListRefunds, Refund, RefundStatus};
use crate::model::timestamp::Timestamp;
use crate::scope::Scope::OrdersRead;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list("list_refunds", "/refunds", OrdersRead, |call, request: ListRefunds| {
            let Page { data, next_cursor } = call.service.list_refunds(call.caller, request)?;
            Ok(Page { data: data.into_iter().map(RefundResource::from).collect(), next_cursor })
        })
        .docs(
            "List refunds",
            "Refunds through the payment gateway, those of the newest orders first. A REFUSED one has to be made by hand. \
             Orders that the gateway cannot refund at all have none: see `manualRefundTotal` of the event's summary.",
        ),
    ]
}

/// A refund of the full payment of an order through the payment gateway. An order has at most one.
// The last error of the gateway is left out, because it may reveal internal addresses.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Refund")]
struct RefundResource {
    /// The order.
    order_id: OrderId,
    /// The amount, in the currency of the order.
    amount: Amount,
    /// An ISO 4217 code.
    currency: String,
    /// The state.
    status: RefundStatus,
    /// How many requests were made to the gateway.
    attempts: i64,
    /// When the refund was decided.
    created_at: Timestamp,
    /// When the refund last changed.
    updated_at: Timestamp,
}

impl From<Refund> for RefundResource {
    fn from(refund: Refund) -> Self {
        let Refund { order_id, amount, currency, status, attempts, created_at, updated_at, last_error: _ } = refund;
        Self { order_id, amount, currency, status, attempts, created_at, updated_at }
    }
}
