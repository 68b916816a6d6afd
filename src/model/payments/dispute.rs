//! Disputes: payments that a customer's bank has taken back, or may take back.

use crate::enums::text_enum::text_enum;
use crate::model::values::amount::Amount;
use crate::model::values::id::{DisputeId, EventId, OrderId, PaymentId};
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// The status of a dispute.
    pub enum DisputeStatus {
        /// The bank has not decided yet.
        Open = "OPEN",
        /// The bank decided for the organizer, who keeps the payment, or the provider prevented the dispute.
        Won = "WON",
        /// The bank decided for the customer, who has the money back, or the provider refunded the payment to prevent
        /// the dispute.
        Lost = "LOST",
    }
}

responses! {
    /// A payment that the customer's bank disputes, as the gateway has reported it. The order and its tickets stay as
    /// they are: cancel the order if they must not be used any more.
    pub struct Dispute {
        /// The id.
        pub id: DisputeId,
        /// The order.
        pub order_id: OrderId,
        /// The gateway's id of the dispute.
        pub reference: String,
        /// The payment. Not set if it is not known.
        pub payment_id: Option<PaymentId> [default],
        /// The disputed amount.
        pub amount: Amount,
        /// What the gateway has taken for it and has not given back.
        pub taken: Amount [default],
        /// The currency of the payment: an ISO 4217 code.
        pub currency: String,
        /// The gateway's word for the reason.
        pub reason: String,
        /// The state.
        pub status: DisputeStatus,
        /// When the gateway first reported the dispute.
        pub created_at: Timestamp,
        /// When the dispute last changed.
        pub updated_at: Timestamp,
    }
}

list_request! {
    /// A request to list disputes.
    pub struct ListDisputes {
        /// Only disputes with this status.
        pub status: Option<DisputeStatus>,
        /// Only disputes of orders for this event.
        pub event_id: Option<EventId>,
        /// Only disputes of this order.
        pub order_id: Option<OrderId>,
        /// The part of the list to return.
        pub page: PageRequest<DisputeId>,
    }
}
