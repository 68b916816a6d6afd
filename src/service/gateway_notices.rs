//! Notices of the payment gateway, and checkouts that are settled by asking the gateway.

use super::TicketingService;
use crate::error::gateway::NoticeError;
use crate::error::{Error, Result};
use crate::model::checkout::{CheckoutState, GatewayPayment, SettledCheckout};
use crate::model::notice::NoticeOutcome;
use crate::payment::{GatewayError, GatewayEvent, GatewayNotice, LookUp, NoticeHeaders, PaymentLookUp};
use crate::sales::{checkout_attempts, hosted_checkout, order_lifecycle};
use crate::store::checkouts::{self, CheckoutOrder};

/// # Notices of the payment gateway
impl TicketingService {
    /// Receives a notice of the payment gateway: verifies it with [`read_notice`](crate::payment::PaymentGateway::read_notice),
    /// and records what it says. The server passes the requests to `/gateway/notices` on to this method.
    ///
    /// A notice may arrive several times, late, and in any order: that changes nothing. It needs no
    /// [`Caller`](crate::Caller), because its signature authenticates it. Returns the outcome of each event in it; empty
    /// for a notice about something else. Answer the gateway with success unless this method fails: what it returns
    /// would be the same the next time.
    ///
    /// # Errors
    /// - [`Error::NoticeRefused`] if the gateway did not sign it, if it cannot be read, if the gateway sends no notices,
    ///   or if the gateway had to ask the provider and got no answer. Only then should it be sent again.
    ///
    /// ```
    /// use ticketing::payment::{NoticeHeaders, NoticeOutcome, SandboxGateway};
    #[doc = include_str!("../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let forged = NoticeHeaders::from_iter([("Sandbox-Signature", "00")]);
    /// assert!(service.receive_gateway_notice(&forged, b"{}").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn receive_gateway_notice(&self, headers: &NoticeHeaders, body: &[u8]) -> Result<Vec<NoticeOutcome>> {
        let read = match &self.inner.gateway {
            Some(gateway) => gateway.read_notice(headers, body, self.inner.environment.now()),
            None => Err(NoticeError::Unsupported),
        };
        let notices = read.map_err(|refusal| {
            match &refusal {
                // Anybody can send these, as often as they like. The metrics count them.
                NoticeError::Unsupported | NoticeError::InvalidSignature => {
                    tracing::debug!(target: "ticketing::payment", %refusal, "a notice for the payment gateway was refused");
                }
                NoticeError::Unreadable(_) | NoticeError::Unavailable(_) => {
                    tracing::warn!(target: "ticketing::payment", %refusal, "a notice for the payment gateway was refused");
                }
            }
            self.store_in_operation().counters().notice_received(NoticeOutcome::of_refusal(&refusal));
            Error::NoticeRefused(refusal)
        })?;
        if notices.is_empty() {
            self.store_in_operation().counters().notice_received(NoticeOutcome::Ignored);
        }
        let mut outcomes = Vec::with_capacity(notices.len());
        for notice in notices {
            let outcome = self.process_notice(&notice)?;
            self.store_in_operation().counters().notice_received(outcome);
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    fn process_notice(&self, notice: &GatewayNotice) -> Result<NoticeOutcome> {
        let Some(order) = self.order_of(notice)? else {
            tracing::info!(
                target: "ticketing::payment",
                notice = notice.id,
                "a notice of the payment gateway is about no order of this database"
            );
            return Ok(NoticeOutcome::UnknownOrder);
        };
        match &notice.event {
            GatewayEvent::Checkout(state) => self.settle(order, notice.checkout_reference.as_deref(), state),
            GatewayEvent::PaymentFailed => {
                let CheckoutOrder { organization, id } = order;
                let checkout = notice.checkout_reference.clone();
                self.store().write_for(organization, move |tx| {
                    order_lifecycle::payment_failed(tx, organization, id, checkout.as_deref())
                })?;
                Ok(NoticeOutcome::Processed)
            }
            GatewayEvent::Refund(refund) => {
                self.record_refund(order, notice.payment_reference.as_deref(), refund)?;
                Ok(NoticeOutcome::Processed)
            }
            GatewayEvent::Dispute(dispute) => {
                self.record_dispute(order, dispute)?;
                Ok(NoticeOutcome::Processed)
            }
        }
    }

    /// The order of a notice, found by the reference of its checkout, or else by the id of the order. If the order has a
    /// checkout with another reference, the notice is not about it.
    fn order_of(&self, notice: &GatewayNotice) -> Result<Option<CheckoutOrder>> {
        if let Some(reference) = notice.checkout_reference.clone()
            && let Some(order) = self.store().read_one(|tx| checkouts::find_order(tx, &reference))?
        {
            return Ok(Some(order));
        }
        let Some(id) = notice.order_id else { return Ok(None) };
        let Some((order, stored)) = self.store().read_one(|tx| checkouts::find_by_order(tx, id))? else {
            return Ok(None);
        };
        match (&notice.checkout_reference, stored) {
            (Some(_), Some(_)) => Ok(None),
            // The process ended between the answer of the gateway and the next transaction.
            (Some(reference), None) => {
                let reference = reference.clone();
                let started = self
                    .store()
                    .write_for(order.organization, move |tx| checkout_attempts::started(tx, order.id, &reference));
                started.map(|()| Some(order))
            }
            (None, _) => Ok(Some(order)),
        }
    }

    /// Records what became of a checkout. `reference` is the gateway's id of it, if it is known.
    pub(super) fn settle(
        &self,
        order: CheckoutOrder,
        reference: Option<&str>,
        state: &CheckoutState,
    ) -> Result<NoticeOutcome> {
        let CheckoutOrder { organization, id } = order;
        match state {
            CheckoutState::Paid(payment) => self.complete_payment(organization, id, reference, Some(payment)),
            CheckoutState::Returned(payment) => self.settle_returned(order, reference, payment),
            CheckoutState::Closed => {
                let reference = reference.map(str::to_owned);
                self.store_in_operation().write(move |tx| checkout_attempts::closed(tx, id, reference.as_deref()))?;
                Ok(NoticeOutcome::Processed)
            }
            CheckoutState::Open | CheckoutState::Processing | CheckoutState::Unknown => Ok(NoticeOutcome::Processed),
        }
    }

    /// Records that the whole payment of a checkout has gone back, with the refunds that the gateway lists for it: a notice
    /// that it was paid, which may come later, completes no order then.
    fn settle_returned(
        &self,
        order: CheckoutOrder,
        reference: Option<&str>,
        payment: &GatewayPayment,
    ) -> Result<NoticeOutcome> {
        if let Some(gateway) = &self.inner.gateway {
            let request = PaymentLookUp::new(&payment.payment_reference).organization(order.organization);
            let listed = gateway.call(move |gateway| gateway.list_refunds(&request));
            let listed = listed.map_err(|_| Error::Unavailable("the payment gateway does not answer"))?;
            self.record_listed_refunds(order, &payment.payment_reference, &listed)?;
        }
        tracing::warn!(
            target: "ticketing::payment",
            order = %order.id,
            payment = payment.payment_reference,
            "a payment has gone back before its order was completed; it completes nothing"
        );
        let (id, reference) = (order.id, reference.map(str::to_owned));
        self.store_in_operation().write(move |tx| checkout_attempts::closed(tx, id, reference.as_deref()))?;
        Ok(NoticeOutcome::Processed)
    }

    /// Asks the gateway what became of a checkout, and records it: for the page to which the gateway sends the customer
    /// back, which must not trust what the browser says. `reference` is the gateway's id of the checkout.
    ///
    /// The gateway is asked only if the order is pending, or expired and its checkout is not closed. There is
    /// no [`Caller`](crate::Caller): the reference authorizes the call.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if no checkout has this reference.
    /// - [`Error::Unavailable`] if the gateway does not answer.
    ///
    /// ```
    /// use ticketing::payment::CheckoutState;
    #[doc = include_str!("../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let checkout = service.get_checkout(&caller, created.order.id)?;
    /// let reference = checkout.reference.expect("the gateway has answered");
    /// let settled = service.settle_checkout(&reference)?;
    /// assert_eq!(settled.state, CheckoutState::Open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settle_checkout(&self, reference: &str) -> Result<SettledCheckout> {
        let found = self.store().read(|tx| hosted_checkout::to_settle(tx, reference))?;
        let mut state = CheckoutState::Unknown;
        if found.asks_gateway
            && let Some(gateway) = &self.inner.gateway
        {
            let CheckoutOrder { organization, id } = found.order;
            let request = LookUp::new(id, reference).organization(organization).event(found.event);
            state = match gateway.call(move |gateway| gateway.look_up(&request)) {
                Ok(state) => state,
                Err(GatewayError::Refused(_) | GatewayError::NothingLeft(_)) => CheckoutState::Unknown,
                Err(GatewayError::Unavailable(_) | GatewayError::NotExecuted(_)) => {
                    return Err(Error::Unavailable("the payment gateway does not answer"));
                }
            };
            self.settle(found.order, Some(reference), &state)?;
        }
        self.store_in_operation().read(|tx| hosted_checkout::settled(tx, found.order, state))
    }
}
