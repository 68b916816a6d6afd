//! What follows from the facts and decisions of an [`Account`]: its refunds get their states and what is to be asked
//! for, and these changes are stored and reported.

use super::money_notifications;
use super::refund_lifecycle::Account;
use crate::error::Result;
use crate::model::sale::order::PaymentStatus;
use crate::model::sale::refund::RefundStatus;
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::id::RefundId;
use crate::rules::money::balance::{Decision, DecisionState, Outcome, follow};
use crate::rules::money::gateway_choice::{CHECK, REFUND, work_kind};
use crate::rules::money::payment_check::FIRST_CHECK;
use crate::store::money::payments::StoredPayment;
use crate::store::money::refunds::{DecidedRefund, StoredRefund};
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
    pub(crate) due: Option<DecidedRefund>,
}

impl Account<'_, '_> {
    /// Computes the balance, and stores and reports what follows from it. Returns a refund that was just decided, and that
    /// the gateway is to be asked for.
    pub(in crate::sales) fn follow(mut self) -> Result<Option<DecidedRefund>> {
        let decisions: Vec<_> = self.refunds.iter().map(decision).collect();
        let outcomes = follow(&self.payment.sums, &decisions);
        let mut due = None;
        let mut owed = 0;
        for (index, outcome) in outcomes.iter().enumerate() {
            let refund = &mut self.refunds[index];
            let before = self.stored.iter().find(|stored| stored.id == refund.id);
            owed += outcome.owed - before.map_or(0, |stored| stored.owed);
            let was_to_ask = refund.to_ask > 0;
            let is_asked_now = apply(refund, outcome, self.wakes);
            let is_new = self.decided == Some(refund.id);
            if before != Some(&*refund) || is_new {
                refunds::update(self.tx, refund)?;
            }
            if is_asked_now {
                ask_now(self.tx, &self.payment, refund.id)?;
            } else if was_to_ask && refund.to_ask == 0 {
                work::cancel(self.tx, &work_kind(REFUND, self.payment.gateway_key()), refund.id.raw())?;
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
                due = Some(DecidedRefund { id: refund.id, order: refund.order, organization });
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
        event: Some(payment.event),
        body: "0",
        due_at: tx.now().saturating_add(FIRST_CHECK),
    };
    work::set(tx, &check)
}

/// Lets the gateway be asked for a refund now. An attempt that is in progress sees what has changed.
fn ask_now(tx: &LockedEvent<'_>, payment: &StoredPayment, refund: RefundId) -> Result<()> {
    let ask = KeyedWork {
        kind: &work_kind(REFUND, payment.gateway_key()),
        key: refund.raw(),
        organization: payment.organization,
        event: Some(payment.event),
        body: "",
        due_at: tx.now(),
    };
    work::wake(tx, &ask)
}

fn decision(refund: &StoredRefund) -> Decision {
    Decision { open: refund.open(), by_gateway: refund.by_gateway, refused: refund.refused }
}

/// Sets what follows from the balance for a refund. Returns whether the gateway is asked at once: if there is more or less
/// to ask for than before.
fn apply(refund: &mut StoredRefund, outcome: &Outcome, wakes: bool) -> bool {
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
    let is_new = refund.to_ask != outcome.to_ask || refund.status != status || wakes;
    refund.status = status;
    refund.to_ask = outcome.to_ask;
    refund.owed = outcome.owed;
    is_new && refund.to_ask > 0
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
