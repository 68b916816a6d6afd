//! `/docs`: a page to read the OpenAPI document and try its operations. It loads nothing from other origins.

use axum::Router;
use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use axum::routing::get;

use crate::server::state::AppState;

/// Allows only this origin. The page's script adds inline styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE_HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_TYPE, "text/html; charset=utf-8"),
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CACHE_CONTROL, "no-cache"),
];

const SCRIPT_HEADERS: [(HeaderName, &str); 3] = [
    (CONTENT_TYPE, "text/javascript; charset=utf-8"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CACHE_CONTROL, "max-age=3600"),
];

pub(in crate::server) fn routes() -> Router<AppState> {
    Router::new().route("/docs", get(page)).route("/docs/scalar.js", get(script))
}

async fn page(State(state): State<AppState>, headers: HeaderMap) -> Response {
    let make = || include_bytes!("../docs.html").to_vec();
    state.files.respond("docs.html".to_owned(), make, &headers, &PAGE_HEADERS).await
}

async fn script(State(state): State<AppState>, headers: HeaderMap) -> Response {
    let make = || {
        let mut script = scalar_api_reference::get_asset("scalar.js").unwrap_or_default();
        script.extend_from_slice(include_bytes!("../docs.js"));
        script
    };
    state.files.respond("scalar.js".to_owned(), make, &headers, &SCRIPT_HEADERS).await
}
