//! Refunds: payments returned through the gateway.

use super::received_payment::ManualMethod;
use crate::enums::text_enum::text_enum;
use crate::form::declare::fields::form;
use crate::form::declare::setters::constructor;
use crate::form::limits::LINE_LENGTH;
use crate::form::limits::ListLimit::{MaxItems, MinItems, Unique};
use crate::form::limits::NumberLimit::Above;
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::model::sale::order::Order;
use crate::model::values::amount::Amount;
use crate::model::values::amounts::amounts;
use crate::model::values::id::{EventId, OrderId, PaymentId, RefundId, TicketId};
use crate::model::values::page::PageRequest;
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// The status of a refund.
    pub enum RefundStatus {
        /// The money has not gone back yet: the gateway is asked for it, a bank decides about a dispute first, or the
        /// organizer has to give it back by hand ([`owed`](Refund::owed)).
        Due = "DUE",
        /// The money went back.
        Done = "DONE",
        /// The gateway refused it permanently, or a bank has taken the money for a dispute. What is
        /// [`owed`](Refund::owed) has to be given back by hand.
        Refused = "REFUSED",
        /// The organizer cancelled the refund before the money went back.
        Withdrawn = "WITHDRAWN",
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
        /// Somebody refunded more in the account at the gateway than was decided here.
        Outside = "OUTSIDE",
    }
}

/// A decision that money of a payment goes back: the whole payment or a part of it. An order may have several.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Refund {
    /// The id.
    pub id: RefundId,
    /// The order.
    pub order_id: OrderId,
    /// The payment.
    pub payment_id: PaymentId,
    /// The name of the payment gateway that is asked for it. Not set if the payment was made by hand, or the gateway is not
    /// known.
    pub gateway: Option<String>,
    /// What is refunded.
    pub source: RefundSource,
    /// The amount.
    pub amount: Amount,
    /// The currency of the payment: an ISO 4217 code.
    pub currency: String,
    /// Why the organization refunds it. Not set if it gave no reason.
    pub reason: Option<String>,
    /// The gateway's id of the newest refund that it made for this one.
    pub reference: Option<String>,
    /// The state.
    pub status: RefundStatus,
    /// What went back for it.
    pub returned: Amount,
    /// What of it has to be given back by hand. See
    /// [`mark_order_refunded`](crate::TicketingService::mark_order_refunded).
    pub owed: Amount,
    /// Whether something has to be given back by hand.
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

amounts! { Refund { amount, returned, owed } }

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

text_enum! {
    /// How money went back that is recorded by hand.
    pub enum RefundMethod {
        /// It was given back in cash.
        Cash = "CASH",
        /// It was sent by a bank transfer.
        Transfer = "TRANSFER",
        /// It was given back in another way.
        Other = "OTHER",
        /// Somebody refunded it in the account at the payment gateway. Nothing is recorded on this word: the gateway is asked
        /// for its refunds at once.
        Gateway = "GATEWAY",
    }
}

impl RefundMethod {
    /// How it was given back by hand. `None` if it went back at the gateway.
    pub(crate) const fn by_hand(self) -> Option<ManualMethod> {
        match self {
            Self::Cash => Some(ManualMethod::Cash),
            Self::Transfer => Some(ManualMethod::Transfer),
            Self::Other => Some(ManualMethod::Other),
            Self::Gateway => None,
        }
    }
}

/// # Constructors
impl MarkRefunded {
    /// Creates a request for all that is owed for the order.
    #[must_use]
    pub fn all(how: RefundMethod) -> Self {
        Self { how: Some(how), ..Self::default() }
    }
}

form! {
    /// A request to record that money was given back by hand. Without a refund and an amount, it is all that is owed for the
    /// order.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct MarkRefunded {
        /// The refund for which it was given back.
        pub refund_id: Option<RefundId> [nullable],
        /// The amount that was given back, in the currency of the order: more than 0. It pays what is owed the longest first.
        pub amount: Option<Amount> [nullable, Above(0)],
        /// How it was given back; OTHER by default.
        pub how: Option<RefundMethod> [nullable],
        /// A note for the ledger: 1 to 255 characters.
        pub note: Option<String> [nullable, MinLength(1), MaxLength(LINE_LENGTH)],
    }
}

/// The response to money that was marked as given back by hand.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MarkRefundedResponse {
    /// The order.
    pub order: Order,
    /// What was recorded as given back, for which refund.
    pub settled: Vec<SettledRefund>,
}

amounts! { MarkRefundedResponse { order, settled } }

/// What was given back by hand for a refund.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SettledRefund {
    /// The refund.
    pub refund_id: RefundId,
    /// The amount.
    pub amount: Amount,
    /// The currency: an ISO 4217 code.
    pub currency: String,
}

amounts! { SettledRefund { amount } }

/// The response to a refund of a part of an order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RefundOrderResponse {
    /// The order, with the tickets that are cancelled now.
    pub order: Order,
    /// What is given back; 0 for tickets that cost nothing.
    pub amount: Amount,
    /// The refund. Not set for tickets that cost nothing.
    pub refund_id: Option<RefundId>,
    /// Whether the organizer has to return the money manually.
    pub requires_manual_refund: bool,
}

amounts! { RefundOrderResponse { order, amount } }
