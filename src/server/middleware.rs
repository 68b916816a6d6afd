//! The middleware around every route: request id, problem bodies, a log line and metrics.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONTENT_LENGTH, HOST};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::metrics::{Metrics, method_label};
use super::problem::Problem;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The maximum length of a request's path and query, in bytes.
const MAX_URI_LENGTH: usize = 8 * 1024;

/// Request extension: the head gives the length of the body in more than one way.
#[derive(Debug, Clone, Copy)]
pub(super) struct AmbiguousFraming;

/// Handles one request. The log line must not contain API keys, ticket codes or addresses: it has the route instead of
/// the path, only known methods, and no header but the request id.
pub(super) async fn handle(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let _in_progress = metrics.request_started();
    let id = request_id(request.headers());
    let method = method_label(request.method());
    let uri = request.uri().clone();
    let matched_path = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match invalid_http(&request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        // Keep the headers that were added to the response, except the length of its empty body.
        let mut headers = std::mem::take(response.headers_mut());
        headers.remove(CONTENT_LENGTH);
        response = problem.render(uri.path(), id.to_str().unwrap_or_default());
        response.headers_mut().extend(headers);
    }
    let route = matched_path.as_ref().map_or("-", MatchedPath::as_str);
    let duration = started.elapsed();
    metrics.request_finished(route, method, response.status(), duration);
    tracing::info!(
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

/// Rejects what hyper accepts although it is invalid or ambiguous HTTP.
fn invalid_http(request: &Request) -> Option<Problem> {
    let uri_length = request.uri().path_and_query().map_or(0, |text| text.as_str().len());
    let hosts = request.headers().get_all(HOST).iter().count();
    if uri_length > MAX_URI_LENGTH {
        Some(Problem::malformed(format!("the path and query must not be longer than {MAX_URI_LENGTH} bytes")))
    } else if hosts > 1 || (hosts == 0 && request.version() == Version::HTTP_11) {
        Some(Problem::malformed("the request must have exactly one Host header"))
    } else if request.extensions().get::<AmbiguousFraming>().is_some() {
        Some(Problem::malformed("the request must have only one Content-Length or Transfer-Encoding header"))
    } else {
        None
    }
}

/// The client's own id if it is valid, or else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let own = headers.get(REQUEST_ID).filter(|id| {
        let bytes = id.as_bytes();
        (1..=128).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    });
    own.cloned().unwrap_or_else(new_id)
}

/// A unique id. It is not secret: the random part only distinguishes processes.
fn new_id() -> HeaderValue {
    static PROCESS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let [first, second] = PROCESS.each_ref().map(|state| state.hash_one(count));
    HeaderValue::try_from(format!("{first:016x}{second:016x}")).unwrap_or(HeaderValue::from_static("-"))
}
