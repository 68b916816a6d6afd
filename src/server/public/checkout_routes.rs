//! The sandbox gateway's hosted checkout: pages for the customer, who needs no API key, only the token in the URL.

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::enums::text_enum::TextEnum;
use crate::model::payments::checkout::CheckoutOutcome;
use crate::pages::{self, ProblemKind};
use crate::server::http::blocking::Class;
use crate::server::http::body::RequestBody;
use crate::server::http::query;
use crate::server::http::representation::{Representation, prefers_gzip};
use crate::server::responses::page_responses::{
    accepted_languages, problem_response, with_page_headers, without_appended,
};
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// The maximum size of the form: 4 KiB. It has one field.
const MAX_FORM_BYTES: usize = 4 * 1024;

/// The parameters in the path. They cannot be read if an escape in the path does not decode to UTF-8.
pub(in crate::server) type PathParams = Result<RawPathParams, RawPathParamsRejection>;

pub(in crate::server) fn routes() -> Router<AppState> {
    Router::new().route("/checkout/{token}", get(show).post(finish)).route("/checkout/{token}/", get(show))
}

async fn show(State(state): State<AppState>, parameters: PathParams, uri: Uri, headers: HeaderMap) -> Response {
    if let Some(redirect) = without_appended(&uri) {
        return with_page_headers(redirect, "");
    }
    let token = token(parameters);
    let accepted = accepted_languages(&headers);
    let languages = accepted.clone();
    let render = move |service: &TicketingService| {
        let checkout = service.payments().page_of_checkout(&token)?;
        let page = pages::checkout_page(&checkout, service.now(), &languages)?;
        Ok(Representation::page(page, prefers_gzip(&headers)).send(&headers))
    };
    respond(state.service.call(Class::LookUp, None, render).await, &accepted)
}

async fn finish(State(state): State<AppState>, parameters: PathParams, request: Request) -> Response {
    let accepted = accepted_languages(request.headers());
    respond(apply(&state, token(parameters), request).await, &accepted)
}

/// The token in the path, or an empty one, which no checkout has.
pub(in crate::server) fn token(parameters: PathParams) -> String {
    let parameters = parameters.ok();
    parameters.iter().flatten().last().map(|(_, token)| token.to_owned()).unwrap_or_default()
}

/// Applies the outcome that the customer chose, and redirects to the organizer's page for it, or back to the checkout.
async fn apply(state: &AppState, token: String, request: Request) -> Result<Response, Problem> {
    let service = &state.service;
    // Relative, so that it is right under any prefix.
    let checkout = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
    let (head, body) = request.into_parts();
    // Anyone can send a form, so nothing of it is read before the token was found.
    let known = token.clone();
    let organization =
        service.call(Class::LookUp, None, move |service| Ok(service.payments().find_hosted_checkout(&known)?)).await?;
    let holding = state.memory.begin_anonymous(&head.extensions);
    let form = RequestBody::up_to(MAX_FORM_BYTES, body).read(&head.headers, holding).await?;
    let outcome = outcome(form.as_ref())
        .ok_or_else(|| Problem::malformed("the form field outcome must be success, failure or cancel"))?;
    let finish = move |service: &TicketingService| Ok(service.finish_hosted_checkout(&token, outcome)?);
    let result = service.call(Class::Gateway, Some(organization), finish).await?;
    redirect(result.redirect_url.unwrap_or(checkout))
}

/// A redirect to a page that is requested with GET.
pub(in crate::server) fn redirect(url: String) -> Result<Response, Problem> {
    let location = HeaderValue::try_from(url).map_err(Problem::internal)?;
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

/// The response to a browser. A problem is shown as a page too. `form-action` is missing in its policy on purpose:
/// browsers also apply it to the redirect after the form, whose target is chosen by the organizer.
pub(in crate::server) fn respond(result: Result<Response, Problem>, accepted: &[String]) -> Response {
    let refusal = |problem| problem_response(&problem, ProblemKind::Checkout, accepted);
    with_page_headers(result.unwrap_or_else(refusal), "")
}
