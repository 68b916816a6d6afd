//! Refunds through the payment gateway.

use super::TicketingService;
use crate::error::Result;
use crate::form::request::Request;
use crate::model::caller::Caller;
use crate::model::id::{OrderId, RefundId};
use crate::model::page::Page;
use crate::model::refund::{ListRefunds, Refund};
use crate::payment::{GatewayError, RefundRequest};
use crate::rules::checked;
use crate::sales::refund_attempts;
use crate::scope::Scope;
use crate::store::refunds::{self, DueRefund};

/// The result of an attempt to refund a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefundOutcome {
    /// The gateway refunded the payment, or refused to.
    Answered,
    /// The gateway was unavailable.
    Unavailable,
    /// There was no attempt: no refund is due, or another process has claimed it.
    NotDue,
}

/// # Refunds
impl TicketingService {
    /// Lists refunds, newest first: due, done, and refused for good. Filters select by status, event and order.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit` or `cursor`.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.payment_completed(&caller, created.order.id)?;
    /// service.cancel_order(&caller, created.order.id)?;
    /// let refunds = service.list_refunds(&caller, ListRefunds::default())?.data;
    /// assert_eq!(refunds[0].status, RefundStatus::Done);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_refunds(&self, caller: &Caller, request: ListRefunds) -> Result<Page<Refund, RefundId>> {
        caller.require(Scope::OrdersRead)?;
        let Request { body, errors } = Request::from(request);
        let request = checked(body, errors)?;
        let has_filters = *request != ListRefunds { page: request.page.clone(), ..ListRefunds::default() };
        self.store().list(caller.organization, has_filters, |tx| refunds::list(tx, caller.organization, &request))
    }

    /// Attempts a refund that was just recorded. After a failure, the maintenance attempts it again.
    pub(super) fn attempt_refund_now(&self, refund: DueRefund) {
        if let Err(error) = self.attempt_refund(refund) {
            tracing::warn!(
                target: "ticketing::payment",
                refund = %refund.id,
                order = %refund.order,
                %error,
                "the refund could not be attempted; it stays due"
            );
        }
    }

    /// Asks the gateway for a refund, if it is due.
    pub(super) fn attempt_refund(&self, refund: DueRefund) -> Result<RefundOutcome> {
        let Some(gateway) = self.inner.gateway.as_ref().filter(|gateway| gateway.can_refund()) else {
            return Ok(RefundOutcome::NotDue);
        };
        let Some(attempt) = self.store().write(move |tx| refund_attempts::claim(tx, refund))? else {
            return Ok(RefundOutcome::NotDue);
        };
        let order = attempt.order;
        let mut request = RefundRequest::new(order, attempt.amount, attempt.currency.clone())
            .organization(attempt.organization)
            .event(attempt.event);
        request.refund_id = attempt.id;
        request.attempt = u32::try_from(attempt.number).unwrap_or(u32::MAX);
        request.reference.clone_from(&attempt.reference);
        request.payment_reference.clone_from(&attempt.payment_reference);
        request.idempotency_key = attempt.idempotency_key();
        let answer = gateway.call(move |gateway| gateway.refund(&request));
        let number = attempt.number;
        let outcome = match &answer {
            Ok(()) => RefundOutcome::Answered,
            Err(GatewayError::Refused(problem)) => {
                warn_of_refused_refund(order, problem);
                RefundOutcome::Answered
            }
            Err(GatewayError::Unavailable(problem)) => {
                tracing::warn!(
                    target: "ticketing::payment",
                    refund = %refund.id,
                    %order,
                    attempt = number,
                    problem,
                    "the payment gateway did not answer a refund; it stays due"
                );
                RefundOutcome::Unavailable
            }
        };
        self.store_in_operation().write(move |tx| match &answer {
            Ok(()) => refund_attempts::refunded(tx, &attempt),
            Err(GatewayError::Refused(problem)) => refund_attempts::refused(tx, &attempt, problem),
            Err(GatewayError::Unavailable(problem)) => refund_attempts::unavailable(tx, &attempt, problem),
        })?;
        Ok(outcome)
    }
}

/// Logs a refund that will not be made: somebody has to give the money back by hand.
pub(super) fn warn_of_refused_refund(order: OrderId, problem: &str) {
    tracing::warn!(
        target: "ticketing::payment",
        %order,
        problem,
        "a refund was refused; the money must be given back by hand"
    );
}
