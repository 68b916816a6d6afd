//! Refuses requests that hyper accepts although they are invalid or ambiguous HTTP.

use axum::body::Body;
use axum::http::header::HOST;
use axum::http::{HeaderValue, Request, Version};
use axum::response::Response;
use fluent_uri::UriRef;

use crate::server::prometheus::metrics::method_label;
use crate::server::responses::problem::Problem;
use crate::server::responses::request_id::{REQUEST_ID, request_id};

/// The maximum length of a request's path and query, in bytes.
const MAX_URI_LENGTH: usize = 8 * 1024;

/// The response to an invalid request; `None` for a valid one. `length_is_clear` is whether the head gives the length
/// of the body in one way only.
pub(in crate::server) fn refusal(request: &Request<Body>, length_is_clear: bool) -> Option<Response> {
    let problem = problem(request, length_is_clear)?;
    let id = request_id(request.headers());
    let text = id.to_str().unwrap_or_default();
    let mut response = problem.render(request.uri().path(), text);
    tracing::info!(
        target: "ticketing::request",
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
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next();
    if uri_length > MAX_URI_LENGTH {
        Some(Problem::malformed(format!("the path and query must not be longer than {MAX_URI_LENGTH} bytes")))
    } else if hosts.next().is_some() || (host.is_none() && request.version() == Version::HTTP_11) {
        Some(Problem::malformed("the request must have exactly one Host header"))
    } else if !host.is_none_or(is_host) {
        Some(Problem::malformed("the Host header must be a host name or an IP address, with or without a port"))
    } else if !length_is_clear {
        Some(Problem::malformed("the request must have only one Content-Length or Transfer-Encoding header"))
    } else {
        None
    }
}

/// Whether a `Host` header is a host with or without a port (RFC 9112, 3.2). It may be empty: the URL of the request
/// has no host then.
fn is_host(header: &HeaderValue) -> bool {
    if header.is_empty() {
        return true;
    }
    let Ok(text) = header.to_str() else { return false };
    is_plain_host(text) || is_authority(text)
}

/// Whether a text is a name or an IPv4 address, with or without a port, as in most requests: this is found out faster than
/// by parsing it.
fn is_plain_host(text: &str) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, ""));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    !host.is_empty() && host.bytes().all(is_name) && port.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_authority(text: &str) -> bool {
    let Ok(url) = UriRef::parse(format!("//{text}")) else { return false };
    // Otherwise the text has more parts, such as a path.
    let authority = url.authority().filter(|authority| authority.as_str() == text);
    authority.is_some_and(|authority| !authority.host().is_empty() && !authority.has_userinfo())
}
