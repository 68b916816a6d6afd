//! Where webhooks may be sent.

use fluent_uri::Uri;

use crate::error::FieldErrors;

const REFUSAL: &str = "must be an https URL of a public address, on port 443 or one from 1024 up";

/// Checks where webhooks are to be sent. Plain `http` passes where local receivers are allowed.
pub(crate) fn check(errors: &mut FieldErrors, path: &str, url: &str, allow_local: bool) {
    let allowed = Uri::parse(url).is_ok_and(|url| {
        let scheme = url.scheme().as_str();
        let has_host = url.authority().is_some_and(|authority| !authority.host().is_empty());
        has_host && (scheme == "https" || (allow_local && scheme == "http"))
    });
    errors.check(allowed, path, REFUSAL);
}
