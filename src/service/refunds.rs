//! Refunds through the payment gateway.

use super::TicketingService;
use super::gateway_groups::Progress;
use super::idempotency::Start;
use crate::error::{Error, Result};
use crate::form::request::{Nothing, Request};
use crate::model::caller::{Caller, IdempotentCall};
use crate::model::gateway_report::{GatewayRefund, RefundState};
use crate::model::id::{OrderId, OrganizationId, RefundId};
use crate::model::idempotency::Replayable;
use crate::model::order::Order;
use crate::model::page::Page;
use crate::model::refund::{ListRefunds, Refund, RefundOrder, RefundOrderResponse};
use crate::payment::{GatewayCalls, GatewayError, PaymentGateway, PaymentLookUp, RefundRequest};
use crate::rules::checked;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::partial_refunds;
use crate::sales::refund_attempts::{self, RecordedRefusal, RefundAttempt, Refusal};
use crate::scope::Scope;
use crate::store::checkouts::CheckoutOrder;
use crate::store::refunds::{self, DueRefund};

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
    ///   3.33 and 3.33. If the gateway refunds only [multiples](crate::payment::Limits::smallest_refund) of an amount,
    ///   the shares are such multiples. When the last ticket goes, the order is CANCELLED.
    /// - An amount cancels no ticket. The order stays COMPLETED, also if nothing of the payment is left. It needs an
    ///   [idempotency key](Caller::with_idempotency_key): without one, a program that repeats the call because it got no
    ///   answer would pay twice. A ticket is refunded only once, so tickets need no key.
    ///
    /// A payment through a gateway that can refund is refunded through it, as
    /// [`cancel_order`](Self::cancel_order) does. Otherwise `requires_manual_refund` is true. Cancelling the order
    /// later gives back only the rest.
    ///
    /// Requires the scope `payments:write`.
    ///
    /// # Errors
    /// - [`Error::IdempotencyKeyRequired`](crate::Error::IdempotencyKeyRequired) for an amount without a key.
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
    /// let keyed = caller.with_idempotency_key("apology-4711");
    /// service.refund_order(&keyed, order.id, RefundOrder::of_amount(Amount::cents(250)))?;
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
        if request.body.amount.is_some() && call.key.is_none() {
            return Err(Error::IdempotencyKeyRequired);
        }
        let target = OperationTarget::on("refund_order", id);
        let running = match self.begin_idempotent(&call, target, &request)? {
            Start::Replay(response) => return Ok(C::output(Replayable::replayed(response))),
            Start::Run(running) => running,
        };
        let organization = call.caller.organization;
        let gateway = self.inner.gateway.clone().filter(GatewayCalls::can_refund);
        let operation = running.operation();
        let refunded = self.write_for(call.caller.identity(), move |tx| {
            let step = gateway.as_ref().map(|gateway| move |currency: &str| gateway.smallest_refund(currency));
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
        if let Err(error) = self.attempt_refund(refund, Waiting::Caller) {
            tracing::warn!(
                target: "ticketing::payment",
                refund = %refund.id,
                order = %refund.order,
                %error,
                "the refund could not be attempted; it stays due"
            );
        }
    }

    /// Attempts a refund for the maintenance, if it is due.
    pub(super) fn attempt_refund_in_background(&self, refund: DueRefund) -> Result<Progress> {
        self.attempt_refund(refund, Waiting::Maintenance)
    }

    /// Asks the gateway for a refund, if it is due.
    fn attempt_refund(&self, refund: DueRefund, waiting: Waiting) -> Result<Progress> {
        let Some(gateway) = self.inner.gateway.as_ref().filter(|gateway| gateway.can_refund()) else {
            return Ok(Progress::NotDue);
        };
        let Some(attempt) = self.store().write(move |tx| refund_attempts::claim(tx, refund))? else {
            return Ok(Progress::NotDue);
        };
        let order = attempt.order;
        let mut request = RefundRequest::new(order, attempt.amount, attempt.currency.clone())
            .organization(attempt.organization)
            .event(attempt.event);
        request.refund_id = attempt.id;
        request.source = attempt.source;
        request.attempt = u32::try_from(attempt.number).unwrap_or(u32::MAX);
        request.decided_at = attempt.decided_at;
        request.asked_at = attempt.claimed_at;
        request.reference.clone_from(&attempt.reference);
        request.earlier_references.clone_from(&attempt.earlier_references);
        request.payment_reference.clone_from(&attempt.payment_reference);
        request.idempotency_key = attempt.idempotency_key();
        let answer = waiting.call(gateway, attempt.organization, move |gateway| gateway.refund(&request));
        let ending = self.ending_of(gateway, &attempt, answer, waiting)?;
        let outcome = match &ending {
            Ending::Made | Ending::Refused(..) => Progress::Answered,
            Ending::Postponed(problem) => {
                tracing::warn!(
                    target: "ticketing::payment",
                    refund = %refund.id,
                    %order,
                    attempt = attempt.number,
                    problem,
                    "the payment gateway did not make a refund; it stays due"
                );
                Progress::Unavailable
            }
        };
        let recorded = ending.clone();
        let refusal = self.store_in_operation().write(move |tx| match &recorded {
            Ending::Made => refund_attempts::refunded(tx, &attempt).map(|()| None),
            Ending::Refused(refusal, problem) => refund_attempts::refused(tx, &attempt, *refusal, problem).map(Some),
            Ending::Postponed(problem) => refund_attempts::unavailable(tx, &attempt, problem).map(|()| None),
        })?;
        match (&ending, refusal) {
            (Ending::Refused(_, problem), Some(RecordedRefusal::Owed)) => warn_of_refused_refund(order, problem),
            (Ending::Refused(_, problem), Some(RecordedRefusal::Settled)) => tracing::info!(
                target: "ticketing::payment",
                refund = %refund.id,
                %order,
                problem,
                "a refund was not made, because its money has gone back in another way"
            ),
            _ => {}
        }
        Ok(outcome)
    }

    /// What an attempt ends with. If the gateway refuses to make the refund, it is asked first what has gone back of the
    /// payment: somebody may have refunded it in the account at the gateway.
    fn ending_of(
        &self,
        gateway: &GatewayCalls,
        attempt: &RefundAttempt,
        answer: Result<GatewayRefund, GatewayError>,
        waiting: Waiting,
    ) -> Result<Ending> {
        let (refusal, problem) = match answer {
            Ok(GatewayRefund { state: RefundState::Failed(reason), .. }) => {
                (Refusal::ForGood, format!("the refund failed: {reason}"))
            }
            Ok(_) => return Ok(Ending::Made),
            Err(GatewayError::Refused(problem)) => (Refusal::ForGood, problem),
            Err(failure @ GatewayError::LessLeft(_)) => (Refusal::ForGood, failure.to_string()),
            Err(failure @ GatewayError::NothingLeft(_)) => (Refusal::NothingLeft, failure.to_string()),
            Err(failure) => return Ok(Ending::after_failure(attempt, &failure)),
        };
        if let Some(payment) = &attempt.payment_reference {
            let request = PaymentLookUp::new(payment).organization(attempt.organization);
            let order = CheckoutOrder { organization: attempt.organization, id: attempt.order };
            match waiting.call(gateway, attempt.organization, move |gateway| gateway.refunds_of(&request)) {
                Ok(listed) => self.record_listed_refunds(order, payment, &listed)?,
                Err(failure) => return Ok(Ending::after_failure(attempt, &failure)),
            }
        }
        Ok(Ending::Refused(refusal, problem))
    }
}

/// Who waits for an attempt to make a refund.
#[derive(Debug, Clone, Copy)]
enum Waiting {
    Caller,
    Maintenance,
}

impl Waiting {
    fn call<T: Send + 'static>(
        self,
        gateway: &GatewayCalls,
        organization: OrganizationId,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Result<T, GatewayError> {
        match self {
            Self::Caller => gateway.call(organization, work),
            Self::Maintenance => gateway.call_in_background(organization, work),
        }
    }
}

/// What an attempt to make a refund ends with.
#[derive(Clone)]
enum Ending {
    Made,
    /// It will not be made.
    Refused(Refusal, String),
    /// It is attempted again.
    Postponed(String),
}

impl Ending {
    fn after_failure(attempt: &RefundAttempt, failure: &GatewayError) -> Self {
        if attempt.is_last {
            let problem = format!("it was not made in {} attempts: {failure}", attempt.number);
            return Self::Refused(Refusal::ForGood, problem);
        }
        Self::Postponed(failure.to_string())
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
