//! The trait of payment gateways.

use std::sync::Arc;

use super::capabilities::{Checkouts, Limits, NoLimits, PaymentWebhooks, RefundReports, Statements};
use super::{
    CheckoutRequest, CheckoutState, CloseCheckout, GatewayError, GatewayNotice, GatewayRefund, LookUp, PaymentLookUp,
    PaymentMode, RefundRequest,
};
use crate::model::values::id::OrganizationId;

/// How many characters the reference of a checkout, payment, refund or dispute may have.
pub(super) const MAX_REFERENCE: usize = 255;

/// A payment service provider: takes customers' payments and refunds them. The module [`stripe`](crate::stripe)
/// (feature `stripe`) has one.
///
/// Requests are sent outside any database transaction, on a thread of their own, with a timeout of 20 seconds
/// ([`Builder::gateway_timeout`](crate::Builder::gateway_timeout)). [`Statements`] are read without a timeout, on the thread
/// that calls [`reconcile`](crate::TicketingService::reconcile). The requests for a checkout and for a refund carry an
/// idempotency key: a gateway that receives the same key again must not start a second payment or a second refund.
///
/// Only [`start_checkout`](Self::start_checkout) and [`refund`](Self::refund) are required. The program then reports the
/// outcome of each payment with [`payment_completed`](crate::TicketingService::payment_completed) or
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
/// What else a provider can do is in traits of their own, which a gateway implements as it needs them:
/// [`Checkouts`], [`PaymentWebhooks`], [`RefundReports`], [`Statements`] and [`Limits`]. The guide
/// [`payment_gateway`](crate::guide::payment_gateway) shows them.
pub trait PaymentGateway: Send + Sync + 'static {
    /// Creates a checkout page on which the customer pays.
    ///
    /// # Errors
    /// On any error, or after the timeout, the service cancels the order and releases its seats, unless the payment was
    /// reported in the meantime. A payment that is reported after that is refunded. After the timeout and after
    /// [`GatewayError::Unavailable`], the service asks for the same checkout again, to close it. After the other errors,
    /// it assumes that no checkout was created.
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError>;

    /// Refunds a payment, or a part of it. Returns the refund that the provider has made, with the provider's id of it:
    /// see [`RefundRequest::made`].
    ///
    /// A refund that is [pending](super::RefundState::Pending) or
    /// [waits for the customer](super::RefundState::RequiresAction) counts as made, until the gateway reports that it
    /// failed. One that has [failed](super::RefundState::Failed) at once is the same as [`GatewayError::Refused`].
    ///
    /// # Errors
    /// After [`GatewayError::Unavailable`] and [`GatewayError::NotExecuted`] the service tries again later, for 7 days.
    /// [`GatewayError::Refused`] is final: somebody has to give the money back by hand, unless
    /// [`RefundReports`] show that it has gone back. [`GatewayError::NothingLeft`] is final too, and nobody owes the money.
    /// After [`GatewayError::LessLeft`], only what has not gone back is owed.
    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError>;

    /// The name of the gateway, which the service records with each payment, so that no other gateway is asked about it:
    /// up to 50 lower-case letters, digits and `-`. `gateway` by default. It must stay the same for the same provider.
    #[expect(clippy::unnecessary_literal_bound, reason = "a gateway may have its name in a field")]
    fn name(&self) -> &str {
        "gateway"
    }

    /// Whether customers pay real money; [`PaymentMode::Live`] by default.
    fn mode(&self) -> PaymentMode {
        PaymentMode::Live
    }

    /// The provider's id of the account that takes the payments of an organization from now on. `None`, the default, is
    /// the account of the gateway itself. The service records it with each checkout: see
    /// [`GatewayAccount`](super::GatewayAccount).
    ///
    /// This must return at once: it must not use the network, and not call the service.
    fn account(&self, organization: OrganizationId) -> Option<String> {
        let _ = organization;
        None
    }

    /// Closes checkouts and looks them up. `None`, the default, if the gateway can do neither.
    fn checkouts(&self) -> Option<&dyn Checkouts> {
        None
    }

    /// Reads what the provider sends. `None`, the default, if it sends nothing.
    fn webhooks(&self) -> Option<&dyn PaymentWebhooks> {
        None
    }

    /// Lists the refunds and disputes of a payment. `None`, the default, if the gateway cannot tell.
    fn refund_reports(&self) -> Option<&dyn RefundReports> {
        None
    }

    /// Lists the payments, refunds and disputes of a period. `None`, the default, if the gateway cannot list them.
    fn statements(&self) -> Option<&dyn Statements> {
        None
    }

    /// What the gateway cannot do. By default, it can take every payment and make every refund.
    fn limits(&self) -> &dyn Limits {
        &NoLimits
    }
}

/// What the service asks of any gateway. One that lacks the capability says that it does not know.
impl dyn PaymentGateway + '_ {
    /// Starts a checkout. One whose reference is too long cannot be stored.
    pub(crate) fn start(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let checkout = self.start_checkout(request)?;
        if checkout.reference.chars().count() > MAX_REFERENCE {
            let problem = format!("the reference of its checkout has more than {MAX_REFERENCE} characters");
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

/// Implements the trait for pointers, so that a program can keep the gateway that it gives to the service.
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
    /// The gateway's id of the checkout: at most 255 characters. No other checkout may have the same.
    pub reference: String,
}

impl Checkout {
    /// Creates a checkout with the URL of its page and the gateway's id of it.
    #[must_use]
    pub fn new(link: impl Into<String>, reference: impl Into<String>) -> Self {
        Self { link: link.into(), reference: reference.into() }
    }
}
