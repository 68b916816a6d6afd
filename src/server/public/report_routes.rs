//! The reports of events. There is no API key: the token in the path authorizes the request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::Response;
use axum::routing::{any, get};

use super::page_cache::{KeptPage, PageKey};
use super::wrong_tokens::refuse;
use crate::model::sale::event_report::EventReport;
use crate::model::sale::event_sales::SalesByMode;
use crate::model::tickets::arrivals::ReportedArrivals;
use crate::model::values::timestamp::Timestamp;
use crate::pages::{self, ProblemKind};
use crate::server::http::blocking::Class;
use crate::server::http::query;
use crate::server::http::representation::{Representation, prefers_gzip};
use crate::server::responses::page_responses::{
    accepted_languages, problem_response, with_page_headers, without_appended,
};
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// How long the figures of a report are sent without being read again. Browsers load it again after the same time.
const AGE: Duration = Duration::from_mins(1);

const REFRESH: HeaderName = HeaderName::from_static("refresh");

/// Other paths below that of a report. They are answered here, because the server's response to unknown paths repeats the
/// path, and with it the token.
const UNKNOWN_PATH: &str = "/reports/{token}/{*rest}";

pub(in crate::server) fn routes() -> Router<AppState> {
    let not_allowed = async |headers: HeaderMap| refusal(&Problem::method_not_allowed(None), &headers);
    let unknown = any(async |headers: HeaderMap| refusal(&Problem::no_such_route(), &headers));
    Router::new()
        .route("/reports/{token}", get(show).fallback(not_allowed))
        .route("/reports/{token}/", get(show).fallback(not_allowed))
        .route(UNKNOWN_PATH, unknown)
}

async fn show(State(state): State<AppState>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    if let Some(redirect) = without_appended(&head.uri) {
        return with_headers(redirect);
    }
    match page(&state, &head).await {
        Ok(mut response) => {
            response.headers_mut().insert(REFRESH, HeaderValue::from(AGE.as_secs()));
            with_headers(response)
        }
        Err(problem) => refusal(&problem, &head.headers),
    }
}

/// Sends the report of a link. Whether the link works is looked up for each request, and the figures are kept for a minute.
async fn page(state: &AppState, head: &Parts) -> Result<Response, Problem> {
    let client = head.extensions.get::<ConnectInfo<SocketAddr>>().map(|client| client.0.ip());
    let token = token(&head.uri);
    state.limits.count_link_request(client, state.service.service().now())?;
    let permit = state.requests_of_links.take(token.clone());
    let permit = permit.ok_or_else(|| Problem::unavailable("too many requests of one link are in progress"))?;
    let (shared, sought) = (AppState::clone(state), token.clone());
    let find = move |service: &TicketingService| {
        let found = service.event_of_report_link(&sought);
        let (organization, event) = found.map_err(|error| refuse(&shared, error, client, service))?;
        shared.limits.count_link(&sought, service.now())?;
        Ok((organization, event, permit))
    };
    let (organization, event, _permit) = state.service.call(Class::Page, None, find).await?;
    let mut languages = query::text(&head.uri, "lang").into_iter().collect::<Vec<_>>();
    languages.extend(accepted_languages(&head.headers));
    let language = pages::language_for(&languages);
    let gzip = prefers_gzip(&head.headers);
    let read = async || {
        let read = move |service: &TicketingService| {
            let report = service.event_report(organization, event)?;
            Ok(KeptPage { event, organization, bytes: bytes_of(&report), page: Arc::new(report) })
        };
        state.service.call(Class::Page, Some(organization), read).await
    };
    // The figures are the same in each language, and for each link of the event.
    let key = PageKey { path: event.to_string(), language: "", gzip: false };
    let kept = state.kept_reports.get(key, AGE, || state.service.service().monotonic(), read).await?;
    let render = move |_: &TicketingService| {
        let html = pages::report_page(&kept.page, &[language.to_owned()])?;
        Ok(Representation::page(html, gzip))
    };
    let page = state.service.call(Class::Page, Some(organization), render).await?;
    let holding = state.memory.begin_anonymous(&head.extensions);
    holding.hold(page.send(&head.headers), false)
}

/// About how many bytes a report takes in memory.
fn bytes_of(report: &EventReport<ReportedArrivals>) -> usize {
    let arrivals = report.arrivals.as_ref().map_or(0, |reported| reported.arrivals.items.len() + reported.gates.len());
    let quarters = report.sales.quarters.len();
    // Texts of the event and its ticket types, and names of gates and reasons, are short or few.
    20_000
        + report.summary.ticket_types.len() * 1_000
        + quarters * size_of::<(Timestamp, SalesByMode)>()
        + arrivals * 500
}

/// The token in a path, as it is spelled there.
fn token(uri: &Uri) -> String {
    uri.path().split('/').nth(2).unwrap_or_default().to_owned()
}

/// A page that says what is wrong, without the path of the request, which has the token.
fn refusal(problem: &Problem, request: &HeaderMap) -> Response {
    with_headers(problem_response(problem, ProblemKind::Other, &accepted_languages(request)))
}

fn with_headers(response: Response) -> Response {
    with_page_headers(response, "form-action 'none'; ")
}
