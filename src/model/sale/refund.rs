//! Refunds of payments, through the gateway or manually.

use super::order::Order;
use super::received_payment::ManualMethod;
use crate::enums::text_enum::text_enum;
use crate::form::declare::fields::form;
use crate::form::limits::LINE_LENGTH;
use crate::form::limits::ListLimit::{MaxItems, MinItems, Unique};
use crate::form::limits::NumberLimit::Above;
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::model::values::amount::Amount;
use crate::model::values::id::{EventId, OrderId, PaymentId, RefundId, TicketId};
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// The status of a refund.
    pub enum RefundStatus {
        /// The money has not been returned yet: the service asks the gateway for the refund, waits until a bank has
        /// decided about a dispute, or the organizer has to return the money manually ([`owed`](Refund::owed)).
        Due = "DUE",
        /// The money was returned.
        Done = "DONE",
        /// The gateway refused the refund permanently, or a bank has taken the money for a dispute. The organizer has
        /// to return what is [`owed`](Refund::owed) manually.
        Refused = "REFUSED",
        /// The organizer cancelled the refund before the money was returned.
        Withdrawn = "WITHDRAWN",
    }
}

text_enum! {
    /// Which payment a refund returns, and why.
    pub enum RefundSource {
        /// The payment with which the order was paid, or a part of it: the order or some of its tickets were cancelled,
        /// or an amount was refunded.
        Order = "ORDER",
        /// A payment that could not complete its order: it came too late, or the order had been paid in another way.
        LatePayment = "LATE_PAYMENT",
        /// A payment that does not match its order, such as one of another amount or in another currency.
        OtherPayment = "OTHER_PAYMENT",
        /// A refund that somebody made in the account at the gateway, beyond the refunds that were decided here.
        Outside = "OUTSIDE",
    }
}

responses! {
    /// A decision to return a payment to the customer, completely or in part. An order may have several refunds.
    pub struct Refund {
        /// The id.
        pub id: RefundId,
        /// The order.
        pub order_id: OrderId,
        /// The payment.
        pub payment_id: PaymentId,
        /// The name of the payment gateway that the service asks for the refund. Not set if the payment was recorded
        /// manually, or its gateway is not known.
        pub gateway: Option<String>,
        /// Which payment is refunded, and why.
        pub source: RefundSource,
        /// The amount.
        pub amount: Amount,
        /// How much of the amount was returned.
        pub returned: Amount,
        /// How much of the amount the organizer still has to return manually. See
        /// [`mark_order_refunded`](crate::TicketingService::mark_order_refunded).
        #[cfg_attr(feature = "server", schemars(description = "What of it has to be returned manually."))]
        pub owed: Amount,
        /// The currency of the payment: an ISO 4217 code.
        pub currency: String,
        /// The organization's reason. Not set if it gave none.
        pub reason: Option<String>,
        /// The gateway's own id of the refund: of the newest one, if the gateway has made several for this refund.
        pub reference: Option<String>,
        /// The state.
        pub status: RefundStatus,
        /// Whether the organizer has to return money manually: `owed` is more than 0.
        pub requires_manual_refund: bool [default],
        /// How many times the service has asked the gateway for the refund.
        pub attempts: i64,
        /// The last error of the gateway, if the refund has not succeeded. It is the gateway's own text, which may
        /// reveal internal addresses: do not show it to customers. The server leaves it out.
        #[cfg_attr(
            feature = "server",
            schemars(
                description = "Why the money has not gone back yet, without the text of the gateway. Not set if nothing has failed."
            )
        )]
        pub last_error: Option<String>,
        /// When the refund was decided, or when the gateway reported it.
        pub created_at: Timestamp,
        /// When the refund last changed.
        pub updated_at: Timestamp,
    }
}

#[cfg(any(feature = "server", feature = "mail"))]
impl Refund {
    /// What the customer will still get, from the gateway or manually.
    pub(crate) fn to_return(&self) -> Amount {
        match self.status {
            RefundStatus::Due => self.amount.checked_sub(self.returned).unwrap_or(Amount::ZERO),
            RefundStatus::Refused => self.owed,
            RefundStatus::Done | RefundStatus::Withdrawn => Amount::ZERO,
        }
    }
}

list_request! {
    /// A request to list refunds.
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
    /// Creates a request to cancel tickets and to refund their share of what was paid.
    #[must_use]
    pub fn of_tickets(tickets: impl IntoIterator<Item = TicketId>) -> Self {
        Self { tickets: Some(tickets.into_iter().collect()), amount: None, reason: None }
    }

    /// Creates a request to refund an amount without cancelling tickets.
    /// [`refund_order`](crate::TicketingService::refund_order) requires an
    /// [idempotency key](crate::Caller::with_idempotency_key) for it.
    #[must_use]
    pub const fn of_amount(amount: Amount) -> Self {
        Self { tickets: None, amount: Some(amount), reason: None }
    }
}

form! {
    /// A request to refund a part of what was paid for an order: either some of its tickets, or an amount.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RefundOrder {
        /// The tickets to cancel: 1 to 500. Their share of what was paid is refunded.
        pub tickets: Option<TicketIds> [nullable, MinItems(1), MaxItems(MAX_REFUNDED_TICKETS), Unique],
        /// The amount to refund, more than 0, in the currency of the order. No ticket is cancelled. Requires an
        /// idempotency key: otherwise a client that repeats the request after a lost response would refund it twice.
        pub amount: Option<Amount> [nullable, Above(0)],
        /// The reason: 1 to 255 characters. It is shown with the refund.
        pub reason: Option<String> [nullable, MinLength(1), MaxLength(LINE_LENGTH)],
    }
}

/// An alias, because the macro `form!` does not accept nested generic types.
type TicketIds = Vec<TicketId>;

/// The greatest number of tickets of an order.
const MAX_REFUNDED_TICKETS: usize = 500;

text_enum! {
    /// How the organizer returned money to the customer.
    pub enum RefundMethod {
        /// In cash.
        Cash = "CASH",
        /// To a card, at a terminal that the service does not control.
        Card = "CARD",
        /// By bank transfer.
        Transfer = "TRANSFER",
        /// In another way.
        Other = "OTHER",
        /// By a refund that somebody made in the account at the payment gateway. The service does not rely on this
        /// statement: it asks the gateway for its refunds at once, and records those.
        Gateway = "GATEWAY",
    }
}

impl RefundMethod {
    /// The method of a manual refund. `None` if the money was returned through the gateway.
    pub(crate) const fn manual(self) -> Option<ManualMethod> {
        match self {
            Self::Cash => Some(ManualMethod::Cash),
            Self::Card => Some(ManualMethod::Card),
            Self::Transfer => Some(ManualMethod::Transfer),
            Self::Other => Some(ManualMethod::Other),
            Self::Gateway => None,
        }
    }
}

/// # Constructors
impl MarkRefunded {
    /// Creates a request that records everything that is owed for the order as returned.
    #[must_use]
    pub fn all(how: RefundMethod) -> Self {
        Self { how: Some(how), ..Self::default() }
    }

    /// Creates a request that records that a refund was returned whole.
    ///
    /// ```
    /// use ticketing::payment::{ManualMethod, MarkRefunded, RefundMethod, RefundOrder};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let sale = CreateOrder::new(event.id, ada, ticket_type.id, 2).paid(ManualMethod::Card);
    /// let sold = service.create_order(&caller, sale)?;
    /// let refund = RefundOrder::of_tickets([sold.issued_tickets[0].id]);
    /// let refunded = service.refund_order(&caller, sold.order.id, refund)?;
    /// let returned = MarkRefunded::of(&refunded).how(RefundMethod::Card);
    /// let marked = service.mark_order_refunded(&caller, sold.order.id, returned)?;
    /// assert_eq!(marked.settled[0].amount, Amount::cents(1250));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of(refunded: &RefundOrderResponse) -> Self {
        Self { refund_id: refunded.refund_id, amount: Some(refunded.amount), ..Self::default() }
    }
}

form! {
    /// A request to record that money was returned manually. Without a refund and an amount, everything that is owed
    /// for the order is recorded as returned.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct MarkRefunded {
        /// The refund for which the money was returned.
        pub refund_id: Option<RefundId> [nullable],
        /// The amount that was returned, in the currency of the order: more than 0. It counts for the oldest payment
        /// first, and for the oldest refund of a payment.
        pub amount: Option<Amount> [nullable, Above(0)],
        /// How the money was returned; OTHER by default.
        pub how: Option<RefundMethod> [nullable],
        /// A note for the ledger: 1 to 255 characters.
        pub note: Option<String> [nullable, MinLength(1), MaxLength(LINE_LENGTH)],
    }
}

responses! {
    /// The response to a request to record that money was returned.
    pub struct MarkRefundedResponse {
        /// The order.
        pub order: Order,
        /// The amounts that were recorded as returned, by refund.
        pub settled: Vec<SettledRefund>,
    }

    /// The amount that was recorded as returned for a refund.
    pub struct SettledRefund {
        /// The refund.
        pub refund_id: RefundId,
        /// The amount.
        pub amount: Amount,
        /// The currency: an ISO 4217 code.
        pub currency: String,
    }

    /// The response to a request to refund a part of an order.
    pub struct RefundOrderResponse {
        /// The order, including the tickets that were cancelled.
        pub order: Order,
        /// The amount of the refund; 0 for free tickets.
        pub amount: Amount,
        /// The refund. Not set for free tickets.
        pub refund_id: Option<RefundId>,
        /// Whether the organizer has to return the money manually.
        pub requires_manual_refund: bool,
    }
}
