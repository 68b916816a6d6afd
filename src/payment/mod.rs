//! Payments: what a payment gateway has to do, and a sandbox that does it without money.

mod calls;
mod sandbox;

pub(crate) use calls::{GatewayCalls, Limits};
pub use sandbox::SandboxGateway;
pub(crate) use sandbox::sandbox_reference;

use crate::model::amount::Amount;
use crate::model::customer::Customer;
use crate::model::id::{EventId, OrderId, OrganizationId};
use crate::model::order::CheckoutRedirectUrls;

/// A payment gateway: where customers pay, and money goes back.
///
/// Both calls are made outside any transaction, from a thread of their own, and have 20 seconds. Both carry an
/// idempotency key: asked twice with the same key, a gateway must do the thing once. What comes of a checkout it reports
/// with [`payment_completed`](crate::TicketingService::payment_completed) and
/// [`payment_failed`](crate::TicketingService::payment_failed).
///
/// ```
/// use ticketing::{Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest};
///
/// struct Cashier;
///
/// impl PaymentGateway for Cashier {
///     fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
///         let reference = format!("cashier-{}", request.order_id);
///         Ok(Checkout { link: format!("https://pay.example/{reference}"), reference })
///     }
///
///     fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError> {
///         Err(GatewayError::Refused(format!("{} was paid in cash", request.order_id)))
///     }
/// }
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ticketing.db");
/// let service = ticketing::TicketingService::builder(path).payment_gateway(Cashier).open()?;
/// # drop(service);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PaymentGateway: Send + Sync + 'static {
    /// Makes a page on which the customer can pay.
    ///
    /// # Errors
    /// Whatever the error, also where the answer comes too late, the order is cancelled and its places are free again,
    /// unless its payment was reported meanwhile. One that is reported afterwards goes back.
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError>;

    /// Gives the money of a completed payment back.
    ///
    /// # Errors
    /// [`GatewayError::Unavailable`] is asked again later, [`GatewayError::Refused`] never again.
    fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError>;

    /// Whether this gateway gives money back at all. Where it does not, organizers refund by hand.
    fn can_refund(&self) -> bool {
        true
    }
}

/// What a gateway is told about an order that is to be paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutRequest {
    /// The order.
    pub order_id: OrderId,
    /// Whose order it is.
    pub organization_id: OrganizationId,
    /// What it is for.
    pub event_id: EventId,
    /// What the customer pays.
    pub amount: Amount,
    /// An ISO 4217 code.
    pub currency: String,
    /// Who pays.
    pub customer: Customer,
    /// Where the customer goes afterwards, where the order says so.
    pub redirect_urls: Option<CheckoutRedirectUrls>,
    /// The address under which this service is reached from outside, without a slash at its end.
    pub public_url: String,
    /// The same for every attempt to make a checkout of this order.
    pub idempotency_key: String,
}

/// Where a customer pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The page on which the customer pays.
    pub link: String,
    /// The gateway's own name for the payment, unlike that of any other.
    pub reference: String,
}

/// What a gateway is told about money that goes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundRequest {
    /// The order.
    pub order_id: OrderId,
    /// The gateway's own name for the payment, as it gave it with the checkout. `None` where it gave none, or too late:
    /// then the order's id in the idempotency key of the checkout tells which payment it is.
    pub reference: Option<String>,
    /// How much: the whole payment.
    pub amount: Amount,
    /// An ISO 4217 code.
    pub currency: String,
    /// The same for every attempt to refund this order.
    pub idempotency_key: String,
}

/// Why a gateway did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    /// It did not answer, or cannot now.
    #[error("the payment gateway is not available: {0}")]
    Unavailable(String),
    /// It will not, however often it is asked.
    #[error("the payment gateway refused: {0}")]
    Refused(String),
}
