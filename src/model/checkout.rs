//! Checkouts: what a gateway says about one, and the hosted checkout page of the sandbox gateway.

use super::amount::Amount;
use super::order::{CheckoutRedirectUrls, Order};
use super::timestamp::Timestamp;
use crate::text_enum::text_enum;

/// What became of a checkout, as the payment gateway says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckoutState {
    /// The customer can still pay.
    Open,
    /// The customer has paid in a way that takes time, and the money has not arrived. The customer cannot pay again.
    Processing,
    /// The customer has paid.
    Paid(GatewayPayment),
    /// Nothing was paid, and nothing can be paid any more.
    Closed,
    /// The gateway cannot say, or does not know the checkout.
    Unknown,
}

/// A payment that a gateway has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayPayment {
    /// The gateway's id of the payment. It may be another than the id of the checkout.
    pub payment_reference: String,
    /// The amount that was paid.
    pub amount: Amount,
    /// The currency, as an ISO 4217 code.
    pub currency: String,
}

impl GatewayPayment {
    /// Creates a payment with the gateway's id of it, its amount, and its currency.
    #[must_use]
    pub fn new(payment_reference: impl Into<String>, amount: Amount, currency: impl Into<String>) -> Self {
        Self { payment_reference: payment_reference.into(), amount, currency: currency.into() }
    }
}

text_enum! {
    /// The outcome of a payment, as chosen on the sandbox's checkout page.
    pub enum CheckoutOutcome {
        /// The customer paid.
        Success = "success",
        /// The payment failed.
        Failure = "failure",
        /// The customer cancelled the payment.
        Cancel = "cancel",
    }
}

/// The contents of the sandbox's checkout page.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HostedCheckout {
    /// The order to pay.
    pub order: Order,
    /// The currency of the order's amounts, as an ISO 4217 code.
    pub currency: String,
    /// Until when the order reserves its seats. Only of a pending order.
    pub hold_until: Option<Timestamp>,
    /// The title of the event.
    pub event_title: String,
    /// Where the event takes place.
    pub event_location: Option<String>,
    /// When the event begins.
    pub event_start: Timestamp,
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
