//! Limits on amounts, and the decimals of currencies.

use iso_currency::Currency;

use crate::error::{Error, FieldErrors, Result};
use crate::model::amount::Amount;

/// The highest price, in major units.
const MAX_PRICE: i64 = 1_000_000_000;

/// The highest number of minor units that a total may have. A number of 15 digits is exact in JSON, wherever its decimal
/// point stands; one of 16 need not be: the 64-bit float next to 90071992547409.91 is the one next to 90071992547409.9.
pub(crate) const MAX_TOTAL: i64 = 1_000_000_000_000_000;

/// More decimals than this no currency has.
pub(crate) const MOST_DECIMALS: u8 = 4;

/// How many decimals ISO 4217 gives the currency; `None` where there is no such currency. Those without a minor unit
/// (gold, say) have none.
pub(crate) fn decimals(currency: &str) -> Option<u8> {
    let currency = Currency::from_code(currency)?;
    Some(currency.exponent().and_then(|exponent| u8::try_from(exponent).ok()).unwrap_or(0))
}

/// The decimals of a currency that was checked when it was stored.
///
/// # Errors
/// [`Error::Internal`] if there is no such currency.
pub(crate) fn decimals_of_stored(currency: &str) -> Result<u8> {
    decimals(currency).ok_or_else(|| Error::Internal(format!("unknown currency {currency}")))
}

/// A currency code of exactly three characters that exists.
pub(crate) fn check_currency(errors: &mut FieldErrors, path: &str, code: &str) {
    errors.check(code.chars().count() == 3, path, "must have exactly 3 characters");
    errors.check(decimals(code).is_some(), path, "must be a currency code of ISO 4217");
}

/// A price from 0 to the highest, with no more decimals than its currency has; in minor units.
pub(crate) fn check_price(errors: &mut FieldErrors, path: &str, price: Amount, decimals: u8) -> i64 {
    errors.check(price.minor() >= 0, path, "must be at least 0");
    let whole = price.minor() / 10_i64.pow(u32::from(price.decimals()));
    let at_most = whole < MAX_PRICE || price == Amount::new(MAX_PRICE, 0);
    errors.check(at_most, path, "must be at most 1000000000");
    let minor = price.minor_with(decimals);
    errors.check(minor.is_some(), path, format!("must have at most {decimals} decimals in this currency"));
    minor.unwrap_or(0)
}

/// The amount of a whole order, from 0 to the highest total, with no more decimals than its currency has.
pub(crate) fn check_total(errors: &mut FieldErrors, path: &str, total: Amount, decimals: u8) {
    errors.check(total.minor() >= 0, path, "must be at least 0");
    let whole = total.minor() / 10_i64.pow(u32::from(total.decimals()));
    let highest = Amount::new(MAX_TOTAL, decimals);
    let at_most = whole < MAX_TOTAL / 10_i64.pow(u32::from(decimals)) || total == highest;
    errors.check(at_most, path, "is more than an order may cost");
    let exact = total.minor_with(decimals).is_some();
    errors.check(exact, path, format!("must have at most {decimals} decimals in this currency"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_4217_tells_the_decimals() {
        for (code, expected) in
            [("EUR", Some(2)), ("JPY", Some(0)), ("KWD", Some(3)), ("XAU", Some(0)), ("eur", None), ("ZZZ", None)]
        {
            assert_eq!(decimals(code), expected, "{code}");
        }
    }

    #[test]
    fn every_amount_up_to_the_highest_total_is_exact_in_json() {
        for decimals in 0..=MOST_DECIMALS {
            for minor in [MAX_TOTAL, MAX_TOTAL - 1, MAX_TOTAL - 9, MAX_TOTAL / 3, MAX_TOTAL / 7 * 5 + 3] {
                let amount = Amount::new(minor, decimals);
                let json = serde_json::to_string(&amount).expect("a number");
                assert_eq!(json.parse(), Ok(amount), "{minor} with {decimals} decimals");
                assert_eq!(serde_json::from_str::<Amount>(&json).ok(), Some(amount), "{json}");
            }
        }
    }

    #[test]
    fn a_price_is_exact_and_bounded() {
        let check = |text: &str, decimals| {
            let mut errors = FieldErrors::default();
            let minor = check_price(&mut errors, "price", text.parse().expect(text), decimals);
            errors.is_empty().then_some(minor)
        };
        assert_eq!(check("12.5", 2), Some(1250));
        assert_eq!(check("12.500", 2), Some(1250));
        assert_eq!(check("12.501", 2), None);
        assert_eq!(check("0", 0), Some(0));
        assert_eq!(check("-0.01", 2), None);
        assert_eq!(check("1000000000", 3), Some(1_000_000_000_000));
        assert_eq!(check("1000000000.01", 2), None);
        assert_eq!(check("0.5", 0), None);
    }
}
