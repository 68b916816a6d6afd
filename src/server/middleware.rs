//! The middleware around every route: request id, problem bodies, a log line and metrics.

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;

use super::base_path::base_path;
use super::metrics::method_label;
use super::operation_routes::UnknownRoute;
use super::problem::Problem;
use super::request_id::{REQUEST_ID, request_id};
use super::state::AppState;

/// Handles one request. The log line must not contain API keys, ticket codes or addresses: it has the route instead of
/// the path, only known methods, and no header but the request id.
pub(super) async fn handle(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let _in_progress = state.metrics.request_started();
    let id = request_id(request.headers());
    let method = method_label(request.method());
    let uri = request.uri().clone();
    let base_path = base_path(&uri, request.extensions(), &state.public_path).to_owned();
    let matched_path = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    let route = match &matched_path {
        Some(path) if response.extensions().get::<UnknownRoute>().is_none() => path.as_str(),
        _ => "-",
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        // Keep the headers that were added to the response, except the length of its empty body.
        let mut headers = std::mem::take(response.headers_mut());
        headers.remove(CONTENT_LENGTH);
        response = problem.render(&format!("{base_path}{}", uri.path()), id.to_str().unwrap_or_default());
        response.headers_mut().extend(headers);
    }
    let duration = started.elapsed();
    state.metrics.request_finished(route, method, response.status(), duration);
    tracing::info!(
        target: "ticketing::request",
        method = %method,
        route,
        status = response.status().as_u16(),
        milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        request_id = id.to_str().unwrap_or_default(),
        "request handled"
    );
    response.headers_mut().insert(REQUEST_ID, id);
    response
}
