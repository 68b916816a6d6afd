//! Payments: the [`PaymentGateway`] trait, its requests, calls with a timeout, and the [`SandboxGateway`].

mod calls;
mod requests;
mod sandbox;

pub(crate) use calls::{CallLimits, GatewayCalls};
pub use requests::{CheckoutRequest, RefundRequest};
pub use sandbox::SandboxGateway;
pub(crate) use sandbox::sandbox_reference;

use std::sync::Arc;

pub use crate::error::gateway::GatewayError;
pub use crate::model::checkout::{CheckoutOutcome, CheckoutResult, HostedCheckout};
pub use crate::model::refund::{ListRefunds, Refund, RefundStatus};

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

/// Implements the trait for pointers, so that a program can keep the gateway that it gives to the service.
macro_rules! for_pointers {
    ($($pointer:ident),+) => {$(
        impl<T: PaymentGateway + ?Sized> PaymentGateway for $pointer<T> {
            fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
                (**self).start_checkout(request)
            }

            fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError> {
                (**self).refund(request)
            }

            fn can_refund(&self) -> bool {
                (**self).can_refund()
            }
        }
    )+};
}

for_pointers!(Arc, Box);

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
