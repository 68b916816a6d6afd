//! The decimals of currencies (ISO 4217).

use iso_currency::Currency;

/// The number of decimals of the amounts in a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimals(u8);

impl Decimals {
    /// The greatest number of decimals of a currency.
    pub(crate) const MAX: Self = Self(4);

    /// The decimals of a currency, 0 for those without a minor unit, such as gold. `None` if there is no such currency.
    pub(crate) fn of_currency(code: &str) -> Option<Self> {
        let currency = Currency::from_code(code)?;
        Some(Self(currency.exponent().and_then(|exponent| u8::try_from(exponent).ok()).unwrap_or(0)))
    }

    pub(crate) const fn get(self) -> u8 {
        self.0
    }
}
