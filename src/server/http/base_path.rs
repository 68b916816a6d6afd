//! The path under which clients reach the routes. An application may nest them under a prefix, and a proxy may remove
//! one.

use axum::extract::OriginalUri;
use axum::http::{Extensions, Uri};

/// The path of a URL, without a trailing slash.
pub(in crate::server) fn path_of_url(url: &str) -> String {
    url.parse().map(|url: Uri| url.path().trim_end_matches('/').to_owned()).unwrap_or_default()
}

/// What precedes the path of a route in the URL that the client requested, without a trailing slash. `uri` is that of
/// the request as the routes see it; `public_path` is the path of the service's public URL.
///
/// The prefix under which the routes are nested is known from the request. If the public URL ends with it, a proxy may
/// have removed what precedes it there. Otherwise the public URL does not name the place of these routes.
pub(in crate::server) fn base_path<'a>(uri: &Uri, extensions: &'a Extensions, public_path: &'a str) -> &'a str {
    let original = extensions.get::<OriginalUri>().map_or("", |original| original.path());
    let prefix = original.strip_suffix(uri.path()).unwrap_or_default();
    if public_path.ends_with(prefix) { public_path } else { prefix }
}
