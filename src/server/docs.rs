//! `/docs`: a page to read the OpenAPI document and try its operations. It loads nothing from other origins.

use std::sync::LazyLock;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::routing::get;

use super::state::AppState;

const PAGE: &str = include_str!("docs.html");

/// Allows only this origin. The page's script adds inline styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The script has several megabytes, and `get_asset` copies it: keep one copy for all requests.
static SCRIPT: LazyLock<Bytes> =
    LazyLock::new(|| scalar_api_reference::get_asset("scalar.js").unwrap_or_default().into());

pub(super) fn routes() -> Router<AppState> {
    let page = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-cache"),
    ];
    let script = [
        (CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "max-age=3600"),
    ];
    Router::new()
        .route("/docs", get(async move || (page, PAGE)))
        .route("/docs/scalar.js", get(async move || (script, SCRIPT.clone())))
}
