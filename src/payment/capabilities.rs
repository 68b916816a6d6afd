//! What a payment gateway may be able to do besides starting checkouts and making refunds.

use std::time::Duration;

use super::{
    CheckoutState, CheckoutTerms, CloseCheckout, GatewayDispute, GatewayError, GatewayNotice, GatewayRefund, LookUp,
    NoticeError, NoticeHeaders, PaymentLookUp, StatementRequest,
};
use crate::model::payments::statement::StatementLine;
use crate::model::values::timestamp::Timestamp;

/// A gateway that closes checkouts and looks them up: [`PaymentGateway::checkouts`](super::PaymentGateway::checkouts).
///
/// Without it, a checkout page stays payable for as long as the provider keeps it. If the program does not report
/// the outcome of a payment, the payment is never noticed.
pub trait Checkouts {
    /// Makes a checkout unpayable, and returns its state. The service asks for this when an order has ended
    /// without a payment through the gateway. A gateway that cannot close checkouts answers [`CheckoutState::Unknown`].
    ///
    /// A checkout that was paid already is no error: the answer is [`CheckoutState::Paid`]. The same checkout may be
    /// closed several times.
    ///
    /// # Errors
    /// After an error the service tries again later. After [`GatewayError::Refused`], for example of a provider that
    /// does not know the checkout, it first looks the checkout up. A refusal is no proof that nothing can be paid: the
    /// service tries again until a day after the checkout has ended by itself.
    fn close(&self, request: &CloseCheckout) -> Result<CheckoutState, GatewayError>;

    /// Returns the state of a checkout. The service asks for this if it heard nothing of a payment until the end of
    /// the hold. A provider that does not know the checkout has refused to say: [`GatewayError::Refused`].
    ///
    /// # Errors
    /// After an error the service tries again later.
    fn look_up(&self, request: &LookUp) -> Result<CheckoutState, GatewayError>;

    /// Returns the gateway's id of the checkout through which a payment was made. `None` means that there was no
    /// checkout. The service asks for this after a notice about a refund or a dispute if the references in it lead to
    /// no order. By default, the gateway cannot say.
    ///
    /// # Errors
    /// After [`GatewayError::Refused`] the notice is ignored, with a warning in the log. After any other error it is
    /// refused, so that the provider sends it again.
    fn find_by_payment(&self, payment: &PaymentLookUp) -> Result<Option<String>, GatewayError> {
        let _ = payment;
        Ok(None)
    }
}

/// A gateway whose provider sends a notice when a payment, a refund or a dispute has changed:
/// [`PaymentGateway::webhooks`](super::PaymentGateway::webhooks).
pub trait PaymentWebhooks {
    /// Looks at the headers of a notice before its body is read, and refuses those with which no body can be a notice:
    /// for example, if the signature is missing or its time is too far from `now`. So requests of strangers take no
    /// memory. By default, every body is read.
    ///
    /// # Errors
    /// [`NoticeError::InvalidSignature`] if [`read`](Self::read) would return it for every body.
    fn check_headers(&self, headers: &NoticeHeaders, now: Timestamp) -> Result<(), NoticeError> {
        let _ = (headers, now);
        Ok(())
    }

    /// Verifies a notice that claims to come from the provider, and returns what it says. A notice about something else
    /// says nothing: the list is empty.
    ///
    /// Anybody can send a notice. Verify the signature of `body` before anything else, and compare its time with `now`.
    /// The provider's notices about payments of other programs arrive here too. Read as little as finds the order, and
    /// do not ask the provider: for what a notice does not say, the service calls [`Checkouts::find_by_payment`] and
    /// [`RefundReports::refunds_of`], if the payment is its own.
    ///
    /// # Errors
    /// - [`NoticeError::InvalidSignature`] if the provider did not sign it.
    /// - [`NoticeError::Unreadable`] if the provider signed it, but it cannot be read. The service logs a warning, and
    ///   the provider does not send it again.
    fn read(&self, headers: &NoticeHeaders, body: &[u8], now: Timestamp) -> Result<Vec<GatewayNotice>, NoticeError>;

    /// Asks the provider about the object that a notice names without saying more
    /// ([`GatewayEvent::Changed`](super::GatewayEvent::Changed)), and returns what there is to say about it. `None`,
    /// the default, if it is nothing about a payment.
    ///
    /// # Errors
    /// After [`GatewayError::Refused`] the notice is ignored, with a warning in the log. After any other error it is
    /// refused, so that the provider sends it again.
    fn fetch(&self, notice: &GatewayNotice) -> Result<Option<GatewayNotice>, GatewayError> {
        let _ = notice;
        Ok(None)
    }
}

/// A gateway that lists the refunds and disputes of a payment:
/// [`PaymentGateway::refund_reports`](super::PaymentGateway::refund_reports).
pub trait RefundReports {
    /// Lists the refunds of a payment, as the provider has them now. The service asks for this before it asks for a
    /// refund again, or for one that was not decided just now: this refund may have been made, and somebody may have
    /// made others. It also asks after a notice with
    /// [`GatewayEvent::RefundsChanged`](super::GatewayEvent::RefundsChanged), if a refund is refused, 1, 7 and 30 days
    /// after a refund, and every day while a dispute is open: a refund may fail although it has succeeded, and the
    /// notice of that may be lost.
    ///
    /// If several refunds at the provider are attempts at one refund of this service, the list has only the last one.
    ///
    /// # Errors
    /// After an error before a refund, the service does not ask for the refund now. Otherwise it asks again: every hour,
    /// until 37 days after the newest refund, and every day while a dispute is open. Only a notice is ignored after
    /// [`GatewayError::Refused`].
    fn refunds_of(&self, payment: &PaymentLookUp) -> Result<Vec<GatewayRefund>, GatewayError>;

    /// Lists the disputes of a payment, as the provider has them now. By default, there are none.
    ///
    /// # Errors
    /// As for [`refunds_of`](Self::refunds_of), but a notice of a dispute is recorded as it was sent.
    fn disputes_of(&self, payment: &PaymentLookUp) -> Result<Vec<GatewayDispute>, GatewayError> {
        let _ = payment;
        Ok(Vec::new())
    }
}

/// A gateway that lists the payments, refunds and disputes of a period:
/// [`PaymentGateway::statements`](super::PaymentGateway::statements).
///
/// The service compares a statement with its own records, so that it finds money that only one side knows: after the
/// database was restored from a backup, or if a notice was lost. It trusts the ids, amounts and times, which the
/// provider has set. The order and the organization of a line are different: the owner of the account at the provider
/// may be able to write any. The service decides which accounts it trusts with them.
pub trait Statements {
    /// Calls `each` with every payment, refund and dispute of the period, in no particular order. Amounts are in the
    /// currency of the payment. A line shows the state at the time of the call: a refund that was created within the
    /// period and failed after it is listed as failed, and a dispute that was created before the period and decided
    /// within it is not listed.
    ///
    /// Only payments that the program has asked for are listed, and their refunds and disputes, also those that
    /// somebody else has made: the account may be shared with other programs. A payment that was refunded is still
    /// listed. If several refunds at the provider are attempts at one refund of this service, each has a line.
    ///
    /// A period may have any number of lines: ask the provider for pages of about 100, and keep no more than one of
    /// them in memory. Customers come first: send these requests with a lower priority, if the provider limits their
    /// number. A statement may take minutes, and has no timeout. What changes during the call may be missing if the
    /// period includes the present.
    ///
    /// # Errors
    /// The error of `each`, at once, or the reason for which the provider cannot be asked. The lines before the error
    /// are right, and others may be missing.
    fn statement(
        &self,
        request: &StatementRequest,
        each: &mut dyn FnMut(StatementLine) -> Result<(), GatewayError>,
    ) -> Result<(), GatewayError>;
}

/// What a gateway cannot do: [`PaymentGateway::limits`](super::PaymentGateway::limits). By default, it can take every
/// payment and make every refund.
///
/// All of these are called inside transactions. They must answer at once: they must not use the network, and not call
/// the service.
pub trait Limits {
    /// Whether the gateway can refund payments; `true` by default. If it cannot, organizers refund manually, and
    /// [`PaymentGateway::refund`](super::PaymentGateway::refund) is never called.
    fn can_refund(&self) -> bool {
        true
    }

    /// The least amount that the gateway refunds, in minor units of the currency as ISO 4217 defines them; 1 by
    /// default. Every refund of a part of an order is a multiple of it. Discounts of orders that are paid through the
    /// gateway are rounded up, so that what is left is such a multiple too.
    fn smallest_refund(&self, currency: &str) -> i64 {
        let _ = currency;
        1
    }

    /// The least amount of an order that the gateway takes, in minor units of the currency as ISO 4217 defines them; 1
    /// by default. An order that costs less, and something, is refused with a field error on `items`, and the
    /// validation of a discount says the amount.
    fn smallest_payment(&self, currency: &str) -> i64 {
        let _ = currency;
        1
    }

    /// Checks whether the gateway can take the payment of an order, before the order is stored: whether it can express
    /// the amounts, and whether the hold is not too long. By default it can take every payment.
    ///
    /// # Errors
    /// The text completes the sentence "items …", such as `must cost less than 1,000,000 EUR in total`. The customer
    /// gets it with [`Error::Validation`](crate::Error::Validation).
    fn check_terms(&self, terms: &CheckoutTerms) -> Result<(), String> {
        let _ = terms;
        Ok(())
    }

    /// The shortest time that a checkout of this gateway can stay open; zero by default. A checkout whose hold is
    /// shorter stays open for this time, unless it is closed.
    fn shortest_checkout(&self) -> Duration {
        Duration::ZERO
    }
}

/// The limits of a gateway that has none.
pub(super) struct NoLimits;

impl Limits for NoLimits {}
