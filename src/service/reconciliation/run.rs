//! Reconciliation: compares the statements of the payment gateway with the recorded payments, refunds and disputes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Duration;

use super::progress::{AccountRun, Run};
use crate::error::{Error, Result};
use crate::model::payments::reconciliation::{Reconcile, ReconcileProgress, Reconciliation, UnreadAccount};
use crate::model::sale::gateway_account::{GatewayAccount, GatewayIdentity, GatewayKey};
use crate::model::tenants::organization::ListOrganizations;
use crate::model::values::id::OrganizationId;
use crate::model::values::page;
use crate::payment::GatewayCalls;
use crate::sales::money::statement_lines::ReconciledAccount;
use crate::service::TicketingService;
use crate::store::money::reconciliation::{AccountsOf, add_accounts};
use crate::store::tenants::organizations;

/// The length of the first part. A period is compared in parts, because the hashes of all ids of a part are kept in
/// memory.
const FIRST_PART: Duration = Duration::from_hours(31 * 24);

/// If a part has fewer ids than this, the next part is twice as long. If it has more than four times as many, the next
/// part is half as long.
const FEW_IDS: usize = 50_000;

const SHORTEST_PART: Duration = Duration::from_hours(24);

/// How far the provider's clock may differ from the clock of this process.
const MAX_CLOCK_SKEW: Duration = Duration::from_hours(24);

/// # Reconciliation
impl TicketingService {
    /// Compares the payments, refunds and disputes of a period that the payment gateway lists with those that are
    /// recorded. Use it after the database was restored from a backup, to find payments whose webhooks were lost, and
    /// for accounting. The gateway must implement [`Statements`](crate::payment::Statements). This method is for the
    /// operator: it takes no caller, like [`check`](Self::check).
    ///
    /// The service compares the gateway's own account, and each connected account that is recorded with a payment or a
    /// checkout, or that the gateway currently names for an organization. In a connected account, only payments of the
    /// organizations that use this account count, because its owner can attach any ids to payments.
    ///
    /// Without [`apply`](Reconcile::apply), the service writes nothing, and only reads from the gateway. With it:
    ///
    /// - What is missing or different here is recorded as if the gateway had reported it by a webhook. A missing
    ///   payment may complete its order, or is refunded if it comes too late.
    /// - What is left of a payment whose order does not exist is refunded if the gateway names an organization of this
    ///   database for it: the order was lost when a backup was restored. While a dispute of the payment is open, it is
    ///   not refunded. A second run does not refund it again.
    /// - What is missing at the gateway stays as it is.
    ///
    /// Never use `apply` on a copy of a database that is in use: the gateway lists payments of orders that only the
    /// original has.
    ///
    /// Lines of the statement are matched with recorded payments by the gateway's ids. Times matter only for recorded
    /// payments that the statement does not list: the service asks the gateway about each of them, because the payment
    /// may have happened before the period and may have been recorded within it. What happens during the comparison
    /// may be listed on one side only, so end the period an hour before the present, or compare again. The period may
    /// have any length: it is read in parts and pages, without a long transaction, and the lists of the result are
    /// limited.
    ///
    /// `progress` is called after each page. If it returns [`ControlFlow::Break`], the reconciliation ends, and what
    /// it has recorded so far stays.
    ///
    /// # Errors
    /// - [`Error::Validation`] if the period is empty.
    /// - [`Error::NotFound`] if the organization does not exist.
    /// - [`Error::Store`] if `progress` returns `Break`.
    ///
    /// An error of the gateway, or a gateway without statements, is not an error of this method: the account is listed
    /// in [`unread_accounts`](Reconciliation::unread_accounts).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use ticketing::payment::Reconcile;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let request = Reconcile::new("2026-06-01T00:00:00Z".parse()?, "2026-07-01T00:00:00Z".parse()?);
    /// let result = service.reconcile(&request, |_| ControlFlow::Continue(()))?;
    /// assert!(!result.is_explained(), "the sandbox lists no payments");
    /// assert_eq!(result.unread_accounts.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconcile(
        &self,
        request: &Reconcile,
        mut progress: impl FnMut(ReconcileProgress) -> ControlFlow<()>,
    ) -> Result<Reconciliation> {
        if request.from >= request.to {
            return Err(Error::field("to", "must be after the beginning of the period"));
        }
        if let Some(organization) = request.organization_id {
            self.store()?.read_one(|tx| organizations::get(tx, organization))?;
        }
        let Some(gateway) = &self.payments().gateway else {
            let problem = "the program has no payment gateway".to_owned();
            let unread_accounts = vec![UnreadAccount { account: None, problem }];
            return Ok(Reconciliation { unread_accounts, ..Reconciliation::default() });
        };
        let accounts = self.accounts_to_reconcile(gateway, request.organization_id)?;
        let mut run = Run::new(self.payments(), gateway, request, &mut progress);
        run.progress.total_accounts = u64::try_from(accounts.len()).unwrap_or(u64::MAX);
        for account in accounts {
            run.compare_account(&account)?;
            run.progress.accounts += 1;
            run.report()?;
        }
        Ok(run.finish())
    }

    /// Returns the accounts at the provider that may have payments of the organization `only`, or else of any
    /// organization. The gateway's own account comes first.
    fn accounts_to_reconcile(
        &self,
        gateway: &GatewayCalls,
        only: Option<OrganizationId>,
    ) -> Result<Vec<ReconciledAccount>> {
        let GatewayKey { name, mode } = gateway.key();
        let mut connected = BTreeSet::new();
        for of in AccountsOf::ALL {
            let mut after = Some(0);
            while let Some(last) = after {
                after =
                    self.store()?.scan(None, |tx| add_accounts(tx, of, only, (name, mode), last, &mut connected))?;
            }
        }
        let mut add_current = |organization| {
            if let Some(GatewayIdentity { account: GatewayAccount::Connected(id), .. }) = gateway.identity(organization)
            {
                connected.insert((id, organization));
            }
        };
        match only {
            Some(organization) => add_current(organization),
            None => {
                let list = |page| self.list_organizations(ListOrganizations::default().page(page));
                for organization in page::all(list) {
                    add_current(organization?.id);
                }
            }
        }
        let account = |account, trusted| ReconciledAccount { gateway: name.to_owned(), mode, account, trusted, only };
        let mut by_account: BTreeMap<String, BTreeSet<OrganizationId>> = BTreeMap::new();
        for (id, organization) in connected {
            by_account.entry(id).or_default().insert(organization);
        }
        let own = account(GatewayAccount::Own, None);
        let connected = by_account.into_iter();
        let connected = connected.map(|(id, trusted)| account(GatewayAccount::Connected(id), Some(trusted)));
        Ok(std::iter::once(own).chain(connected).collect())
    }
}

impl Run<'_> {
    /// Compares an account, one part of the period after another. Leaves out the future, in which nothing has happened.
    fn compare_account(&mut self, account: &ReconciledAccount) -> Result<()> {
        let latest = self.payments.environment.now().saturating_add(MAX_CLOCK_SKEW);
        let end = self.request.to.min(latest);
        let (mut from, mut length) = (self.request.from, FIRST_PART);
        while from < end {
            let to = from.saturating_add(length).min(end);
            let mut part = AccountRun::new(self, account, (from, to));
            if part.compare()?.is_break() {
                return Ok(());
            }
            length = next_length(length, part.listed_ids());
            from = to;
        }
        Ok(())
    }
}

/// Returns the length of the next part, after a part of this length with this number of ids.
fn next_length(length: Duration, ids: usize) -> Duration {
    if ids < FEW_IDS {
        length.saturating_mul(2)
    } else if ids > 4 * FEW_IDS {
        (length / 2).max(SHORTEST_PART)
    } else {
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_with_few_lines_become_longer_and_those_with_many_shorter() {
        let days = |days: u64| Duration::from_hours(24 * days);
        for (length, ids, expected) in
            [(31, 0, 62), (31, 49_999, 62), (31, 50_000, 31), (31, 200_000, 31), (32, 200_001, 16), (1, 1_000_000, 1)]
        {
            assert_eq!(next_length(days(length), ids), days(expected), "{length} days with {ids} ids");
        }
        assert_eq!(next_length(Duration::MAX, 0), Duration::MAX);
    }
}
