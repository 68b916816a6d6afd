//! Closes the checkouts of orders that have ended, and looks up those whose payment was not reported.

use super::checkout_links::checkout_request;
use super::gateway_work::Progress;
use crate::error::{Error, Result};
use crate::model::payments::checkout::{CheckoutState, CheckoutStatus};
use crate::payment::{CloseCheckout, GatewayCalls, GatewayError, LookUp, PaymentGateway, Waiting};
use crate::payments::Payments;
use crate::rules::money::checkout_schedule::MAX_ATTEMPTS;
use crate::sales::checkouts::checkout_attempts::{self, CheckoutAttempt};
use crate::sales::orders::gateway_facts::Listing;
use crate::store::LockedEvent;
use crate::store::money::checkout_attempts::{self as stored_attempts, UnclosedCheckout};
use crate::store::money::checkout_parameters;
use crate::store::money::checkouts::{self, CheckoutOrder};
use crate::store::work::ClaimedWork;

/// What the gateway says about a checkout.
enum Answer {
    State {
        state: CheckoutState,
        /// Whether the gateway can close checkouts.
        can_close: bool,
    },
    /// It does not know the checkout, or refuses to say anything about it. That is no proof that nothing can be paid.
    NoProof(String),
    /// There is no checkout to ask about.
    NoCheckout,
    /// It failed.
    Failed(GatewayError),
}

impl Payments {
    /// Asks the gateway about a checkout, if that is still due, and records the answer.
    pub(crate) fn attempt_checkout(&self, gateway: &GatewayCalls, work: &ClaimedWork) -> Result<Progress> {
        let begun = work.clone();
        let attempt = match self.begin(work, move |tx| checkout_attempts::begin(tx, &begun))? {
            Ok(attempt) => attempt,
            Err(progress) => return Ok(progress),
        };
        let (attempt, checkout) = (&attempt, &attempt.checkout);
        let order = CheckoutOrder { organization: checkout.organization, id: checkout.order };
        let reference = checkout.reference.as_deref();
        let is_open = checkout.status == CheckoutStatus::Open;
        match self.ask_about(gateway, checkout)? {
            Answer::State { state: state @ (CheckoutState::Paid(_) | CheckoutState::Returned(_)), .. } => {
                match (self.settle(order, reference, &state), &state) {
                    (Err(Error::Unavailable(_)), CheckoutState::Returned(payment))
                        if attempt.number() >= MAX_ATTEMPTS =>
                    {
                        // The gateway lists no refunds: the refund of the payment tells what has gone back.
                        let nothing = Listing::default();
                        self.receive_payment(order, reference, payment, true, Some(&nothing))?;
                    }
                    (Err(Error::Unavailable(reason)), _) => {
                        self.postpone(attempt, &GatewayError::Unavailable(reason.to_string()))?;
                        return Ok(Progress::Unavailable);
                    }
                    (settled, _) => {
                        settled?;
                    }
                }
                // Nothing more is asked about the checkout that was paid, unless its order was paid with another amount.
                self.write_about(attempt, |tx, attempt| checkout_attempts::still_open(tx, attempt, false))?;
            }
            Answer::State { state: CheckoutState::Open | CheckoutState::Processing, can_close } => {
                self.write_about(attempt, move |tx, attempt| checkout_attempts::still_open(tx, attempt, can_close))?;
            }
            Answer::Failed(failure) => {
                self.postpone(attempt, &failure)?;
                return Ok(Progress::Unavailable);
            }
            Answer::State { state: CheckoutState::Closed, .. } if is_open => {
                self.settle(order, reference, &CheckoutState::Closed)?;
            }
            // The order may still be waiting for its payment although the gateway does not know more.
            _ if is_open => {
                self.write_about(attempt, |tx, attempt| checkout_attempts::still_open(tx, attempt, false))?;
            }
            Answer::State { state: CheckoutState::Closed | CheckoutState::Unknown, .. } | Answer::NoCheckout => {
                self.write_about(attempt, |tx, attempt| stored_attempts::close(tx, attempt.checkout.order))?;
            }
            Answer::NoProof(problem) => self.ask_later(attempt, &problem)?,
        }
        Ok(Progress::Answered)
    }

    fn ask_later(&self, attempt: &CheckoutAttempt, problem: &str) -> Result<()> {
        let text = problem.to_owned();
        let again = self.write_about(attempt, move |tx, attempt| checkout_attempts::unproven(tx, attempt, &text))?;
        tracing::warn!(
            target: "ticketing::payment",
            order = %attempt.checkout.order,
            attempt = attempt.number(),
            asked_again = ?again,
            problem,
            "the payment gateway does not say whether a checkout is closed"
        );
        Ok(())
    }

    fn postpone(&self, attempt: &CheckoutAttempt, failure: &GatewayError) -> Result<()> {
        let reason = failure.clone();
        let again =
            self.write_about(attempt, move |tx, attempt| checkout_attempts::unavailable(tx, attempt, &reason))?;
        tracing::warn!(
            target: "ticketing::payment",
            order = %attempt.checkout.order,
            attempt = attempt.number(),
            asked_again = ?again,
            %failure,
            "the payment gateway did not answer about a checkout"
        );
        Ok(())
    }

    /// Records an answer, unless the checkout was closed meanwhile, or is asked about for another reason. Then it returns
    /// `None`.
    fn write_about<T: Send + 'static>(
        &self,
        attempt: &CheckoutAttempt,
        work: impl Fn(&LockedEvent<'_>, &CheckoutAttempt) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        let attempt = attempt.clone();
        let UnclosedCheckout { organization, order, .. } = attempt.checkout;
        self.writes.store_in_operation().write_event(organization, order.into(), move |tx| {
            if attempt.is_held(tx)? { work(tx, &attempt).map(Some) } else { Ok(None) }
        })
    }

    /// Asks the gateway for the outcome of a checkout, and to close it if its order has ended.
    fn ask_about(&self, gateway: &GatewayCalls, checkout: &UnclosedCheckout) -> Result<Answer> {
        match (checkout.status, &checkout.reference) {
            (CheckoutStatus::Closing, Some(reference)) => Ok(close(gateway, checkout, reference)),
            (CheckoutStatus::Closing, None) => self.start_and_close(gateway, checkout),
            (_, Some(reference)) => Ok(look_up(gateway, checkout, reference, true)),
            (_, None) => Ok(Answer::NoCheckout),
        }
    }

    /// Repeats the request for a checkout that the gateway did not answer in time, so that it tells the reference, and
    /// closes the checkout, unless the gateway has created none.
    fn start_and_close(&self, gateway: &GatewayCalls, checkout: &UnclosedCheckout) -> Result<Answer> {
        let UnclosedCheckout { organization, order, .. } = *checkout;
        let public_url = self.public_url.clone();
        let request = self.writes.store()?.read(|tx| checkout_parameters::load(tx, organization, order, public_url));
        let request = checkout_request(request?);
        let started = gateway.call_for(Waiting::Maintenance, organization, move |gateway| gateway.start(&request));
        let started = match started {
            Ok(started) => started,
            Err(GatewayError::Refused(_)) => return Ok(Answer::NoCheckout),
            Err(failure) => return Ok(Answer::Failed(failure)),
        };
        let reference = started.reference.clone();
        self.writes
            .store_in_operation()
            .write_event(organization, order.into(), move |tx| checkouts::record_reference(tx, order, &reference))?;
        Ok(close(gateway, checkout, &started.reference))
    }
}

fn close(gateway: &GatewayCalls, checkout: &UnclosedCheckout, reference: &str) -> Answer {
    let order = (checkout.organization, checkout.order);
    let request = CloseCheckout::of(order, checkout.event, checkout.account.clone(), reference);
    let ask = move |gateway: &dyn PaymentGateway| gateway.close_checkout(&request);
    match gateway.call_for(Waiting::Maintenance, checkout.organization, ask) {
        Ok(CheckoutState::Unknown) => look_up(gateway, checkout, reference, false),
        Ok(state) => Answer::State { state, can_close: true },
        Err(GatewayError::Refused(problem)) => match look_up(gateway, checkout, reference, false) {
            Answer::State { state: CheckoutState::Unknown, .. } => Answer::NoProof(problem),
            answer => answer,
        },
        Err(failure) => Answer::Failed(failure),
    }
}

fn look_up(gateway: &GatewayCalls, checkout: &UnclosedCheckout, reference: &str, can_close: bool) -> Answer {
    let order = (checkout.organization, checkout.order);
    let request = LookUp::of(order, checkout.event, checkout.account.clone(), reference);
    let ask = move |gateway: &dyn PaymentGateway| gateway.look_up(&request);
    match gateway.call_for(Waiting::Maintenance, checkout.organization, ask) {
        Ok(state) => Answer::State { state, can_close },
        Err(GatewayError::Refused(problem)) => Answer::NoProof(problem),
        Err(failure) => Answer::Failed(failure),
    }
}
