//! Refuses requests that hyper accepts although they are invalid or ambiguous HTTP.

use axum::body::Body;
use axum::http::header::HOST;
use axum::http::{Request, Version};
use axum::response::Response;

use super::metrics::method_label;
use super::problem::Problem;
use super::request_id::{REQUEST_ID, request_id};

/// The maximum length of a request's path and query, in bytes.
const MAX_URI_LENGTH: usize = 8 * 1024;

/// The response to an invalid request; `None` for a valid one. `length_is_clear` is whether the head gives the length
/// of the body in one way only.
pub(super) fn refusal(request: &Request<Body>, length_is_clear: bool) -> Option<Response> {
    let problem = problem(request, length_is_clear)?;
    let id = request_id(request.headers());
    let text = id.to_str().unwrap_or_default();
    let mut response = problem.render(request.uri().path(), text);
    tracing::info!(
        method = method_label(request.method()),
        status = response.status().as_u16(),
        request_id = text,
        "invalid HTTP request refused"
    );
    response.headers_mut().insert(REQUEST_ID, id);
    Some(response)
}

fn problem(request: &Request<Body>, length_is_clear: bool) -> Option<Problem> {
    let uri_length = request.uri().path_and_query().map_or(0, |text| text.as_str().len());
    let hosts = request.headers().get_all(HOST).iter().count();
    if uri_length > MAX_URI_LENGTH {
        Some(Problem::malformed(format!("the path and query must not be longer than {MAX_URI_LENGTH} bytes")))
    } else if hosts > 1 || (hosts == 0 && request.version() == Version::HTTP_11) {
        Some(Problem::malformed("the request must have exactly one Host header"))
    } else if !length_is_clear {
        Some(Problem::malformed("the request must have only one Content-Length or Transfer-Encoding header"))
    } else {
        None
    }
}
