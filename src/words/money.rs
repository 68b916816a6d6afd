//! Amounts of money as receipts in each language write them.

use super::vocabulary::{CurrencyPlace, Words};
use crate::model::values::amount::Amount;

/// The signs that no other currency has: those of the root locale of CLDR. Other currencies are written as their code.
pub(crate) const SIGNS_OF_CURRENCIES: &[(&str, &str)] = &[
    ("AUD", "A$"),
    ("BRL", "R$"),
    ("CAD", "CA$"),
    ("CNY", "CN¥"),
    ("EUR", "€"),
    ("GBP", "£"),
    ("HKD", "HK$"),
    ("ILS", "₪"),
    ("INR", "₹"),
    ("JPY", "¥"),
    ("KRW", "₩"),
    ("MXN", "MX$"),
    ("NZD", "NZ$"),
    ("PHP", "₱"),
    ("TWD", "NT$"),
    ("USD", "US$"),
    ("VND", "₫"),
];

/// An amount and its currency, which stay on one line: `€1,199.99` in English, and `1.199,99 €` in German. A currency
/// without a sign of its own has its code: `KWD 2.469`, `2,469 KWD`.
pub(crate) fn money(words: &Words, amount: Amount, currency: &str) -> String {
    let number = number(words, amount);
    let sign = sign(words, currency);
    let ends_with_letter = sign.ends_with(char::is_alphabetic);
    match words.money.currency {
        CurrencyPlace::Before if !ends_with_letter => format!("{sign}{number}"),
        CurrencyPlace::Before | CurrencyPlace::BeforeWithSpace => format!("{sign}\u{A0}{number}"),
        CurrencyPlace::After => format!("{number}\u{A0}{sign}"),
    }
}

/// A number of things: `1,199` in English.
#[cfg(feature = "server")]
pub(crate) fn count(words: &Words, number: i64) -> String {
    Amount::new(number, 0).map_or_else(|_| number.to_string(), |amount| self::number(words, amount))
}

fn sign<'a>(words: &Words, currency: &'a str) -> &'a str {
    if currency == "USD" && words.language == "en-US" {
        return "$";
    }
    SIGNS_OF_CURRENCIES.iter().find(|(code, _)| *code == currency).map_or(currency, |(_, sign)| sign)
}

fn number(words: &Words, amount: Amount) -> String {
    let text = amount.to_string();
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let mut written = String::with_capacity(text.len() + 8);
    let (sign, whole) = whole.split_at(usize::from(whole.starts_with('-')));
    written.push_str(sign);
    for (index, digit) in whole.char_indices() {
        let digits_left = whole.len() - index;
        if index > 0 && digits_left % 3 == 0 {
            written.push(words.money.thousands_mark);
        }
        written.push(digit);
    }
    if !decimals.is_empty() {
        written.push(words.money.decimal_mark);
        written.push_str(decimals);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::super::of;
    use super::*;

    #[track_caller]
    fn check(language: &str, minor: i64, decimals: u8, currency: &str, expected: &str) {
        let amount = Amount::new(minor, decimals).expect("in the range");
        assert_eq!(money(of([language]), amount, currency).replace('\u{A0}', " "), expected, "{language}");
    }

    #[test]
    fn amounts_have_the_marks_of_the_language() {
        for (language, minor, decimals, expected) in [
            ("en", 0, 2, "€0.00"),
            ("en", 1250, 2, "€12.50"),
            ("en", 99_999, 2, "€999.99"),
            ("de", -12_345_678, 2, "-123.456,78 €"),
            ("en-US", 119_999, 2, "€1,199.99"),
            ("en", 100_000, 0, "€100,000"),
            ("en", 1_234_567_890, 3, "€1,234,567.890"),
            ("de", 123_456_789, 2, "1.234.567,89 €"),
            ("fr", 119_999, 2, "1 199,99 €"),
            ("es", 119_999, 2, "1.199,99 €"),
            ("it", 119_999, 2, "1.199,99 €"),
            ("nl", 119_999, 2, "€ 1.199,99"),
        ] {
            check(language, minor, decimals, "EUR", expected);
        }
    }

    #[test]
    fn a_currency_has_its_sign_where_the_language_writes_it_or_else_its_code() {
        for (language, currency, expected) in [
            ("en", "JPY", "¥12,000"),
            ("de", "JPY", "12.000 ¥"),
            ("nl", "JPY", "¥ 12.000"),
            // Only American English writes it without letters, because other countries have dollars too.
            ("en", "USD", "US$12,000"),
            ("en-US", "USD", "$12,000"),
            ("en-US", "CAD", "CA$12,000"),
            ("fr", "USD", "12 000 US$"),
            ("en", "KWD", "KWD 12,000"),
            ("en-US", "CHF", "CHF 12,000"),
            ("it", "CHF", "12.000 CHF"),
            ("nl", "ISK", "ISK 12.000"),
        ] {
            check(language, 12_000, 0, currency, expected);
        }
        check("en", 2469, 3, "KWD", "KWD 2.469");
    }

    #[test]
    fn an_amount_stays_on_one_line() {
        let amount = Amount::new(1250, 2).expect("in the range");
        for language in ["en", "en-US", "de", "fr", "es", "it", "nl"] {
            for currency in ["EUR", "CHF"] {
                assert!(!money(of([language]), amount, currency).contains(' '), "{language}");
            }
        }
    }
}
