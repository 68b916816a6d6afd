//! The page to which a payment gateway sends the customer back: `/checkout/return/{session}`. The id of the gateway's
//! checkout is in the path; there is no API key.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::Response;
use axum::routing::get;

use super::checkout_routes::{PathParams, redirect, respond, token};
use crate::pages;
use crate::server::http::blocking::{BlockingService, Class};
use crate::server::http::query;
use crate::server::http::representation::{Representation, prefers_gzip};
use crate::server::responses::page_responses::accepted_languages;
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// After how many seconds the browser loads the page again while the outcome is not known: the first time, the second
/// time, and so on.
const REFRESH_AFTER: [u8; 4] = [5, 10, 20, 60];

/// The query parameter that says how often the page was loaded again.
const TIMES: &str = "times";

pub(in crate::server) fn routes() -> Router<AppState> {
    Router::new().route("/checkout/return/{session}", get(show))
}

async fn show(State(state): State<AppState>, parameters: PathParams, uri: Uri, headers: HeaderMap) -> Response {
    let accepted = accepted_languages(&headers);
    let times = query::number(&uri, TIMES).unwrap_or(0).min(REFRESH_AFTER.len() - 1);
    respond(settle(&state.service, token(parameters), times, headers).await, &accepted)
}

/// The header `Refresh` of a page that was loaded again so many times. Its URL is relative.
fn refresh(times: usize) -> Option<(HeaderName, HeaderValue)> {
    let seconds = REFRESH_AFTER.get(times)?;
    let value = HeaderValue::try_from(format!("{seconds};url=?{TIMES}={}", times + 1)).ok()?;
    Some((HeaderName::from_static("refresh"), value))
}

/// Asks the gateway for the state of the checkout. The customer is redirected to the organizer's own page, or gets one
/// that says how the payment ended. What the browser says is not trusted.
async fn settle(
    service: &BlockingService,
    session: String,
    times: usize,
    request: HeaderMap,
) -> Result<Response, Problem> {
    let known = session.clone();
    let organization = service
        .call(Class::LookUp, None, move |service| Ok(service.payments().organization_of_checkout(&known)?))
        .await?;
    let settle = move |service: &TicketingService| {
        let settled = service.payments().settle_for_page(&session)?;
        if let Some(url) = settled.redirect_url {
            return redirect(url);
        }
        let page = pages::payment_page(
            &settled,
            &service.payments().page_of_settled(&settled)?,
            &accepted_languages(&request),
        )?;
        let mut response = Representation::page(page, prefers_gzip(&request)).send(&request);
        response.headers_mut().extend(refresh(times).filter(|_| settled.outcome.is_none()));
        Ok(response)
    };
    service.call(Class::Page, Some(organization), settle).await
}
