//! The columns `gateway`, `account` and `mode` of a checkout or a payment. All three are NULL if the gateway is not
//! known.

use crate::error::Result;
use crate::model::payments::gateway_account::GatewayIdentity;
use crate::store::{Bind, Row};

/// Reads the columns `gateway`, `account` and `mode`.
pub(crate) fn read(row: &Row<'_>) -> Result<Option<GatewayIdentity>> {
    let Some(name) = row.get("gateway")? else { return Ok(None) };
    let account: String = row.get("account")?;
    let account = Some(account).filter(|id| !id.is_empty());
    Ok(Some(GatewayIdentity { name, account, mode: row.get("mode")? }))
}

/// The values of the columns `gateway`, `account` and `mode`, in this order.
pub(crate) fn binds(gateway: Option<&GatewayIdentity>) -> [Bind<'_>; 3] {
    let Some(GatewayIdentity { name, account, mode }) = gateway else { return [Bind::Null, Bind::Null, Bind::Null] };
    [name.into(), account.as_deref().unwrap_or_default().into(), mode.as_str().into()]
}
