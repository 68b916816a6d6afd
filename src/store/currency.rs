//! Reading the currency of a row.

use super::Row;
use crate::error::Result;
use crate::model::currency::Decimals;

/// The currency of the amounts in a row.
pub(super) struct Currency {
    /// The ISO 4217 code.
    pub(super) code: String,
    /// The number of decimals of an amount.
    pub(super) decimals: Decimals,
}

/// Reads the column `currency`.
pub(super) fn read_currency(row: &Row<'_>) -> Result<Currency> {
    let code: String = row.get("currency")?;
    let decimals = Decimals::of_currency(&code).ok_or_else(|| row.corrupt("currency", "is not a known currency"))?;
    Ok(Currency { code, decimals })
}
