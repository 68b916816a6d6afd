//! What the pages of events have in common: their headers, and refusals as pages.

use axum::http::header::{CACHE_CONTROL, REFERRER_POLICY, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;

use crate::pages::ProblemKind;
use crate::server::http::representation::{Representation, prefers_gzip};
use crate::server::public::checkout_routes::PathParams;
use crate::server::responses::page_responses::{
    accepted_languages, problem_response, with_headers_of, with_page_headers,
};
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;

/// The targets of forms: this server, and the page of the payment gateway, to which the server redirects after the form.
/// Which gateway this is, and under which name its pages are, is known only afterwards.
const FORM_ACTION: &str = "form-action 'self' https: http://127.0.0.1:* http://localhost:*; ";

/// The languages of the reader of a page, the most wanted first: the one that the link names, and those that the browser
/// accepts.
pub(super) fn languages_of(named: Option<&str>, request: &HeaderMap) -> Vec<String> {
    named.map(str::to_owned).into_iter().chain(accepted_languages(request)).collect()
}

/// The headers of a page that everybody may see and keep.
pub(super) fn public(response: Response, max_age: u32) -> Response {
    let mut response = with_headers_of(response, "'self' data:", FORM_ACTION);
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::try_from(format!("public, max-age={max_age}")) {
        headers.insert(CACHE_CONTROL, value);
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin"));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding, accept-language"));
    headers.remove(HeaderName::from_static("x-robots-tag"));
    response
}

/// The headers of a page with a form. Browsers send the origin of such a page with the form.
pub(in crate::server) fn with_form(response: Response) -> Response {
    let mut response = with_page_headers(response, FORM_ACTION);
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A page with a form or a message, with this status.
pub(super) fn page(html: String, status: StatusCode, request: &HeaderMap) -> Response {
    let mut response = Representation::page(html, prefers_gzip(request)).send(request);
    if response.status() == StatusCode::OK {
        *response.status_mut() = status;
    }
    with_form(response)
}

/// A page that says what is wrong.
pub(super) fn refusal(problem: &Problem, request: &HeaderMap) -> Response {
    with_page_headers(
        problem_response(problem, ProblemKind::Other, &accepted_languages(request)),
        "form-action 'none'; ",
    )
}

/// The organization and the slug in the path of a page. An application may have mounted the routes under a prefix with
/// parameters of its own, which come first.
///
/// Fails if the pages are not switched on.
pub(super) fn names(state: &AppState, parameters: PathParams) -> Result<(String, String), Problem> {
    if !state.service.service().has_event_pages() {
        return Err(Problem::no_such_route());
    }
    let parameters = parameters.map_err(|_| Problem::no_such_route())?;
    let values: Vec<_> = parameters.iter().map(|(_, value)| value.to_owned()).collect();
    match values.as_slice() {
        [.., organization, slug] => Ok((organization.clone(), slug.clone())),
        _ => Err(Problem::no_such_route()),
    }
}
