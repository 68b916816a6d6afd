//! Payments: money that was received for orders.

use super::gateway_account::PaymentMode;
use crate::enums::text_enum::text_enum;
use crate::form::declare::fields::form;
use crate::form::limits::LINE_LENGTH;
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::form::request::Request;
use crate::model::values::amount::Amount;
use crate::model::values::id::{ApiKeyId, EventId, OrderId, PaymentId};
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// How money is taken or returned manually.
    pub enum ManualMethod {
        /// In cash.
        Cash = "CASH",
        /// By a card at a terminal that the service does not control.
        Card = "CARD",
        /// By a bank transfer.
        Transfer = "TRANSFER",
        /// In another way, or in one that was not recorded.
        Other = "OTHER",
    }
}

text_enum! {
    /// What a payment did for its order.
    pub enum PaymentPurpose {
        /// It completed the order.
        Order = "ORDER",
        /// It is the payment of the order, and came too late to complete it.
        Late = "LATE",
        /// It is a second one, or of another amount or currency than the order costs.
        Other = "OTHER",
    }
}

responses! {
    /// Money that was received for an order, through a payment gateway or manually. An order may have several payments.
    /// One that did not complete its order goes back.
    pub struct ReceivedPayment {
        /// The id.
        pub id: PaymentId,
        /// The order.
        pub order_id: OrderId,
        /// The event of the order.
        pub event_id: EventId,
        /// What the payment did for the order.
        pub purpose: PaymentPurpose,
        /// The amount.
        pub amount: Amount,
        /// The currency: an ISO 4217 code.
        pub currency: String,
        /// How it was taken manually. Not set for a payment through a gateway.
        pub manual_method: Option<ManualMethod>,
        /// The name of the payment gateway. Not set if it was taken manually, or if the gateway is not known.
        pub gateway: Option<String>,
        /// The provider's id of the account that has the payment. Not set if it is the gateway's own account, or not
        /// known.
        pub account: Option<String>,
        /// Whether it is real money. Money taken manually is LIVE.
        pub mode: PaymentMode,
        /// The gateway's id of the payment. Not set if the payment was reported without it.
        pub reference: Option<String>,
        /// The gateway's id of the checkout, if it is known.
        pub checkout_reference: Option<String>,
        /// The note with which it was recorded.
        pub note: Option<String>,
        /// What went back of it: refunds that have not failed, and money returned manually.
        pub returned: Amount,
        /// What banks have taken for disputes and have not given back.
        pub taken: Amount,
        /// What was decided to go back.
        pub promised: Amount,
        /// What has to be returned manually.
        pub owed: Amount,
        /// The API key that recorded it manually.
        pub recorded_by: Option<ApiKeyId>,
        /// The name of the caller that recorded it, such as a till of a program. Calls over HTTP have none.
        pub recorded_by_name: Option<String>,
        /// Whether an earlier version recorded the order, so that this was derived from it.
        pub backfilled: bool,
        /// When it was recorded.
        pub created_at: Timestamp,
    }
}

/// # Constructors
impl MarkPaid {
    /// Creates a request for money that was taken in this way.
    #[must_use]
    pub fn new(how: ManualMethod) -> Self {
        Self { how: Some(how), note: None }
    }
}

form! {
    /// A payment that was taken manually, for an order that is then marked as paid, or for a new order.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct MarkPaid {
        /// How the money was taken. By default OTHER, and for a new order CASH.
        pub how: Option<ManualMethod> [nullable],
        /// A note for the ledger: 1 to 255 characters.
        pub note: Option<String> [nullable, MinLength(1), MaxLength(LINE_LENGTH)],
    }
}

impl From<ManualMethod> for MarkPaid {
    fn from(how: ManualMethod) -> Self {
        Self::new(how)
    }
}

impl From<ManualMethod> for Request<MarkPaid> {
    fn from(how: ManualMethod) -> Self {
        MarkPaid::new(how).into()
    }
}

list_request! {
    /// A request to list payments.
    pub struct ListPayments {
        /// Only payments for orders of this event.
        pub event_id: Option<EventId>,
        /// Only payments for this order.
        pub order_id: Option<OrderId>,
        /// Only payments that did this for their order.
        pub purpose: Option<PaymentPurpose>,
        /// Only real money, or only that of tests.
        pub mode: Option<PaymentMode>,
        /// Only payments recorded at this time or later.
        pub from: Option<Timestamp>,
        /// Only payments recorded before this time.
        pub before: Option<Timestamp>,
        /// The part of the list to return.
        pub page: PageRequest<PaymentId>,
    }
}
