//! The page to which a payment gateway sends the customer back: `/checkout/return/{session}`. The id of the gateway's
//! checkout is in the path; there is no API key.

use axum::Router;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::checkout_routes::{PathParams, respond, token};
use super::page_responses::accepted_languages;
use super::representation::{Representation, prefers_gzip};
use crate::pages;
use crate::server::http::blocking::BlockingService;
use crate::server::http::problem::Problem;
use crate::server::http::query;
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

/// What a customer who comes back gets.
enum Answer {
    /// The organizer's own page.
    Redirect(String),
    /// A page, and whether it says how the payment ended.
    Page { page: Representation, is_final: bool },
}

/// Asks the gateway for the state of the checkout, and redirects the customer. What the browser says is not trusted.
async fn settle(
    service: &BlockingService,
    session: String,
    times: usize,
    request: HeaderMap,
) -> Result<Response, Problem> {
    let known = session.clone();
    let (accepted, gzip) = (accepted_languages(&request), prefers_gzip(&request));
    let organization = service.look_up(None, move |service| Ok(service.organization_of_checkout(&known)?)).await?;
    let settle = move |service: &TicketingService| {
        let settled = service.settle_checkout(&session)?;
        if let Some(url) = settled.redirect_url {
            return Ok(Answer::Redirect(url));
        }
        let page = pages::payment_page(&settled, &service.page_of_settled(&settled)?, &accepted)?;
        Ok(Answer::Page { page: Representation::page(page, gzip), is_final: settled.outcome.is_some() })
    };
    match service.call_with(&service.pages, Some(organization), settle).await? {
        Answer::Redirect(url) => {
            let location = HeaderValue::try_from(url).map_err(Problem::internal)?;
            Ok((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response())
        }
        Answer::Page { page, is_final } => {
            let mut response = page.send(&request);
            response.headers_mut().extend(refresh(times).filter(|_| !is_final));
            Ok(response)
        }
    }
}
