//! The pages and documents of tickets and orders. There is no API key: the token in the path authorizes the request.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;
use sha2::{Digest, Sha256};

use super::checkout_routes::{PathParams, token};
use super::entity_tag;
use super::link_turns::LinkTurn;
use super::problem::Problem;
use super::state::AppState;
use crate::documents::TicketDocument;
use crate::documents::pages::{self, STYLE_HASH};
use crate::error::{Error, Result};
use crate::model::id::OrganizationId;
use crate::service::TicketingService;

const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// What is sent to somebody who has a link.
struct Content {
    media_type: &'static str,
    /// The name under which browsers save it, unless it is a page.
    file_name: Option<String>,
    body: Bytes,
    /// The SHA-256 digest of the body.
    digest: [u8; 32],
}

impl Content {
    fn page(html: String) -> Self {
        Self::text("text/html; charset=utf-8", None, html)
    }

    fn document(document: TicketDocument) -> Self {
        let TicketDocument { file_name, bytes, sha256, .. } = document;
        let body = Bytes::from_owner(bytes);
        Self { media_type: "application/pdf", file_name: Some(file_name), body, digest: sha256 }
    }

    fn text(media_type: &'static str, file_name: Option<String>, text: String) -> Self {
        let digest = Sha256::digest(&text).into();
        Self { media_type, file_name, body: text.into(), digest }
    }
}

/// Reads something about the link with this token.
type Read<T> = fn(&TicketingService, &str) -> Result<T>;

/// How the content of a link is made.
#[derive(Clone, Copy)]
enum Source {
    /// It is read.
    Page(Read<Content>),
    /// It is rendered, perhaps after its logos were fetched: organizations share the permits for that.
    Document { organization: Read<OrganizationId>, render: Read<TicketDocument> },
}

pub(super) fn routes() -> Router<AppState> {
    let route = |source: Source| {
        get(async move |State(state): State<AppState>, parameters: PathParams, request: Request| {
            respond(state, token(parameters), request, source).await
        })
        .fallback(async || {
            let mut response = send_problem(&Problem::method_not_allowed(None));
            add_headers(response.headers_mut());
            response
        })
    };
    let ticket: Read<Content> =
        |service, token| Ok(Content::page(pages::ticket_page(service.ticket_by_link(token)?, token)?));
    let order: Read<Content> =
        |service, token| Ok(Content::page(pages::order_page(service.order_by_link(token)?, token)?));
    let ticket_document = Source::Document {
        organization: TicketingService::organization_of_ticket_link,
        render: TicketingService::ticket_document_by_link,
    };
    let order_document = Source::Document {
        organization: TicketingService::organization_of_order_link,
        render: TicketingService::order_document_by_link,
    };
    Router::new()
        .route("/tickets/{token}", route(Source::Page(ticket)))
        .route("/tickets/{token}/ticket.pdf", route(ticket_document))
        .route("/tickets/{token}/event.ics", route(Source::Page(calendar_entry)))
        .route("/orders/{token}", route(Source::Page(order)))
        .route("/orders/{token}/tickets.pdf", route(order_document))
}

fn calendar_entry(service: &TicketingService, token: &str) -> Result<Content> {
    let linked = service.ticket_by_link(token)?;
    let file_name = format!("{}.ics", linked.event.id);
    Ok(Content::text("text/calendar; charset=utf-8", Some(file_name), pages::calendar_entry(&linked)?))
}

/// Answers a request with what its link leads to, or with a page that says what is wrong. Problems have no body of JSON,
/// because that would repeat the path, with the token.
async fn respond(state: AppState, token: String, request: Request, source: Source) -> Response {
    let (request, _) = request.into_parts();
    let client = request.extensions.get::<ConnectInfo<SocketAddr>>().map(|client| client.0.ip());
    let tags: HeaderMap =
        request.headers.get_all(IF_NONE_MATCH).iter().map(|tag| (IF_NONE_MATCH, tag.clone())).collect();
    let result = match state.link_turns.begin(&token) {
        Some(turn) => content(&state, token, client, source, turn).await,
        None => Err(Problem::unavailable("too many requests of one link are in progress")),
    };
    let mut response = match result {
        Ok(content) => send(content, &tags),
        Err(problem) => send_problem(&problem),
    };
    add_headers(response.headers_mut());
    response
}

/// A page that says what is wrong.
fn send_problem(problem: &Problem) -> Response {
    let mut response = Response::new(Body::from(pages::problem_page(problem.status().as_u16())));
    *response.status_mut() = problem.status();
    response.headers_mut().extend(problem.header());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

/// Reads or renders the content of a link. The turn ends with the work, which goes on if the client disconnects.
async fn content(
    state: &AppState,
    token: String,
    client: Option<IpAddr>,
    source: Source,
    turn: LinkTurn,
) -> Result<Content, Problem> {
    let limits = AppState::clone(state);
    let refuse = move |service: &TicketingService, error| refuse(&limits, error, client, service);
    match source {
        Source::Page(read) => {
            let read = move |service: &TicketingService| {
                let _turn = turn;
                read(service, &token).map_err(|error| refuse(service, error))
            };
            state.service.call(read).await
        }
        Source::Document { organization, render } => {
            let known = token.clone();
            let find = move |service: &TicketingService| {
                let organization = organization(service, &known).map_err(|error| refuse(service, error))?;
                Ok((organization, turn))
            };
            let (organization, turn) = state.service.call(find).await?;
            let render = move |service: &TicketingService| {
                let _turn = turn;
                Ok(Content::document(render(service, &token)?))
            };
            state.service.call_with(&state.service.documents, Some(organization), render).await
        }
    }
}

/// A wrong token counts as a failed authentication of its address. A right one is answered even if the address is braked.
fn refuse(state: &AppState, error: Error, client: Option<IpAddr>, service: &TicketingService) -> Problem {
    if matches!(error, Error::NotFound(_)) {
        let braked = state.limits.count_failure(client, service.now());
        if braked.status() == StatusCode::TOO_MANY_REQUESTS {
            return braked;
        }
    }
    error.into()
}

/// 200 with the content, or 304 if the client has it already.
fn send(content: Content, tags: &HeaderMap) -> Response {
    let etag = format!("\"{}\"", hex::encode(&content.digest[..16]));
    let etag = HeaderValue::try_from(etag).unwrap_or(HeaderValue::from_static("\"\""));
    let mut response = Response::new(Body::empty());
    if entity_tag::matches(tags, &etag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        *response.body_mut() = Body::from(content.body);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content.media_type));
        let disposition = content.file_name.map(|name| format!("inline; filename=\"{name}\""));
        if let Some(Ok(disposition)) = disposition.map(HeaderValue::try_from) {
            response.headers_mut().insert(CONTENT_DISPOSITION, disposition);
        }
    }
    response.headers_mut().insert(ETAG, etag);
    response
}

/// The headers of every response: nothing is stored by proxies, told to other sites, or found by search engines.
fn add_headers(headers: &mut HeaderMap) {
    let policy = format!(
        "default-src 'none'; style-src '{STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}
