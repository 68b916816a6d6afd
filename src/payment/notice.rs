//! Notices: what a payment gateway sends to the service when a payment, a refund or a dispute changes. Providers call
//! them webhooks; here, a webhook is what the service sends.

use crate::form::declare::setters::with_setters;
use crate::model::payments::checkout::CheckoutState;
use crate::model::payments::gateway_report::{GatewayDispute, GatewayRefund};
use crate::model::values::id::{OrderId, OrganizationId};

/// The headers of a notice. Their names are case-insensitive.
#[derive(Clone, Default)]
pub struct NoticeHeaders(Vec<(String, String)>);

impl NoticeHeaders {
    /// The value of a header. `None` if there is no such header, or several.
    ///
    /// ```
    /// use ticketing::payment::NoticeHeaders;
    ///
    /// let headers: NoticeHeaders = [("Example-Signature", "v1=5257a8")].into_iter().collect();
    /// assert_eq!(headers.get("example-signature"), Some("v1=5257a8"));
    /// assert_eq!(headers.get("Content-Type"), None);
    /// ```
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, value) = values.next()?;
        values.next().is_none().then_some(value)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for NoticeHeaders {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        Self(headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// Prints the names only: the values may contain signatures.
impl std::fmt::Debug for NoticeHeaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

with_setters! {
    /// What a notice says about one payment.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct GatewayNotice {
        /// The gateway's id of the notice, for logs.
        pub id: String,
        /// The gateway's id of the checkout, from [`Checkout::reference`](super::Checkout::reference).
        pub checkout_reference: Option<String>,
        /// The gateway's id of the payment.
        pub payment_reference: Option<String>,
        /// The order, if the gateway has kept its id. It is used if neither the checkout nor the payment is known by
        /// its reference.
        pub order_id: Option<OrderId>,
        /// The organization, if the gateway has kept its id. It says that this service has asked for the payment, even
        /// if nothing else in the notice is known. Nothing else follows from it, so the provider need not vouch for it.
        pub organization_id: Option<OrganizationId>,
        /// The provider's id of the account that has the payment, if it is not the account of the gateway.
        pub account: Option<String>,
        /// What happened.
        pub event: GatewayEvent,
    }
}

impl GatewayNotice {
    /// Creates a notice that names neither a checkout nor a payment nor an order.
    #[must_use]
    pub fn new(id: impl Into<String>, event: GatewayEvent) -> Self {
        Self {
            id: id.into(),
            checkout_reference: None,
            payment_reference: None,
            order_id: None,
            organization_id: None,
            account: None,
            event,
        }
    }
}

/// What happened to a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GatewayEvent {
    /// The state of the checkout.
    Checkout(CheckoutState),
    /// An attempt to pay failed. Another one may follow.
    PaymentFailed,
    /// The state of a refund: one that this service asked for, or one that was made in another way.
    Refund(GatewayRefund),
    /// Refunds of the payment were made, or have failed. The service asks for
    /// [all of them](super::RefundReports::refunds_of).
    RefundsChanged,
    /// A customer's bank disputes the payment, or has decided about that.
    Dispute(GatewayDispute),
    /// The notice only names an object at the provider that has changed, such as a checkout or a refund. The service
    /// asks for its current state ([`fetch`](super::PaymentWebhooks::fetch)). The text tells the gateway which it is.
    Changed(String),
    /// The rest of the notice cannot be read. The text says why, for logs. That is an error only if the payment is one
    /// of this service.
    Unreadable(String),
}
