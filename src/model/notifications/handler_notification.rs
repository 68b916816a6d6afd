//! The data of the notifications that only functions of the program get.

use crate::model::values::amount::Amount;
use crate::model::values::amounts::{amounts, names_currency};
use crate::model::values::id::{CustomerId, EventId, OrderId, RefundId, TicketId, TicketTypeId};

/// An order that was created.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct OrderCreated {
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// The customer.
    pub customer_id: CustomerId,
    /// Its total.
    pub total: Amount,
    /// The currency of the total: an ISO 4217 code.
    pub currency: String,
}

amounts! { OrderCreated { total } }

/// An order that was marked as expired.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct OrderExpired {
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// The customer.
    pub customer_id: CustomerId,
}

/// A refund of a payment for an order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct RefundNotification {
    /// The refund. Not set in a notification that was queued before refunds had ids.
    pub refund_id: Option<RefundId>,
    /// The order.
    pub order_id: OrderId,
    /// The amount.
    pub amount: Amount,
    /// The currency of the amount: an ISO 4217 code.
    pub currency: String,
}

amounts! { RefundNotification { amount } }
names_currency!(OrderCreated, RefundNotification);

/// A ticket that was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct TicketCancelled {
    /// The ticket.
    pub issued_ticket_id: TicketId,
    /// Its type.
    pub ticket_type_id: TicketTypeId,
    /// Its event.
    pub event_id: EventId,
    /// Its order. Not set if the organization issued the ticket without one.
    pub order_id: Option<OrderId>,
}
