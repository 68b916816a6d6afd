//! Reading the currency of a row.

use crate::error::Result;
use crate::model::values::currency::Decimals;
use crate::store::Row;

/// The currency of the amounts in a row.
pub(in crate::store) struct Currency {
    /// The ISO 4217 code.
    pub(in crate::store) code: String,
    /// The number of decimals of an amount.
    pub(in crate::store) decimals: Decimals,
}

/// Reads the column `currency`.
pub(in crate::store) fn read_currency(row: &Row<'_>) -> Result<Currency> {
    let read = |code: &str| Some(Currency { code: code.to_owned(), decimals: Decimals::of_currency(code)? });
    row.parsed("currency", read, UNKNOWN)
}

/// Reads the number of decimals of the column `currency`.
pub(crate) fn read_decimals(row: &Row<'_>) -> Result<Decimals> {
    row.parsed("currency", Decimals::of_currency, UNKNOWN)
}

const UNKNOWN: &str = "is not a known currency";
