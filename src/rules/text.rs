//! Limits on text that several resources share.

use email_address::{EmailAddress, Options};
use fluent_uri::Uri;

use crate::error::FieldErrors;

/// No text holds U+0000: not every database and no C program can keep it.
pub(crate) fn check_plain(errors: &mut FieldErrors, path: &str, text: &str) {
    errors.check(!text.contains('\0'), path, "must not contain U+0000");
}

/// Plain text of at least `least` characters.
pub(crate) fn check_text(errors: &mut FieldErrors, path: &str, text: &str, least: usize) {
    check_plain(errors, path, text);
    match least {
        0 => {}
        1 => errors.check(!text.is_empty(), path, "must not be empty"),
        _ => errors.check(text.chars().count() >= least, path, format!("must have at least {least} characters")),
    }
}

/// Plain text, where it is given, of at least `least` characters.
pub(crate) fn check_optional(errors: &mut FieldErrors, path: &str, text: Option<&str>, least: usize) {
    if let Some(text) = text {
        check_text(errors, path, text, least);
    }
}

/// Plain text, where it is given, of at most `most` characters.
pub(crate) fn check_at_most(errors: &mut FieldErrors, path: &str, text: Option<&str>, most: usize) {
    if let Some(text) = text {
        check_plain(errors, path, text);
        errors.check(text.chars().count() <= most, path, format!("must have at most {most} characters"));
    }
}

/// A list of plain texts.
pub(crate) fn check_list(errors: &mut FieldErrors, path: &str, texts: &[String]) {
    for (index, text) in texts.iter().enumerate() {
        check_plain(errors, &format!("{path}[{index}]"), text);
    }
}

/// Free JSON: no string and no key in it holds U+0000.
pub(crate) fn check_free_json(errors: &mut FieldErrors, path: &str, value: &serde_json::Value) {
    use serde_json::Value;
    fn is_plain(value: &Value) -> bool {
        match value {
            Value::String(text) => !text.contains('\0'),
            Value::Array(items) => items.iter().all(is_plain),
            Value::Object(members) => members.iter().all(|(key, value)| !key.contains('\0') && is_plain(value)),
            _ => true,
        }
    }
    errors.check(is_plain(value), path, "must not contain U+0000");
}

/// An e-mail address: one `@`, a domain with a dot in it, no white space and no control character.
pub(crate) fn check_email(errors: &mut FieldErrors, path: &str, email: &str) {
    check_plain(errors, path, email);
    let options = Options::default().without_display_text().without_domain_literal().with_required_tld();
    let clean = email.matches('@').count() == 1 && !email.contains(|c: char| c.is_whitespace() || c.is_control());
    let valid = clean && EmailAddress::parse_with_options(email, options).is_ok();
    errors.check(valid, path, "must be an e-mail address");
}

/// A URI as RFC 3986 writes it: with a scheme, a fragment allowed.
pub(crate) fn check_uri(errors: &mut FieldErrors, path: &str, uri: &str) {
    check_plain(errors, path, uri);
    errors.check(Uri::parse(uri).is_ok(), path, "must be a URI with a scheme (RFC 3986)");
}

/// What two texts are compared by where upper and lower case are alike. Each letter by itself, so that a part of a text
/// folds to a part of the folded text: the lower case of a sigma depends on what follows it.
pub(crate) fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|letter| if letter == 'ς' { 'σ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(check: fn(&mut FieldErrors, &str, &str), text: &str) -> bool {
        let mut errors = FieldErrors::default();
        check(&mut errors, "field", text);
        errors.is_empty()
    }

    #[test]
    fn an_email_address_has_one_at_and_a_domain() {
        for email in ["ada@example.com", "a.b+c@sub.example.org", "Ünal@example.com", "o'neill@example.ie"] {
            assert!(accepts(check_email, email), "{email}");
        }
        for email in [
            "",
            "ada",
            "@example.com",
            "ada@",
            "ada@localhost",
            "Ada <ada@example.com>",
            "<ada@example.com>",
            "a@b@example.com",
            "\"a@b\"@example.com",
            "ada @example.com",
            "ada@example.com ",
            "ada@exam\tple.com",
            "ada@example.com\0",
            "ada@[127.0.0.1]",
            "ada@example..com",
            "ada\n@example.com",
        ] {
            assert!(!accepts(check_email, email), "{email:?}");
        }
    }

    #[test]
    fn a_uri_has_a_scheme_and_nothing_to_repair() {
        for uri in ["https://example.com/a?b#c", "urn:isbn:0451450523", "data:,x", "http://[::1]/"] {
            assert!(accepts(check_uri, uri), "{uri}");
        }
        for uri in [
            "",
            "example.com",
            "/a/b",
            "//example.com",
            "https://exa mple.com",
            "https://example.com/%zz",
            "http://a\\b",
        ] {
            assert!(!accepts(check_uri, uri), "{uri}");
        }
    }
}
