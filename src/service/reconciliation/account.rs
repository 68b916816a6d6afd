//! Reconciles one account at the provider, in a part of the period.

use std::mem::take;
use std::ops::ControlFlow;
use std::time::Duration;

use super::lines::record_line;
use super::progress::{AccountRun, LineFacts, Resolution};
use crate::error::{Error, Result};
use crate::model::payments::ledger_entry::LedgerKind;
use crate::model::payments::reconciliation::{Discrepancy, UnreadAccount};
use crate::model::payments::statement::{StatementEvent, StatementLine};
use crate::model::values::amount::Amount;
use crate::model::values::timestamp::Timestamp;
use crate::payment::{GatewayError, StatementRequest, Waiting};
use crate::payments::gateway_facts::{Ask, list_facts, look_up_of};
use crate::sales::money::statement_lines::{Compared, Comparison, compare};
use crate::sales::orders::gateway_facts::Listing;
use crate::store::money::checkouts::CheckoutOrder;
use crate::store::money::payments::{self, StoredPayment};
use crate::store::money::reconciliation::{self, ENTRIES_AT_ONCE, Entry};
use crate::store::money::{ledger, refunds};

const LINES_AT_ONCE: usize = 100;

/// By how much a statement begins before the part of the period and ends after it: a payment is recorded after it was
/// made.
const TOLERANCE: Duration = Duration::from_hours(24);

impl AccountRun<'_, '_> {
    /// Compares both sides. Breaks if the statement cannot be read, so that the later parts need not be tried.
    pub(in crate::service) fn compare(&mut self) -> Result<ControlFlow<()>> {
        let read = self.read_statement()?;
        self.settle_orphans()?;
        match read {
            Ok(()) => {
                self.find_unlisted()?;
                Ok(ControlFlow::Continue(()))
            }
            Err(problem) => {
                let account = self.account_id();
                self.run.result.unread_accounts.push(UnreadAccount { account, problem });
                Ok(ControlFlow::Break(()))
            }
        }
    }

    fn is_in_part(&self, time: Timestamp) -> bool {
        (self.part.0..self.part.1).contains(&time)
    }

    /// Reads the statement and compares its lines. Fails in the inner result if the gateway does not list the whole.
    fn read_statement(&mut self) -> Result<Result<(), String>> {
        let (from, to) = self.part;
        let from = from.checked_sub(TOLERANCE).unwrap_or(Timestamp::UNIX_EPOCH);
        let request = StatementRequest::new(from, to.saturating_add(TOLERANCE)).account(self.account.account.clone());
        let gateway = self.run.gateway;
        let mut lines = Vec::with_capacity(LINES_AT_ONCE);
        let mut stopped = None;
        let read = gateway.statement(&request, &mut |line| {
            lines.push(line);
            if lines.len() < LINES_AT_ONCE {
                return Ok(());
            }
            self.compare_lines(take(&mut lines)).map_err(|error| {
                stopped = Some(error);
                GatewayError::NotExecuted("the reconciliation has ended".to_owned())
            })
        });
        if let Some(error) = stopped {
            return Err(error);
        }
        self.compare_lines(lines)?;
        Ok(match read {
            Some(read) => read.map_err(|failure| failure.to_string()),
            None => Err("the payment gateway cannot list the payments of a period".to_owned()),
        })
    }

    /// Compares lines, the payments first: refunds and disputes of a payment are recorded after it.
    fn compare_lines(&mut self, mut lines: Vec<StatementLine>) -> Result<()> {
        lines.sort_by_key(|line| LineFacts::of(line).kind);
        let account = self.account;
        let compared = self.run.payments.writes.store()?.read(|tx| {
            let compared = lines.iter().map(|line| compare(tx, account, line));
            compared.collect::<Result<Vec<Compared>>>()
        })?;
        let mut has_applied = false;
        for (line, Compared { mut comparison, payment }) in lines.into_iter().zip(compared) {
            self.listed.add(&line, payment);
            if !self.is_in_part(line.happened_at) {
                continue;
            }
            self.run.progress.lines += 1;
            let is_matched = matches!(comparison, Comparison::Matched(_));
            if has_applied && !is_matched {
                comparison = self.compare_again(&line)?;
            }
            has_applied |= self.run.request.apply && !is_matched;
            self.conclude(line, comparison, true)?;
        }
        self.run.report()
    }

    /// Counts or lists a line, after it was recorded if that is wanted. `counts` is whether it is one of the period.
    fn conclude(&mut self, line: StatementLine, comparison: Comparison, counts: bool) -> Result<()> {
        match comparison {
            Comparison::Matched(gross) if counts => self.run.matched.add(&line, gross, self.account.mode),
            Comparison::Matched(_) | Comparison::OtherOrganization => {}
            Comparison::Foreign => self.run.result.foreign_lines += u64::from(counts),
            Comparison::NoOrder(organization) => {
                if self.orphans.add(line, organization) {
                    self.settle_orphans()?;
                }
            }
            Comparison::MissingHere { order, problem } => {
                let resolved = self.resolve(&line, order, problem, counts)?;
                let discrepancy = self.discrepancy(&line, order, resolved);
                self.run.result.missing_here.add(discrepancy);
            }
            Comparison::Different { order, recorded, problem } => {
                let resolved = self.resolve(&line, order, &problem, counts)?;
                let mut discrepancy = self.discrepancy(&line, order, resolved);
                discrepancy.recorded = Some(recorded);
                self.run.result.different.add(discrepancy);
            }
        }
        Ok(())
    }

    /// Records what a line says, if that is wanted, and returns its outcome.
    fn resolve(
        &mut self,
        line: &StatementLine,
        order: CheckoutOrder,
        problem: &str,
        counts: bool,
    ) -> Result<Resolution> {
        if !self.run.request.apply {
            return Ok(Resolution::unresolved(problem));
        }
        let applied = record_line(self.run.payments, self.account, order, line);
        let failure = match applied {
            Ok(()) => None,
            Err(error @ (Error::Store(_) | Error::Internal(_))) => return Err(error),
            Err(error) => Some(describe(&error)),
        };
        if let Comparison::Matched(gross) = self.compare_again(line)? {
            if counts {
                self.run.matched.add(line, gross, self.account.mode);
            }
            return Ok(Resolution::resolved(format!("{problem}; it was recorded now")));
        }
        let failure = failure.unwrap_or_else(|| "recording it did not help".to_owned());
        Ok(Resolution::unresolved(&format!("{problem}; {failure}")))
    }

    /// Lists the entries of the ledger that the gateway does not have.
    fn find_unlisted(&mut self) -> Result<()> {
        let organizations: Vec<_> = match (&self.account.trusted, self.account.only) {
            (Some(trusted), _) => trusted.iter().copied().map(Some).collect(),
            (None, only) => vec![only],
        };
        for organization in organizations {
            let mut after = None;
            loop {
                let part = self.part;
                let store = self.run.payments.writes.store()?;
                let entries = store.scan(None, |tx| reconciliation::entries(tx, organization, part, after))?;
                let is_last = entries.len() < ENTRIES_AT_ONCE;
                after = entries.last().map(|entry| entry.id);
                for entry in entries {
                    self.run.progress.entries += 1;
                    if self.is_of_account(&entry) && self.listed.add_entry(&entry) {
                        self.look_for(&entry)?;
                    }
                }
                self.run.report()?;
                if is_last {
                    break;
                }
            }
        }
        Ok(())
    }

    fn is_of_account(&self, entry: &Entry) -> bool {
        !entry.is_manual
            && entry.gateway.as_ref() == Some(&self.account.gateway)
            && entry.mode == self.account.mode
            && entry.account == self.account.account
            && self.is_in_part(entry.happened_at)
    }

    /// Asks the gateway about something that is recorded and that the statement does not list: it may have happened
    /// before the period.
    fn look_for(&mut self, entry: &Entry) -> Result<()> {
        let store = self.run.payments.writes.store()?;
        let (payment, reference, net) = store.read(|tx| {
            let payment = payments::get(tx, entry.payment)?;
            let reference = match (entry.kind, &entry.reference, entry.refund) {
                (_, Some(reference), _) => Some(reference.clone()),
                (LedgerKind::Payment, None, _) => payment.reference.clone(),
                (_, None, Some(refund)) => refunds::find(tx, entry.order, refund)?.and_then(|refund| refund.reference),
                (_, None, None) => None,
            };
            let net = match (&entry.reference, other_kind(entry.kind)) {
                (Some(reference), Some(other)) => {
                    ledger::net_of_reference(tx, payment.id, [entry.kind, other], reference)?
                }
                _ => entry.amount,
            };
            Ok((payment, reference, net))
        })?;
        // A refund that failed, and a dispute that was won, has moved nothing.
        if net == 0 {
            return Ok(());
        }
        let found = match &reference {
            _ if self.run.result.missing_there.is_full() => Found::Missing("the gateway does not list it".to_owned()),
            Some(reference) => self.ask_about(entry, &payment, reference),
            None => Found::Missing("the gateway's id of it is not known".to_owned()),
        };
        match found {
            Found::There => Ok(()),
            Found::Line(line) => {
                let comparison = self.compare_again(&line)?;
                self.conclude(*line, comparison, false)
            }
            Found::Missing(problem) => {
                self.run.result.missing_there.add(Discrepancy {
                    kind: entry.kind,
                    reference,
                    payment_reference: payment.reference,
                    order_id: Some(entry.order),
                    organization_id: Some(entry.organization),
                    account: self.account_id(),
                    amount: Amount::in_currency(net, entry.decimals),
                    recorded: None,
                    currency: entry.currency.clone(),
                    happened_at: entry.happened_at,
                    problem,
                    is_resolved: false,
                });
                Ok(())
            }
        }
    }

    /// Asks the gateway whether it has a payment, a refund or a dispute.
    fn ask_about(&self, entry: &Entry, payment: &StoredPayment, reference: &str) -> Found {
        let gateway = self.run.gateway;
        let Some(look_up) = look_up_of(payment) else {
            return Found::Missing("the gateway's id of its payment is not known".to_owned());
        };
        let organization = entry.organization;
        let line = |event| {
            let mut line = StatementLine::new(event, look_up.payment_reference.clone(), entry.happened_at);
            line.order_id = Some(entry.order);
            line.organization_id = Some(organization);
            Found::Line(Box::new(line))
        };
        let missing = || Found::Missing("the gateway does not list it".to_owned());
        let failed = |failure: GatewayError| {
            Found::Missing(format!("the gateway does not list it, and does not answer about it: {failure}"))
        };
        match entry.kind {
            LedgerKind::Payment => {
                let payment = look_up.clone();
                match gateway
                    .call_for(Waiting::Maintenance, organization, move |gateway| gateway.find_checkout(&payment))
                {
                    Ok(Some(_)) => Found::There,
                    Ok(None) => missing(),
                    Err(failure) => failed(failure),
                }
            }
            LedgerKind::Refund | LedgerKind::RefundFailed | LedgerKind::Dispute | LedgerKind::DisputeReturned => {
                let is_refund = matches!(entry.kind, LedgerKind::Refund | LedgerKind::RefundFailed);
                let ask = if is_refund { Ask::Refunds } else { Ask::Disputes };
                match list_facts(gateway, organization, look_up.clone(), ask, Waiting::Maintenance) {
                    Ok(listing) => {
                        let Listing { refunds, disputes, .. } = listing.unwrap_or_default();
                        let refund = refunds.into_iter().find(|refund| refund.reference == reference);
                        let dispute = disputes.into_iter().find(|dispute| dispute.reference == reference);
                        let found = refund.map(StatementEvent::Refund).or(dispute.map(StatementEvent::Dispute));
                        found.map_or_else(missing, line)
                    }
                    Err(failure) => failed(failure),
                }
            }
        }
    }
}

/// What the gateway says about something that its statement does not list.
enum Found {
    /// It has it.
    There,
    /// It has it, like this.
    Line(Box<StatementLine>),
    /// It does not have it. The text says so.
    Missing(String),
}

/// The kind of entries that cancel those of this kind.
fn other_kind(kind: LedgerKind) -> Option<LedgerKind> {
    match kind {
        LedgerKind::Payment => None,
        LedgerKind::Refund => Some(LedgerKind::RefundFailed),
        LedgerKind::RefundFailed => Some(LedgerKind::Refund),
        LedgerKind::Dispute => Some(LedgerKind::DisputeReturned),
        LedgerKind::DisputeReturned => Some(LedgerKind::Dispute),
    }
}

fn describe(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
