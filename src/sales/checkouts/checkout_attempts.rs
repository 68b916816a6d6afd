//! Attempts to close a checkout or to look it up: one transaction before the call to the payment gateway, and one after
//! it.

use crate::error::Result;
use crate::error::gateway_failure::GatewayError;
use crate::model::payments::checkout::CheckoutStatus;
use crate::model::values::id::OrderId;
use crate::rules::money::checkout_schedule::{ATTEMPTS_UNTIL_LOST, CLAIM_DURATION, delay_after, next_look_up};
use crate::sales::each_row::{EachRow, each_row};
use crate::store::money::checkout_attempts::{self, CheckoutAttempt, DueCheckout, OpenCheckout};
use crate::store::{LockedEvent, Transaction};

/// Claims those of these checkouts that are due: no other process asks about them until the claim ends, which the
/// process renews while it waits for the gateway.
pub(crate) fn claim_all(
    tx: &Transaction<'_>,
    due: &[DueCheckout],
) -> Result<(EachRow<DueCheckout>, Vec<CheckoutAttempt>)> {
    let attempts = std::cell::RefCell::new(Vec::new());
    let rows = each_row(
        tx,
        due,
        |checkout| checkout.event,
        |tx, checkout| {
            let attempt = checkout_attempts::claim(tx, checkout.order, tx.now().saturating_add(CLAIM_DURATION))?;
            let is_claimed = attempt.is_some();
            attempts.borrow_mut().extend(attempt);
            Ok(is_claimed)
        },
    )?;
    Ok((rows, attempts.into_inner()))
}

pub(crate) fn look_up_all_now(tx: &Transaction<'_>, open: &[OpenCheckout]) -> Result<EachRow<OpenCheckout>> {
    each_row(tx, open, |checkout| checkout.event, |tx, checkout| checkout_attempts::look_up_now(tx, checkout.order))
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
    let is_lost = matches!(failure, GatewayError::NotExecuted(_)) && attempt.number >= ATTEMPTS_UNTIL_LOST;
    if is_lost && attempt.status == CheckoutStatus::Closing {
        return unproven(tx, attempt, &problem);
    }
    let next = tx.now().saturating_add(delay_after(attempt.number));
    checkout_attempts::postpone(tx, attempt.order, attempt.status, Some(next), Some(&problem))?;
    Ok(true)
}

/// Schedules the next attempt for a checkout that is to be closed, after an answer that is no proof that nothing can be
/// paid: the gateway does not know the checkout, or refuses to say anything about it. Perhaps it was given the key of
/// another account, and gets the right one back. When the checkout has ended by itself, it is looked up a few more
/// times. Returns whether there is a next attempt.
pub(crate) fn unproven(tx: &LockedEvent<'_>, attempt: &CheckoutAttempt, problem: &str) -> Result<bool> {
    let next = if tx.now() < attempt.expires_at {
        Some(tx.now().saturating_add(delay_after(attempt.number)).min(attempt.expires_at))
    } else {
        next_look_up(attempt.expires_at, tx.now())
    };
    match next {
        Some(_) => checkout_attempts::postpone(tx, attempt.order, attempt.status, next, Some(problem))?,
        None => checkout_attempts::close(tx, attempt.order)?,
    }
    Ok(next.is_some())
}

/// Schedules the next attempt for a checkout that the customer may still pay. One that the gateway cannot close is only
/// looked up from then on.
pub(crate) fn still_open(tx: &LockedEvent<'_>, attempt: &CheckoutAttempt, can_close: bool) -> Result<()> {
    let look_up = attempt.hold_until.and_then(|hold_until| next_look_up(hold_until, tx.now()));
    let next = match attempt.status {
        CheckoutStatus::Closing if can_close => Some(tx.now().saturating_add(delay_after(attempt.number))),
        _ => look_up,
    };
    if next.is_none() && attempt.status == CheckoutStatus::Closing {
        return checkout_attempts::close(tx, attempt.order);
    }
    checkout_attempts::postpone(tx, attempt.order, attempt.status, next, None)
}
