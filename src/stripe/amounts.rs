//! Amounts of money as Stripe expresses them: whole numbers of a currency's smallest unit.
//!
//! Stripe's smallest unit is not always that of ISO 4217. Stripe's list of zero-decimal currencies contains the ariary
//! (MGA), which has cents in ISO 4217, and its special cases require two decimals for the króna (ISK) and the Ugandan
//! shilling (UGX), which have none there. UGX is in both lists; the special case is the one that holds.

use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;

/// The currencies without decimals at Stripe.
const NO_DECIMALS: [&str; 15] =
    ["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"];

/// The currencies with three decimals at Stripe. The last decimal must be 0.
const THREE_DECIMALS: [&str; 5] = ["BHD", "JOD", "KWD", "OMR", "TND"];

/// The currencies with two decimals at Stripe. Both decimals must be 0.
const WHOLE_UNITS: [&str; 2] = ["ISK", "UGX"];

/// The highest amount in Stripe's units: 12 digits, for most cards. Other payment methods take less; Stripe only offers
/// the customer those that take the amount.
const MAX_UNITS: i64 = 999_999_999_999;

/// How Stripe expresses amounts of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Units {
    decimals: u8,
    /// Amounts must be multiples of this.
    step: i64,
}

impl Units {
    /// The units of a currency of ISO 4217. `None` if it does not exist, or Stripe has no units for it: those with four
    /// decimals, those with three that are not in Stripe's list, and those without coins that are no money, such as
    /// gold.
    fn of(currency: &str) -> Option<Self> {
        let own = Decimals::of_currency(currency)?.get();
        if NO_DECIMALS.contains(&currency) {
            return Some(Self { decimals: 0, step: 1 });
        }
        if THREE_DECIMALS.contains(&currency) {
            return Some(Self { decimals: 3, step: 10 });
        }
        if WHOLE_UNITS.contains(&currency) {
            return Some(Self { decimals: 2, step: 100 });
        }
        (own == 2).then_some(Self { decimals: 2, step: 1 })
    }
}

/// Every amount in this currency must be a multiple of this number of Stripe's units. It is 1 for a currency that
/// Stripe does not support.
pub(super) fn step(currency: &str) -> i64 {
    Units::of(currency).map_or(1, |units| units.step)
}

/// The least amount that Stripe can refund, in minor units of ISO 4217. Every refund must be a multiple of it.
pub(super) fn refund_step(currency: &str) -> i64 {
    let own = Decimals::of_currency(currency).map_or(0, Decimals::get);
    let Some(Units { decimals, step }) = Units::of(currency) else { return 1 };
    let factor = |digits: u8| 10_i64.pow(u32::from(digits));
    (step * factor(own.saturating_sub(decimals)) / factor(decimals.saturating_sub(own))).max(1)
}

/// The least amount that Stripe takes for a currency that it settles, in minor units of ISO 4217, as documented under
/// "Minimum and maximum charge amounts". Of an amount that Stripe converts, only Stripe knows the minimum.
pub(super) fn smallest_payment(currency: &str) -> i64 {
    match currency {
        "GBP" => 30,
        "USD" | "AUD" | "BRL" | "CAD" | "CHF" | "EUR" | "INR" | "JPY" | "NZD" | "SGD" => 50,
        "BGN" => 100,
        "AED" | "MYR" | "PLN" | "RON" => 200,
        "DKK" => 250,
        "NOK" | "SEK" => 300,
        "HKD" => 400,
        "MXN" | "THB" => 1000,
        "CZK" => 1500,
        "HUF" => 17_500,
        _ => 1,
    }
}

/// Returns the amount in Stripe's units.
///
/// # Errors
/// Why Stripe cannot take the amount, as a clause that completes "items …".
pub(super) fn to_stripe(amount: Amount, currency: &str) -> Result<i64, String> {
    let Some(Units { decimals, step }) = Units::of(currency) else {
        return Err(format!("must be sold in a currency that Stripe supports, which {currency} is not"));
    };
    let units = amount.minor_with(decimals).filter(|units| units % step == 0);
    let Some(units) = units else {
        let unit = match (decimals, step) {
            (3, _) => "0.010",
            (0, _) | (_, 100) => "1",
            _ => "0.01",
        };
        return Err(format!("must cost a multiple of {unit} {currency} to be paid with Stripe, which {amount} is not"));
    };
    if !(0..=MAX_UNITS).contains(&units) {
        let most = Amount::new(MAX_UNITS / step * step, decimals).unwrap_or_default();
        return Err(format!("must cost 0 to {most} {currency} to be paid with Stripe, which {amount} does not"));
    }
    Ok(units)
}

/// Returns the amount that Stripe reports. An amount that the currency cannot express keeps Stripe's decimals, so that
/// it equals no amount that is due. `None` if the currency is unknown.
///
/// The currency is written as Stripe does, in lower case, or in upper case.
pub(super) fn from_stripe(units: i64, currency: &str) -> Option<Amount> {
    let currency = currency.to_ascii_uppercase();
    let decimals = Units::of(&currency)?.decimals;
    let amount = Amount::new(units, decimals).ok()?;
    let own = Decimals::of_currency(&currency)?.get();
    Some(amount.with_decimals(own).unwrap_or(amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(amount: &str, currency: &str) -> Result<i64, String> {
        to_stripe(amount.parse().expect(amount), currency)
    }

    #[test]
    fn the_step_of_refunds_is_the_least_amount_that_can_be_expressed() {
        for (currency, minor_units) in [
            ("EUR", 1),
            ("JPY", 1),
            ("KWD", 10),
            ("BHD", 10),
            ("JOD", 10),
            ("OMR", 10),
            ("TND", 10),
            // 1 ariary has 100 minor units in ISO 4217, and 1 króna has one.
            ("MGA", 100),
            ("ISK", 1),
            ("UGX", 1),
            ("XAU", 1),
            ("", 1),
        ] {
            assert_eq!(refund_step(currency), minor_units, "{currency}");
            let decimals = Decimals::of_currency(currency).map_or(0, Decimals::get);
            let least = Amount::new(minor_units, decimals).expect("few decimals");
            assert_eq!(to_stripe(least, currency).is_ok(), Units::of(currency).is_some(), "{currency}");
        }
    }

    #[test]
    fn amounts_that_stripe_cannot_express_are_refused() {
        for (amount, currency) in [
            ("5.124", "KWD"),
            ("0.005", "BHD"),
            ("0.20", "MGA"),
            ("10.5", "MGA"),
            ("0.5", "ISK"),
            ("1.5", "JPY"),
            ("0.005", "EUR"),
            ("-1", "EUR"),
            ("10000000000", "EUR"),
            ("10000000000", "IDR"),
            ("1", "XAU"),
            ("1", "XXX"),
            ("0.1250", "CLF"),
            ("1", "IQD"),
            ("1", "eur"),
            ("1", ""),
        ] {
            assert!(units(amount, currency).is_err(), "{amount} {currency}");
        }
        assert_eq!(
            units("5.124", "KWD").unwrap_err(),
            "must cost a multiple of 0.010 KWD to be paid with Stripe, which 5.124 is not"
        );
        assert_eq!(
            units("0.20", "MGA").unwrap_err(),
            "must cost a multiple of 1 MGA to be paid with Stripe, which 0.2 is not"
        );
        assert_eq!(
            units("10000000000", "EUR").unwrap_err(),
            "must cost 0 to 9999999999.99 EUR to be paid with Stripe, which 10000000000 does not"
        );
    }

    #[test]
    fn a_reported_amount_that_the_currency_cannot_express_equals_none_that_is_due() {
        assert_eq!(from_stripe(550, "isk").map(|amount| amount.to_string()), Some("5.50".to_owned()));
        assert_eq!(from_stripe(500, "isk").map(|amount| amount.to_string()), Some("5".to_owned()));
        assert_eq!(from_stripe(1250, "eur").map(|amount| amount.to_string()), Some("12.50".to_owned()));
        assert_eq!(from_stripe(5, "mga").map(|amount| amount.to_string()), Some("5.00".to_owned()));
        assert_eq!(from_stripe(1, "zzz"), None);
    }
}
