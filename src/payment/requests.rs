//! The requests that a payment gateway receives.

use crate::form::setters::with_setters;
use crate::model::amount::Amount;
use crate::model::customer::Customer;
use crate::model::id::{CustomerId, EventId, OrderId, OrganizationId};
use crate::model::metadata::Metadata;
use crate::model::order::CheckoutRedirectUrls;

impl CheckoutRequest {
    /// Creates a request, for tests of a gateway. Its idempotency key and its public URL are those that the service
    /// uses by default. The organization, the event and the customer do not exist, unless they are set.
    ///
    /// ```
    /// use ticketing::Amount;
    /// use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest};
    ///
    /// struct ExamplePay;
    ///
    /// impl PaymentGateway for ExamplePay {
    ///     fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
    ///         let minor_units = request.amount.minor_units();
    ///         let link = format!("https://pay.example/{minor_units}/{}", request.currency);
    ///         Ok(Checkout::new(link, &request.idempotency_key))
    ///     }
    ///
    ///     fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError> {
    ///         let Some(_) = &request.reference else { return Err(GatewayError::Refused("not paid".to_owned())) };
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let order_id = "order_1NR6E9XB00000".parse()?;
    /// let request = CheckoutRequest::new(order_id, Amount::cents(1250), "EUR").order_reference("A-17");
    /// let checkout = ExamplePay.start_checkout(&request)?;
    /// assert_eq!(checkout.link, "https://pay.example/1250/EUR");
    ///
    /// let refund = RefundRequest::new(order_id, Amount::cents(1250), "EUR");
    /// assert!(ExamplePay.refund(&refund).is_err());
    /// assert!(ExamplePay.refund(&refund.reference(checkout.reference)).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(order_id: OrderId, amount: Amount, currency: impl Into<String>) -> Self {
        Self {
            order_id,
            organization_id: OrganizationId::UNKNOWN,
            event_id: EventId::UNKNOWN,
            amount,
            currency: currency.into(),
            customer: Customer::new(CustomerId::UNKNOWN, "Customer", "customer@example.com"),
            redirect_urls: None,
            order_reference: None,
            metadata: Metadata::new(),
            public_url: "http://127.0.0.1:8080".to_owned(),
            idempotency_key: format!("checkout-{order_id}"),
        }
    }
}

with_setters! {
    /// An order for which the gateway is to create a checkout.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CheckoutRequest {
        /// The order.
        pub order_id: OrderId,
        /// The organization that sells the tickets.
        pub organization_id: OrganizationId,
        /// The event that the tickets are for.
        pub event_id: EventId,
        /// The amount to pay.
        pub amount: Amount,
        /// The currency, as an ISO 4217 code.
        pub currency: String,
        /// The customer who pays.
        pub customer: Customer,
        /// The pages to send the customer to afterwards, if the order names them.
        pub redirect_urls: Option<CheckoutRedirectUrls>,
        /// The organization's own name for the order, if it has one.
        pub order_reference: Option<String>,
        /// What the organization has attached to the order.
        pub metadata: Metadata,
        /// The public URL of this service ([`Builder::public_url`](crate::Builder::public_url)), without a trailing
        /// slash.
        pub public_url: String,
        /// The idempotency key: the same for every attempt to create a checkout for this order.
        pub idempotency_key: String,
    }
}

impl RefundRequest {
    /// Creates a request, for tests of a gateway: see the example of [`CheckoutRequest::new`]. Its idempotency key is
    /// the one that the service uses. It has no reference, and the organization and the event do not exist, unless they
    /// are set.
    #[must_use]
    pub fn new(order_id: OrderId, amount: Amount, currency: impl Into<String>) -> Self {
        Self {
            order_id,
            organization_id: OrganizationId::UNKNOWN,
            event_id: EventId::UNKNOWN,
            reference: None,
            amount,
            currency: currency.into(),
            idempotency_key: format!("refund-{order_id}"),
        }
    }
}

with_setters! {
    /// A payment that the gateway is to refund.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RefundRequest {
        /// The order.
        pub order_id: OrderId,
        /// The organization that sold the tickets. If each organization has an account of its own at the provider,
        /// this tells which one to use.
        pub organization_id: OrganizationId,
        /// The event that the tickets were for.
        pub event_id: EventId,
        /// The gateway's id of the payment, from [`Checkout::reference`](super::Checkout::reference). `None` if the
        /// gateway returned no checkout, or returned it after the timeout: then find the payment by the order id in
        /// the idempotency key of the checkout, `checkout-<order id>`.
        pub reference: Option<String>,
        /// The amount to refund: always the whole payment.
        pub amount: Amount,
        /// The currency, as an ISO 4217 code.
        pub currency: String,
        /// The idempotency key: the same for every attempt to refund this order.
        pub idempotency_key: String,
    }
}
