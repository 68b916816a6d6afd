//! The forms in which texts are compared.

use unicase::UniCase;
use unicode_normalization::UnicodeNormalization;

use crate::form::text_kind::trimmed;

/// The form in which codes of discounts and searched texts are compared: NFKC, trimmed, with full case folding.
pub(crate) fn fold(text: &str) -> String {
    let normal: String = text.nfkc().collect();
    UniCase::new(trimmed(&normal)).to_folded_case()
}

/// The form in which e-mail addresses are compared: in lower case, with the domain in ASCII (RFC 5890).
pub(crate) fn email_key(email: &str) -> String {
    if email.is_ascii() {
        return email.to_ascii_lowercase();
    }
    let (local, domain) = email.rsplit_once('@').unwrap_or((email, ""));
    format!("{}@{}", lower(local), ascii_domain(domain))
}

/// The name of a domain in ASCII (RFC 5890), in lower case.
pub(crate) fn ascii_domain(domain: &str) -> String {
    let domain: String = lower(domain).nfkc().collect();
    let labels = domain.split('.').map(|label| match punycode::encode(label) {
        Ok(code) if !label.is_ascii() => format!("xn--{code}"),
        _ => label.to_owned(),
    });
    labels.collect::<Vec<_>>().join(".")
}

/// Full case folding would make one address of two: `strasse` and `straße` are different mailboxes and domains.
fn lower(text: &str) -> String {
    let normal = text.nfc().flat_map(char::to_lowercase);
    normal.map(|letter| if letter == 'ς' { 'σ' } else { letter }).collect()
}

/// White space, a control character, or an invisible one.
pub(super) fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || is_ignorable(letter)
}

/// The property Dash of Unicode 17.
#[rustfmt::skip]
pub(super) fn is_dash(letter: char) -> bool {
    matches!(letter, '-' | '\u{58a}' | '\u{5be}' | '\u{1400}' | '\u{1806}' | '\u{2010}'..='\u{2015}' | '\u{2053}'
        | '\u{207b}' | '\u{208b}' | '\u{2212}' | '\u{2e17}' | '\u{2e1a}' | '\u{2e3a}'..='\u{2e3b}' | '\u{2e40}'
        | '\u{2e5d}' | '\u{301c}' | '\u{3030}' | '\u{30a0}' | '\u{fe31}'..='\u{fe32}' | '\u{fe58}' | '\u{fe63}'
        | '\u{ff0d}' | '\u{10d6e}' | '\u{10ead}')
}

/// The property `Default_Ignorable_Code_Point` of Unicode 17: invisible characters.
#[rustfmt::skip]
fn is_ignorable(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
