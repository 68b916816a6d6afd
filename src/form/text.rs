//! Formats of text: which texts are e-mail addresses, URIs and slugs.

use email_address::{EmailAddress, Options};
use fluent_uri::Uri;

/// The message for texts that contain U+0000, which some databases and C strings cannot store.
pub(crate) const CONTAINS_NUL: &str = "must not contain U+0000";

/// The pattern of a slug, for the OpenAPI document.
pub(crate) const SLUG_PATTERN: &str = "^[a-z0-9]+(?:-[a-z0-9]+)*$";

/// Whether a text is an e-mail address: one `@`, a domain with a dot, no white space and no control character.
pub(crate) fn is_email(text: &str) -> bool {
    let options = Options::default().without_display_text().without_domain_literal().with_required_tld();
    let clean = text.matches('@').count() == 1 && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    clean && EmailAddress::parse_with_options(text, options).is_ok()
}

/// Whether a text is a URI as defined in RFC 3986: with a scheme, and optionally a fragment.
pub(crate) fn is_uri(text: &str) -> bool {
    Uri::parse(text).is_ok()
}

/// Whether a text is a slug: lower-case letters and digits, in groups joined by single hyphens.
pub(crate) fn is_slug(text: &str) -> bool {
    let group = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.split('-').all(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_address_has_one_at_and_a_domain() {
        for email in ["ada@example.com", "a.b+c@sub.example.org", "Ünal@example.com", "o'neill@example.ie"] {
            assert!(is_email(email), "{email}");
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
            assert!(!is_email(email), "{email:?}");
        }
    }

    #[test]
    fn a_uri_has_a_scheme_and_is_never_repaired() {
        for uri in ["https://example.com/a?b#c", "urn:isbn:0451450523", "data:,x", "http://[::1]/"] {
            assert!(is_uri(uri), "{uri}");
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
            assert!(!is_uri(uri), "{uri}");
        }
    }

    #[test]
    fn a_slug_is_groups_joined_by_single_hyphens() {
        for slug in ["a", "a1", "summer-2026", "0-0-0"] {
            assert!(is_slug(slug), "{slug}");
        }
        for slug in ["", "-", "-a", "a-", "a--b", "A", "a_b", "a b", "ä", "a\n"] {
            assert!(!is_slug(slug), "{slug:?}");
        }
    }
}
