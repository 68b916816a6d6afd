//! What a reconciliation reads of payments, checkouts and the ledger: in pages, in the order of their ids.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::environment::first_of;
use crate::error::Result;
use crate::model::payments::ledger_entry::LedgerKind;
use crate::model::sale::gateway_account::{GatewayAccount, PaymentMode};
use crate::model::values::currency::Decimals;
use crate::model::values::id::{LedgerEntryId, OrderId, OrganizationId, PaymentId, RefundId};
use crate::model::values::timestamp::Timestamp;
use crate::store::columns::row_struct;
use crate::store::{Bind, Transaction};

/// How many rows are looked at in a page of accounts.
const ROWS: i64 = 5000;

/// How many entries of the ledger are in a page.
pub(crate) const ENTRIES_AT_ONCE: usize = 1000;

/// The id of an entry begins with the time at which it was recorded, or with one that is up to so much later, after the
/// clock was set back.
const LATEST_ID: Duration = Duration::from_hours(31 * 24);

/// Selects the different gateways and accounts of a page of rows, and the last id of each.
macro_rules! accounts {
    ($rows:literal) => {
        concat!(
            "SELECT p.organization_id, p.gateway, p.account, p.mode, MAX(p.id) AS last_id FROM (",
            $rows,
            " LIMIT ?2) p GROUP BY p.organization_id, p.gateway, p.account, p.mode"
        )
    };
}

const PAYMENTS: &str =
    accounts!("SELECT id, organization_id, gateway, account, mode FROM payments WHERE id > ?1 ORDER BY id");
const PAYMENTS_OF_ORGANIZATION: &str = accounts!(
    "SELECT id, organization_id, gateway, account, mode FROM payments WHERE organization_id = ?3 AND id > ?1 ORDER BY id"
);
const CHECKOUTS: &str = accounts!(
    "SELECT c.order_id AS id, o.organization_id, c.gateway, c.account, c.mode
        FROM checkouts c JOIN orders o ON o.id = c.order_id WHERE c.order_id > ?1 ORDER BY c.order_id"
);
const CHECKOUTS_OF_ORGANIZATION: &str = accounts!(
    "SELECT o.id, o.organization_id, c.gateway, c.account, c.mode
        FROM orders o LEFT JOIN checkouts c ON c.order_id = o.id WHERE o.organization_id = ?3 AND o.id > ?1 ORDER BY o.id"
);

macro_rules! entry_columns {
    () => {
        "id, organization_id, order_id, payment_id, refund_id, kind, amount, currency, manual_method, gateway, account, mode,
        reference, happened_at"
    };
}

const ENTRIES: &str =
    concat!("SELECT ", entry_columns!(), " FROM ledger WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3");
pub(in crate::store) const ENTRIES_OF_ORGANIZATION: &str = concat!(
    "SELECT ",
    entry_columns!(),
    " FROM ledger WHERE organization_id = ?4 AND id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3"
);

/// The statements that list which accounts are recorded with payments and checkouts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AccountsOf {
    Payments,
    Checkouts,
}

impl AccountsOf {
    pub(crate) const ALL: [Self; 2] = [Self::Payments, Self::Checkouts];
}

/// Adds the connected accounts of a gateway that are recorded in a page of rows, with the organization that has each.
/// `after` is 0 for the first page. Returns the last id of the page; `None` after the last page.
pub(crate) fn add_accounts(
    tx: &Transaction<'_>,
    of: AccountsOf,
    organization: Option<OrganizationId>,
    (gateway, mode): (&str, PaymentMode),
    after: i64,
    accounts: &mut BTreeSet<(String, OrganizationId)>,
) -> Result<Option<i64>> {
    let mut binds: Vec<Bind<'_>> = vec![after.into(), ROWS.into()];
    binds.extend(organization.map(Bind::from));
    let sql = match (of, organization) {
        (AccountsOf::Payments, None) => PAYMENTS,
        (AccountsOf::Payments, Some(_)) => PAYMENTS_OF_ORGANIZATION,
        (AccountsOf::Checkouts, None) => CHECKOUTS,
        (AccountsOf::Checkouts, Some(_)) => CHECKOUTS_OF_ORGANIZATION,
    };
    let mut last = None;
    tx.query_each(sql, &binds, |row| {
        last = last.max(Some(row.get::<i64>("last_id")?));
        let of: Option<String> = row.get("gateway")?;
        if of.as_deref() != Some(gateway) || row.get::<PaymentMode>("mode")? != mode {
            return Ok(());
        }
        if let GatewayAccount::Connected(account) = row.get("account")? {
            accounts.insert((account, row.get("organization_id")?));
        }
        Ok(())
    })?;
    Ok(last)
}

row_struct! {
    /// An entry of the ledger.
    #[derive(Debug, Clone)]
    pub(crate) struct Entry(row) {
        pub(crate) id: LedgerEntryId,
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) order: OrderId => order_id,
        pub(crate) payment: PaymentId => payment_id,
        pub(crate) refund: Option<RefundId> => refund_id,
        pub(crate) kind: LedgerKind,
        pub(crate) amount: i64,
        pub(crate) currency: String,
        pub(crate) decimals: Decimals => currency,
        pub(crate) is_manual: bool = !row.is_null("manual_method")?,
        pub(crate) gateway: Option<String>,
        pub(crate) account: GatewayAccount,
        pub(crate) mode: PaymentMode,
        pub(crate) reference: Option<String>,
        pub(crate) happened_at: Timestamp,
    }
}

/// Returns a page of the entries that were recorded about a period, the oldest first: of all organizations, or of one.
/// The page is shorter than [`ENTRIES_AT_ONCE`] only if it is the last one. `after` is the last id of the page before.
pub(crate) fn entries(
    tx: &Transaction<'_>,
    organization: Option<OrganizationId>,
    (from, to): (Timestamp, Timestamp),
    after: Option<LedgerEntryId>,
) -> Result<Vec<Entry>> {
    let first = after.map_or(first_of(from), |after| after.raw().saturating_add(1));
    let below = first_of(to.saturating_add(LATEST_ID));
    let most = i64::try_from(ENTRIES_AT_ONCE).unwrap_or(i64::MAX);
    let mut binds: Vec<Bind<'_>> = vec![first.into(), below.into(), most.into()];
    binds.extend(organization.map(Bind::from));
    let sql = if organization.is_some() { ENTRIES_OF_ORGANIZATION } else { ENTRIES };
    tx.query_all(sql, &binds, Entry::read)
}
