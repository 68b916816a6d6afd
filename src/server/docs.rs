//! `/docs`: a page to read the OpenAPI document and try its operations. It loads nothing from other origins.

use axum::Router;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName};
use axum::routing::get;

use super::state::AppState;
use super::static_file::StaticFile;

/// Allows only this origin. The page's script adds inline styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static PAGE_HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_TYPE, "text/html; charset=utf-8"),
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CACHE_CONTROL, "no-cache"),
];

static SCRIPT_HEADERS: [(HeaderName, &str); 3] = [
    (CONTENT_TYPE, "text/javascript; charset=utf-8"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CACHE_CONTROL, "max-age=3600"),
];

static PAGE: StaticFile = StaticFile::new(&PAGE_HEADERS, || include_bytes!("docs.html").to_vec());

static SCRIPT: StaticFile =
    StaticFile::new(&SCRIPT_HEADERS, || scalar_api_reference::get_asset("scalar.js").unwrap_or_default());

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/docs", get(async |headers: HeaderMap| PAGE.respond(&headers).await))
        .route("/docs/scalar.js", get(async |headers: HeaderMap| SCRIPT.respond(&headers).await))
}
