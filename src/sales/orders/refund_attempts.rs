//! Attempts to refund a payment: one transaction before the call to the payment gateway, and one after it.

use std::time::Duration;

use super::gateway_facts::{self, Listing};
use crate::error::Result;
use crate::model::payments::gateway_report::GatewayRefund;
use crate::model::sale::refund::RefundStatus;
use crate::model::values::id::{OrderId, RefundId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::refund_share::{LATEST_DUE, MAX_ATTEMPTS, delay_after};
use crate::sales::money::refund_lifecycle::Account;
use crate::store::money::ledger::MadeFor;
use crate::store::money::payments::StoredPayment;
use crate::store::money::refunds::StoredRefund;
use crate::store::money::{checkouts, ledger, payments, refunds};
use crate::store::work::{self, ClaimedWork, Queue};
use crate::store::{LockedEvent, Transaction};

/// How long a claim keeps other processes from attempting the same refund. This is longer than a call to the gateway.
pub(crate) const CLAIM: Duration = Duration::from_mins(1);

/// How the attempts of this kind of work are claimed.
pub(crate) fn queue(kind: &str) -> Queue<'_> {
    Queue { kind, lease: CLAIM, max_attempts: i64::MAX, latest_due: LATEST_DUE }
}

/// A refund that this process has claimed.
#[derive(Debug, Clone)]
pub(crate) struct RefundAttempt {
    pub(crate) refund: StoredRefund,
    pub(crate) payment: StoredPayment,
    /// The gateway's ids of the checkouts of the order, the newest first, if that of the payment is not known.
    pub(crate) checkouts: Vec<String>,
    /// The gateway's ids of the refunds of the payment that are recorded already.
    pub(crate) made: Vec<String>,
    /// How many parts of this amount the gateway has made of the refund already, without those that have failed since.
    equal_parts: usize,
    work: ClaimedWork,
    pub(crate) begun_at: Timestamp,
}

impl RefundAttempt {
    /// Whether the refund is given up if this attempt fails too.
    pub(crate) fn is_last(&self) -> bool {
        self.refund.attempts >= MAX_ATTEMPTS
    }

    /// The idempotency key: the same for every attempt to make this part of the refund. The refunds of early
    /// versions have the ids of their orders.
    pub(crate) fn idempotency_key(&self) -> String {
        let StoredRefund { id, order, amount, to_ask, .. } = &self.refund;
        let key = if id.raw() == order.raw() { format!("refund-{order}") } else { format!("refund-{id}") };
        match self.equal_parts {
            _ if to_ask == amount => key,
            0 => format!("{key}-of-{to_ask}"),
            made => format!("{key}-of-{to_ask}-{}", made + 1),
        }
    }
}

/// Begins an attempt for which this process has claimed the work. Returns `None` if nothing is to be asked for, or another
/// process has claimed it since.
pub(crate) fn begin(tx: &LockedEvent<'_>, work: &ClaimedWork) -> Result<Option<RefundAttempt>> {
    if !work::is_held(tx, work)? {
        return Ok(None);
    }
    let Some(refund) = refunds::begin_attempt(tx, RefundId::from_raw(work.work.key.unwrap_or_default()))? else {
        return work::done(tx, work).map(|()| None);
    };
    load(tx, refund, work.clone()).map(Some)
}

fn load(tx: &LockedEvent<'_>, refund: StoredRefund, work: ClaimedWork) -> Result<RefundAttempt> {
    let payment = payments::get(tx, refund.payment)?;
    let checkouts = match &payment.reference {
        Some(_) => Vec::new(),
        None => checkout_references(tx, refund.order)?,
    };
    let made = ledger::references(tx, payment.id)?;
    let equal_parts = if refund.to_ask == refund.amount {
        0
    } else {
        let is_equal = |made: &&MadeFor| made.refund == refund.id && made.amount == refund.to_ask;
        ledger::made_of(tx, payment.id)?.iter().filter(is_equal).count()
    };
    Ok(RefundAttempt { refund, payment, checkouts, made, equal_parts, work, begun_at: tx.now() })
}

/// Goes on with an attempt after what the gateway lists of its payment, which has this id at the gateway, was recorded.
/// Returns `None` if nothing is left to ask for now, or another process has claimed the refund.
pub(crate) fn looked(tx: &LockedEvent<'_>, attempt: &RefundAttempt, payment: &str) -> Result<Option<RefundAttempt>> {
    if attempt.payment.reference.is_none() {
        payments::set_reference(tx, attempt.payment.id, payment)?;
    }
    if !work::is_held(tx, &attempt.work)? {
        return Ok(None);
    }
    match refunds::find(tx, attempt.refund.order, attempt.refund.id)?.filter(|refund| refund.to_ask > 0) {
        Some(refund) => {
            work::renew(tx, &attempt.work, CLAIM)?;
            load(tx, refund, attempt.work.clone()).map(Some)
        }
        None => work::done(tx, &attempt.work).map(|()| None),
    }
}

fn checkout_references(tx: &Transaction<'_>, order: OrderId) -> Result<Vec<String>> {
    let newest = checkouts::find_by_order(tx, order)?.and_then(|(_, reference)| reference);
    let mut references: Vec<_> = newest.into_iter().collect();
    references.extend(checkouts::replaced_references(tx, order)?);
    Ok(references)
}

/// What the gateway has answered to an attempt.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// It has made the refund.
    Made(GatewayRefund),
    /// It will not make it. `listing` is what it lists of the payment; `None` if it cannot tell.
    Refused { refusal: Refusal, problem: String, listing: Option<Listing> },
    /// It did not answer, or could not make it now.
    Unavailable(String),
}

/// Why a refund will not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The gateway refuses to make it, or has not made it for too long.
    ForGood,
    /// The gateway says that nothing of the payment is left to refund.
    NothingLeft,
}

pub(crate) fn answered(tx: &LockedEvent<'_>, attempt: &RefundAttempt, answer: &Answer) -> Result<()> {
    match answer {
        Answer::Made(made) => record_made(tx, attempt, made),
        Answer::Refused { refusal, problem, listing } => refused(tx, attempt, *refusal, problem, listing.as_ref()),
        Answer::Unavailable(problem) => postpone(tx, attempt, problem),
    }
}

/// Records a refund that was made: of the amount that was asked for, unless the gateway says that it is another one.
fn record_made(tx: &LockedEvent<'_>, attempt: &RefundAttempt, made: &GatewayRefund) -> Result<()> {
    let id = attempt.refund.id;
    let mut account = Account::load(tx, payments::get(tx, attempt.payment.id)?)?;
    if !ledger::returned_by(tx, account.payment.id, &made.reference, None)?.parts.is_empty() {
        return attempt_again(tx, attempt, CLAIM);
    }
    let reported = account.payment.minor_units(made.amount, &made.currency).filter(|amount| *amount > 0);
    let amount = reported.unwrap_or(attempt.refund.to_ask);
    account.succeed(amount, Some(&made.reference), Some(id), tx.now())?;
    account.follow()?;
    attempt_again(tx, attempt, Duration::ZERO)
}

/// Ends an attempt: the next one is made after this time, if there is still something to ask for.
fn attempt_again(tx: &LockedEvent<'_>, attempt: &RefundAttempt, delay: Duration) -> Result<()> {
    let refund = refunds::find(tx, attempt.refund.order, attempt.refund.id)?;
    match refund.filter(|refund| refund.to_ask > 0) {
        Some(_) => work::later(tx, &attempt.work, delay).map(drop),
        None => work::done(tx, &attempt.work),
    }
}

/// Records that the gateway will not make a refund. What it lists is recorded first: the customer may have the money
/// already, or a part of it, or a bank decides about it.
fn refused(
    tx: &LockedEvent<'_>,
    attempt: &RefundAttempt,
    refusal: Refusal,
    problem: &str,
    listing: Option<&Listing>,
) -> Result<()> {
    let StoredPayment { organization, order, reference, .. } = &attempt.payment;
    if let Some(listing) = listing {
        gateway_facts::record(tx, *organization, *order, reference.as_deref(), listing)?;
    }
    let mut account = Account::load(tx, payments::get(tx, attempt.payment.id)?)?;
    let disputed = account.payment.sums.disputed;
    let Some(refund) = account.refund(attempt.refund.id)? else { return Ok(()) };
    if refund.attempts != attempt.refund.attempts || refund.status != RefundStatus::Due {
        return attempt_again(tx, attempt, Duration::ZERO);
    }
    let is_explained = refund.to_ask != attempt.refund.to_ask;
    let waits_for_bank = !is_explained && refusal == Refusal::NothingLeft && disputed > 0;
    if is_explained || waits_for_bank {
        refund.last_error = Some(problem.to_owned());
    } else if refusal == Refusal::NothingLeft && listing.is_none() {
        // It has gone back in a way of which the gateway tells no more.
        let left = refund.to_ask;
        account.succeed(left, None, Some(attempt.refund.id), tx.now())?;
        account.refuse(attempt.refund.id, problem)?;
    } else {
        account.refuse(attempt.refund.id, problem)?;
    }
    account.follow()?;
    if waits_for_bank {
        // The bank decides about all of it: a dispute that changes wakes the refund.
        return work::done(tx, &attempt.work);
    }
    attempt_again(tx, attempt, Duration::ZERO)
}

/// Schedules the next attempt, unless it has begun.
fn postpone(tx: &LockedEvent<'_>, attempt: &RefundAttempt, problem: &str) -> Result<()> {
    let Some(mut refund) = refunds::find(tx, attempt.refund.order, attempt.refund.id)? else { return Ok(()) };
    if refund.attempts != attempt.refund.attempts || refund.status != RefundStatus::Due {
        return attempt_again(tx, attempt, Duration::ZERO);
    }
    refund.last_error = Some(problem.to_owned());
    refunds::update(tx, &refund)?;
    attempt_again(tx, attempt, delay_after(refund.attempts))
}
