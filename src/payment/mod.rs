//! Payments: the [`PaymentGateway`] trait, calls with a timeout, and the [`SandboxGateway`].

mod calls;
mod sandbox;

pub(crate) use calls::{CallLimits, GatewayCalls};
pub use sandbox::SandboxGateway;
pub(crate) use sandbox::sandbox_reference;

pub use crate::model::checkout::{CheckoutOutcome, CheckoutResult, HostedCheckout};
pub use crate::model::refund::{ListRefunds, Refund, RefundStatus};

use crate::model::amount::Amount;
use crate::model::customer::Customer;
use crate::model::id::{EventId, OrderId, OrganizationId};
use crate::model::metadata::Metadata;
use crate::model::order::CheckoutRedirectUrls;

/// A payment service provider: takes customers' payments and refunds them.
///
/// Both calls are made outside any database transaction, on a thread of their own, with a timeout of 20 seconds
/// ([`Builder::gateway_timeout`](crate::Builder::gateway_timeout)). Both requests carry an idempotency key: a gateway
/// that receives the same key again must not start a second payment or a second refund.
///
/// A gateway reports the outcome of a payment to the service with
/// [`payment_completed`](crate::TicketingService::payment_completed) or
/// [`payment_failed`](crate::TicketingService::payment_failed).
///
/// ```
/// use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest};
///
/// struct ExamplePay;
///
/// impl PaymentGateway for ExamplePay {
///     fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
///         // Here the gateway sends the request to the provider, with `request.idempotency_key`.
///         let reference = format!("payment-{}", request.order_id);
///         Ok(Checkout::new(format!("https://pay.example/{reference}"), reference))
///     }
///
///     fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError> {
///         Err(GatewayError::Refused(format!("payment of {} is too old", request.order_id)))
///     }
/// }
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ticketing.db");
/// let service = ticketing::TicketingService::builder(path).payment_gateway(ExamplePay).open()?;
/// # drop(service);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PaymentGateway: Send + Sync + 'static {
    /// Creates a checkout page on which the customer pays.
    ///
    /// # Errors
    /// On any error, or after the timeout, the service cancels the order and releases its seats, unless the payment was
    /// reported in the meantime. A payment that is reported after that is refunded.
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError>;

    /// Refunds a completed payment.
    ///
    /// # Errors
    /// After [`GatewayError::Unavailable`] the service tries again later. [`GatewayError::Refused`] is final.
    fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError>;

    /// Whether this gateway can refund payments; `true` by default. If it cannot, organizers refund by hand.
    fn can_refund(&self) -> bool {
        true
    }
}

/// An order for which the gateway is to create a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The public URL of this service ([`Builder::public_url`](crate::Builder::public_url)), without a trailing slash.
    pub public_url: String,
    /// The idempotency key: the same for every attempt to create a checkout for this order.
    pub idempotency_key: String,
}

/// A checkout that the gateway has created.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkout {
    /// The URL of the page on which the customer pays.
    pub link: String,
    /// The gateway's id of the payment. No other payment may have the same.
    pub reference: String,
}

impl Checkout {
    /// Creates a checkout with the URL of its page and the gateway's id of the payment.
    #[must_use]
    pub fn new(link: impl Into<String>, reference: impl Into<String>) -> Self {
        Self { link: link.into(), reference: reference.into() }
    }
}

/// A payment that the gateway is to refund.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefundRequest {
    /// The order.
    pub order_id: OrderId,
    /// The organization that sold the tickets. If each organization has an account of its own at the provider, this
    /// tells which one to use.
    pub organization_id: OrganizationId,
    /// The event that the tickets were for.
    pub event_id: EventId,
    /// The gateway's id of the payment, from [`Checkout::reference`]. `None` if the gateway returned no checkout, or
    /// returned it after the timeout: then find the payment by the order id in the idempotency key of the checkout,
    /// `checkout-<order id>`.
    pub reference: Option<String>,
    /// The amount to refund: always the whole payment.
    pub amount: Amount,
    /// The currency, as an ISO 4217 code.
    pub currency: String,
    /// The idempotency key: the same for every attempt to refund this order.
    pub idempotency_key: String,
}

/// Why a call to the gateway failed. The text is for logs, and for [`Refund::last_error`]. It is not in the message of the
/// error that [`create_order`](crate::TicketingService::create_order) returns, and the server sends it to no client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// A temporary failure: no answer, or the gateway cannot process the request now. Trying again may help.
    #[error("the payment gateway is unavailable: {0}")]
    Unavailable(String),
    /// A final refusal: the same request will be refused every time.
    #[error("the payment gateway refused the request: {0}")]
    Refused(String),
}
