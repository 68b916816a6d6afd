//! The steps of a maintenance run that wait for the payment gateway. Organizations take turns, and a failure for one of them
//! delays no other.

use std::collections::HashSet;
use std::io;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use super::TicketingService;
use super::checkout_attempts::CheckoutProgress;
use super::maintenance_steps::{Run, Step};
use super::refund_checks::CHECK_REFUNDS;
use super::refunds::RefundOutcome;
use super::skipped_rows::SkippedTable;
use crate::error::{Error, Result};
use crate::model::checkout::CheckoutStatus;
use crate::model::id::OrganizationId;
use crate::payment::GatewayCalls;
use crate::round_robin::RoundRobin;
use crate::sales::checkout_attempts::claim_all;
use crate::store::checkout_attempts::{self, CheckoutAttempt, DueCheckout};
use crate::store::refunds::{self, DueRefund};

/// How many checkouts of each status, and how many refunds, a run reads. Those of different organizations take turns among
/// these.
const ROWS_PER_RUN: i64 = 2_000;

/// After which time a run asks the gateway no more. In the background, the next one follows at once.
const TIME_PER_RUN: Duration = Duration::from_secs(1);

/// How long a process has for asking about a checkout, after the timeouts of the calls.
const TIME_TO_RECORD: Duration = Duration::from_mins(1);

/// After how many failures in a row, each for another organization, a run attempts no more refunds.
const FAILURES_IN_A_ROW: usize = 3;

pub(super) const CHECKOUT_STEPS: [Step; 1] = [Step::new(attempt_checkouts)];
pub(super) const REFUND_STEPS: [Step; 2] = [Step::new(attempt_refunds), CHECK_REFUNDS];

/// Closes the checkouts of orders that have ended, and looks up those that are due, several at the same time. Ends early if
/// the gateway answers for none of them.
fn attempt_checkouts(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let Some(gateway) = &service.inner.gateway else { return Ok(()) };
    let monotonic = || service.inner.environment.clock.monotonic();
    let started = monotonic();
    let mut due = service.due_checkouts()?;
    while !due.is_empty() {
        let most = gateway.free_in_background();
        if most == 0 || run.stops() {
            return Ok(());
        }
        if monotonic().saturating_sub(started) > TIME_PER_RUN {
            run.has_more = true;
            return Ok(());
        }
        let rest = due.split_off(most.min(due.len()));
        if !service.attempt_due_checkouts(gateway, run, due)? {
            return Ok(());
        }
        due = rest;
    }
    Ok(())
}

/// Attempts the refunds that are due, one after the other. After a failure, the other refunds of the same organization wait
/// for the next run.
fn attempt_refunds(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    if !service.can_refund() {
        return Ok(());
    }
    let monotonic = || service.inner.environment.clock.monotonic();
    let started = monotonic();
    let mut failed = HashSet::new();
    let mut failures_in_a_row = 0;
    for refund in service.due_refunds()? {
        if failed.contains(&refund.organization) {
            continue;
        }
        if run.stops() {
            return Ok(());
        }
        if monotonic().saturating_sub(started) > TIME_PER_RUN {
            run.has_more = true;
            return Ok(());
        }
        match service.attempt_refund(refund) {
            Ok(RefundOutcome::Answered) => {
                run.report.answered_refunds += 1;
                failures_in_a_row = 0;
            }
            Ok(RefundOutcome::NotDue) => {}
            Ok(RefundOutcome::Unavailable) => {
                failed.insert(refund.organization);
                failures_in_a_row += 1;
                if failures_in_a_row == FAILURES_IN_A_ROW {
                    return Ok(());
                }
            }
            Err(error) if error.concerns_all_rows() => return Err(error),
            Err(error) => run.skip(service, SkippedTable::Refunds, refund.id.raw(), &error),
        }
    }
    Ok(())
}

/// The rows in the order in which their organizations take turns.
fn in_turns<T>(rows: impl IntoIterator<Item = T>, organization: impl Fn(&T) -> OrganizationId) -> Vec<T> {
    let mut turns = RoundRobin::default();
    for row in rows {
        turns.push(organization(&row), row);
    }
    std::iter::from_fn(|| turns.pop()).collect()
}

/// One of the first, one of the second, and so on, until both are at their end.
fn alternate<T>(first: Vec<T>, second: Vec<T>) -> Vec<T> {
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut all = Vec::with_capacity(first.len() + second.len());
    while first.len() + second.len() > 0 {
        all.extend(first.next());
        all.extend(second.next());
    }
    all
}

impl TicketingService {
    /// The checkouts that are due. Those to be closed and those to be looked up alternate. A checkout that the gateway
    /// has answered for, under whose link somebody may pay, comes before one that it has not.
    fn due_checkouts(&self) -> Result<Vec<DueCheckout>> {
        let of_status = |status| {
            let due = self.store().read(|tx| checkout_attempts::due(tx, status, ROWS_PER_RUN))?;
            let due = due.into_iter().filter(|row| !self.is_skipped(SkippedTable::Checkouts, row.order.raw()));
            let (unanswered, answered): (Vec<_>, Vec<_>) = due.partition(|row| row.is_unanswered);
            let mut turns = in_turns(answered, |row| row.organization);
            turns.extend(in_turns(unanswered, |row| row.organization));
            Ok::<_, Error>(turns)
        };
        Ok(alternate(of_status(CheckoutStatus::Closing)?, of_status(CheckoutStatus::Open)?))
    }

    /// The refunds that are due.
    fn due_refunds(&self) -> Result<Vec<DueRefund>> {
        let due = self.store().read(|tx| refunds::due(tx, ROWS_PER_RUN))?;
        let due = due.into_iter().filter(|row| !self.is_skipped(SkippedTable::Refunds, row.id.raw()));
        Ok(in_turns(due, |row| row.organization))
    }

    /// Asks the gateway about these checkouts, at the same time. Returns whether it answered for one of them, or none was
    /// still due.
    fn attempt_due_checkouts(&self, gateway: &GatewayCalls, run: &mut Run<'_>, due: Vec<DueCheckout>) -> Result<bool> {
        // A start, a close and a look-up.
        let claim = gateway.timeout().saturating_mul(3).saturating_add(TIME_TO_RECORD);
        let (rows, attempts) = self.store().write(move |tx| claim_all(tx, &due, claim))?;
        for skipped in rows.skipped {
            run.skip(self, SkippedTable::Checkouts, skipped.row.order.raw(), &skipped.error);
        }
        let results: Vec<_> = std::thread::scope(|scope| {
            let calls: Vec<_> = attempts
                .iter()
                .map(|attempt| {
                    let run = || self.attempt_checkout(gateway, attempt);
                    (attempt, std::thread::Builder::new().spawn_scoped(scope, run))
                })
                .collect();
            let result = |(attempt, call): (&CheckoutAttempt, io::Result<ScopedJoinHandle<'_, _>>)| match call {
                Ok(call) => (attempt.order, call.join()),
                // No thread could be started.
                Err(_) => (attempt.order, Ok(self.attempt_checkout(gateway, attempt))),
            };
            calls.into_iter().map(result).collect()
        });
        let (mut answered, mut failed) = (0, 0);
        for (order, result) in results {
            let result = result.unwrap_or_else(|_| Err(Error::Internal("an attempt panicked".to_owned())));
            match result {
                Ok(CheckoutProgress::Answered) => answered += 1,
                Ok(CheckoutProgress::Unavailable) => failed += 1,
                Err(error) if error.concerns_all_rows() => return Err(error),
                Err(error) => run.skip(self, SkippedTable::Checkouts, order.raw(), &error),
            }
        }
        run.report.answered_checkouts += answered;
        Ok(answered > 0 || failed == 0)
    }
}
