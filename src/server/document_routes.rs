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

use super::blocking::BlockingService;
use super::checkout_routes::{PathParams, token};
use super::entity_tag;
use super::fair_queue::FairQueue;
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

/// How the content of a link is made: for the organization that the token is of, with permits that organizations share.
#[derive(Clone, Copy)]
struct Source {
    organization: Read<OrganizationId>,
    content: Read<Content>,
    permits: fn(&BlockingService) -> &FairQueue,
}

const TICKET: Source = Source {
    organization: TicketingService::organization_of_ticket_link,
    content: |service, token| Ok(Content::page(pages::ticket_page(service.ticket_of_page(token)?, token)?)),
    permits: |service| &service.pages,
};
const TICKET_DOCUMENT: Source = Source {
    content: |service, token| Ok(Content::document(service.ticket_document_by_link(token)?)),
    permits: |service| &service.documents,
    ..TICKET
};
const CALENDAR_ENTRY: Source = Source { content: calendar_entry, ..TICKET };
const ORDER: Source = Source {
    organization: TicketingService::organization_of_order_link,
    content: |service, token| Ok(Content::page(pages::order_page(service.order_of_page(token)?, token)?)),
    permits: |service| &service.pages,
};
const ORDER_DOCUMENT: Source = Source {
    content: |service, token| Ok(Content::document(service.order_document_by_link(token)?)),
    permits: |service| &service.documents,
    ..ORDER
};

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
    Router::new()
        .route("/tickets/{token}", route(TICKET))
        .route("/tickets/{token}/ticket.pdf", route(TICKET_DOCUMENT))
        .route("/tickets/{token}/event.ics", route(CALENDAR_ENTRY))
        .route("/orders/{token}", route(ORDER))
        .route("/orders/{token}/tickets.pdf", route(ORDER_DOCUMENT))
}

fn calendar_entry(service: &TicketingService, token: &str) -> Result<Content> {
    let linked = service.ticket_of_page(token)?;
    let file_name = format!("{}.ics", linked.ticket.id);
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
///
/// Anybody can send tokens, so these requests use none of the permits for operations alone: also the look-up of a token needs
/// one of those for pages.
async fn content(
    state: &AppState,
    token: String,
    client: Option<IpAddr>,
    source: Source,
    turn: LinkTurn,
) -> Result<Content, Problem> {
    let service = &state.service;
    let limits = AppState::clone(state);
    let known = token.clone();
    let find = move |service: &TicketingService| {
        let found = (source.organization)(service, &known);
        let organization = found.map_err(|error| refuse(&limits, error, client, service))?;
        Ok((organization, turn))
    };
    let (organization, turn) = service.call_with(&service.pages, None, find).await?;
    let read = move |service: &TicketingService| {
        let _turn = turn;
        Ok((source.content)(service, &token)?)
    };
    service.call_with((source.permits)(service), Some(organization), read).await
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Condvar, Mutex};

    use tokio::task::JoinHandle;

    use super::super::link_turns::MOST;
    use super::super::options::ServerOptions;
    use super::super::state::ServerState;
    use super::*;

    fn state() -> AppState {
        let service = TicketingService::temporary().open().expect("a service");
        Arc::new(ServerState::new(service, &ServerOptions::default()))
    }

    fn request(state: &AppState, token: &str, source: Source) -> JoinHandle<Response> {
        tokio::spawn(respond(AppState::clone(state), token.to_owned(), Request::default(), source))
    }

    /// Takes every token for that of an organization's ticket.
    const FOUND: Read<OrganizationId> = |_, _| Ok(OrganizationId::from_raw(1));

    /// Takes all permits that anybody can have.
    fn take_all(permits: &FairQueue) -> Vec<impl Sized + use<>> {
        (0..).map_while(|number| permits.try_acquire(Some(OrganizationId::from_raw(number)))).collect()
    }

    /// How many requests have begun, and whether they may end.
    static WORK: (Mutex<(usize, bool)>, Condvar) = (Mutex::new((0, false)), Condvar::new());

    /// Content that is made when the test permits it.
    const HELD: Source = Source {
        organization: FOUND,
        content: |_, _| {
            let mut work = WORK.0.lock().expect("the work");
            work.0 += 1;
            WORK.1.notify_all();
            drop(WORK.1.wait_while(work, |(_, may_end)| !*may_end));
            Ok(Content::page(String::new()))
        },
        permits: |service| &service.pages,
    };

    #[tokio::test(flavor = "multi_thread")]
    async fn the_turn_of_a_link_ends_with_its_work_and_not_when_the_client_disconnects() {
        let state = state();
        let requests: Vec<_> = (0..MOST).map(|_| request(&state, "one", HELD)).collect();
        let begun = || drop(WORK.1.wait_while(WORK.0.lock().expect("the work"), |(begun, _)| *begun < MOST));
        tokio::task::spawn_blocking(begun).await.expect("they have begun");
        for request in requests {
            // This is what the server does when a client disconnects.
            request.abort();
            assert!(request.await.expect_err("aborted").is_cancelled());
        }
        assert_eq!(request(&state, "one", HELD).await.expect("a response").status(), 503);

        // The control: a request whose work has not begun ends its turn with itself.
        let permits = take_all(&state.service.pages);
        let waiting = request(&state, "another", HELD);
        tokio::task::yield_now().await;
        waiting.abort();
        let _ = waiting.await;
        let turns: Vec<_> = (0..MOST).map(|_| state.link_turns.begin("another")).collect();
        assert!(turns.iter().all(Option::is_some));
        drop(permits);

        WORK.0.lock().expect("the work").1 = true;
        WORK.1.notify_all();
        while state.link_turns.begin("one").is_none() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn links_use_the_permits_of_pages_and_leave_the_others_to_operations() {
        let state = state();
        let is_busy = async |source| {
            let response = request(&state, &"0".repeat(39), source).await.expect("a response");
            response.status() == StatusCode::SERVICE_UNAVAILABLE
        };
        let permits = take_all(&state.service.pages);
        for source in [TICKET, TICKET_DOCUMENT, CALENDAR_ENTRY, ORDER, ORDER_DOCUMENT] {
            assert!(is_busy(source).await, "the token is looked up with a permit for pages");
        }
        assert!(state.service.call(|_| Ok(())).await.is_ok(), "operations have permits of their own");
        drop(permits);
        for source in [TICKET, TICKET_DOCUMENT, CALENDAR_ENTRY, ORDER, ORDER_DOCUMENT] {
            assert!(!is_busy(source).await);
        }
        // So do documents, after the look-up.
        let _permits = take_all(&state.service.documents);
        for (source, expected) in [(TICKET, false), (CALENDAR_ENTRY, false), (ORDER, false)] {
            assert_eq!(is_busy(Source { organization: FOUND, ..source }).await, expected);
        }
        for source in [TICKET_DOCUMENT, ORDER_DOCUMENT] {
            assert!(is_busy(Source { organization: FOUND, ..source }).await);
        }
    }
}
