//! The steps of a maintenance run that wait for the payment gateway. Organizations take turns, and a failure for one of
//! them delays no other.

use super::gateway_groups::{GatewayRow, GroupProgress, ask_in_groups, at_once, failing_last, in_turns};
use crate::error::{Error, Result};
use crate::model::payments::checkout::CheckoutStatus;
use crate::model::sale::gateway_account::GatewayKey;
use crate::model::values::id::OrganizationId;
use crate::payment::GatewayCalls;
use crate::payments::Payments;
use crate::sales::checkouts::checkout_attempts::claim_all;
use crate::store::money::checkout_attempts::{self, CheckoutAttempt, DueCheckout};
use crate::write::batches::Run;
use crate::write::skipped_rows::SkippedTable;

/// How many checkouts of each status, and how many refunds, a run reads. Those of different organizations take turns
/// among these.
const ROWS_PER_RUN: i64 = 2_000;

macro_rules! gateway_rows {
    ($($row:ident of $table:ident by $key:ident;)+) => {
        $(impl GatewayRow for $row {
            const TABLE: SkippedTable = SkippedTable::$table;

            fn key(&self) -> i64 {
                self.$key.raw()
            }

            fn organization(&self) -> OrganizationId {
                self.organization
            }
        })+
    };
}

gateway_rows! {
    DueCheckout of Checkouts by order;
    CheckoutAttempt of Checkouts by order;
}

/// Closes the checkouts of orders that have ended, and looks up those that are due.
pub(crate) fn attempt_checkouts(payments: &Payments, run: &mut Run<'_>) -> Result<()> {
    let Some(gateway) = &payments.gateway else { return Ok(()) };
    let due = payments.due_checkouts(gateway.key())?;
    let answered =
        ask_in_groups(payments, run, gateway, due, |run, group| attempt_due_checkouts(payments, gateway, run, group))?;
    run.report.answered_checkouts += answered;
    Ok(())
}

fn attempt_due_checkouts(
    payments: &Payments,
    gateway: &GatewayCalls,
    run: &mut Run<'_>,
    due: Vec<DueCheckout>,
) -> Result<GroupProgress> {
    let mut attempts = Vec::new();
    for due in payments.writes.by_transaction(due, |checkout| checkout.event) {
        let Some(first) = due.first() else { continue };
        let claimed =
            payments.writes.store()?.write_unless_locked(None, first.event.into(), move |tx| claim_all(tx, &due))?;
        let Some((rows, claimed)) = claimed else { continue };
        for skipped in rows.skipped {
            run.skip(&payments.writes, SkippedTable::Checkouts, skipped.row.order.raw(), &skipped.error);
        }
        attempts.extend(claimed);
    }
    at_once(payments, run, &attempts, |attempt| {
        let gateway =
            payments.renewing_claim(gateway, attempt.order, attempt.claimed_until, checkout_attempts::renew_claim);
        payments.attempt_checkout(&gateway, attempt)
    })
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

impl Payments {
    /// The checkouts that are due at this gateway. Those to be closed and those to be looked up
    /// alternate. Of each kind, those that the gateway has created come first: somebody may pay under their links.
    fn due_checkouts(&self, gateway: GatewayKey<'_>) -> Result<Vec<DueCheckout>> {
        let of_status = |status| {
            let due = self.writes.store()?.read(|tx| checkout_attempts::due(tx, gateway, status, ROWS_PER_RUN))?;
            let (unanswered, answered): (Vec<_>, Vec<_>) = due.into_iter().partition(|row| row.is_unanswered);
            let mut turns = in_turns(self, answered);
            turns.extend(in_turns(self, unanswered));
            Ok::<_, Error>(turns)
        };
        let due = alternate(of_status(CheckoutStatus::Closing)?, of_status(CheckoutStatus::Open)?);
        Ok(failing_last(self, due))
    }
}
