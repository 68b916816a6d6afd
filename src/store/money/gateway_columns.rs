//! The columns that payments and ledger entries have in common: the gateway, the account at the provider, and how
//! something was done manually.

use crate::error::Result;
use crate::model::payments::gateway_account::GatewayAccount;
use crate::model::payments::received_payment::ManualMethod;
use crate::store::{Bind, Row};

/// Which payments this gateway, `?3`, is asked about: its own ones, and those whose gateway is not known. The sandbox
/// knows all of its own.
macro_rules! of_gateway {
    () => {
        "(p.gateway = ?3 OR p.gateway IS NULL AND ?3 <> 'sandbox')"
    };
}

pub(in crate::store) use of_gateway;

/// Reads the column `account`: empty for the gateway's own account, NULL if it is not known.
pub(in crate::store) fn account(row: &Row<'_>) -> Result<GatewayAccount> {
    let account: Option<String> = row.get("account")?;
    Ok(match account {
        None => GatewayAccount::Unrecorded,
        Some(account) if account.is_empty() => GatewayAccount::Own,
        Some(account) => GatewayAccount::Connected(account),
    })
}

/// The value of the column `account`.
pub(in crate::store) fn bind_account(account: &GatewayAccount) -> Bind<'_> {
    match account {
        GatewayAccount::Unrecorded => Bind::Null,
        GatewayAccount::Own => "".into(),
        GatewayAccount::Connected(id) => id.into(),
    }
}

/// Reads the column `manual_method`; NULL for what was done through a gateway.
pub(in crate::store) fn manual_method(row: &Row<'_>) -> Result<Option<ManualMethod>> {
    if row.is_null("manual_method")? { Ok(None) } else { row.text_enum("manual_method").map(Some) }
}
