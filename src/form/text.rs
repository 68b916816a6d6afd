//! Formats of text: which texts are e-mail addresses, URIs and slugs.

use email_address::{EmailAddress, Options};
use fluent_uri::Uri;
use fluent_uri::component::Authority;

/// The message for texts that contain U+0000, which some databases and C strings cannot store.
pub(crate) const CONTAINS_NUL: &str = "must not contain U+0000";

/// The message for required fields that are missing.
pub(crate) const IS_REQUIRED: &str = "is required";

/// The pattern of a slug, for the OpenAPI document.
pub(crate) const SLUG_PATTERN: &str = "^[a-z0-9]+(?:-[a-z0-9]+)*$";

/// The pattern of the code of another seller, for the OpenAPI document. White space at the ends is cut off.
pub(crate) const FOREIGN_CODE_PATTERN: &str = r"^[\x09-\x0d ]*[!-~]*[\x09-\x0d ]*$";

/// The pattern of a time of day, for the OpenAPI document.
pub(crate) const TIME_OF_DAY_PATTERN: &str = "^(?:[01][0-9]|2[0-3]):[0-5][0-9]$";

/// The minutes from midnight to a time of day, `HH:MM`. `None` if the text is not one.
pub(crate) fn minutes_of_day(text: &str) -> Option<i64> {
    let number = |digits: &str, end| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<i64>().ok().filter(|number| is_number && *number < end)
    };
    let (hours, minutes) = text.split_once(':')?;
    Some(number(hours, 24)? * 60 + number(minutes, 60)?)
}

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

/// Schemes that a browser runs as a script, that stand for local data, or that contain another URI.
const UNSAFE_SCHEMES: [&str; 10] =
    ["javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "view-source", "feed", "jar"];

/// Whether a browser can be sent to a URI: it has none of the [`UNSAFE_SCHEMES`], and an `http` or `https` URL has a
/// host and no user. The scheme of an app is safe. Must be called with a URI.
pub(crate) fn is_safe_link(uri: &str) -> bool {
    let Ok(uri) = Uri::parse(uri) else { return false };
    let scheme = uri.scheme().as_str();
    if UNSAFE_SCHEMES.iter().any(|unsafe_one| scheme.eq_ignore_ascii_case(unsafe_one)) {
        return false;
    }
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let is_plain = |authority: Authority<'_>| !authority.host().is_empty() && !authority.has_userinfo();
    !is_web || uri.authority().is_some_and(is_plain)
}

/// Whether a text is an `https` URL with a host and without a user.
pub(crate) fn is_https_url(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("https")) && is_safe_link(text)
}

/// Whether a text is an `https` URL with a host and without a user, or a `data:` URI (RFC 2397) of a PNG or JPEG image.
/// The image itself is not looked at: see [`is_picture`](super::picture::is_picture).
pub(crate) fn is_logo(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    match scheme.to_ascii_lowercase().as_str() {
        "https" => is_https_url(text),
        "data" => {
            let media_type = rest.split_once(',').and_then(|(media_type, _)| media_type.split(';').next());
            let is_of = |image: &&str| media_type.is_some_and(|media_type| media_type.eq_ignore_ascii_case(image));
            is_uri(text) && ["image/png", "image/jpeg"].iter().any(is_of)
        }
        _ => false,
    }
}

/// Whether a text is a UUID, with hyphens.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
}

/// Whether a text is a slug: lower-case letters and digits, in groups joined by single hyphens.
pub(crate) fn is_slug(text: &str) -> bool {
    let group = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.split('-').all(group)
}
