//! Limits on amounts.

use crate::error::{Error, FieldErrors, Result};
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;

/// The highest total of an order, in minor units. A number of up to 15 digits is exact in JSON, wherever its decimal
/// point is. A number of 16 digits may not be: 90071992547409.91 and 90071992547409.9 are adjacent 64-bit floats.
pub(crate) const MAX_TOTAL: i64 = 1_000_000_000_000_000;

/// The decimals of a stored currency.
///
/// # Errors
/// [`Error::Internal`] if there is no such currency.
pub(crate) fn decimals_of_stored(currency: &str) -> Result<Decimals> {
    Decimals::of_currency(currency).ok_or_else(|| Error::Internal(format!("unknown currency {currency}")))
}

pub(crate) fn check_currency(errors: &mut FieldErrors, path: &str, code: &str) {
    errors.check(Decimals::of_currency(code).is_some(), path, "must be a currency code of ISO 4217");
}

/// Checks that an amount has at most as many decimals as its currency, and converts it into minor units. `path` returns
/// the path of its field.
pub(crate) fn check_decimals(
    errors: &mut FieldErrors,
    path: impl FnOnce() -> String,
    amount: Amount,
    decimals: Decimals,
) -> i64 {
    let decimals = decimals.get();
    let minor = amount.minor_with(decimals);
    if minor.is_none() {
        errors.add(path(), format!("must have at most {decimals} decimals in this currency"));
    }
    minor.unwrap_or(0)
}

pub(crate) fn check_total(errors: &mut FieldErrors, path: &str, total: Amount, decimals: Decimals) {
    let highest = Amount::in_currency(MAX_TOTAL, decimals);
    if total > highest {
        errors.add(path, format!("must be at most {highest}"));
    }
    check_decimals(errors, || path.to_owned(), total, decimals);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_amount_up_to_the_highest_total_is_exact_in_json() {
        for decimals in 0..=Decimals::MAX.get() {
            for minor in [MAX_TOTAL, MAX_TOTAL - 1, MAX_TOTAL - 9, MAX_TOTAL / 3, MAX_TOTAL / 7 * 5 + 3] {
                let amount = Amount::new(minor, decimals).expect("few decimals");
                let json = serde_json::to_string(&amount).expect("a number");
                assert_eq!(json.parse(), Ok(amount), "{minor} with {decimals} decimals");
                assert_eq!(serde_json::from_str::<Amount>(&json).ok(), Some(amount), "{json}");
            }
        }
    }
}
