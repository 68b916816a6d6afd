//! Limits on amounts, and the decimals of currencies.

use iso_currency::Currency;

use crate::error::{Error, FieldErrors, Result};
use crate::model::amount::Amount;

/// The highest total of an order, in minor units. A number of up to 15 digits is exact in JSON, wherever its decimal
/// point is. A number of 16 digits may not be: 90071992547409.91 and 90071992547409.9 are adjacent 64-bit floats.
pub(crate) const MAX_TOTAL: i64 = 1_000_000_000_000_000;

/// The greatest number of decimals of a currency.
pub(crate) const MAX_DECIMALS: u8 = 4;

/// The decimals of a currency (ISO 4217), 0 for those without a minor unit, such as gold. `None` if there is no such
/// currency.
pub(crate) fn decimals(currency: &str) -> Option<u8> {
    let currency = Currency::from_code(currency)?;
    Some(currency.exponent().and_then(|exponent| u8::try_from(exponent).ok()).unwrap_or(0))
}

/// The decimals of a stored currency.
///
/// # Errors
/// [`Error::Internal`] if there is no such currency.
pub(crate) fn decimals_of_stored(currency: &str) -> Result<u8> {
    decimals(currency).ok_or_else(|| Error::Internal(format!("unknown currency {currency}")))
}

/// Checks that a currency exists.
pub(crate) fn check_currency(errors: &mut FieldErrors, path: &str, code: &str) {
    errors.check(decimals(code).is_some(), path, "must be a currency code of ISO 4217");
}

/// Checks that an amount has at most as many decimals as its currency, and converts it into minor units.
pub(crate) fn check_decimals(errors: &mut FieldErrors, path: &str, amount: Amount, decimals: u8) -> i64 {
    let minor = amount.minor_with(decimals);
    if minor.is_none() {
        errors.add(path, format!("must have at most {decimals} decimals in this currency"));
    }
    minor.unwrap_or(0)
}

/// Checks the total of an order.
pub(crate) fn check_total(errors: &mut FieldErrors, path: &str, total: Amount, decimals: u8) {
    let whole = total.minor() / 10_i64.pow(u32::from(total.decimals()));
    let highest = Amount::new(MAX_TOTAL, decimals);
    if whole >= MAX_TOTAL / 10_i64.pow(u32::from(decimals)) && total != highest {
        errors.add(path, format!("must be at most {highest}"));
    }
    check_decimals(errors, path, total, decimals);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_4217_defines_the_decimals() {
        for (code, expected) in
            [("EUR", Some(2)), ("JPY", Some(0)), ("KWD", Some(3)), ("XAU", Some(0)), ("eur", None), ("ZZZ", None)]
        {
            assert_eq!(decimals(code), expected, "{code}");
        }
    }

    #[test]
    fn every_amount_up_to_the_highest_total_is_exact_in_json() {
        for decimals in 0..=MAX_DECIMALS {
            for minor in [MAX_TOTAL, MAX_TOTAL - 1, MAX_TOTAL - 9, MAX_TOTAL / 3, MAX_TOTAL / 7 * 5 + 3] {
                let amount = Amount::new(minor, decimals);
                let json = serde_json::to_string(&amount).expect("a number");
                assert_eq!(json.parse(), Ok(amount), "{minor} with {decimals} decimals");
                assert_eq!(serde_json::from_str::<Amount>(&json).ok(), Some(amount), "{json}");
            }
        }
    }

    #[test]
    fn an_amount_with_too_many_decimals_is_refused_and_never_rounded() {
        let check = |text: &str, decimals| {
            let mut errors = FieldErrors::default();
            let minor = check_decimals(&mut errors, "price", text.parse().expect(text), decimals);
            errors.is_empty().then_some(minor)
        };
        assert_eq!(check("12.5", 2), Some(1250));
        assert_eq!(check("12.500", 2), Some(1250));
        assert_eq!(check("12.501", 2), None);
        assert_eq!(check("0", 0), Some(0));
        assert_eq!(check("1000000000", 3), Some(1_000_000_000_000));
        assert_eq!(check("0.5", 0), None);
    }
}
