//! Attempts to close a checkout or to look it up: one transaction before the call to the payment gateway, and one after
//! it.

use crate::error::Result;
use crate::error::gateway_failure::GatewayError;
use crate::model::payments::checkout::CheckoutStatus;
use crate::model::values::id::OrderId;
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::checkout_schedule::{ATTEMPTS_UNTIL_LOST, delay_after, next_look_up};
use crate::sales::each_row::{EachRow, each_row};
use crate::store::money::checkout_attempts::{self, UnclosedCheckout};
use crate::store::work::{self, ClaimedWork, LaterWork};
use crate::store::{LockedEvent, Transaction};

/// A checkout that this process asks the gateway about.
#[derive(Debug, Clone)]
pub(crate) struct CheckoutAttempt {
    pub(crate) checkout: UnclosedCheckout,
    work: ClaimedWork,
}

impl CheckoutAttempt {
    /// The number of the attempt since the checkout is asked about for this reason, counted from 1.
    pub(crate) fn number(&self) -> i64 {
        self.work.work.attempts + 1
    }

    /// Whether the reason is still the same, and no other process asks about it.
    pub(crate) fn is_held(&self, tx: &LockedEvent<'_>) -> Result<bool> {
        work::is_held(tx, &self.work)
    }

    fn ask_again(&self, tx: &LockedEvent<'_>, at: Option<Timestamp>, problem: Option<&str>) -> Result<()> {
        checkout_attempts::set_error(tx, self.checkout.order, problem)?;
        work::change_later(tx, &self.work, at, "")
    }
}

/// Loads what the gateway is to be asked about. `None` if there is nothing to be asked any more.
pub(crate) fn begin(tx: &LockedEvent<'_>, work: &ClaimedWork) -> Result<Option<CheckoutAttempt>> {
    if !work::is_held(tx, work)? {
        return Ok(None);
    }
    match checkout_attempts::unclosed(tx, OrderId::from_raw(work.work.key.unwrap_or_default()))? {
        Some(checkout) => Ok(Some(CheckoutAttempt { checkout, work: work.clone() })),
        None => work::done(tx, work).map(|()| None),
    }
}

/// Lets checkouts of a gateway be looked up now that were to be looked up later.
pub(crate) fn look_up_all_now(tx: &Transaction<'_>, later: &[LaterWork]) -> Result<EachRow<LaterWork>> {
    each_row(tx, later, |work| work.event, |tx, work| work::wake_later(tx, work.id))
}

/// Records that nothing can be paid any more under a checkout. `reference` is the gateway's id of it. Without one, it
/// may be an earlier checkout of the order, so nothing is recorded if there are several.
pub(crate) fn closed(tx: &LockedEvent<'_>, order: OrderId, reference: Option<&str>) -> Result<()> {
    match reference {
        Some(reference) => checkout_attempts::close_newest(tx, order, reference),
        None => checkout_attempts::close_only(tx, order),
    }
}

/// Records that the gateway failed, and schedules the next attempt. Returns whether there is one: a checkout that is to
/// be closed in an account to which the program has no access any more is asked about as in [`unproven`].
pub(crate) fn unavailable(tx: &LockedEvent<'_>, attempt: &CheckoutAttempt, failure: &GatewayError) -> Result<bool> {
    let problem = failure.to_string();
    let is_lost = matches!(failure, GatewayError::NotExecuted(_)) && attempt.number() >= ATTEMPTS_UNTIL_LOST;
    if is_lost && attempt.checkout.status == CheckoutStatus::Closing {
        return unproven(tx, attempt, &problem);
    }
    let next = tx.now().saturating_add(delay_after(attempt.number()));
    attempt.ask_again(tx, Some(next), Some(&problem))?;
    Ok(true)
}

/// Schedules the next attempt for a checkout that is to be closed, after an answer that is no proof that nothing can be
/// paid: the gateway does not know the checkout, or refuses to say anything about it. Perhaps it was given the key of
/// another account, and gets the right one back. When the checkout has ended by itself, it is looked up a few more
/// times. Returns whether there is a next attempt.
pub(crate) fn unproven(tx: &LockedEvent<'_>, attempt: &CheckoutAttempt, problem: &str) -> Result<bool> {
    let next = if tx.now() < attempt.checkout.expires_at {
        Some(tx.now().saturating_add(delay_after(attempt.number())).min(attempt.checkout.expires_at))
    } else {
        next_look_up(attempt.checkout.expires_at, tx.now())
    };
    match next {
        Some(_) => attempt.ask_again(tx, next, Some(problem))?,
        None => checkout_attempts::close(tx, attempt.checkout.order)?,
    }
    Ok(next.is_some())
}

/// Schedules the next attempt for a checkout that the customer may still pay. One that the gateway cannot close is only
/// looked up from then on.
pub(crate) fn still_open(tx: &LockedEvent<'_>, attempt: &CheckoutAttempt, can_close: bool) -> Result<()> {
    let look_up = attempt.checkout.hold_until.and_then(|hold_until| next_look_up(hold_until, tx.now()));
    let next = match attempt.checkout.status {
        CheckoutStatus::Closing if can_close => Some(tx.now().saturating_add(delay_after(attempt.number()))),
        _ => look_up,
    };
    if next.is_none() && attempt.checkout.status == CheckoutStatus::Closing {
        return checkout_attempts::close(tx, attempt.checkout.order);
    }
    attempt.ask_again(tx, next, None)
}
