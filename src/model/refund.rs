//! Refunds: payments returned through the gateway.

use super::amount::Amount;
use super::id::{EventId, OrderId, RefundId};
use super::page::PageRequest;
use super::timestamp::Timestamp;
use crate::form::declare::form;
use crate::form::setters::constructor;
use crate::text_enum::text_enum;

text_enum! {
    /// The status of a refund.
    pub enum RefundStatus {
        /// The gateway has not confirmed it yet. The request is repeated.
        Due = "DUE",
        /// The money was returned.
        Done = "DONE",
        /// The gateway refused it permanently: the organizer has to return the money manually.
        Refused = "REFUSED",
    }
}

text_enum! {
    /// What a refund returns.
    pub enum RefundSource {
        /// What the order was paid with, or a part of it: the order or some of its tickets were cancelled, or an amount
        /// was refunded.
        Order = "ORDER",
        /// The payment of an order that could not be completed with it: the payment came too late, or the order was
        /// paid in another way.
        LatePayment = "LATE_PAYMENT",
        /// A payment that is not what the order costs, such as one of another amount or in another currency.
        OtherPayment = "OTHER_PAYMENT",
        /// A refund that was not requested by this service: somebody made it in the account at the gateway.
        Outside = "OUTSIDE",
    }
}

/// A refund of a payment, or of a part of it. An order may have several.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Refund {
    /// The id.
    pub id: RefundId,
    /// The order.
    pub order_id: OrderId,
    /// What is refunded.
    pub source: RefundSource,
    /// The amount.
    pub amount: Amount,
    /// The currency of the payment: an ISO 4217 code.
    pub currency: String,
    /// Why the organization refunds it. Not set if it gave no reason.
    pub reason: Option<String>,
    /// The gateway's id of the refund. Not set until the gateway has reported it.
    pub reference: Option<String>,
    /// The state.
    pub status: RefundStatus,
    /// How many requests were made to the gateway.
    pub attempts: i64,
    /// The last error of the gateway, if the refund has not succeeded. It is the gateway's own text, which may reveal
    /// internal addresses: do not show it to customers. The server leaves it out.
    pub last_error: Option<String>,
    /// When the refund was decided, or when the gateway reported it.
    pub created_at: Timestamp,
    /// When the refund last changed.
    pub updated_at: Timestamp,
}

constructor! { ListRefunds "Creates a request for the first page of the whole list. Its setters add filters." }

form! {
    /// A request to list refunds.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct ListRefunds {
        /// Only refunds with this status.
        pub status: Option<RefundStatus>,
        /// Only refunds of orders for this event.
        pub event_id: Option<EventId>,
        /// Only refunds of this order.
        pub order_id: Option<OrderId>,
        /// The part of the list to return.
        pub page: PageRequest<RefundId>,
    }
}
