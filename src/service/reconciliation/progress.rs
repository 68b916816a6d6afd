//! The state of a reconciliation: its result so far, and what is known of the account that is compared.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use sha2::{Digest, Sha256};

use crate::error::{Result, StoreErrorKind};
use crate::model::payments::ledger_entry::LedgerKind;
use crate::model::payments::reconciliation::{
    Discrepancy, Reconcile, ReconcileProgress, ReconciledTotal, Reconciliation, add_to,
};
use crate::model::payments::statement::{StatementEvent, StatementLine};
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrganizationId, PaymentId, RefundId};
use crate::model::values::timestamp::Timestamp;
use crate::payment::GatewayCalls;
use crate::payments::Payments;
use crate::sales::money::statement_lines::{Comparison, ReconciledAccount, compare};
use crate::store::money::checkouts::CheckoutOrder;
use crate::store::money::reconciliation::Entry;

pub(in crate::service) struct Run<'r> {
    pub(in crate::service) payments: &'r Payments,
    pub(in crate::service) gateway: &'r GatewayCalls,
    pub(in crate::service) request: &'r Reconcile,
    pub(in crate::service) result: Reconciliation,
    pub(in crate::service) matched: Totals,
    pub(in crate::service) returned: Totals,
    pub(in crate::service) progress: ReconcileProgress,
    reports: &'r mut dyn FnMut(ReconcileProgress) -> ControlFlow<()>,
}

impl<'r> Run<'r> {
    pub(in crate::service) fn new(
        payments: &'r Payments,
        gateway: &'r GatewayCalls,
        request: &'r Reconcile,
        reports: &'r mut dyn FnMut(ReconcileProgress) -> ControlFlow<()>,
    ) -> Self {
        Self {
            payments,
            gateway,
            request,
            result: Reconciliation::default(),
            matched: Totals::default(),
            returned: Totals::default(),
            progress: ReconcileProgress::default(),
            reports,
        }
    }

    pub(in crate::service) fn report(&mut self) -> Result<()> {
        match (self.reports)(self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(StoreErrorKind::ReconciliationStopped.into()),
        }
    }

    pub(in crate::service) fn finish(self) -> Reconciliation {
        Reconciliation { matched: self.matched.into_list(), returned: self.returned.into_list(), ..self.result }
    }
}

/// Sums by kind, currency and mode.
#[derive(Debug, Default)]
pub(in crate::service) struct Totals(BTreeMap<(String, PaymentMode, LedgerKind), ReconciledTotal>);

impl Totals {
    /// Adds a line, which has moved `gross`.
    pub(in crate::service) fn add(&mut self, line: &StatementLine, gross: Amount, mode: PaymentMode) {
        let LineFacts { kind, currency, .. } = LineFacts::of(line);
        let total = self.0.entry((currency.to_owned(), mode, kind)).or_insert_with(|| ReconciledTotal {
            kind,
            currency: currency.to_owned(),
            mode,
            count: 0,
            gross: Amount::ZERO,
            fee: Amount::ZERO,
            net: Amount::ZERO,
            without_fee: 0,
        });
        total.count += line.movements;
        add_to(&mut total.gross, gross);
        match (line.fee, line.net) {
            (Some(fee), Some(net)) => {
                add_to(&mut total.fee, fee);
                add_to(&mut total.net, net);
            }
            _ => total.without_fee += line.movements,
        }
    }

    fn into_list(self) -> Vec<ReconciledTotal> {
        self.0.into_values().collect()
    }
}

/// What a line of a statement says. It is about a payment, a refund or a dispute.
pub(in crate::service) struct LineFacts<'l> {
    pub(in crate::service) kind: LedgerKind,
    reference: &'l str,
    currency: &'l str,
    /// What has moved at the provider: less than 0 for what the organizer gave.
    pub(in crate::service) moved: Amount,
}

impl<'l> LineFacts<'l> {
    pub(in crate::service) fn of(line: &'l StatementLine) -> Self {
        let (kind, reference, currency, given) = match &line.event {
            StatementEvent::Payment(payment) => {
                let (reference, currency) = (&line.payment_reference, &payment.currency);
                return Self { kind: LedgerKind::Payment, reference, currency, moved: payment.amount };
            }
            StatementEvent::Refund(refund) => {
                let given = if refund.has_failed() { Amount::ZERO } else { refund.amount };
                (LedgerKind::Refund, &refund.reference, &refund.currency, given)
            }
            StatementEvent::Dispute(dispute) => {
                (LedgerKind::Dispute, &dispute.reference, &dispute.currency, dispute.taken)
            }
        };
        Self { kind, reference, currency, moved: Amount::ZERO.checked_sub(given).unwrap_or_default() }
    }
}

/// A hash of something that the statement lists. With so many bits no two are equal by chance.
type ListedKey = [u8; 16];

/// What a statement lists.
#[derive(Default)]
pub(in crate::service) struct Listed(HashSet<ListedKey>);

impl Listed {
    fn key(kind: &str, text: impl AsRef<[u8]>) -> ListedKey {
        let digest = Sha256::new().chain_update(kind).chain_update([0]).chain_update(text).finalize();
        std::array::from_fn(|index| digest[index])
    }

    fn of_payment(id: PaymentId) -> ListedKey {
        Self::key("payment", id.raw().to_be_bytes())
    }

    fn of_refund(id: RefundId) -> ListedKey {
        Self::key("refund", id.raw().to_be_bytes())
    }

    fn of_reference(reference: &str) -> ListedKey {
        Self::key("reference", reference)
    }

    pub(in crate::service) fn add(&mut self, line: &StatementLine, payment: Option<PaymentId>) {
        self.0.insert(Self::of_reference(LineFacts::of(line).reference));
        match &line.event {
            StatementEvent::Payment(_) => self.0.extend(payment.map(Self::of_payment)),
            // Earlier versions did not record the gateway's id.
            StatementEvent::Refund(refund) => self.0.extend(refund.refund_id.map(Self::of_refund)),
            StatementEvent::Dispute(_) => {}
        }
    }

    /// Adds an entry of the ledger. Returns whether it was not listed before.
    pub(in crate::service) fn add_entry(&mut self, entry: &Entry) -> bool {
        self.0.insert(Self::of_entry(entry))
    }

    fn of_entry(entry: &Entry) -> ListedKey {
        match (&entry.reference, entry.refund) {
            (Some(reference), _) if entry.kind != LedgerKind::Payment => Self::of_reference(reference),
            (None, Some(refund)) => Self::of_refund(refund),
            _ => Self::of_payment(entry.payment),
        }
    }
}

/// One account, in a part of the period.
pub(in crate::service) struct AccountRun<'a, 'r> {
    pub(in crate::service) run: &'a mut Run<'r>,
    pub(in crate::service) account: &'a ReconciledAccount,
    pub(in crate::service) part: (Timestamp, Timestamp),
    pub(in crate::service) listed: Listed,
    pub(in crate::service) orphans: Orphans,
}

impl<'a, 'r> AccountRun<'a, 'r> {
    pub(in crate::service) fn new(
        run: &'a mut Run<'r>,
        account: &'a ReconciledAccount,
        part: (Timestamp, Timestamp),
    ) -> Self {
        Self { run, account, part, listed: Listed::default(), orphans: Orphans::default() }
    }

    /// How many ids are kept in memory.
    pub(in crate::service) fn listed_ids(&self) -> usize {
        self.listed.0.len()
    }

    pub(in crate::service) fn account_id(&self) -> Option<String> {
        self.account.account.id().map(str::to_owned)
    }

    pub(in crate::service) fn compare_again(&mut self, line: &StatementLine) -> Result<Comparison> {
        let account = self.account;
        let compared = self.run.payments.writes.store()?.read(|tx| compare(tx, account, line))?;
        // The payment may just have been recorded.
        self.listed.add(line, compared.payment);
        Ok(compared.comparison)
    }

    pub(in crate::service) fn discrepancy(
        &self,
        line: &StatementLine,
        order: CheckoutOrder,
        resolution: Resolution,
    ) -> Discrepancy {
        let LineFacts { kind, reference, currency, moved } = LineFacts::of(line);
        Discrepancy {
            kind,
            reference: Some(reference.to_owned()),
            payment_reference: Some(line.payment_reference.clone()),
            order_id: Some(order.id),
            organization_id: Some(order.organization),
            account: self.account_id(),
            amount: moved,
            recorded: None,
            currency: currency.to_owned(),
            happened_at: line.happened_at,
            problem: resolution.problem,
            is_resolved: resolution.is_resolved,
        }
    }
}

/// The outcome of a difference.
#[derive(Debug, Clone)]
pub(in crate::service) struct Resolution {
    problem: String,
    pub(in crate::service) is_resolved: bool,
}

impl Resolution {
    pub(in crate::service) fn unresolved(problem: &str) -> Self {
        Self { problem: problem.to_owned(), is_resolved: false }
    }

    pub(in crate::service) fn resolved(problem: String) -> Self {
        Self { problem, is_resolved: true }
    }
}

/// How many lines are kept before the gateway is asked about their payments.
const MAX_LINES: usize = 1000;

/// Lines of orders that do not exist, by the gateway's id of the payment.
#[derive(Default)]
pub(in crate::service) struct Orphans {
    pub(in crate::service) by_payment: BTreeMap<String, Orphan>,
    lines: usize,
}

/// The lines of a payment whose order does not exist.
pub(in crate::service) struct Orphan {
    pub(in crate::service) organization: OrganizationId,
    pub(in crate::service) lines: Vec<StatementLine>,
}

impl Orphans {
    /// Adds a line of a payment that this organization has asked for. Returns whether there are enough to ask the
    /// gateway.
    pub(in crate::service) fn add(&mut self, line: StatementLine, organization: OrganizationId) -> bool {
        let orphan = self.by_payment.entry(line.payment_reference.clone());
        orphan.or_insert_with(|| Orphan { organization, lines: Vec::new() }).lines.push(line);
        self.lines += 1;
        self.lines >= MAX_LINES
    }
}
