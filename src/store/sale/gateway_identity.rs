//! The columns `gateway`, `account` and `mode` of checkouts, payments and ledger entries. All three of a checkout are
//! NULL if the gateway is not known.

use crate::error::Result;
use crate::model::sale::gateway_account::{GatewayAccount, GatewayIdentity, GatewayKey, PaymentMode};
use crate::rules::money::gateway_choice::is_asked;
use crate::store::columns::row_struct;
use crate::store::{Bind, FromValue, Row, Transaction, Value};

/// The column `account`: empty for the gateway's own account, NULL if it is not known.
impl FromValue for GatewayAccount {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        Ok(match Option::from_value(value)? {
            None => Self::Unrecorded,
            Some(account) if String::is_empty(&account) => Self::Own,
            Some(account) => Self::Connected(account),
        })
    }
}

pub(in crate::store) fn bind_account(account: &GatewayAccount) -> Bind<'_> {
    match account {
        GatewayAccount::Unrecorded => Bind::Null,
        GatewayAccount::Own => "".into(),
        GatewayAccount::Connected(id) => id.into(),
    }
}

/// Selects what [`WaitingAtGateway`] has of the rows that wait for a gateway.
macro_rules! count_by_gateway {
    ($from:literal) => {
        concat!(
            "SELECT gateway, mode, MIN(account) AS account, COUNT(DISTINCT account) AS accounts, COUNT(*) AS number FROM ",
            $from,
            " GROUP BY gateway, mode ORDER BY gateway, mode"
        )
    };
}

pub(in crate::store) use count_by_gateway;

row_struct! {
    /// How many rows wait for a gateway, over all organizations.
    #[derive(Debug)]
    pub(crate) struct WaitingAtGateway(row) {
        /// `None` if an earlier version has not recorded the gateway.
        pub(crate) gateway: Option<String>,
        pub(crate) mode: Option<PaymentMode>,
        /// One of the accounts.
        pub(crate) account: GatewayAccount,
        pub(crate) accounts: u64 = row.count("accounts")?,
        pub(crate) number: u64 = row.count("number")?,
    }
}

/// Counts the rows that wait for gateways other than this one. `None` if the program has no gateway.
pub(in crate::store) fn count_of_others(
    tx: &Transaction<'_>,
    sql: &str,
    gateway: Option<GatewayKey<'_>>,
) -> Result<Vec<WaitingAtGateway>> {
    let mut counts = tx.query_all(sql, &[], WaitingAtGateway::read)?;
    counts.retain(|count| {
        let recorded = count.gateway.as_deref().zip(count.mode).map(|(name, mode)| GatewayKey { name, mode });
        gateway.is_none_or(|gateway| !is_asked(gateway, recorded))
    });
    Ok(counts)
}

pub(crate) fn read(row: &Row<'_>) -> Result<Option<GatewayIdentity>> {
    let Some(name) = row.get("gateway")? else { return Ok(None) };
    Ok(Some(GatewayIdentity { name, account: row.get("account")?, mode: row.get("mode")? }))
}

/// The values of the columns `gateway`, `account` and `mode`, in this order.
pub(crate) fn binds(gateway: Option<&GatewayIdentity>) -> [Bind<'_>; 3] {
    let Some(GatewayIdentity { name, account, mode }) = gateway else { return [Bind::Null, Bind::Null, Bind::Null] };
    [name.into(), bind_account(account), mode.as_str().into()]
}
