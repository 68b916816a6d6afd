//! The sandbox gateway's hosted checkout: pages for the customer, who needs no API key, only the token in the URL.

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use super::blocking::BlockingService;
use super::body::RequestBody;
use super::checkout_html::{self, STYLE_HASH};
use super::problem::Problem;
use super::query;
use super::state::AppState;
use crate::model::checkout::CheckoutOutcome;
use crate::service::TicketingService;
use crate::text_enum::TextEnum;

/// The maximum size of the form: 4 KiB. It has one field.
const MAX_FORM_BYTES: usize = 4 * 1024;

/// The parameters in the path. They cannot be read if an escape in the path does not decode to UTF-8.
pub(super) type PathParams = Result<RawPathParams, RawPathParamsRejection>;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/checkout/{token}", get(show).post(finish))
}

async fn show(State(state): State<AppState>, parameters: PathParams) -> Response {
    let token = token(parameters);
    let render = move |service: &TicketingService| {
        let checkout = service.hosted_checkout(&token)?;
        Ok(checkout_html::render(&checkout, service.now()))
    };
    let page = state.service.call(render).await;
    respond(page.map(|page| Html(page).into_response()))
}

async fn finish(State(state): State<AppState>, parameters: PathParams, request: Request) -> Response {
    respond(redirect(&state.service, token(parameters), request).await)
}

/// The token in the path, or an empty one, which no checkout has.
pub(super) fn token(parameters: PathParams) -> String {
    let parameters = parameters.ok();
    parameters.iter().flatten().last().map(|(_, token)| token.to_owned()).unwrap_or_default()
}

/// Applies the outcome that the customer chose, and redirects to the organizer's page for it, or back to the checkout.
async fn redirect(service: &BlockingService, token: String, request: Request) -> Result<Response, Problem> {
    // Relative, so that it is right under any prefix.
    let checkout = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
    let (head, body) = request.into_parts();
    // Anyone can send a form, so nothing of it is read before the token was found.
    let known = token.clone();
    let organization = service.call(move |service| Ok(service.find_hosted_checkout(&known)?)).await?;
    let form = RequestBody::up_to(MAX_FORM_BYTES, body).read(&head.headers).await?;
    let outcome = outcome(&form)
        .ok_or_else(|| Problem::malformed("the form field outcome must be success, failure or cancel"))?;
    let finish = move |service: &TicketingService| Ok(service.finish_hosted_checkout(&token, outcome)?);
    let result = service.call_with(&service.gateway, Some(organization), finish).await?;
    let location = HeaderValue::try_from(result.redirect_url.unwrap_or(checkout)).map_err(Problem::internal)?;
    Ok((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response())
}

/// The form field `outcome`, if it occurs exactly once and is valid.
fn outcome(form: &[u8]) -> Option<CheckoutOutcome> {
    let pairs = query::pairs(std::str::from_utf8(form).ok()?)?;
    let mut outcomes = pairs.iter().filter(|(name, _)| name == "outcome");
    match (outcomes.next(), outcomes.next()) {
        (Some((_, outcome)), None) => CheckoutOutcome::from_text(outcome),
        _ => None,
    }
}

/// The response to a browser. A problem is shown as a page too.
pub(super) fn respond(result: Result<Response, Problem>) -> Response {
    let mut response = result.unwrap_or_else(|problem| {
        let status = problem.status();
        let mut response = (status, Html(checkout_html::error(status))).into_response();
        response.headers_mut().extend(problem.header());
        response
    });
    let headers = response.headers_mut();
    // The page loads nothing and runs no script. `form-action` is missing on purpose: browsers also apply it to the
    // redirect after the form, whose target is chosen by the organizer.
    let policy =
        format!("default-src 'none'; style-src '{STYLE_HASH}'; img-src data:; base-uri 'none'; frame-ancestors 'none'");
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The token in the URL allows its holder to pay or cancel the order.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
