//! The data of the notifications that webhooks and functions of the program get. No code, name or e-mail address is in
//! it, and no text of an error: a receiver reads what it needs.

use crate::enums::text_enum::text_enum;
use crate::model::payments::dispute::DisputeStatus;
use crate::model::sale::refund::RefundSource;
use crate::model::values::amount::Amount;
use crate::model::values::amounts::names_currency;
use crate::model::values::id::{CustomerId, DisputeId, EventId, OrderId, PaymentId, RefundId, TicketId, TicketTypeId};
use crate::model::values::responses::{responses, with_shared_fields};
use crate::model::values::timestamp::Timestamp;

responses! {
    /// An order that was completed.
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

    /// An order that was cancelled.
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
}

with_shared_fields! {
    shared {
        /// The refund.
        refund_id: RefundId,
        /// The order.
        order_id: OrderId,
        /// Its event.
        event_id: EventId,
        /// The payment. Not set if it has no id.
        payment_id: Option<PaymentId>,
        /// What was given back, or was not.
        amount: Amount,
        /// The currency of the amount: an ISO 4217 code.
        currency: String,
        /// What the refund returns.
        source: RefundSource,
    }

    /// A refund that was made.
    pub struct RefundSucceeded {}
    /// A refund that was not made, or that has failed after it was made.
    pub struct RefundFailed {
        /// Whether the organizer has to return the money manually. False if it was returned in another way, or if a
        /// bank has taken it.
        requires_manual_refund: bool,
    }
}

responses! {
    /// A dispute of a payment, which was opened or decided.
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
}

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

responses! {
    /// A payment that completes no order, and goes back to the customer.
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
}

names_currency!(OrderCompleted, RefundSucceeded, RefundFailed, DisputeNotification, PaymentReturned);
