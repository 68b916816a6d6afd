//! Checkouts: their state at the gateway, their status in the service, and the contents of the checkout page.

use std::time::Duration;

use crate::enums::text_enum::text_enum;
use crate::form::declare::setters::with_setters;
use crate::model::sale::event::EventStatus;
use crate::model::sale::new_order::CheckoutRedirectUrls;
use crate::model::sale::order::Order;
use crate::model::values::amount::Amount;
use crate::model::values::id::OrderId;
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

/// The state of a checkout, as the payment gateway reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckoutState {
    /// The customer can still pay.
    Open,
    /// The customer has used a delayed payment method, and the money has not arrived. The customer cannot pay again.
    Processing,
    /// The customer has paid. The payment may be disputed or partly refunded:
    /// [`RefundReports`](crate::payment::RefundReports) lists refunds and disputes separately.
    Paid(GatewayPayment),
    /// The customer has paid, and the whole payment was refunded. It completes no order, and no refund is due.
    /// [`RefundReports`](crate::payment::RefundReports) should list the refunds, so that a later report of the payment
    /// does not complete the order either.
    Returned(GatewayPayment),
    /// Nothing was paid, and nothing can be paid any more.
    Closed,
    /// Not known: the gateway cannot look up checkouts, gave no usable answer, or was not asked.
    Unknown,
}

/// A payment that a gateway has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayPayment {
    /// The gateway's id of the payment. It may differ from the id of the checkout.
    pub payment_reference: String,
    /// The amount that was paid.
    pub amount: Amount,
    /// The currency, as an ISO 4217 code.
    pub currency: String,
    /// Whether the payment was ever disputed (a chargeback), as far as the gateway knows. If so, the service reads its
    /// refunds and disputes from [`RefundReports`](crate::payment::RefundReports).
    pub is_disputed: bool,
}

impl GatewayPayment {
    /// Creates an undisputed payment. `payment_reference` is the gateway's id of the payment.
    #[must_use]
    pub fn new(payment_reference: impl Into<String>, amount: Amount, currency: impl Into<String>) -> Self {
        Self { payment_reference: payment_reference.into(), amount, currency: currency.into(), is_disputed: false }
    }

    /// Marks the payment as disputed.
    #[must_use]
    pub const fn disputed(mut self) -> Self {
        self.is_disputed = true;
        self
    }
}

with_setters! {
    /// The payment terms of an order that is not stored yet, for
    /// [`Limits::check_terms`](crate::payment::Limits::check_terms).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CheckoutTerms {
        /// The amount to pay.
        pub amount: Amount,
        /// The currency, as an ISO 4217 code.
        pub currency: String,
        /// The total of each item of the order, after discounts.
        pub items: Vec<Amount>,
        /// How long the order will reserve its seats.
        pub hold: Duration,
    }
}

impl CheckoutTerms {
    /// Creates the terms of an order of one item with a hold of 15 minutes, for tests of a gateway.
    #[must_use]
    pub fn new(amount: Amount, currency: impl Into<String>) -> Self {
        Self { amount, currency: currency.into(), items: vec![amount], hold: Duration::from_mins(15) }
    }
}

text_enum! {
    /// What the service still has to do about a checkout.
    pub enum CheckoutStatus {
        /// The order waits for the payment.
        Open = "OPEN",
        /// The order has ended, and the gateway has not confirmed yet that nothing can be paid any more.
        Closing = "CLOSING",
        /// The order is paid, or nothing can be paid any more.
        Closed = "CLOSED",
    }
}

responses! {
    /// The newest checkout of an order.
    pub struct OrderCheckout {
        /// The order.
        pub order_id: OrderId,
        /// What the service still has to do about the checkout.
        pub status: CheckoutStatus,
        /// When the gateway expires the checkout, if it supports that.
        pub expires_at: Timestamp,
        /// The gateway's id of the checkout. Not set until the gateway has answered.
        pub reference: Option<String>,
        /// The gateway's id of the payment. Not set if nothing was paid, or if the payment was reported without it.
        pub payment_reference: Option<String>,
        /// How many times the checkout was renewed.
        pub renewals: i64 [default],
        /// The name of the payment gateway that has the checkout. Not set for checkouts of early versions.
        pub gateway: Option<String>,
        /// The last error, if the checkout is not closed or its result is not known: that of the gateway, or that the
        /// gateway is not configured. A gateway's text may reveal internal addresses, so it is not in the JSON.
        #[serde(skip)]
        pub last_error: Option<String>,
    }

    /// The response to the renewal of a checkout.
    pub struct RenewCheckoutResponse {
        /// The order.
        pub order_id: OrderId,
        /// The URL at which the customer pays.
        pub checkout_url: String,
        /// When the gateway expires the checkout, if it supports that. The order may end before.
        pub expires_at: Timestamp,
        /// Whether this is a new checkout. False if the earlier one is still open, or its state is not known: then the
        /// earlier one is returned.
        pub renewed: bool,
    }
}

/// The result of [`settle_checkout`](crate::TicketingService::settle_checkout): the order, the state of its checkout at
/// the gateway, and the page to show next.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SettledCheckout {
    /// The order, as it is now.
    pub order: Order,
    /// The state of the checkout at the gateway. [`CheckoutState::Unknown`] if it was not asked.
    pub state: CheckoutState,
    /// Which redirect URL applies: `Success` if the order is paid, `Cancel` if it can still be paid, otherwise
    /// `Failure`, also if the payment came too late. `None` if the result is not known yet.
    pub outcome: Option<CheckoutOutcome>,
    /// Whether the payment came too late to complete the order. It is refunded.
    pub paid_too_late: bool,
    /// The page to send the customer to. `None` if the order has no redirect URLs, or there is no outcome yet.
    pub redirect_url: Option<String>,
}

text_enum! {
    /// The outcome of a checkout: which of the order's redirect URLs applies. On the sandbox's page, the customer chooses
    /// it.
    pub enum CheckoutOutcome {
        /// The customer paid.
        Success = "success",
        /// The payment failed.
        Failure = "failure",
        /// The customer cancelled the payment.
        Cancel = "cancel",
    }
}

/// What a checkout page shows of an order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HostedCheckout {
    /// The order to pay.
    pub order: Order,
    /// The currency of the order's amounts, as an ISO 4217 code.
    pub currency: String,
    /// Until when the order reserves its seats. Set only for a pending order.
    pub hold_until: Option<Timestamp>,
    /// The language tag of the buyer, such as `de-AT`: the language of the order, or else the locale of the customer.
    pub language: Option<String>,
    /// The link of the page with the tickets. Not set until the order is completed, and without
    /// [ticket documents](crate::Builder::ticket_documents).
    pub documents_url: Option<String>,
    /// The title of the event.
    pub event_title: String,
    /// The state of the event.
    pub event_status: EventStatus,
    /// Where the event takes place.
    pub event_location: Option<String>,
    /// When the event begins.
    pub event_start: Timestamp,
    /// When the event ends, if that is known.
    pub event_end: Option<Timestamp>,
    /// The time zone of the event, as a name of the IANA database.
    pub timezone: String,
    /// The pages to send the customer to afterwards, if the order names them.
    pub redirect_urls: Option<CheckoutRedirectUrls>,
}

/// The result of the customer's choice on the sandbox's checkout page.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CheckoutResult {
    /// The outcome. A payment that came too late for its order is a failure.
    pub outcome: CheckoutOutcome,
    /// The page to send the customer to; `None` if the order names no pages.
    pub redirect_url: Option<String>,
}
