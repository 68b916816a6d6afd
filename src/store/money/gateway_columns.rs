//! The gateway and the account at the provider, which payments and ledger entries have in common.

use crate::model::payments::gateway_account::GatewayAccount;
use crate::store::{Bind, FromValue, Value};

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

/// The value of the column `account`.
pub(in crate::store) fn bind_account(account: &GatewayAccount) -> Bind<'_> {
    match account {
        GatewayAccount::Unrecorded => Bind::Null,
        GatewayAccount::Own => "".into(),
        GatewayAccount::Connected(id) => id.into(),
    }
}
