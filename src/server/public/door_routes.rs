//! `/door/`: the page for check-in at the entrance and its files. `/door` leads there: browsers keep what follows `#`.

use axum::Router;
use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::pages::DOOR_FILES;
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;

/// Allows only this origin, and no inline script or style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; worker-src 'self'; \
    img-src 'self' data:; media-src blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");

pub(in crate::server) fn routes() -> Router<AppState> {
    // Relative, so that it is right under any prefix.
    let with_slash = async || (StatusCode::PERMANENT_REDIRECT, [(LOCATION, "door/")]);
    Router::new()
        .route("/door", get(with_slash))
        .route("/door/", get(file))
        .route("/door/sw.js", get(file))
        .route("/door/{version}/{*file}", get(file))
}

async fn file(State(state): State<AppState>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().strip_prefix("/door/").unwrap_or_default();
    let Some(file) = DOOR_FILES.iter().find(|file| file.path == path) else {
        return Problem::no_such_file().into_response();
    };
    let is_versioned = path.contains('/');
    let file_headers = [
        (CONTENT_TYPE, file.content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (PERMISSIONS_POLICY, "camera=(self)"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, if is_versioned { "max-age=31536000, immutable" } else { "no-cache" }),
    ];
    let make = || file.content.as_bytes().to_vec();
    state.files.respond(format!("door/{path}"), make, &headers, &file_headers).await
}
