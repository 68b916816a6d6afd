//! The data of the notifications that webhooks and functions of the program get. No code, name or e-mail address is in
//! it, and no text of an error: a receiver reads what it needs.

use crate::enums::text_enum::text_enum;
use crate::model::payments::dispute::DisputeStatus;
use crate::model::payments::refund::RefundSource;
use crate::model::values::amount::Amount;
use crate::model::values::amounts::amounts;
use crate::model::values::id::{CustomerId, DisputeId, EventId, OrderId, PaymentId, RefundId, TicketId, TicketTypeId};
use crate::model::values::timestamp::Timestamp;

/// An order that was completed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OrderCompleted {
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// Who ordered.
    pub customer_id: CustomerId,
    /// What it cost.
    pub total: Amount,
    /// The currency of the total: an ISO 4217 code.
    pub currency: String,
}

amounts! { OrderCompleted { total } in currency }

/// An order that was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OrderCancelled {
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// Who ordered.
    pub customer_id: CustomerId,
    /// Whether somebody has to return money manually.
    pub requires_manual_refund: bool,
}

/// A ticket that was issued.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TicketIssued {
    /// The ticket.
    pub issued_ticket_id: TicketId,
    /// Its type.
    #[serde(rename = "ticketId")]
    pub ticket_type_id: TicketTypeId,
    /// Its event.
    pub event_id: EventId,
    /// Its order. Not set if the organization issued the ticket without one.
    pub order_id: Option<OrderId>,
}

/// A ticket that was checked in.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TicketCheckedIn {
    /// The ticket.
    pub issued_ticket_id: TicketId,
    /// Its type.
    #[serde(rename = "ticketId")]
    pub ticket_type_id: TicketTypeId,
    /// Its event.
    pub event_id: EventId,
    /// Its order. Not set if the organization issued the ticket without one.
    pub order_id: Option<OrderId>,
    /// When it was checked in.
    pub check_in_date: Timestamp,
}

/// A refund that was made.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RefundSucceeded {
    /// The refund.
    pub refund_id: RefundId,
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// The payment. Not set if it has no id.
    pub payment_id: Option<PaymentId>,
    /// What was given back.
    pub amount: Amount,
    /// The currency of the amount: an ISO 4217 code.
    pub currency: String,
    /// What the refund returns.
    pub source: RefundSource,
}

amounts! { RefundSucceeded { amount } in currency }

/// A refund that was not made, or that has failed after it was made.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RefundFailed {
    /// The refund.
    pub refund_id: RefundId,
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// The payment. Not set if it has no id.
    pub payment_id: Option<PaymentId>,
    /// What was not given back.
    pub amount: Amount,
    /// The currency of the amount: an ISO 4217 code.
    pub currency: String,
    /// What the refund was to return.
    pub source: RefundSource,
    /// Whether the organizer has to return the money manually. False if it was returned in another way, or if a bank has
    /// taken it.
    pub requires_manual_refund: bool,
}

amounts! { RefundFailed { amount } in currency }

/// A dispute of a payment, which was opened or decided.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DisputeNotification {
    /// The dispute.
    pub dispute_id: DisputeId,
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// The disputed amount.
    pub amount: Amount,
    /// The currency of the amount: an ISO 4217 code.
    pub currency: String,
    /// The gateway's word for the reason.
    pub reason: String,
    /// The state.
    pub status: DisputeStatus,
}

amounts! { DisputeNotification { amount } in currency }

text_enum! {
    /// Why a payment goes back to the customer.
    pub enum PaymentReturnReason {
        /// It came too late: the order had expired and could not be completed any more, the order was cancelled, or its
        /// event has ended.
        Late = "LATE",
        /// The order was paid already.
        Second = "SECOND",
        /// It has another amount or another currency than the order costs.
        OtherAmount = "OTHER_AMOUNT",
    }
}

/// A payment that completes no order, and goes back to the customer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PaymentReturned {
    /// The payment. Not set if it has no id.
    pub payment_id: Option<PaymentId>,
    /// The order for which it was made.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// What was paid.
    pub amount: Amount,
    /// The currency of the amount: an ISO 4217 code.
    pub currency: String,
    /// Why it goes back.
    pub reason: PaymentReturnReason,
}

amounts! { PaymentReturned { amount } in currency }
