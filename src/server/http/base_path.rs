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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_path_is_the_nesting_prefix_or_the_path_of_the_public_url() {
        for (original, routed, public_url, expected) in [
            ("/v1/events", "/v1/events", "http://127.0.0.1:8080", ""),
            ("/api/v1/events", "/v1/events", "http://127.0.0.1:8080", "/api"),
            ("/api/v1/events?q=/v1/events", "/v1/events?q=/v1/events", "https://shop.example/api/", "/api"),
            // A proxy removes `/shop`.
            ("/v1/events", "/v1/events", "https://shop.example/shop", "/shop"),
            ("/api/v1/events", "/v1/events", "https://shop.example/shop/api", "/shop/api"),
            // The public URL is that of the checkout page, which is mounted elsewhere.
            ("/api/v1/events", "/v1/events", "https://shop.example/pay", "/api"),
        ] {
            let mut extensions = Extensions::new();
            extensions.insert(OriginalUri(original.parse().unwrap()));
            let public_path = path_of_url(public_url);
            assert_eq!(
                base_path(&routed.parse().unwrap(), &extensions, &public_path),
                expected,
                "{original} {public_url}"
            );
        }
    }
}
