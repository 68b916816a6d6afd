//! What a gateway lists of a payment when it is asked some time after a refund or a dispute: one transaction before the
//! call to the payment gateway, and one after it.

use std::time::Duration;

use super::gateway_facts::{self, Listing};
use crate::error::Result;
use crate::model::payments::gateway_report::{GatewayRefund, RefundState};
use crate::model::sale::refund::RefundSource;
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::payment_check::{check_again, next_check};
use crate::sales::money::refund_lifecycle::Account;
use crate::store::LockedEvent;
use crate::store::money::ledger::MadeFor;
use crate::store::money::payments::{DuePayment, StoredPayment};
use crate::store::money::{ledger, payments};

/// How long a claim keeps other processes from asking about the same payment. This is longer than a call to the
/// gateway.
const CLAIM: Duration = Duration::from_mins(1);

/// The gateway lists a refund at the latest so long after it was made.
const IS_LISTED: Duration = Duration::from_hours(1);

/// A payment that this process asks its gateway about.
#[derive(Debug, Clone)]
pub(crate) struct PaymentCheck {
    pub(crate) payment: StoredPayment,
    claimed_at: Timestamp,
}

/// Claims a payment that the gateway is to be asked about. Returns `None` if it is not due, or another process has
/// claimed it.
pub(crate) fn claim(tx: &LockedEvent<'_>, due: DuePayment) -> Result<Option<PaymentCheck>> {
    let claimed = payments::claim_check(tx, due.id, tx.now().saturating_add(CLAIM))?;
    Ok(claimed.map(|payment| PaymentCheck { payment, claimed_at: tx.now() }))
}

/// Records what the gateway lists of a payment. `listing` is `None` if it cannot tell. Refunds that were recorded as made,
/// and that the gateway does not list, are due again.
pub(crate) fn answered(tx: &LockedEvent<'_>, check: &PaymentCheck, listing: Option<&Listing>) -> Result<()> {
    let StoredPayment { id, organization, order, reference, .. } = &check.payment;
    let Some(listing) = listing else {
        return payments::schedule_check(tx, *id, None, check.payment.checks);
    };
    gateway_facts::record(tx, *organization, *order, reference.as_deref(), listing)?;
    let made = ledger::made_of(tx, *id)?;
    let payment = payments::get(tx, *id)?;
    // A new fact has scheduled the next time already.
    if payment.check_at == check.payment.check_at {
        let is_waiting = |refund: &GatewayRefund| refund.state == RefundState::RequiresAction;
        let waits = payment.sums.disputed > 0 || listing.refunds.iter().any(is_waiting);
        let answers = check.payment.checks + i64::from(!waits);
        let may_change = waits || !made.is_empty();
        let next = next_check(answers, waits).filter(|_| may_change).map(|delay| tx.now().saturating_add(delay));
        payments::schedule_check(tx, *id, next, answers)?;
    }
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
        let is_old = made.recorded_at.saturating_add(IS_LISTED) <= check.claimed_at;
        is_old && made.source != RefundSource::Outside && !is_listed(made)
    });
    made
}

/// Records that the gateway did not answer, and schedules the next time that it is asked.
pub(crate) fn not_answered(tx: &LockedEvent<'_>, check: &PaymentCheck) -> Result<()> {
    let payment = &check.payment;
    let newest = ledger::newest_fact(tx, payment)?.unwrap_or(check.claimed_at);
    let next = check_again(newest, payment.sums.disputed > 0, tx.now());
    payments::schedule_check(tx, payment.id, next, payment.checks)
}
