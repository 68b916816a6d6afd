//! The sandbox gateway's hosted checkout: a page for the customer, who has no key but the token in its address.

use axum::Router;
use axum::extract::{RawPathParams, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use super::blocking::{Facade, Wait};
use super::body::Incoming;
use super::checkout_page::{self, STYLE_HASH};
use super::problem::Problem;
use super::query;
use crate::model::text_enum::TextEnum;
use crate::service::CheckoutOutcome;

pub(super) fn mount(router: Router, facade: &Facade) -> Router {
    let (shown, finished) = (facade.clone(), facade.clone());
    router.route(
        "/checkout/{token}",
        get(move |parameters: Result<RawPathParams, _>| {
            let facade = shown.clone();
            async move { page(show(&facade, token(parameters.ok().as_ref())).await) }
        })
        .post(move |parameters: Result<RawPathParams, _>, request: Request| {
            let facade = finished.clone();
            async move { page(finish(&facade, token(parameters.ok().as_ref()), request).await) }
        }),
    )
}

/// The token in the path; a text that cannot be read is one that no checkout has.
fn token(parameters: Option<&RawPathParams>) -> String {
    parameters.and_then(|parameters| parameters.iter().next()).map(|(_, token)| token.to_owned()).unwrap_or_default()
}

async fn show(facade: &Facade, token: String) -> Result<Response, Problem> {
    let html = move |service: &crate::TicketingService| Ok(checkout_page::render(&service.hosted_checkout(&token)?));
    Ok(Html(facade.call(Wait::Store, html).await?).into_response())
}

async fn finish(facade: &Facade, token: String, request: Request) -> Result<Response, Problem> {
    let back = request.uri().path().to_owned();
    let (head, incoming) = request.into_parts();
    let form = Incoming::new(incoming).read(&head.headers).await?;
    let outcome = outcome(&form).ok_or_else(|| Problem::malformed("the form says no outcome that there is"))?;
    let click = move |service: &crate::TicketingService| Ok(service.finish_hosted_checkout(&token, outcome)?);
    let next = facade.call(Wait::Gateway, click).await?.redirect_url.unwrap_or(back);
    let location = HeaderValue::try_from(next).map_err(Problem::internal)?;
    Ok((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response())
}

fn outcome(form: &[u8]) -> Option<CheckoutOutcome> {
    let pairs = query::pairs(std::str::from_utf8(form).ok()?)?;
    let mut outcomes = pairs.iter().filter(|(name, _)| name == "outcome");
    match (outcomes.next(), outcomes.next()) {
        (Some((_, outcome)), None) => CheckoutOutcome::from_text(outcome),
        _ => None,
    }
}

/// The answer to a browser. A problem is a page too.
fn page(answer: Result<Response, Problem>) -> Response {
    let mut response = answer.unwrap_or_else(|problem| {
        let status = problem.status();
        let mut response = (status, Html(checkout_page::error(status))).into_response();
        response.headers_mut().extend(problem.header());
        response
    });
    let headers = response.headers_mut();
    // Nothing is loaded from anywhere, and nothing runs. There is no form-action: browsers hold it against the redirect
    // that follows the form, and where that leads is the organizer's choice.
    let policy = format!("default-src 'none'; style-src '{STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'");
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The address holds the token, and with it the right to pay or to cancel.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
