//! The life cycle of refunds. A refund is a decision that money of a payment goes back. What moves money is a fact of
//! the ledger, and the balance of the payment ([`rules::money::balance`](crate::rules::money::balance)) says what is
//! still to be done.
//!
//! | state | meaning | what leads on |
//! |---|---|---|
//! | DUE | the money has to go back: the gateway is asked, or a bank decides about it first, or it is to be returned manually | it goes back: DONE; the gateway refuses: REFUSED; a bank takes it: REFUSED; [`Account::withdraw`]: WITHDRAWN |
//! | DONE | the money went back | it comes back, because the gateway's refund has failed: REFUSED, and to be returned manually. Because the gateway does not list it: DUE |
//! | REFUSED | the gateway has refused, and what is left is to be returned manually, or a bank has taken the money | a bank gives the money back: DUE. The gateway has made it after all: DONE |
//! | WITHDRAWN | the decision, or what was left of it, was taken back | the gateway has made all of it after all: DONE |
//!
//! An [`Account`] is a payment with its refunds. A transaction loads it, records facts and decisions with one method
//! each, and then calls [`Account::follow`] of `refund_outcomes`, which computes the balance and stores what follows from
//! it. There is no other place that decides whether, how much or by whom money goes back.

use crate::error::{Error, Reason, Result};
use crate::model::payments::ledger_entry::LedgerKind;
use crate::model::sale::gateway_account::{GatewayKey, PaymentMode};
use crate::model::sale::received_payment::{ManualMethod, PaymentPurpose};
use crate::model::sale::refund::{RefundSource, RefundStatus};
use crate::model::tenants::caller::Recorder;
use crate::model::values::id::{DisputeId, OrderId, RefundId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::balance::allocate;
use crate::rules::money::gateway_choice::{REFUND, is_asked, work_kind};
use crate::store::money::disputes::OpenDisputes;
use crate::store::money::ledger::{MovedBy, MovedFor, Movement};
use crate::store::money::payments::StoredPayment;
use crate::store::money::refunds::{NewRefund, StoredRefund};
use crate::store::money::{ledger, payments, refunds};
use crate::store::sale::sales_figures::MoneyFigures;
use crate::store::work;
use crate::store::{LockedEvent, Transaction};

/// Why a payment is not refunded without such a gateway.
pub(in crate::sales) const NO_REFUNDS: &str = "there is no payment gateway that can refund";

/// What the program's payment gateway does about refunds.
#[derive(Debug, Clone, Default)]
pub(crate) struct RefundTerms {
    /// The name and the mode of the gateway. `None` if there is none.
    pub(crate) gateway: Option<(String, PaymentMode)>,
    pub(crate) can_refund: bool,
}

impl RefundTerms {
    /// Whether the gateway of a payment is asked to refund it. A payment of another gateway waits until the program has
    /// that one again.
    pub(in crate::sales) fn asks(&self, payment: &StoredPayment) -> bool {
        match payment.gateway {
            _ if !payment.is_of_gateway() => false,
            _ if self.has_gateway_of(payment) => self.can_refund,
            ref of => of.is_some(),
        }
    }

    /// Whether the program has the gateway of a payment.
    pub(in crate::sales) fn has_gateway_of(&self, payment: &StoredPayment) -> bool {
        let key = self.gateway.as_ref().map(|(name, mode)| GatewayKey { name, mode: *mode });
        key.is_some_and(|key| is_asked(key, payment.gateway_key()))
    }
}

/// A payment, and its refunds that are not settled or that a fact is about, the oldest first.
pub(in crate::sales) struct Account<'t, 'c> {
    pub(in crate::sales) tx: &'t LockedEvent<'c>,
    pub(in crate::sales) payment: StoredPayment,
    pub(super) refunds: Vec<StoredRefund>,
    /// The refunds as they are stored. One that was just recorded has no `id` here.
    pub(super) stored: Vec<StoredRefund>,
    /// A refund that was just decided.
    pub(super) decided: Option<RefundId>,
    /// Whether refunds that wait are to be attempted now.
    pub(super) wakes: bool,
    /// Whether the gateway is asked some time later whether a new fact is still true.
    pub(super) is_checked_later: bool,
    pub(super) figures: MoneyFigures,
}

impl<'t, 'c> Account<'t, 'c> {
    pub(in crate::sales) fn load(tx: &'t LockedEvent<'c>, payment: StoredPayment) -> Result<Self> {
        let refunds = refunds::not_settled(tx, payment.id)?;
        let stored = refunds.clone();
        let figures = MoneyFigures::default();
        Ok(Self { tx, payment, refunds, stored, decided: None, wakes: false, is_checked_later: false, figures })
    }

    /// The refund with this id, if it is one of this payment.
    pub(in crate::sales) fn refund(&mut self, id: RefundId) -> Result<Option<&mut StoredRefund>> {
        Ok(self.position(id)?.map(|index| &mut self.refunds[index]))
    }

    fn position(&mut self, id: RefundId) -> Result<Option<usize>> {
        if let Some(index) = self.refunds.iter().position(|refund| refund.id == id) {
            return Ok(Some(index));
        }
        let found = refunds::find(self.tx, self.payment.order, id)?;
        let Some(refund) = found.filter(|refund| refund.payment == self.payment.id) else { return Ok(None) };
        let index = self.refunds.partition_point(|other| other.id < id);
        self.stored.push(refund.clone());
        self.refunds.insert(index, refund);
        Ok(Some(index))
    }

    /// Decides that a part of the payment goes back.
    ///
    /// # Errors
    /// [`Reason::RefundExceedsPayment`] if so much is not left of the payment.
    pub(in crate::sales) fn decide(&mut self, refund: &NewRefund<'_>) -> Result<RefundId> {
        if !payments::promise(self.tx, self.payment.id, refund.amount)? {
            let detail = "more is to be refunded than is left of what was paid for the order";
            return Err(Error::conflict(Reason::RefundExceedsPayment, detail));
        }
        self.insert(refund)
    }

    fn insert(&mut self, refund: &NewRefund<'_>) -> Result<RefundId> {
        let inserted = refunds::insert(self.tx, &self.payment, refund)?;
        let id = inserted.id;
        self.payment.sums.promised += refund.amount;
        self.stored.push(inserted.clone());
        self.refunds.push(inserted);
        if refund.source != RefundSource::Outside {
            self.decided = Some(id);
        }
        Ok(id)
    }

    /// Records that the gateway has made a refund. `own` is the decision for which it was made, if it is one of this
    /// service. It pays that one first, and then the oldest. What exceeds all decisions is one of its own, which is
    /// returned: somebody made it at the gateway.
    pub(in crate::sales) fn succeed(
        &mut self,
        amount: i64,
        reference: Option<&str>,
        own: Option<RefundId>,
        happened_at: Timestamp,
    ) -> Result<Option<RefundId>> {
        let preferred = match own {
            Some(id) => self.position(id)?,
            None => None,
        };
        let (_, excess) = allocate(amount, &self.open(), preferred);
        let outside = match preferred {
            Some(index) => {
                self.refunds[index].promised += excess;
                self.payment.sums.promised += excess;
                None
            }
            None if excess > 0 => Some(self.insert(&outside(excess, reference, None))?),
            None => None,
        };
        let (parts, _) = allocate(amount, &self.open(), preferred);
        for (index, part) in parts {
            let by = MovedBy::Gateway { reference };
            self.record_return(index, part, by, happened_at)?;
        }
        if let Some(index) = preferred {
            let refund = &mut self.refunds[index];
            // The gateway has made what it had refused, or what had been withdrawn.
            refund.refused = false;
            if let Some(reference) = reference {
                refund.reference = Some(reference.to_owned());
            }
            // Of a part, the rest is still withdrawn.
            if refund.status == RefundStatus::Withdrawn && refund.promised >= refund.amount {
                refund.status = RefundStatus::Due;
            }
        }
        self.figures.refunded += self.counted(amount);
        self.is_checked_later = true;
        Ok(outside)
    }

    /// Records that money was returned manually for what is owed: the oldest first, or for this refund only. Returns
    /// what was recorded for which refund.
    pub(in crate::sales) fn give_back(
        &mut self,
        most: i64,
        of: Option<RefundId>,
        method: ManualMethod,
        note: Option<&str>,
        recorded_by: &Recorder,
    ) -> Result<Vec<(RefundId, i64)>> {
        let mut left = most;
        let mut given = Vec::new();
        for index in 0..self.refunds.len() {
            let refund = &self.refunds[index];
            let part = refund.owed.min(left);
            if part > 0 && of.is_none_or(|id| id == refund.id) {
                given.push((refund.id, part));
                left -= part;
                self.record_return(index, part, MovedBy::Hand { method, note, recorded_by }, self.tx.now())?;
                self.figures.manually_refunded += self.counted(part);
            }
        }
        Ok(given)
    }

    fn record_return(&mut self, index: usize, amount: i64, by: MovedBy<'_>, happened_at: Timestamp) -> Result<()> {
        let refund = &mut self.refunds[index];
        let movement = Movement {
            kind: LedgerKind::Refund,
            moved_for: MovedFor::Refund(refund.id),
            amount: -amount,
            by,
            happened_at,
        };
        ledger::add(self.tx, &self.payment, &movement)?;
        refund.returned += amount;
        self.payment.sums.returned += amount;
        Ok(())
    }

    /// Records that a refund of the gateway has failed after it was made: the money came back. `parts` has the refunds
    /// that it had paid, and how much of each. With `refused`, the refund for which it was made, `own`, is refused for
    /// good, and so are those that were made outside: the gateway would fail again.
    pub(in crate::sales) fn fail(
        &mut self,
        reference: Option<&str>,
        parts: &[(RefundId, i64)],
        refused: Option<&str>,
        own: Option<RefundId>,
    ) -> Result<()> {
        for (id, part) in parts {
            let movement = Movement {
                kind: LedgerKind::RefundFailed,
                moved_for: MovedFor::Refund(*id),
                amount: *part,
                by: MovedBy::Gateway { reference },
                happened_at: self.tx.now(),
            };
            ledger::add(self.tx, &self.payment, &movement)?;
            self.payment.sums.returned -= part;
            self.figures.refunded -= self.counted(*part);
            if let Some(refund) = self.refund(*id)? {
                refund.returned -= part;
                let is_for_it = own == Some(*id) || refund.source == RefundSource::Outside;
                if let Some(problem) = refused.filter(|_| is_for_it) {
                    refund.refused = true;
                    refund.last_error = Some(problem.to_owned());
                }
            }
        }
        Ok(())
    }

    /// Records a refund of the gateway that had failed before it was known: its money went out and came back. `own` is
    /// the decision for which it was made. `None` if somebody made it at the gateway.
    pub(in crate::sales) fn note_failure(
        &mut self,
        amount: i64,
        reference: &str,
        own: Option<RefundId>,
        problem: &str,
    ) -> Result<()> {
        let id = match own {
            Some(id) => id,
            None => {
                let id = self.insert(&outside(amount, Some(reference), Some(problem)))?;
                self.payment.sums.promised -= amount;
                if let Some(refund) = self.refunds.last_mut() {
                    refund.promised = 0;
                }
                id
            }
        };
        let Some(index) = self.position(id)? else { return Ok(()) };
        self.record_return(index, amount, MovedBy::Gateway { reference: Some(reference) }, self.tx.now())?;
        self.figures.refunded += self.counted(amount);
        self.fail(Some(reference), &[(id, amount)], None, None)?;
        self.refuse(id, problem)
    }

    /// Records that the gateway will not make a refund.
    pub(in crate::sales) fn refuse(&mut self, id: RefundId, problem: &str) -> Result<()> {
        if let Some(refund) = self.refund(id)? {
            refund.refused = true;
            refund.last_error = Some(problem.to_owned());
        }
        Ok(())
    }

    /// Takes back the part of a decision that has not gone back.
    ///
    /// # Errors
    /// - [`Reason::RefundInProgress`] while the gateway is asked for it.
    /// - [`Reason::RefundSettled`] if nothing of it is left to go back.
    pub(in crate::sales) fn withdraw(&mut self, id: RefundId) -> Result<()> {
        let Some(refund) = self.refund(id)? else { return Ok(()) };
        if refund.open() <= 0 {
            let detail = format!("the refund is {}: nothing of it is left to go back", refund.status);
            return Err(Error::conflict(Reason::RefundSettled, detail));
        }
        check_not_asking(self.tx, &self.payment, id)?;
        let Some(refund) = self.refund(id)? else { return Ok(()) };
        let rest = refund.open();
        let was_asked = refund.attempts > 0;
        refund.promised = refund.returned;
        refund.refused = false;
        refund.status = RefundStatus::Withdrawn;
        self.payment.sums.promised -= rest;
        if was_asked {
            self.is_checked_later = true;
        }
        Ok(())
    }

    /// Records what banks have taken of the payment for a dispute, and have given back if it is less than 0. `open` has
    /// the sums of the disputes about which banks have not decided.
    pub(in crate::sales) fn dispute(
        &mut self,
        dispute: DisputeId,
        reference: &str,
        taken: i64,
        open: OpenDisputes,
    ) -> Result<()> {
        if taken != 0 {
            let movement = Movement {
                kind: if taken > 0 { LedgerKind::Dispute } else { LedgerKind::DisputeReturned },
                moved_for: MovedFor::Dispute(dispute),
                amount: -taken,
                by: MovedBy::Gateway { reference: Some(reference) },
                happened_at: self.tx.now(),
            };
            ledger::add(self.tx, &self.payment, &movement)?;
            self.payment.sums.taken += taken;
            self.figures.disputed += taken;
        }
        self.payment.sums.disputed = open.disputed;
        self.payment.sums.taken_by_open = open.taken;
        self.wakes = true;
        self.is_checked_later = true;
        Ok(())
    }

    /// What of each refund has not gone back.
    fn open(&self) -> Vec<i64> {
        self.refunds.iter().map(StoredRefund::open).collect()
    }

    /// What counts in the figures of the event for payments that completed their order.
    pub(super) fn counted(&self, amount: i64) -> i64 {
        if self.payment.purpose == PaymentPurpose::Order { amount } else { 0 }
    }

    /// Whether nothing of the payment is left because it went back.
    pub(in crate::sales) fn is_returned(&self) -> bool {
        self.payment.sums.returned >= self.payment.sums.received
    }
}

/// # Errors
/// - [`Reason::RefundInProgress`] while the gateway is asked for the refund.
pub(in crate::sales) fn check_not_asking(
    tx: &Transaction<'_>,
    payment: &StoredPayment,
    refund: RefundId,
) -> Result<()> {
    if work::is_attempted(tx, &work_kind(REFUND, payment.gateway_key()), refund.raw())? {
        let detail = "the payment gateway is just being asked for the refund";
        return Err(Error::conflict(Reason::RefundInProgress, detail));
    }
    Ok(())
}

/// A refund that somebody has made in the account at the gateway, or that has failed there because of `refusal`.
fn outside<'a>(amount: i64, reference: Option<&'a str>, refusal: Option<&'a str>) -> NewRefund<'a> {
    NewRefund { refusal, reference, ..NewRefund::new(RefundSource::Outside, amount) }
}

/// The payment that completed an order. `None` if nothing was paid for it.
pub(in crate::sales) fn payment_of_order(tx: &Transaction<'_>, order: OrderId) -> Result<Option<StoredPayment>> {
    Ok(payments::of_order(tx, order)?.into_iter().find(|payment| payment.purpose == PaymentPurpose::Order))
}
