//! Refunds through the payment gateway.

use super::TicketingService;
use super::idempotency::Start;
use crate::error::Result;
use crate::form::request::{Nothing, Request};
use crate::model::caller::{Caller, IdempotentCall};
use crate::model::id::{OrderId, RefundId};
use crate::model::idempotency::Replayable;
use crate::model::order::Order;
use crate::model::page::Page;
use crate::model::refund::{ListRefunds, Refund, RefundOrder, RefundOrderResponse};
use crate::payment::{GatewayCalls, GatewayError, RefundRequest};
use crate::rules::checked;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::{partial_refunds, refund_attempts};
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

    /// Gives back a part of what was paid for an order: for some of its tickets, or an amount.
    ///
    /// - Tickets are cancelled, and their seats can be sold again. The final amount of an item is divided by the number of
    ///   its tickets. The minor units that are left go to its first tickets, one each: of 10.00 for three tickets, 3.34,
    ///   3.33 and 3.33. If the gateway refunds only [multiples](crate::payment::PaymentGateway::refund_step) of an amount,
    ///   the shares are such multiples. When the last ticket goes, the order is CANCELLED.
    /// - An amount cancels no ticket. The order stays COMPLETED, also if nothing of the payment is left.
    ///
    /// A payment through a gateway that can refund is refunded through it, as
    /// [`cancel_order`](Self::cancel_order) does. Otherwise `requires_manual_refund` is true. Cancelling the order
    /// later gives back only the rest.
    ///
    /// Requires the scope `payments:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the order does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see [`RefundOrder`]),
    ///   every ticket that is not of this order, and an amount that the gateway cannot refund.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `ticket-cancelled` if one of the tickets is
    ///   cancelled, or `refund-exceeds-payment` if so much is not left of what was paid.
    ///
    /// ```
    /// use ticketing::payment::RefundOrder;
    #[doc = include_str!("../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let order = service.payment_completed(&caller, created.order.id)?;
    /// let one = order.tickets().next().expect("an order that is completed has tickets").id;
    /// let refunded = service.refund_order(&caller, order.id, RefundOrder::of_tickets([one]).reason("Ill"))?;
    /// assert_eq!(refunded.amount, Amount::cents(1250));
    ///
    /// service.refund_order(&caller, order.id, RefundOrder::of_amount(Amount::cents(250)))?;
    /// assert_eq!(service.get_event_summary(&caller, event.id)?.refunded_total, Amount::cents(1500));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refund_order<C: IdempotentCall>(
        &self,
        caller: &C,
        id: OrderId,
        request: impl Into<Request<RefundOrder>>,
    ) -> Result<C::Output<RefundOrderResponse>> {
        let call = caller.keyed();
        call.caller.require(Scope::PaymentsWrite)?;
        let request = request.into();
        let target = OperationTarget::on("refund_order", id);
        let running = match self.begin_idempotent(&call, target, &request)? {
            Start::Replay(response) => return Ok(C::output(Replayable::replayed(response))),
            Start::Run(running) => running,
        };
        let organization = call.caller.organization;
        let gateway = self.inner.gateway.clone().filter(GatewayCalls::can_refund);
        let operation = running.operation();
        let refunded = self.write_for(call.caller.identity(), move |tx| {
            let step = gateway.as_ref().map(|gateway| move |currency: &str| gateway.refund_step(currency));
            let step = step.as_ref().map(|step| step as &dyn Fn(&str) -> i64);
            partial_refunds::refund(tx, &operation, organization, id, &request, step)
        })?;
        if let Some(refund) = refunded.refund_due {
            self.attempt_refund_now(refund);
        }
        Ok(C::output(refunded.response))
    }

    /// Records that the money which was to be given back by hand for an order was given back: for tickets that were paid in
    /// another way than through the gateway, and for refunds that the gateway cannot make or has refused. Until then
    /// it counts in the `manual_refund_total` of the event's summary.
    ///
    /// Requires the scope `payments:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the order does not exist.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `no-manual-refund-due` if nothing of the order is to
    ///   be given back by hand.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.mark_order_paid(&caller, created.order.id)?;
    /// assert!(service.cancel_order(&caller, created.order.id)?.requires_manual_refund);
    /// assert_eq!(service.get_event_summary(&caller, event.id)?.manual_refund_total, Amount::cents(2500));
    /// service.mark_order_refunded(&caller, created.order.id)?;
    /// assert_eq!(service.get_event_summary(&caller, event.id)?.manual_refund_total, Amount::cents(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark_order_refunded<C: IdempotentCall>(&self, caller: &C, id: OrderId) -> Result<C::Output<Order>> {
        let call = caller.keyed();
        call.caller.require(Scope::PaymentsWrite)?;
        let organization = call.caller.organization;
        let target = OperationTarget::on("mark_order_refunded", id);
        let result = self.write_idempotent(&call, target, Nothing, move |tx, _| {
            partial_refunds::mark_refunded(tx, organization, id)
        })?;
        Ok(C::output(result))
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
        request.source = attempt.source;
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
            Err(GatewayError::Unavailable(problem) | GatewayError::NotExecuted(problem)) => {
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
            Err(GatewayError::Unavailable(problem) | GatewayError::NotExecuted(problem)) => {
                refund_attempts::unavailable(tx, &attempt, problem)
            }
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
