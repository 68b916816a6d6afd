//! Payments: the [`PaymentGateway`] trait, its requests and notices, calls with a timeout, and the [`SandboxGateway`].

mod calls;
mod notice;
mod requests;
mod sandbox;

pub(crate) use calls::{CallLimits, GatewayCalls};
pub use notice::{GatewayEvent, GatewayNotice, NoticeHeaders};
pub use requests::{CheckoutItem, CheckoutRequest, CloseCheckout, LookUp, PaymentLookUp, RefundRequest};
pub use sandbox::SandboxGateway;
pub(crate) use sandbox::{SandboxNotice, SandboxPayment, sandbox_reference};

use std::sync::Arc;
use std::time::Duration;

pub use crate::error::gateway::{GatewayError, GatewayFailure, NoticeError};
pub use crate::model::checkout::{
    CheckoutOutcome, CheckoutResult, CheckoutState, CheckoutStatus, CheckoutTerms, GatewayPayment, HostedCheckout,
    OrderCheckout, RenewCheckoutResponse, SettledCheckout,
};
pub use crate::model::dispute::{Dispute, DisputeStatus, ListDisputes};
pub use crate::model::gateway_report::{GatewayDispute, GatewayRefund, RefundState};
pub use crate::model::notice::NoticeOutcome;
pub use crate::model::refund::{ListRefunds, Refund, RefundOrder, RefundOrderResponse, RefundSource, RefundStatus};
use crate::model::timestamp::Timestamp;

/// A payment service provider: takes customers' payments and refunds them. The module [`stripe`](crate::stripe)
/// (feature `stripe`) has one.
///
/// Requests are sent outside any database transaction, on a thread of their own, with a timeout of 20 seconds
/// ([`Builder::gateway_timeout`](crate::Builder::gateway_timeout)). The requests for a checkout and for a refund carry an
/// idempotency key: a gateway that receives the same key again must not start a second payment or a second refund.
///
/// Only [`start_checkout`](Self::start_checkout) and [`refund`](Self::refund) are required. The program then reports the
/// outcome of each payment with [`payment_completed`](crate::TicketingService::payment_completed) or
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
    /// reported in the meantime. A payment that is reported after that is refunded. After the timeout and after
    /// [`GatewayError::Unavailable`], the service asks for the same checkout again, to close it. After the other errors,
    /// it assumes that no checkout was created.
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError>;

    /// Refunds a completed payment.
    ///
    /// # Errors
    /// After [`GatewayError::Unavailable`] and [`GatewayError::NotExecuted`] the service tries again later, for 7 days.
    /// [`GatewayError::Refused`] is final: somebody has to give the money back by hand, unless
    /// [`list_refunds`](Self::list_refunds) shows that it has gone back. [`GatewayError::NothingLeft`] is final too, and
    /// nobody owes the money.
    fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError>;

    /// Whether this gateway can refund payments; `true` by default. If it cannot, organizers refund by hand.
    fn can_refund(&self) -> bool {
        true
    }

    /// The least amount that the gateway refunds, in minor units of the currency as ISO 4217 defines them; 1 by default.
    /// Every refund of a part of an order is a multiple of it.
    ///
    /// This is called inside a transaction. It must decide at once: it must not use the network, and not call the service.
    fn refund_step(&self, currency: &str) -> i64 {
        let _ = currency;
        1
    }

    /// Checks whether the gateway can take the payment of an order, before the order is stored: whether it can express
    /// the amounts, and whether the hold is not too long. By default it can take every payment.
    ///
    /// This is called inside the transaction that creates the order. It must decide at once, from its arguments: it must
    /// not use the network, and not call the service.
    ///
    /// # Errors
    /// The text completes the sentence "items …", such as `must cost less than 1,000,000 EUR in total`. The customer
    /// gets it with [`Error::Validation`](crate::Error::Validation).
    fn check_checkout(&self, terms: &CheckoutTerms) -> Result<(), String> {
        let _ = terms;
        Ok(())
    }

    /// The least time for which a checkout of this gateway can be open; zero by default. A checkout whose hold is
    /// shorter stays open for this time, unless it is closed.
    fn shortest_checkout(&self) -> Duration {
        Duration::ZERO
    }

    /// Makes a checkout unpayable, and returns what became of it. The service asks for this when an order has ended
    /// without a payment through the gateway. By default, the gateway cannot do that, and the answer is
    /// [`CheckoutState::Unknown`].
    ///
    /// A checkout that was paid already is no error: the answer is [`CheckoutState::Paid`]. The same checkout may be
    /// closed several times.
    ///
    /// # Errors
    /// After an error the service tries again later. After [`GatewayError::Refused`], for example of a provider that
    /// does not know the checkout, it first looks the checkout up. A refusal is no proof that nothing can be paid: the
    /// service tries again until a day after the checkout has ended by itself.
    fn close_checkout(&self, request: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        let _ = request;
        Ok(CheckoutState::Unknown)
    }

    /// Returns what became of a checkout. The service asks for this if it heard nothing of a payment until the end of
    /// the hold. By default, the gateway cannot say, and the answer is [`CheckoutState::Unknown`]. A provider that does not
    /// know the checkout has refused to say: [`GatewayError::Refused`].
    ///
    /// # Errors
    /// After an error the service tries again later.
    fn look_up(&self, request: &LookUp) -> Result<CheckoutState, GatewayError> {
        let _ = request;
        Ok(CheckoutState::Unknown)
    }

    /// Verifies a notice that claims to come from the provider, and returns what it says. A notice about something else
    /// says nothing: the list is empty. By default, the gateway sends no notices.
    ///
    /// Anybody can send a notice. Verify the signature of `body` before anything else, and compare its time with `now`.
    /// The provider's notices about payments of other programs arrive here too. Read as little as finds the order, and do
    /// not ask the provider: for what a notice does not say, the service calls [`find_checkout`](Self::find_checkout) and
    /// [`list_refunds`](Self::list_refunds), if the payment is its own.
    ///
    /// # Errors
    /// - [`NoticeError::InvalidSignature`] if the provider did not sign it.
    /// - [`NoticeError::Unreadable`] if the provider signed it, but it cannot be read.
    fn read_notice(
        &self,
        headers: &NoticeHeaders,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Vec<GatewayNotice>, NoticeError> {
        let _ = (headers, body, now);
        Err(NoticeError::Unsupported)
    }

    /// Returns the gateway's id of the checkout through which a payment was made. `None` means that
    /// there was no checkout. The service asks for this after a notice about a refund or a dispute if the references in it
    /// lead to no order. By default, the gateway cannot say.
    ///
    /// # Errors
    /// After [`GatewayError::Refused`] the notice is ignored, with a warning in the log. After any other error it is
    /// refused, so that the provider sends it again.
    fn find_checkout(&self, payment: &PaymentLookUp) -> Result<Option<String>, GatewayError> {
        let _ = payment;
        Ok(None)
    }

    /// Lists the refunds of a payment, as the provider has them now. The service asks for this after a notice with
    /// [`GatewayEvent::RefundsChanged`], if a refund is refused, and 1, 7 and 30 days after it was accepted, until it has
    /// failed or is not in the list: it may fail although it has succeeded, and the notice of that may be lost. By default,
    /// there are none, and the service does not ask again.
    ///
    /// If several refunds at the provider are attempts at one refund of this service, the list has only the last one.
    ///
    /// # Errors
    /// After an error the service asks again later, about a refund that was accepted every hour until 37 days after
    /// that. Only a notice is ignored after [`GatewayError::Refused`].
    fn list_refunds(&self, payment: &PaymentLookUp) -> Result<Vec<GatewayRefund>, GatewayError> {
        let _ = payment;
        Ok(Vec::new())
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

            fn refund_step(&self, currency: &str) -> i64 {
                (**self).refund_step(currency)
            }

            fn check_checkout(&self, terms: &CheckoutTerms) -> Result<(), String> {
                (**self).check_checkout(terms)
            }

            fn shortest_checkout(&self) -> Duration {
                (**self).shortest_checkout()
            }

            fn close_checkout(&self, request: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
                (**self).close_checkout(request)
            }

            fn look_up(&self, request: &LookUp) -> Result<CheckoutState, GatewayError> {
                (**self).look_up(request)
            }

            fn read_notice(
                &self,
                headers: &NoticeHeaders,
                body: &[u8],
                now: Timestamp,
            ) -> Result<Vec<GatewayNotice>, NoticeError> {
                (**self).read_notice(headers, body, now)
            }

            fn find_checkout(&self, payment: &PaymentLookUp) -> Result<Option<String>, GatewayError> {
                (**self).find_checkout(payment)
            }

            fn list_refunds(&self, payment: &PaymentLookUp) -> Result<Vec<GatewayRefund>, GatewayError> {
                (**self).list_refunds(payment)
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
    /// The gateway's id of the checkout. No other checkout may have the same.
    pub reference: String,
}

impl Checkout {
    /// Creates a checkout with the URL of its page and the gateway's id of it.
    #[must_use]
    pub fn new(link: impl Into<String>, reference: impl Into<String>) -> Self {
        Self { link: link.into(), reference: reference.into() }
    }
}
