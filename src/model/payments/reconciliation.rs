//! Reconciliation: compares the payments, refunds and disputes that a payment gateway reports with the recorded ones.

use std::collections::BTreeMap;

use super::ledger_entry::LedgerKind;
use crate::form::declare::setters::with_setters;
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::model::values::timestamp::Timestamp;

impl Reconcile {
    /// Creates a request for the period from `from`, inclusive, to `to`, exclusive. By default it covers all
    /// organizations and changes nothing: see [`organization`](Self::organization) and [`apply`](Self::apply).
    #[must_use]
    pub const fn new(from: Timestamp, to: Timestamp) -> Self {
        Self { from, to, organization_id: None, apply: false }
    }
}

with_setters! {
    /// A request to compare the payments, refunds and disputes that the gateway lists of a period with those that are
    /// recorded.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Reconcile {
        /// The beginning of the period.
        pub from: Timestamp,
        /// The end of the period. What happened at this time is not part of it.
        pub to: Timestamp,
        /// Only payments of this organization. `None` for those of all.
        pub organization_id: Option<OrganizationId>,
        /// Whether to record what is missing or different here, and to refund payments whose order does not exist.
        pub apply: bool,
    }
}

/// The progress of a reconciliation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReconcileProgress {
    /// The number of accounts at the provider that are done.
    pub accounts: u64,
    /// The number of all accounts.
    pub total_accounts: u64,
    /// The number of statement lines that the gateway has listed for the period.
    pub lines: u64,
    /// The number of ledger entries that were looked at.
    pub entries: u64,
}

/// The result of a reconciliation. What both sides have is added up. What only one side has, or both sides have with
/// other amounts, is listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reconciliation {
    /// Totals of what both sides have, including what this reconciliation has recorded.
    pub matched: Vec<ReconciledTotal>,
    /// Payments whose order does not exist here, with their refunds and disputes, if nothing is left of them at the
    /// provider: they were refunded or disputed in full, before this reconciliation or by it. Their orders were lost
    /// when a backup was restored.
    pub returned: Vec<ReconciledTotal>,
    /// What the gateway lists and is not recorded here.
    pub missing_here: Discrepancies,
    /// What is recorded here and the gateway does not list. Nothing is changed about it.
    pub missing_there: Discrepancies,
    /// What both sides have, but with a different amount or outcome.
    pub different: Discrepancies,
    /// The refunds that this reconciliation has made, of payments whose order does not exist here.
    pub refunded: Discrepancies,
    /// The accounts that could not be compared, or not completely.
    pub unread_accounts: Vec<UnreadAccount>,
    /// The number of statement lines that name no order of an organization in this database, or an organization that
    /// does not use the account. Other programs may share the account, and the owner of a connected account can attach
    /// any ids to payments.
    pub foreign_lines: u64,
}

impl Reconciliation {
    /// Whether both sides agree now: nothing is missing or different, apart from what was resolved, and every account
    /// was compared.
    #[must_use]
    pub fn is_explained(&self) -> bool {
        let lists = [&self.missing_here, &self.missing_there, &self.different];
        self.unread_accounts.is_empty() && lists.iter().all(|list| list.unresolved == 0)
    }
}

/// The sums of one kind of movement, of one currency and mode.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReconciledTotal {
    /// The kind: [`Payment`](LedgerKind::Payment), [`Refund`](LedgerKind::Refund) or [`Dispute`](LedgerKind::Dispute).
    pub kind: LedgerKind,
    /// The currency: an ISO 4217 code.
    pub currency: String,
    /// Whether it is real money.
    pub mode: PaymentMode,
    /// The number of entries of the provider's statement. A refund that has failed counts twice, because its money went
    /// out and came back. So does a dispute whose money came back.
    pub count: u64,
    /// The sum of the amounts: more than 0 for payments, and less for refunds and disputes.
    pub gross: Amount,
    /// The sum of the fees that the provider has charged for them, as far as they are known.
    pub fee: Amount,
    /// The sum of the changes of the balance of the account at the provider, as far as they are known.
    pub net: Amount,
    /// The number of entries whose fee and net amount are not known. They are in `gross`, and not in `fee` and `net`.
    pub without_fee: u64,
}

/// A list of differences.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Discrepancies {
    /// The first 10,000.
    pub listed: Vec<Discrepancy>,
    /// The number of all of them, also of those that are not listed.
    pub count: u64,
    /// The number of those that are not resolved.
    pub unresolved: u64,
    /// The sums of the amounts of all of them, by currency.
    pub sums: BTreeMap<String, Amount>,
}

impl Discrepancies {
    /// The greatest number of differences that are listed.
    pub(crate) const LISTED: usize = 10_000;

    pub(crate) fn is_full(&self) -> bool {
        self.listed.len() >= Self::LISTED
    }

    /// Counts a difference, and lists it unless there are too many.
    pub(crate) fn add(&mut self, discrepancy: Discrepancy) {
        self.count += 1;
        self.unresolved += u64::from(!discrepancy.is_resolved);
        add_to(self.sums.entry(discrepancy.currency.clone()).or_default(), discrepancy.amount);
        if !self.is_full() {
            self.listed.push(discrepancy);
        }
    }
}

/// A movement that one side does not have, or has with another amount.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Discrepancy {
    /// What moved the money.
    pub kind: LedgerKind,
    /// The gateway's id of the payment, the refund or the dispute, if it is known.
    pub reference: Option<String>,
    /// The gateway's id of the payment, if it is known.
    pub payment_reference: Option<String>,
    /// The order. For what is not recorded here it is the order that the gateway names, which may not exist.
    pub order_id: Option<OrderId>,
    /// The organization.
    pub organization_id: Option<OrganizationId>,
    /// The provider's id of the account. `None` for the gateway's own account.
    pub account: Option<String>,
    /// The amount: more than 0 if the organizer got it, and less if the organizer gave it. It is that of the gateway,
    /// or the recorded one if the gateway has none.
    pub amount: Amount,
    /// The recorded amount, if both sides have one.
    pub recorded: Option<Amount>,
    /// The currency: an ISO 4217 code.
    pub currency: String,
    /// When it happened: as the gateway says, or as it is recorded if only this side has it.
    pub happened_at: Timestamp,
    /// What is wrong, or what was done about it, as a sentence without a full stop.
    pub problem: String,
    /// Whether it was resolved by this reconciliation.
    pub is_resolved: bool,
}

/// An account at the provider whose statement could not be read, or only in part.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UnreadAccount {
    /// The provider's id of the account. `None` for the gateway's own account.
    pub account: Option<String>,
    /// Why.
    pub problem: String,
}

/// Adds to a sum. One that would not fit into 64 bits stays as it is.
pub(crate) fn add_to(sum: &mut Amount, amount: Amount) {
    *sum = sum.checked_add(amount).unwrap_or(*sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discrepancy(is_resolved: bool) -> Discrepancy {
        Discrepancy {
            kind: LedgerKind::Payment,
            reference: Some("pi_1".to_owned()),
            payment_reference: None,
            order_id: None,
            organization_id: None,
            account: None,
            amount: Amount::cents(100),
            recorded: None,
            currency: "EUR".to_owned(),
            happened_at: Timestamp::UNIX_EPOCH,
            problem: String::new(),
            is_resolved,
        }
    }

    #[test]
    fn only_the_first_differences_are_listed_and_all_are_counted() {
        let mut result = Reconciliation::default();
        for _ in 0..10_003 {
            result.different.add(discrepancy(true));
        }
        let Discrepancies { listed, count, unresolved, sums } = &result.different;
        assert_eq!((listed.len(), *count, *unresolved, sums["EUR"]), (10_000, 10_003, 0, Amount::cents(1_000_300)));
        assert!(result.is_explained());
        result.different.add(discrepancy(false));
        assert!(!result.is_explained(), "one that is not listed counts too");
    }
}
