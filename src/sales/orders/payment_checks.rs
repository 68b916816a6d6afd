//! What a gateway lists of a payment when it is asked some time after a refund or a dispute: one transaction before the
//! call to the payment gateway, and one after it.

use std::time::Duration;

use super::gateway_facts::{self, Listing};
use crate::error::{Error, Result};
use crate::model::payments::gateway_report::{GatewayRefund, RefundState};
use crate::model::sale::refund::RefundSource;
use crate::model::values::id::PaymentId;
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::payment_check::{check_again, next_check};
use crate::sales::money::refund_lifecycle::Account;
use crate::store::LockedEvent;
use crate::store::money::ledger::MadeFor;
use crate::store::money::payments::StoredPayment;
use crate::store::money::{ledger, payments};
use crate::store::work::{self, ClaimedWork};

/// The gateway lists a refund at the latest so long after it was made.
const IS_LISTED: Duration = Duration::from_hours(1);

/// A payment that this process asks its gateway about.
#[derive(Debug, Clone)]
pub(crate) struct PaymentCheck {
    pub(crate) payment: StoredPayment,
    /// How many times the gateway has answered since the newest fact.
    answers: i64,
    work: ClaimedWork,
    begun_at: Timestamp,
}

impl PaymentCheck {
    /// Sets when the gateway is next asked. `None` if it is not asked again.
    fn ask_again(&self, tx: &LockedEvent<'_>, at: Option<Timestamp>, answers: i64) -> Result<()> {
        work::change_later(tx, &self.work, at, &answers.to_string())
    }
}

/// Loads what the gateway is to be asked about. `None` if the payment has a new fact since the work was claimed.
pub(crate) fn begin(tx: &LockedEvent<'_>, work: &ClaimedWork) -> Result<Option<PaymentCheck>> {
    if !work::is_held(tx, work)? {
        return Ok(None);
    }
    let payment = payments::get(tx, PaymentId::from_raw(work.work.key.unwrap_or_default()))?;
    let not_a_number = |_| Error::Internal("the number of answers of a check is not a number".to_owned());
    let answers = work.work.body.parse().map_err(not_a_number)?;
    Ok(Some(PaymentCheck { payment, answers, work: work.clone(), begun_at: tx.now() }))
}

/// Records what the gateway lists of a payment. `listing` is `None` if it cannot tell. Refunds that were recorded as made,
/// and that the gateway does not list, are due again.
pub(crate) fn answered(tx: &LockedEvent<'_>, check: &PaymentCheck, listing: Option<&Listing>) -> Result<()> {
    let StoredPayment { id, organization, order, reference, .. } = &check.payment;
    let Some(listing) = listing else {
        return check.ask_again(tx, None, check.answers);
    };
    gateway_facts::record(tx, *organization, *order, reference.as_deref(), listing)?;
    let made = ledger::made_of(tx, *id)?;
    let payment = payments::get(tx, *id)?;
    let is_waiting = |refund: &GatewayRefund| refund.state == RefundState::RequiresAction;
    let waits = payment.sums.disputed > 0 || listing.refunds.iter().any(is_waiting);
    let answers = check.answers + i64::from(!waits);
    let may_change = waits || !made.is_empty();
    let next = next_check(answers, waits).filter(|_| may_change).map(|delay| tx.now().saturating_add(delay));
    // A new fact has scheduled the next time already: this changes nothing then.
    check.ask_again(tx, next, answers)?;
    let missing = missing(check, listing, made);
    if !missing.is_empty() {
        let mut account = Account::load(tx, payments::get(tx, *id)?)?;
        for MadeFor { refund, reference, amount, .. } in missing {
            account.fail(reference.as_deref(), &[(refund, amount)], None, Some(refund))?;
            if let Some(refund) = account.refund(refund)? {
                refund.reference = None;
            }
            let order = *order;
            tx.after_commit(move || {
                tracing::error!(
                    target: "ticketing::payment",
                    %refund,
                    %order,
                    "a refund that was made is not in the list of the payment gateway; it is due again"
                );
            });
        }
        account.follow()?;
    }
    Ok(())
}

/// What of `made` is for decisions of this service, was made some time before the gateway was asked, and is not listed.
/// Nothing is missing if as much is listed as was recorded: a gateway that keeps no ids of this service may list a
/// refund that cannot be recognized.
fn missing(check: &PaymentCheck, listing: &Listing, mut made: Vec<MadeFor>) -> Vec<MadeFor> {
    let payment = &check.payment;
    let minor_units = |refund: &GatewayRefund| refund.amount.minor_with(payment.decimals.get());
    let listed = listing.refunds.iter().filter(|refund| !refund.has_failed());
    let listed = listed.filter_map(minor_units).fold(0_i64, i64::saturating_add);
    if listed >= made.iter().map(|made| made.amount).fold(0_i64, i64::saturating_add) {
        return Vec::new();
    }
    let is_listed = |made: &MadeFor| {
        let is_it = |listed: &GatewayRefund| {
            listed.refund_id == Some(made.refund) || made.reference.as_ref() == Some(&listed.reference)
        };
        listing.refunds.iter().any(is_it)
    };
    made.retain(|made| {
        let is_old = made.recorded_at.saturating_add(IS_LISTED) <= check.begun_at;
        is_old && made.source != RefundSource::Outside && !is_listed(made)
    });
    made
}

/// Records that the gateway did not answer, and schedules the next time that it is asked.
pub(crate) fn not_answered(tx: &LockedEvent<'_>, check: &PaymentCheck) -> Result<()> {
    let payment = &check.payment;
    let newest = ledger::newest_fact(tx, payment)?.unwrap_or(check.begun_at);
    let next = check_again(newest, payment.sums.disputed > 0, tx.now());
    check.ask_again(tx, next, check.answers)
}
