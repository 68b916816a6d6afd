//! Refunds that the gateway has accepted, and is asked about later: one transaction before the call to the payment
//! gateway, and one after it.

use std::time::Duration;

use crate::error::Result;
use crate::rules::refund::{check_again, next_check};
use crate::store::Transaction;
use crate::store::refund_checks::{self, DueCheck, RefundCheck};

/// How long a claim keeps other processes from asking about the same refund. This is longer than a call to the gateway.
const CLAIM: Duration = Duration::from_mins(1);

/// Claims a refund that the gateway is to be asked about. Returns `None` if it is not due, or another process has claimed
/// it.
pub(crate) fn claim(tx: &Transaction<'_>, check: DueCheck) -> Result<Option<RefundCheck>> {
    tx.lock_event(check.order)?;
    refund_checks::claim(tx, check.id, tx.now().saturating_add(CLAIM))
}

/// Records what the gateway answered, and schedules the next time that it is asked if the refund may still fail.
pub(crate) fn answered(tx: &Transaction<'_>, check: &RefundCheck, may_fail: bool) -> Result<()> {
    tx.lock_event(check.order)?;
    let delay = next_check(check.number + 1).filter(|_| may_fail);
    refund_checks::answered(tx, check.id, delay.map(|delay| tx.now().saturating_add(delay)))
}

/// Records that the gateway did not answer, and schedules the next time that it is asked.
pub(crate) fn unavailable(tx: &Transaction<'_>, check: &RefundCheck) -> Result<()> {
    tx.lock_event(check.order)?;
    refund_checks::postpone(tx, check.id, check_again(check.made_at, tx.now()))
}
