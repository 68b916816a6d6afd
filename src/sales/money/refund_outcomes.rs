//! What follows from the facts and decisions of an [`Account`]: its refunds get their states and what is to be asked
//! for, and these changes are stored and reported.

use super::money_notifications;
use super::refund_lifecycle::Account;
use crate::error::Result;
use crate::model::sale::order::PaymentStatus;
use crate::model::sale::refund::RefundStatus;
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::balance::{Decision, DecisionState, Outcome, follow};
use crate::rules::money::gateway_choice::{CHECK, work_kind};
use crate::rules::money::payment_check::FIRST_CHECK;
use crate::store::money::payments::StoredPayment;
use crate::store::money::refunds::{DueRefund, StoredRefund};
use crate::store::money::{payments, refunds};
use crate::store::order::order_status;
use crate::store::sale::sales_figures;
use crate::store::work::{self, KeyedWork};
use crate::store::{LockedEvent, Transaction};

const NOTHING_LEFT: &str = "nothing of the payment is left: it has gone back, or a bank has taken it for a dispute";

/// The result of an operation that may decide that money goes back.
pub(crate) struct Decided<T> {
    pub(crate) response: Replayable<T>,
    /// A refund that was just decided, and that the gateway is to be asked for.
    pub(crate) due: Option<DueRefund>,
}

impl Account<'_, '_> {
    /// Computes the balance, and stores and reports what follows from it. Returns a refund that was just decided, and that
    /// the gateway is to be asked for.
    pub(in crate::sales) fn follow(mut self) -> Result<Option<DueRefund>> {
        let decisions: Vec<_> = self.refunds.iter().map(decision).collect();
        let outcomes = follow(&self.payment.sums, &decisions);
        let mut due = None;
        let mut owed = 0;
        for (index, outcome) in outcomes.iter().enumerate() {
            let refund = &mut self.refunds[index];
            let before = self.stored.iter().find(|stored| stored.id == refund.id);
            owed += outcome.owed - before.map_or(0, |stored| stored.owed);
            apply(refund, outcome, self.wakes, self.tx.now());
            let is_new = self.decided == Some(refund.id);
            if before != Some(&*refund) || is_new {
                refunds::update(self.tx, refund)?;
            }
            let was = before.map_or(RefundStatus::Due, |stored| stored.status);
            if was != refund.status {
                report(self.tx, &self.payment, refund, was)?;
            }
            if refund.status == RefundStatus::Refused && (was != RefundStatus::Refused || is_new) {
                log_refused(self.tx, refund);
            }
            if is_new && refund.to_ask > 0 {
                money_notifications::refund_due(self.tx, &self.payment, refund)?;
                let organization = self.payment.organization;
                due = Some(DueRefund { id: refund.id, order: refund.order, organization });
            }
        }
        self.payment.owed += owed;
        self.figures.owed = owed;
        self.figures.manual_refund = self.counted(owed);
        payments::update(self.tx, &self.payment)?;
        if self.is_checked_later {
            check_later(self.tx, &self.payment)?;
        }
        sales_figures::money_moved(self.tx, self.payment.order, &self.payment.currency, &self.figures)?;
        let status = if self.is_returned() { PaymentStatus::Refunded } else { PaymentStatus::Completed };
        order_status::money_moved(self.tx, self.payment.order, Some(status).filter(|_| self.payment.is_of_checkout()))?;
        Ok(due)
    }
}

/// Lets the gateway be asked some time after a new fact whether that is still true. It has not answered yet.
fn check_later(tx: &LockedEvent<'_>, payment: &StoredPayment) -> Result<()> {
    let check = KeyedWork {
        kind: &work_kind(CHECK, payment.gateway_key()),
        key: payment.id.raw(),
        organization: payment.organization,
        event: payment.event,
        body: "0",
        due_at: tx.now().saturating_add(FIRST_CHECK),
    };
    work::set(tx, &check)
}

fn decision(refund: &StoredRefund) -> Decision {
    Decision { open: refund.open(), by_gateway: refund.by_gateway, refused: refund.refused }
}

/// Sets what follows from the balance for a refund. The gateway is asked at once if there is more or less to ask for
/// than before, unless an attempt waits for its answer.
fn apply(refund: &mut StoredRefund, outcome: &Outcome, wakes: bool, now: Timestamp) {
    let is_open = refund.open() > 0;
    let status = match outcome.state {
        DecisionState::Done if refund.status == RefundStatus::Withdrawn => RefundStatus::Withdrawn,
        DecisionState::Done => RefundStatus::Done,
        DecisionState::Due => RefundStatus::Due,
        DecisionState::Refused => RefundStatus::Refused,
    };
    if status == RefundStatus::Done {
        refund.last_error = None;
    }
    if status == RefundStatus::Refused && !refund.refused && is_open {
        refund.last_error = Some(NOTHING_LEFT.to_owned());
    }
    if status == RefundStatus::Due && matches!(refund.status, RefundStatus::Done | RefundStatus::Refused) {
        // The next attempt looks first whether the gateway has made the refund.
        refund.attempts = 1;
        refund.last_error = None;
    }
    let is_waiting = refund.is_asking && refund.next_attempt_at.is_some_and(|until| until > now);
    let is_new = refund.to_ask != outcome.to_ask || refund.status != status || wakes;
    if outcome.to_ask == 0 {
        refund.next_attempt_at = refund.next_attempt_at.filter(|_| is_waiting);
    } else if is_new && !is_waiting {
        refund.next_attempt_at = Some(now);
    }
    refund.status = status;
    refund.to_ask = outcome.to_ask;
    refund.owed = outcome.owed;
}

fn report(tx: &Transaction<'_>, payment: &StoredPayment, refund: &StoredRefund, was: RefundStatus) -> Result<()> {
    match refund.status {
        RefundStatus::Done => money_notifications::refund_succeeded(tx, payment, refund),
        RefundStatus::Refused => money_notifications::refund_failed(tx, payment, refund),
        RefundStatus::Due if was == RefundStatus::Done => money_notifications::refund_failed(tx, payment, refund),
        RefundStatus::Due | RefundStatus::Withdrawn => Ok(()),
    }
}

fn log_refused(tx: &Transaction<'_>, refund: &StoredRefund) {
    let (refund, order, is_owed, problem) = (refund.id, refund.order, refund.owed > 0, refund.last_error.clone());
    tx.after_commit(move || {
        if is_owed {
            tracing::warn!(
                target: "ticketing::payment",
                %order,
                %refund,
                problem,
                "a refund was refused; the money must be returned manually"
            );
        } else {
            tracing::info!(
                target: "ticketing::payment",
                %order,
                %refund,
                problem,
                "a refund was not made, because its money has gone back in another way"
            );
        }
    });
}
