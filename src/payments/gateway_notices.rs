//! Notices of the payment gateway.

use super::checkout_settlement::{look_up_of, state_of};
use super::gateway_facts::{Ask, list_facts};
use crate::error::gateway_failure::NoticeError;
use crate::error::{Error, Result};
use crate::model::payments::checkout::CheckoutState;
use crate::model::payments::notice::NoticeOutcome;
use crate::payment::{GatewayError, GatewayEvent, GatewayNotice, NoticeHeaders, PaymentLookUp, Waiting};
use crate::payments::Payments;
use crate::sales::checkouts::hosted_checkout;
use crate::sales::orders::gateway_facts::Listing;
use crate::sales::orders::order_lifecycle;
use crate::store::money::checkouts::{self, CheckoutOrder};
use crate::store::money::payments;
use crate::store::tenants::organizations;

impl Payments {
    /// See [`TicketingService::receive_gateway_notice`](crate::TicketingService::receive_gateway_notice).
    pub(crate) fn receive(&self, headers: &NoticeHeaders, body: &[u8]) -> Result<Vec<NoticeOutcome>> {
        self.receive_read_notices(self.read_gateway_notice(headers, body)?)
    }

    /// Verifies and reads a notice, without asking the store or the provider. `None` if the provider signed something
    /// that cannot be read: it would send that again for days, and then send no more notices at all.
    pub(crate) fn read_gateway_notice(
        &self,
        headers: &NoticeHeaders,
        body: &[u8],
    ) -> Result<Option<Vec<GatewayNotice>>> {
        let read = match &self.gateway {
            Some(gateway) => gateway.read_notice(headers, body, self.environment.now()),
            None => Err(NoticeError::Unsupported),
        };
        match read {
            Ok(notices) => Ok(Some(notices)),
            Err(refusal @ NoticeError::Unreadable(_)) => {
                drop(self.refused(refusal));
                Ok(None)
            }
            Err(refusal) => Err(self.refused(refusal)),
        }
    }

    /// Records what a notice says that was read.
    pub(crate) fn receive_read_notices(&self, notices: Option<Vec<GatewayNotice>>) -> Result<Vec<NoticeOutcome>> {
        let Some(notices) = notices else { return Ok(vec![NoticeOutcome::Unreadable]) };
        if notices.is_empty() {
            self.writes.store_in_operation().counters().notice_received(NoticeOutcome::Ignored);
        }
        notices.iter().map(|notice| self.receive_notice(notice)).collect()
    }

    /// Records what a verified notice reports, and counts its outcome.
    pub(super) fn receive_notice(&self, notice: &GatewayNotice) -> Result<NoticeOutcome> {
        let outcome = match self.process_notice(notice) {
            Err(Error::NoticeRefused(refusal)) => return Err(self.refused(refusal)),
            outcome => outcome?,
        };
        self.writes.store_in_operation().counters().notice_received(outcome);
        Ok(outcome)
    }

    /// Refuses a request that cannot be a notice of the payment gateway, before its body is read.
    #[cfg(feature = "server")]
    pub(crate) fn check_gateway_notice_headers(&self, headers: &NoticeHeaders) -> Result<()> {
        let checked = match &self.gateway {
            Some(gateway) => gateway.check_notice_headers(headers, self.environment.now()),
            None => Err(NoticeError::Unsupported),
        };
        checked.map_err(|refusal| self.refused(refusal))
    }

    fn refused(&self, refusal: NoticeError) -> Error {
        match &refusal {
            // Anybody can send these, as often as they like. The metrics count them.
            NoticeError::Unsupported | NoticeError::InvalidSignature => {
                tracing::debug!(target: "ticketing::payment", %refusal, "a notice for the payment gateway was refused");
            }
            NoticeError::Unreadable(_) | NoticeError::Unavailable(_) => {
                tracing::warn!(target: "ticketing::payment", %refusal, "a notice for the payment gateway was refused");
            }
        }
        self.writes.store_in_operation().counters().notice_received(NoticeOutcome::of_refusal(&refusal));
        Error::NoticeRefused(refusal)
    }

    /// Finds the order of a notice, and records the fact that it reports.
    fn process_notice(&self, notice: &GatewayNotice) -> Result<NoticeOutcome> {
        if let GatewayEvent::Changed(_) = &notice.event {
            return self.process_changed(notice);
        }
        let mut found = self.order_of(notice)?;
        if found.is_none()
            && let Some(payment) = self.payment_to_ask_about(notice)?
            && let Some(gateway) = &self.gateway
        {
            let answer = gateway
                .call_for(Waiting::Notice, notice.organization_id, move |gateway| gateway.find_checkout(&payment));
            let Some(reference) = answer_about(notice, answer)? else { return Ok(NoticeOutcome::GatewayRefused) };
            if let Some(reference) = reference {
                found = self.writes.store()?.read_one(|tx| checkouts::find_order(tx, &reference))?;
            }
        }
        let Some(order) = found else { return self.process_unknown(notice) };
        match &notice.event {
            GatewayEvent::Checkout(state) => self.settle(order, notice.checkout_reference.as_deref(), state),
            GatewayEvent::PaymentFailed => {
                let CheckoutOrder { organization, id } = order;
                let checkout = notice.checkout_reference.clone();
                self.writes.store()?.write_event(organization, id.into(), move |tx| {
                    order_lifecycle::payment_failed(tx, organization, id, checkout.as_deref())
                })?;
                Ok(NoticeOutcome::Processed)
            }
            GatewayEvent::Refund(refund) => {
                let reported = Listing { refunds: vec![refund.clone()], ..Listing::default() };
                self.record_listed(order, notice, Ask::Refunds, reported)
            }
            GatewayEvent::RefundsChanged => self.record_listed(order, notice, Ask::Refunds, Listing::default()),
            GatewayEvent::Dispute(dispute) => {
                let reported = Listing { disputes: vec![dispute.clone()], ..Listing::default() };
                self.record_listed(order, notice, Ask::Disputes, reported)
            }
            GatewayEvent::Unreadable(problem) => {
                tracing::warn!(
                    target: "ticketing::payment",
                    notice = notice.id,
                    order = %order.id,
                    problem,
                    "a notice of the payment gateway cannot be read"
                );
                Ok(NoticeOutcome::Unreadable)
            }
            GatewayEvent::Changed(_) => Ok(NoticeOutcome::Ignored),
        }
    }

    /// Asks the gateway about the object that a notice names, and processes what it says.
    fn process_changed(&self, notice: &GatewayNotice) -> Result<NoticeOutcome> {
        let Some(gateway) = &self.gateway else { return Ok(NoticeOutcome::Ignored) };
        let named = notice.clone();
        let answer = gateway.call_for(Waiting::Notice, notice.organization_id, move |gateway| gateway.fetch(&named));
        let Some(found) = answer_about(notice, answer)? else { return Ok(NoticeOutcome::GatewayRefused) };
        match found.filter(|found| !matches!(found.event, GatewayEvent::Changed(_))) {
            Some(found) => self.process_notice(&found),
            None => Ok(NoticeOutcome::Ignored),
        }
    }

    /// Records a fact about a payment. The notice of the payment may still be on its way: then the gateway is asked
    /// about its checkout first.
    pub(crate) fn record_fact(
        &self,
        order: CheckoutOrder,
        notice: &GatewayNotice,
        listing: &Listing,
    ) -> Result<NoticeOutcome> {
        let payment = notice.payment_reference.as_deref();
        let mut is_known = self.record_facts(order, payment, listing)?;
        if !is_known {
            self.settle_payment_of(order, notice)?;
            is_known = self.record_facts(order, payment, listing)?;
        }
        if !is_known {
            tracing::info!(
                target: "ticketing::payment",
                notice = notice.id,
                order = %order.id,
                "a notice of the payment gateway is about a payment that is not known"
            );
        }
        Ok(NoticeOutcome::Processed)
    }

    /// Records what the gateway lists of a payment now: notices may arrive in any order, twice or not at all, and carry no
    /// amount into the books. If the gateway cannot tell, what the notice has reported is recorded. If it refuses to tell, that is recorded of a dispute only: a refund may have
    /// failed since.
    fn record_listed(
        &self,
        order: CheckoutOrder,
        notice: &GatewayNotice,
        ask: Ask,
        reported: Listing,
    ) -> Result<NoticeOutcome> {
        let (Some(gateway), Some(payment)) = (&self.gateway, payment_of(notice)) else {
            return self.record_fact(order, notice, &reported);
        };
        let listed = list_facts(gateway, order.organization, payment, ask, Waiting::Notice);
        match answer_about(notice, listed)? {
            Some(listing) => self.record_fact(order, notice, &listing.unwrap_or(reported)),
            None if ask == Ask::Disputes => self.record_fact(order, notice, &reported),
            None => Ok(NoticeOutcome::GatewayRefused),
        }
    }

    /// What becomes of a notice whose order is not in this database.
    fn process_unknown(&self, notice: &GatewayNotice) -> Result<NoticeOutcome> {
        if let GatewayEvent::Checkout(CheckoutState::Paid(payment)) = &notice.event
            && self.is_asked_for(notice)?
        {
            tracing::warn!(
                target: "ticketing::payment",
                notice = notice.id,
                checkout = notice.checkout_reference,
                payment = payment.payment_reference,
                amount = %payment.amount,
                currency = payment.currency,
                "a customer has paid, but no order of this database has the checkout; refund the payment at the provider"
            );
            return Ok(NoticeOutcome::UnknownPayment);
        }
        tracing::info!(
            target: "ticketing::payment",
            notice = notice.id,
            "a notice of the payment gateway is about no order of this database"
        );
        Ok(NoticeOutcome::UnknownOrder)
    }

    /// Whether the provider says that an organization of this database has asked for the payment.
    fn is_asked_for(&self, notice: &GatewayNotice) -> Result<bool> {
        let Some(organization) = notice.organization_id else { return Ok(false) };
        match self.writes.store()?.read_one(|tx| organizations::get(tx, organization)) {
            Ok(_) => Ok(true),
            Err(Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The payment whose checkout finds the order of a notice. `None` if the notice names its checkout, or if the
    /// payment is another program's: the gateway is not asked about that. A dispute does not name its program, so the
    /// gateway is always asked.
    fn payment_to_ask_about(&self, notice: &GatewayNotice) -> Result<Option<PaymentLookUp>> {
        let Some(payment) = payment_of(notice).filter(|_| notice.checkout_reference.is_none()) else {
            return Ok(None);
        };
        let asks = matches!(notice.event, GatewayEvent::Dispute(_)) || self.is_asked_for(notice)?;
        Ok(asks.then_some(payment))
    }

    /// The order of a notice, found by the reference of its checkout, else by that of its payment, else by the id of
    /// the order. If the order has a checkout with another reference, the notice is not about it.
    fn order_of(&self, notice: &GatewayNotice) -> Result<Option<CheckoutOrder>> {
        if let Some(reference) = &notice.checkout_reference
            && let Some(order) = self.writes.store()?.read_one(|tx| checkouts::find_order(tx, reference))?
        {
            return Ok(Some(order));
        }
        if let Some(payment) = &notice.payment_reference
            && let Some(order) = self.writes.store()?.read_one(|tx| payments::find_order(tx, payment))?
        {
            return Ok(Some(order));
        }
        let Some(id) = notice.order_id else { return Ok(None) };
        let Some((order, stored)) = self.writes.store()?.read_one(|tx| checkouts::find_by_order(tx, id))? else {
            return Ok(None);
        };
        match (&notice.checkout_reference, stored) {
            (Some(_), Some(_)) => Ok(None),
            // The process ended between the answer of the gateway and the next transaction.
            (Some(reference), None) => {
                let reference = reference.clone();
                let started = self.writes.store()?.write_event(order.organization, order.id.into(), move |tx| {
                    checkouts::record_reference(tx, order.id, &reference)
                });
                started.map(|()| Some(order))
            }
            (None, _) => Ok(Some(order)),
        }
    }

    /// Asks the gateway for the outcome of the checkout of a payment, and records it, because a notice says something
    /// about a payment that is not known.
    fn settle_payment_of(&self, order: CheckoutOrder, notice: &GatewayNotice) -> Result<()> {
        let Some(gateway) = &self.gateway else { return Ok(()) };
        let mut reference = None;
        if let Some(payment) = payment_of(notice) {
            let found =
                gateway.call_for(Waiting::Notice, order.organization, move |gateway| gateway.find_checkout(&payment));
            reference = answer_about(notice, found)?.flatten();
        }
        let newest = self.writes.store()?.read_one(|tx| checkouts::find_by_order(tx, order.id))?;
        let Some(reference) = reference.or(newest.and_then(|(_, reference)| reference)) else { return Ok(()) };
        let found = self.writes.store()?.read(|tx| hosted_checkout::to_settle(tx, &reference))?;
        let request = look_up_of(&found, &reference);
        let answer = gateway.call_for(Waiting::Notice, order.organization, move |gateway| gateway.look_up(&request));
        self.settle(order, Some(&reference), &state_of(answer)?)?;
        Ok(())
    }
}

fn payment_of(notice: &GatewayNotice) -> Option<PaymentLookUp> {
    Some(PaymentLookUp::new(notice.payment_reference.as_ref()?).account(notice.account.clone().into()))
}

/// The gateway's answer to a question about a notice. `None` if it refuses to answer: it would do so each time.
fn answer_about<T>(notice: &GatewayNotice, answer: Result<T, GatewayError>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(GatewayError::Refused(problem)) => {
            tracing::warn!(
                target: "ticketing::payment",
                notice = notice.id,
                problem,
                "a notice could not be processed, because the payment gateway refuses to say more about the payment"
            );
            Ok(None)
        }
        Err(failure) => Err(Error::NoticeRefused(NoticeError::Unavailable(failure.to_string()))),
    }
}
