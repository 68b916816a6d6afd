//! Decodes query strings and forms (`application/x-www-form-urlencoded`).
//!
//! `form_urlencoded` decodes leniently: it passes a broken escape through, and replaces what is not UTF-8. Here both
//! are errors, because a filter that is not what the client meant would return the wrong rows.

use axum::http::Uri;
use percent_encoding::percent_decode_str;

/// The decoded pairs in their order, including repeated names. `None` if an escape is incomplete or not hexadecimal, or
/// if the escapes do not decode to UTF-8.
pub(in crate::server) fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let is_valid = escapes_are_complete(text) && percent_decode_str(text).decode_utf8().is_ok();
    is_valid.then(|| form_urlencoded::parse(text.as_bytes()).into_owned().collect())
}

fn escapes_are_complete(text: &str) -> bool {
    let mut after_percent_signs = text.split('%').skip(1);
    after_percent_signs
        .all(|rest| matches!(rest.as_bytes(), [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit()))
}

/// The first value with this name in the query string of a page.
pub(in crate::server) fn text(uri: &Uri, name: &str) -> Option<String> {
    let pairs = pairs(uri.query()?)?;
    pairs.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// The first number with this name in the query string of a page.
pub(in crate::server) fn number(uri: &Uri, name: &str) -> Option<usize> {
    text(uri, name)?.parse().ok()
}
