//! Asks the gateway for refunds.

use super::gateway_facts::{Ask, list_facts, look_up_of};
use super::gateway_work::Progress;
use crate::error::Result;
use crate::model::payments::checkout::CheckoutState;
use crate::model::payments::gateway_report::{GatewayRefund, RefundState};
use crate::model::values::amount::Amount;
use crate::payment::{GatewayCalls, GatewayError, LookUp, PaymentLookUp, RefundRequest, Waiting};
use crate::payments::Payments;
use crate::rules::money::gateway_choice::{REFUND, work_kinds};
use crate::sales::money::refund_lifecycle::RefundTerms;
use crate::sales::orders::refund_attempts::{self, Answer, RefundAttempt, Refusal};
use crate::store::money::checkouts::CheckoutOrder;
use crate::store::money::payments::StoredPayment;
use crate::store::money::refunds::DecidedRefund;
use crate::store::work::{self, ClaimedWork};

/// After how many attempts a refund is given up even if the gateway does not say what it has made: two weeks.
const HOPELESS: i64 = 350;

impl Payments {
    pub(crate) fn refund_terms(&self) -> RefundTerms {
        let gateway = self.gateway.as_ref();
        RefundTerms {
            gateway: gateway.map(GatewayCalls::key).map(|key| (key.name.to_owned(), key.mode)),
            can_refund: gateway.is_some_and(GatewayCalls::can_refund),
        }
    }

    /// Attempts a refund that was just decided, if there is one. After a failure, the maintenance attempts it again.
    pub(crate) fn attempt_decided(&self, refund: Option<DecidedRefund>) {
        if let Some(refund) = refund
            && let Err(error) = self.attempt_now(refund)
        {
            tracing::warn!(
                target: "ticketing::payment",
                refund = %refund.id,
                order = %refund.order,
                %error,
                "the refund could not be attempted; it stays due"
            );
        }
    }

    fn attempt_now(&self, refund: DecidedRefund) -> Result<()> {
        let Some(gateway) = self.gateway.as_ref().filter(|gateway| gateway.can_refund()) else { return Ok(()) };
        let kinds = work_kinds(REFUND, gateway.key());
        let begun = self.writes.store()?.write_event(refund.organization, refund.order.into(), move |tx| {
            for kind in &kinds {
                if let Some(work) = work::claim_key(tx, refund_attempts::queue(kind), refund.id.raw())? {
                    return refund_attempts::begin(tx, &work);
                }
            }
            Ok(None)
        })?;
        begun.map_or(Ok(()), |begun| self.make_refund(gateway, begun, Waiting::Caller).map(drop))
    }

    /// Asks the gateway for a refund, if that is still due.
    pub(crate) fn attempt_refund(&self, gateway: &GatewayCalls, work: &ClaimedWork) -> Result<Progress> {
        let begun = work.clone();
        match self.begin(work, move |tx| refund_attempts::begin(tx, &begun))? {
            Ok(begun) => self.make_refund(gateway, begun, Waiting::Maintenance),
            Err(progress) => Ok(progress),
        }
    }

    fn make_refund(&self, gateway: &GatewayCalls, claimed: RefundAttempt, waiting: Waiting) -> Result<Progress> {
        let organization = claimed.payment.organization;
        let is_first = matches!(waiting, Waiting::Caller) && !refund_request(&claimed).may_have_been_made();
        let looked = if is_first { Ok(Some(claimed.clone())) } else { self.look_first(gateway, &claimed, waiting)? };
        let (attempt, answer) = match looked {
            Ok(Some(attempt)) => {
                let request = refund_request(&attempt);
                let answer = gateway.call_for(waiting, organization, move |gateway| gateway.refund(&request));
                let answer = answer_to(gateway, &attempt, answer, waiting);
                (attempt, answer)
            }
            // The customer has the money already, or a bank decides about it.
            Ok(None) => return Ok(Progress::Answered),
            Err(failure) => {
                let answer = not_listed(&claimed, failure.to_string(), &failure);
                (claimed, answer)
            }
        };
        let progress = match &answer {
            Answer::Made(_) | Answer::Refused { .. } => Progress::Answered,
            Answer::Unavailable(problem) => {
                tracing::warn!(
                    target: "ticketing::payment",
                    refund = %attempt.refund.id,
                    order = %attempt.refund.order,
                    attempt = attempt.refund.attempts,
                    problem,
                    "the payment gateway did not make a refund; it stays due"
                );
                Progress::Unavailable
            }
        };
        self.writes.store_in_operation().write_event(organization, attempt.refund.order.into(), move |tx| {
            refund_attempts::answered(tx, &attempt, &answer)
        })?;
        Ok(progress)
    }

    /// Records what the gateway lists of the payment: this refund may have been made already, others may have refunded
    /// the payment in the account at the gateway, and a bank may have taken it. The balance then says what the gateway
    /// is still to be asked for; `None` if that is nothing. A gateway that cannot list refunds is asked as before.
    fn look_first(
        &self,
        gateway: &GatewayCalls,
        attempt: &RefundAttempt,
        waiting: Waiting,
    ) -> Result<Result<Option<RefundAttempt>, GatewayError>> {
        let order = CheckoutOrder { organization: attempt.payment.organization, id: attempt.refund.order };
        let look_up = match look_up_of(&attempt.payment) {
            Some(look_up) => Ok(Some(look_up)),
            None if attempt.payment.is_of_checkout() => payment_of_checkouts(gateway, attempt, waiting),
            None => Ok(None),
        };
        let look_up = match look_up {
            Ok(Some(look_up)) => look_up,
            Ok(None) => return Ok(Ok(Some(attempt.clone()))),
            Err(failure) => return Ok(Err(failure)),
        };
        let reference = look_up.payment_reference.clone();
        let listing = match list_facts(gateway, order.organization, look_up, Ask::RefundsAndDisputes, waiting) {
            Ok(Some(listing)) => listing,
            Ok(None) => return Ok(Ok(Some(attempt.clone()))),
            Err(failure) => return Ok(Err(failure)),
        };
        self.record_facts(order, Some(&reference), &listing)?;
        let attempt = attempt.clone();
        let looked = self.writes.store_in_operation().write_event(order.organization, order.id.into(), move |tx| {
            refund_attempts::looked(tx, &attempt, &reference)
        });
        looked.map(Ok)
    }
}

/// The payment of the order's checkouts, if it was reported without the gateway's id of it. `None` if the gateway does
/// not tell.
fn payment_of_checkouts(
    gateway: &GatewayCalls,
    attempt: &RefundAttempt,
    waiting: Waiting,
) -> Result<Option<PaymentLookUp>, GatewayError> {
    let StoredPayment { organization, order, event, account, .. } = &attempt.payment;
    for reference in &attempt.checkouts {
        let request = LookUp::of((*organization, *order), *event, account.clone(), reference);
        match gateway.call_for(waiting, *organization, move |gateway| gateway.look_up(&request)) {
            Ok(CheckoutState::Paid(payment) | CheckoutState::Returned(payment)) => {
                let look_up = PaymentLookUp::new(payment.payment_reference).organization(*organization);
                return Ok(Some(look_up.account(account.clone())));
            }
            Ok(_) | Err(GatewayError::Refused(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(None)
}

/// What it means that the gateway did not list the refunds of the payment. `problem` is why it is asked.
fn not_listed(attempt: &RefundAttempt, problem: String, failure: &GatewayError) -> Answer {
    if attempt.refund.attempts >= HOPELESS {
        return Answer::Refused { refusal: Refusal::ForGood, problem, listing: None };
    }
    Answer::Unavailable(failure.to_string())
}

/// What the answer of the gateway means. If it will not make the refund, it is asked first what it lists of the
/// payment: somebody may have refunded it in the account at the gateway.
fn answer_to(
    gateway: &GatewayCalls,
    attempt: &RefundAttempt,
    answer: Result<GatewayRefund, GatewayError>,
    waiting: Waiting,
) -> Answer {
    let failure = match answer {
        Ok(GatewayRefund { state: RefundState::Failed(reason), .. }) => {
            GatewayError::Refused(format!("the refund failed: {reason}"))
        }
        Ok(made) if !attempt.made.contains(&made.reference) => return Answer::Made(made),
        Ok(_) => GatewayError::Unavailable("the gateway answered with a refund that is recorded already".to_owned()),
        Err(failure) => failure,
    };
    let (refusal, problem) = match failure {
        GatewayError::Refused(problem) => (Refusal::ForGood, problem),
        failure @ GatewayError::LessLeft(_) => (Refusal::ForGood, failure.to_string()),
        failure @ GatewayError::NothingLeft(_) => (Refusal::NothingLeft, failure.to_string()),
        failure if attempt.is_last() => {
            (Refusal::ForGood, format!("it was not made in {} attempts: {failure}", attempt.refund.attempts))
        }
        failure => return Answer::Unavailable(failure.to_string()),
    };
    let Some(payment) = look_up_of(&attempt.payment) else {
        return Answer::Refused { refusal, problem, listing: None };
    };
    match list_facts(gateway, attempt.payment.organization, payment, Ask::RefundsAndDisputes, waiting) {
        Ok(listing) => Answer::Refused { refusal, problem, listing },
        Err(failure) => not_listed(attempt, problem, &failure),
    }
}

fn refund_request(attempt: &RefundAttempt) -> RefundRequest {
    let RefundAttempt { refund, payment, checkouts, made, begun_at, .. } = attempt;
    let amount = Amount::in_currency(refund.to_ask, payment.decimals);
    let mut request = RefundRequest::new(refund.order, amount, payment.currency.clone())
        .organization(payment.organization)
        .event(payment.event);
    request.account = payment.account.clone();
    request.refund_id = refund.id;
    request.source = refund.source;
    request.attempt = u32::try_from(refund.attempts).unwrap_or(u32::MAX);
    request.decided_at = refund.decided_at;
    request.asked_at = *begun_at;
    match &payment.reference {
        Some(_) => request.reference.clone_from(&payment.checkout_reference),
        None => {
            request.reference = checkouts.first().cloned();
            request.earlier_references = checkouts.iter().skip(1).cloned().collect();
        }
    }
    request.payment_reference.clone_from(&payment.reference);
    request.earlier_refunds.clone_from(made);
    request.idempotency_key = attempt.idempotency_key();
    request
}
