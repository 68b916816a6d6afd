//! Responses with pages: their headers, and problems as pages.

use std::cmp::Reverse;

use axum::http::header::{
    ACCEPT, ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_SECURITY_POLICY, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};

use super::accepted::accepted;
use super::problem::Problem;
use crate::pages::{self, ProblemKind, STYLE_HASHES};

const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// How many languages of a browser are read.
const MAX_LANGUAGES: usize = 16;

/// The language tags that a browser accepts (RFC 9110, 12.5.4), the most wanted first.
pub(in crate::server) fn accepted_languages(request: &HeaderMap) -> Vec<String> {
    let mut languages: Vec<_> = accepted(request, ACCEPT_LANGUAGE).take(MAX_LANGUAGES).collect();
    languages.retain(|(_, weight)| *weight > 0);
    languages.sort_by_key(|(_, weight)| Reverse(*weight));
    languages.into_iter().map(|(tag, _)| tag.to_owned()).collect()
}

/// Whether the client names HTML among the media types that it accepts, as browsers do.
pub(in crate::server) fn accepts_html(request: &HeaderMap) -> bool {
    accepted(request, ACCEPT).any(|(range, _)| range.eq_ignore_ascii_case("text/html"))
}

/// Whether the client names JSON among the media types that it accepts, and not HTML.
#[cfg(feature = "documents")]
pub(in crate::server) fn accepts_only_json(request: &HeaderMap) -> bool {
    let is_json = |accepted: &str| {
        ["application/json", "application/problem+json"].iter().any(|json| json.eq_ignore_ascii_case(accepted))
    };
    accepted(request, ACCEPT).any(|(range, _)| is_json(range)) && !accepts_html(request)
}

/// What mail programs append to a link.
const APPENDED: [char; 4] = ['/', '.', ',', ')'];

/// A redirect to the link whose path ends with a token, if a mail program has appended something to it.
pub(in crate::server) fn without_appended(uri: &Uri) -> Option<Response> {
    let path = uri.path();
    let link = path.strip_suffix(APPENDED)?;
    let token = link.rsplit('/').next()?;
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
        return None;
    }
    // Relative, so that it is right under any prefix.
    let location = if path.ends_with('/') { format!("../{token}") } else { token.to_owned() };
    let location = HeaderValue::try_from(location).ok()?;
    Some((StatusCode::PERMANENT_REDIRECT, [(LOCATION, location)]).into_response())
}

/// A page that says what is wrong, or the problem as JSON if there is no page. Neither has the path of the request,
/// which may contain a token.
pub(in crate::server) fn problem_response(problem: &Problem, kind: ProblemKind, accepted: &[String]) -> Response {
    let status = problem.status();
    match pages::problem_page(kind, status.as_u16(), accepted) {
        Ok(page) => (status, problem.header().map(|header| [header]), Html(page)).into_response(),
        Err(_) => problem.render_without_request(),
    }
}

/// Adds the headers of every page: it loads nothing and runs no script, and nothing is stored by proxies, told to other
/// sites, or found by search engines. `policy` is added to the content security policy.
pub(in crate::server) fn with_page_headers(response: Response, policy: &str) -> Response {
    with_headers_of(response, "data:", policy)
}

/// Adds the headers of a page that loads images from these sources.
pub(in crate::server) fn with_headers_of(mut response: Response, images: &str, policy: &str) -> Response {
    let headers = response.headers_mut();
    let styles = STYLE_HASHES.as_str();
    let policy = format!(
        "default-src 'none'; style-src {styles}; img-src {images}; base-uri 'none'; {policy}frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The token in the URL allows its holder to act.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
