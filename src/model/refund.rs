//! Refunds: payments returned through the gateway.

use super::amount::Amount;
use super::amounts::amounts;
use super::id::{EventId, OrderId, RefundId, TicketId};
use super::order::Order;
use super::page::PageRequest;
use super::timestamp::Timestamp;
use crate::form::declare::form;
use crate::form::limits::LINE_LENGTH;
use crate::form::limits::ListLimit::{MaxItems, MinItems, Unique};
use crate::form::limits::NumberLimit::Above;
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::form::setters::constructor;
use crate::text_enum::text_enum;

text_enum! {
    /// The status of a refund.
    pub enum RefundStatus {
        /// The gateway has not confirmed it yet. The request is repeated.
        Due = "DUE",
        /// The money was returned.
        Done = "DONE",
        /// The gateway refused it permanently. The organizer has to return the money manually, unless it has gone back in
        /// another way.
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
    /// Whether somebody has to give the money back by hand: the refund is REFUSED, and the money has not gone back in
    /// another way, as far as this service knows. See
    /// [`mark_order_refunded`](crate::TicketingService::mark_order_refunded).
    #[serde(default)]
    pub requires_manual_refund: bool,
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

/// # Constructors
impl RefundOrder {
    /// Creates a refund of tickets: they are cancelled, and their share of what was paid is given back.
    #[must_use]
    pub fn of_tickets(tickets: impl IntoIterator<Item = TicketId>) -> Self {
        Self { tickets: Some(tickets.into_iter().collect()), amount: None, reason: None }
    }

    /// Creates a refund of an amount. No ticket is cancelled. [`refund_order`](crate::TicketingService::refund_order) needs
    /// an [idempotency key](crate::Caller::with_idempotency_key) for it.
    #[must_use]
    pub const fn of_amount(amount: Amount) -> Self {
        Self { tickets: None, amount: Some(amount), reason: None }
    }
}

form! {
    /// A request to give back a part of what was paid for an order: either for some of its tickets, or an amount.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RefundOrder {
        /// The tickets to cancel: 1 to 500. Their share of what was paid is given back.
        pub tickets: Option<TicketIds> [nullable, MinItems(1), MaxItems(REFUNDED_TICKETS), Unique],
        /// The amount to give back, more than 0, in the currency of the order. No ticket is cancelled. It needs an
        /// idempotency key: without one, a client that repeats the request because it got no answer would pay twice.
        pub amount: Option<Amount> [nullable, Above(0)],
        /// Why: 1 to 255 characters. A refund through the gateway is listed with it.
        pub reason: Option<String> [nullable, MinLength(1), MaxLength(LINE_LENGTH)],
    }
}

/// An alias, because the macro of the form reads no nested types.
type TicketIds = Vec<TicketId>;

/// As many tickets as an order may have.
const REFUNDED_TICKETS: usize = 500;

/// The response to a refund of a part of an order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "http", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RefundOrderResponse {
    /// The order, with the tickets that are cancelled now.
    pub order: Order,
    /// What is given back; 0 for tickets that cost nothing.
    pub amount: Amount,
    /// The refund through the gateway, if there is one.
    pub refund_id: Option<RefundId>,
    /// Whether the organizer has to return the money manually.
    pub requires_manual_refund: bool,
}

amounts! { RefundOrderResponse { order, amount } }
