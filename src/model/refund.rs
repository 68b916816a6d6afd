//! Refunds: payments returned through the gateway.

use super::amount::Amount;
use super::id::{EventId, OrderId};
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

/// A refund of the full payment of an order. An order has at most one.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Refund {
    /// The order.
    pub order_id: OrderId,
    /// The amount, in the currency of the order.
    pub amount: Amount,
    /// An ISO 4217 code.
    pub currency: String,
    /// The state.
    pub status: RefundStatus,
    /// How many requests were made to the gateway.
    pub attempts: i64,
    /// The last error of the gateway, if the refund has not succeeded. It is the gateway's own text, which may reveal
    /// internal addresses: do not show it to customers. The server leaves it out.
    pub last_error: Option<String>,
    /// When the refund was decided.
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
        /// The part of the list to return. Refunds are listed by order.
        pub page: PageRequest<OrderId>,
    }
}
