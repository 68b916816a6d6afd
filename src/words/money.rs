//! Amounts of money as each language writes them.

use super::vocabulary::Words;
use crate::model::values::amount::Amount;

/// An amount and its currency, which stay on one line: `1,199.99 EUR` in English, and `1.199,99 EUR` in German.
pub(crate) fn money(words: &Words, amount: Amount, currency: &str) -> String {
    let text = amount.to_string();
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let mut written = String::with_capacity(text.len() + 8);
    for (index, digit) in whole.char_indices() {
        let digits_left = whole.len() - index;
        if index > 0 && digits_left % 3 == 0 {
            written.push(words.thousands_mark);
        }
        written.push(digit);
    }
    if !decimals.is_empty() {
        written.push(words.decimal_mark);
        written.push_str(decimals);
    }
    written.push('\u{A0}');
    written.push_str(currency);
    written
}

#[cfg(test)]
mod tests {
    use super::super::of;
    use super::*;

    #[test]
    fn amounts_have_the_marks_of_the_language() {
        for (language, minor, decimals, expected) in [
            ("en", 0, 2, "0.00"),
            ("en", 1250, 2, "12.50"),
            ("en", 99_999, 2, "999.99"),
            ("en-US", 119_999, 2, "1,199.99"),
            ("en", 100_000, 0, "100,000"),
            ("en", 1_234_567_890, 3, "1,234,567.890"),
            ("de", 123_456_789, 2, "1.234.567,89"),
            ("fr", 119_999, 2, "1\u{A0}199,99"),
            ("es", 119_999, 2, "1.199,99"),
            ("it", 119_999, 2, "1.199,99"),
            ("nl", 119_999, 2, "1.199,99"),
        ] {
            let amount = Amount::new(minor, decimals).expect("in the range");
            assert_eq!(money(of([language]), amount, "EUR"), format!("{expected}\u{A0}EUR"), "{language}");
        }
    }
}
