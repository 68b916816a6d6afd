//! The columns `gateway`, `account` and `mode` of checkouts, payments and ledger entries. All three of a checkout are
//! NULL if the gateway is not known.

use crate::error::Result;
use crate::model::payments::gateway_account::{GatewayAccount, GatewayIdentity};
use crate::store::{Bind, FromValue, Row, Value};

/// Which payments this gateway, `?3`, is asked about: its own ones, and those whose gateway is not known. The sandbox
/// knows all of its own.
macro_rules! of_gateway {
    () => {
        "(p.gateway = ?3 OR p.gateway IS NULL AND ?3 <> 'sandbox')"
    };
}

pub(in crate::store) use of_gateway;

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

pub(crate) fn read(row: &Row<'_>) -> Result<Option<GatewayIdentity>> {
    let Some(name) = row.get("gateway")? else { return Ok(None) };
    Ok(Some(GatewayIdentity { name, account: row.get("account")?, mode: row.get("mode")? }))
}

/// The values of the columns `gateway`, `account` and `mode`, in this order.
pub(crate) fn binds(gateway: Option<&GatewayIdentity>) -> [Bind<'_>; 3] {
    let Some(GatewayIdentity { name, account, mode }) = gateway else { return [Bind::Null, Bind::Null, Bind::Null] };
    [name.into(), bind_account(account), mode.as_str().into()]
}
