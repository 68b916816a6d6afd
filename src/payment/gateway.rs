//! The trait that payment gateways implement.

use std::sync::Arc;

use super::capabilities::{Checkouts, Limits, NoLimits, PaymentWebhooks, RefundReports, Statements};
use super::{
    CheckoutRequest, CheckoutState, CloseCheckout, GatewayError, GatewayNotice, GatewayRefund, LookUp, PaymentLookUp,
    PaymentMode, RefundRequest,
};
use crate::model::values::id::OrganizationId;

/// The greatest length of the reference of a checkout, payment, refund or dispute, in characters.
pub(super) const MAX_REFERENCE_LENGTH: usize = 255;

/// A payment service provider: takes customers' payments and refunds them. The module [`stripe`](crate::stripe)
/// (feature `stripe`) has an implementation.
///
/// Requests are sent outside any database transaction, on a thread of their own, with a timeout of 20 seconds
/// ([`Builder::gateway_timeout`](crate::Builder::gateway_timeout)). [`Statements`] are read without a timeout, on the
/// thread that calls [`reconcile`](crate::TicketingService::reconcile). The requests for a checkout and for a refund
/// carry an idempotency key: a gateway that receives the same key again must not start a second payment or a second
/// refund.
///
/// Only [`start_checkout`](Self::start_checkout) and [`refund`](Self::refund) are required. The program then reports
/// the outcome of each payment with [`payment_completed`](crate::TicketingService::payment_completed) or
/// [`payment_failed`](crate::TicketingService::payment_failed).
///
/// ```
/// use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};
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
///     fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
///         Err(GatewayError::Refused(format!("payment of {} is too old", request.order_id)))
///     }
/// }
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ticketing.db");
/// let service = ticketing::TicketingService::builder(path).payment_gateway(ExamplePay).open()?;
/// # drop(service);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Optional capabilities have their own traits. A gateway implements those that its provider supports:
/// [`Checkouts`], [`PaymentWebhooks`], [`RefundReports`], [`Statements`] and [`Limits`]. The guide
/// [`payment_gateway`](crate::guide::payment_gateway) shows them.
pub trait PaymentGateway: Send + Sync + 'static {
    /// Creates a checkout page on which the customer pays.
    ///
    /// # Errors
    /// On any error, or after the timeout, the service cancels the order and releases its seats, unless the payment
    /// was reported in the meantime. A payment that is reported later is refunded. After the timeout and after
    /// [`GatewayError::Unavailable`], a checkout may exist: the service repeats the request to learn its reference,
    /// and closes it. The same applies to [`GatewayError::NotExecuted`] if an earlier request for this checkout may
    /// have been executed. After the other errors, the service assumes that no checkout was created.
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError>;

    /// Refunds a payment, or a part of it. Returns the provider's refund with its id: see [`RefundRequest::made`].
    ///
    /// A refund that is [pending](super::RefundState::Pending) or
    /// [waits for the customer](super::RefundState::RequiresAction) counts as made until the gateway reports that it
    /// failed. A returned refund that has already [failed](super::RefundState::Failed) has the same effect as
    /// [`GatewayError::Refused`]. One of the [`earlier_refunds`](RefundRequest::earlier_refunds) counts as
    /// [`GatewayError::Unavailable`]: it is no new refund.
    ///
    /// # Errors
    /// After [`GatewayError::Unavailable`] and [`GatewayError::NotExecuted`] the service tries again later, for 7 days.
    /// [`GatewayError::Refused`] is final: the organizer has to return the money manually, unless [`RefundReports`]
    /// show that it has been returned. [`GatewayError::NothingLeft`] is final too, and nothing has to be returned any
    /// more. After [`GatewayError::LessLeft`], the organizer has to return only the part that has not been returned.
    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError>;

    /// The name of the gateway: up to 50 lower-case letters, digits and `-`; `gateway` by default. The service records
    /// it with each payment, and asks no other gateway about that payment. It must stay the same for the same
    /// provider.
    #[expect(clippy::unnecessary_literal_bound, reason = "a gateway may have its name in a field")]
    fn name(&self) -> &str {
        "gateway"
    }

    /// Whether customers pay real money; [`PaymentMode::Live`] by default.
    fn mode(&self) -> PaymentMode {
        PaymentMode::Live
    }

    /// The provider's id of the account that takes new payments for an organization. `None`, the default, is the
    /// gateway's own account. The service records the account with each checkout: see
    /// [`GatewayAccount`](super::GatewayAccount).
    ///
    /// This must return at once: it must neither use the network nor call the service.
    fn account(&self, organization: OrganizationId) -> Option<String> {
        let _ = organization;
        None
    }

    /// The capability to close and look up checkouts. `None`, the default, if the gateway can do neither.
    fn checkouts(&self) -> Option<&dyn Checkouts> {
        None
    }

    /// The capability to read the provider's webhooks. `None`, the default, if the provider sends none.
    fn webhooks(&self) -> Option<&dyn PaymentWebhooks> {
        None
    }

    /// The capability to list the refunds and disputes of a payment. `None`, the default, if the gateway cannot list
    /// them.
    fn refund_reports(&self) -> Option<&dyn RefundReports> {
        None
    }

    /// The capability to list the payments, refunds and disputes of a period. `None`, the default, if the gateway
    /// cannot list them.
    fn statements(&self) -> Option<&dyn Statements> {
        None
    }

    /// The limits of the gateway. By default, it can take every payment and make every refund.
    fn limits(&self) -> &dyn Limits {
        &NoLimits
    }
}

/// Requests that the service can send to any gateway. Without the capability, a checkout is
/// [unknown](CheckoutState::Unknown), and nothing is found.
impl dyn PaymentGateway + '_ {
    /// Starts a checkout. Fails if its reference is too long to be stored.
    pub(crate) fn start(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let checkout = self.start_checkout(request)?;
        if checkout.reference.chars().count() > MAX_REFERENCE_LENGTH {
            let problem = format!("the reference of its checkout has more than {MAX_REFERENCE_LENGTH} characters");
            return Err(GatewayError::Refused(problem));
        }
        Ok(checkout)
    }

    pub(crate) fn close_checkout(&self, request: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        self.checkouts().map_or(Ok(CheckoutState::Unknown), |checkouts| checkouts.close(request))
    }

    pub(crate) fn look_up(&self, request: &LookUp) -> Result<CheckoutState, GatewayError> {
        self.checkouts().map_or(Ok(CheckoutState::Unknown), |checkouts| checkouts.look_up(request))
    }

    pub(crate) fn find_checkout(&self, payment: &PaymentLookUp) -> Result<Option<String>, GatewayError> {
        self.checkouts().map_or(Ok(None), |checkouts| checkouts.find_by_payment(payment))
    }

    pub(crate) fn fetch(&self, notice: &GatewayNotice) -> Result<Option<GatewayNotice>, GatewayError> {
        self.webhooks().map_or(Ok(None), |webhooks| webhooks.fetch(notice))
    }
}

/// Implements the trait for pointers to a gateway. With an `Arc`, the program and the service can share a gateway.
macro_rules! for_pointers {
    ($($pointer:ident),+) => {$(
        impl<T: PaymentGateway + ?Sized> PaymentGateway for $pointer<T> {
            fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
                (**self).start_checkout(request)
            }

            fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
                (**self).refund(request)
            }

            fn name(&self) -> &str {
                (**self).name()
            }

            fn mode(&self) -> PaymentMode {
                (**self).mode()
            }

            fn account(&self, organization: OrganizationId) -> Option<String> {
                (**self).account(organization)
            }

            fn checkouts(&self) -> Option<&dyn Checkouts> {
                (**self).checkouts()
            }

            fn webhooks(&self) -> Option<&dyn PaymentWebhooks> {
                (**self).webhooks()
            }

            fn refund_reports(&self) -> Option<&dyn RefundReports> {
                (**self).refund_reports()
            }

            fn statements(&self) -> Option<&dyn Statements> {
                (**self).statements()
            }

            fn limits(&self) -> &dyn Limits {
                (**self).limits()
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
    /// The gateway's id of the checkout: at most 255 characters. It must be unique among the gateway's checkouts.
    pub reference: String,
}

impl Checkout {
    /// Creates a checkout from the URL of its page and the gateway's id.
    #[must_use]
    pub fn new(link: impl Into<String>, reference: impl Into<String>) -> Self {
        Self { link: link.into(), reference: reference.into() }
    }
}
