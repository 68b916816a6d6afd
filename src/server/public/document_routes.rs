//! The pages and documents of tickets and orders. There is no API key: the token in the path authorizes the request.

use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::{any, get};

#[cfg(feature = "event-pages")]
use super::event_pages::with_form;
use super::wrong_tokens::refuse;
use crate::documents::TicketToPrint;
#[cfg(feature = "event-pages")]
use crate::error::Reason;
use crate::error::Result;
use crate::fair::InUseGuard;
use crate::model::tickets::linked::LinkVersion;
use crate::model::values::id::OrganizationId;
use crate::pages::{self, ProblemKind};
use crate::server::http::blocking::Class;
use crate::server::http::query;
use crate::server::http::representation::{Representation, entity_tag, has_version, not_modified, prefers_gzip};
use crate::server::responses::page_responses::{
    accepted_languages, accepts_only_json, problem_response, with_page_headers, without_appended,
};
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// Reads something about the link with this token.
type Read<T> = fn(&TicketingService, &str) -> Result<T>;

/// What a request of a link asks for.
struct Wanted {
    token: String,
    /// The languages of the browser.
    languages: Vec<String>,
    /// Whether pages are compressed.
    gzip: bool,
    /// The part of a long page, from 1.
    part: usize,
}

type Make = fn(&TicketingService, &Wanted) -> Result<Representation>;

/// How the content of a link is made: for the organization that the token is of, with permits that organizations share.
#[derive(Clone, Copy)]
struct Source {
    organization: Read<OrganizationId>,
    /// Reads the version of the content, from which its `ETag` is made. A document has a tag of its own.
    version: Option<Read<Option<LinkVersion>>>,
    content: Make,
    class: Class,
    /// Whether the page has forms, if events have pages.
    #[cfg_attr(not(feature = "event-pages"), expect(dead_code, reason = "only event pages have forms"))]
    has_forms: bool,
}

const TICKET: Source = Source {
    organization: TicketingService::organization_of_ticket_link,
    version: Some(TicketingService::version_of_ticket_link),
    content: |service, Wanted { token, languages, gzip, .. }| {
        Ok(Representation::page(pages::ticket_page(&service.ticket_for_page(token)?, token, languages)?, *gzip))
    },
    class: Class::Page,
    has_forms: false,
};
const TICKET_DOCUMENT: Source = Source {
    version: None,
    content: |service, wanted| Ok(Representation::document(service.get_ticket_document_by_link(&wanted.token)?)),
    class: Class::Document,
    ..TICKET
};
const CALENDAR_ENTRY: Source = Source { content: calendar_entry, ..TICKET };
const ORDER: Source = Source {
    organization: TicketingService::organization_of_order_link,
    version: Some(TicketingService::version_of_order_link),
    content: |service, wanted| Ok(Representation::page(page_of_order(service, wanted)?, wanted.gzip)),
    class: Class::Page,
    has_forms: true,
};
const ORDER_DOCUMENT: Source = Source {
    version: None,
    content: |service, wanted| Ok(Representation::document(service.get_order_document_by_link(&wanted.token)?)),
    class: Class::Document,
    has_forms: false,
    ..ORDER
};

/// Other paths below those of a ticket or an order. They are answered here, because the server's response to unknown
/// paths repeats the path, and with it the token.
const UNKNOWN_PATHS: [&str; 2] = ["/tickets/{token}/{*rest}", "/orders/{token}/{*rest}"];

pub(in crate::server) fn routes() -> Router<AppState> {
    let route = |source: Source| {
        get(async move |State(state): State<AppState>, request: Request| respond(state, request, source).await)
            .fallback(async |headers: HeaderMap| refusal(&Problem::method_not_allowed(None), &headers))
    };
    let mut router = Router::new()
        .route("/tickets/{token}", route(TICKET))
        .route("/tickets/{token}/ticket.pdf", route(TICKET_DOCUMENT))
        .route("/tickets/{token}/event.ics", route(CALENDAR_ENTRY))
        .route("/orders/{token}", route(ORDER))
        .route("/orders/{token}/tickets.pdf", route(ORDER_DOCUMENT))
        .route("/tickets/{token}/", route(TICKET))
        .route("/orders/{token}/", route(ORDER));
    for path in UNKNOWN_PATHS {
        router = router.route(path, any(async |headers: HeaderMap| refusal(&Problem::no_such_route(), &headers)));
    }
    router
}

/// The page of an order: with its tickets, or if it was never paid, what becomes of it.
fn page_of_order(service: &TicketingService, Wanted { token, languages, part, .. }: &Wanted) -> Result<String> {
    match service.part_of_order(token, *part, pages::MAX_CARDS) {
        #[cfg(feature = "event-pages")]
        Err(error) if error.reason() == Some(Reason::OrderNotCompleted) && service.has_event_pages() => {
            pages::pending_order_page(&service.order_on_page(token)?, token, languages)
        }
        shown => pages::order_page(&shown?, token, languages),
    }
}

fn calendar_entry(service: &TicketingService, wanted: &Wanted) -> Result<Representation> {
    let linked = service.ticket_without_logo(&wanted.token)?;
    let file_name = TicketToPrint::of(&linked).file_name("ics");
    Ok(Representation::calendar_entry(file_name, pages::calendar_entry(&linked)))
}

/// Answers a request with what its link leads to, or says what is wrong.
async fn respond(state: AppState, request: Request, source: Source) -> Response {
    let (head, _) = request.into_parts();
    if let Some(redirect) = without_appended(&head.uri) {
        return with_headers(redirect);
    }
    let client = head.extensions.get::<ConnectInfo<SocketAddr>>().map(|client| client.0.ip());
    let wanted = Wanted {
        token: token(&head.uri),
        languages: accepted_languages(&head.headers),
        gzip: prefers_gzip(&head.headers),
        part: query::number(&head.uri, "part").unwrap_or(1),
    };
    let result = match admit(&state, &wanted.token, client) {
        Ok(permit) => answer(&state, &head, wanted, client, source, permit).await,
        Err(problem) => Err(problem),
    };
    match result {
        #[cfg(feature = "event-pages")]
        Ok(response) if source.has_forms && state.service.service().has_event_pages() => with_form(response),
        Ok(response) => with_headers(response),
        Err(problem) => refusal(&problem, &head.headers),
    }
}

/// Begins a request of a link, unless its address has made too many, or the link has too many in progress.
fn admit(state: &AppState, token: &str, client: Option<IpAddr>) -> Result<InUseGuard<String>, Problem> {
    state.limits.count_link_request(client, state.service.service().now())?;
    let permit = state.requests_of_links.take(token.to_owned());
    permit.ok_or_else(|| Problem::unavailable("too many requests of one link are in progress"))
}

/// The token in a path, as it is spelled there: one with escapes is not that of any ticket.
fn token(uri: &Uri) -> String {
    uri.path().split('/').nth(2).unwrap_or_default().to_owned()
}

/// A page that says what is wrong, or the problem as JSON for a client that accepts this and no page. Neither has the
/// path of the request, with the token.
fn refusal(problem: &Problem, request: &HeaderMap) -> Response {
    if accepts_only_json(request) {
        return with_headers(problem.render_without_request());
    }
    with_headers(problem_response(problem, ProblemKind::Ticket, &accepted_languages(request)))
}

/// Reads or renders the content of a link, unless the client has it. The permit of the link is returned after the work, which goes on if the
/// client disconnects.
///
/// Anybody can send tokens, so a permit for pages or documents is needed first, also to look up a token.
async fn answer(
    state: &AppState,
    head: &Parts,
    wanted: Wanted,
    client: Option<IpAddr>,
    source: Source,
    link_permit: InUseGuard<String>,
) -> Result<Response, Problem> {
    let service = &state.service;
    let shared = AppState::clone(state);
    let find = move |service: &TicketingService| {
        let Wanted { token, languages, gzip, part } = &wanted;
        let found = (source.organization)(service, token);
        let organization = found.map_err(|error| refuse(&shared, error, client, service))?;
        shared.limits.count_link(token, service.now())?;
        let version = source.version.map(|version| version(service, token)).transpose()?.flatten();
        let hash = |version| shared.page_tags.hash_one((version, languages, gzip, part));
        let etag = version.map(|version| entity_tag(&format!("{:016x}", hash(version))));
        Ok((organization, etag, wanted, link_permit))
    };
    let (organization, etag, wanted, link_permit) = service.call(Class::Page, None, find).await?;
    if let Some(etag) = etag.as_ref().filter(|etag| has_version(&head.headers, etag)) {
        return Ok(not_modified(etag.clone()));
    }
    let read = move |service: &TicketingService| {
        let _permit = link_permit;
        Ok((source.content)(service, &wanted)?)
    };
    let content = service.call(source.class, Some(organization), read).await?;
    let content = match etag {
        Some(etag) => content.with_etag(etag),
        None => content,
    };
    let holding = state.memory.begin_anonymous(&head.extensions);
    holding.hold(content.send(&head.headers), false)
}

fn with_headers(response: Response) -> Response {
    with_page_headers(response, "form-action 'none'; ")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Condvar, Mutex};

    use axum::body::Body;
    use axum::http::StatusCode;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::fair::Semaphore;
    use crate::server::options::ServerOptions;
    use crate::server::state::{MAX_REQUESTS_OF_LINK as MOST, ServerState};

    fn state() -> AppState {
        let service = TicketingService::temporary().open().expect("a service");
        Arc::new(ServerState::new(service, &ServerOptions::default()))
    }

    fn request(state: &AppState, token: &str, source: Source) -> JoinHandle<Response> {
        let request = Request::get(format!("/tickets/{token}")).body(Body::empty()).expect("a request");
        tokio::spawn(respond(AppState::clone(state), request, source))
    }

    /// Takes every token for that of an organization's ticket.
    const FOUND: Read<OrganizationId> = |_, _| Ok(OrganizationId::from_raw(1));

    /// Takes all permits that anybody can have.
    fn take_all(permits: &Semaphore) -> Vec<impl Sized + use<>> {
        (0..).map_while(|number| permits.try_acquire(Some(OrganizationId::from_raw(number)))).collect()
    }

    /// How many requests have begun, and whether they may end.
    static WORK: (Mutex<(usize, bool)>, Condvar) = (Mutex::new((0, false)), Condvar::new());

    /// Content that is made when the test permits it.
    const HELD: Source = Source {
        organization: FOUND,
        version: None,
        content: |_, _| {
            let mut work = WORK.0.lock().expect("the work");
            work.0 += 1;
            WORK.1.notify_all();
            drop(WORK.1.wait_while(work, |(_, may_end)| !*may_end));
            Ok(Representation::page(String::new(), false))
        },
        class: Class::Page,
        has_forms: false,
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

        // The control: a request whose work has not begun returns its permit.
        let permits = take_all(&state.service.quick);
        let waiting = request(&state, "another", HELD);
        tokio::task::yield_now().await;
        waiting.abort();
        let _ = waiting.await;
        let of_link: Vec<_> = (0..MOST).map(|_| state.requests_of_links.take("another".to_owned())).collect();
        assert!(of_link.iter().all(Option::is_some));
        drop(permits);

        WORK.0.lock().expect("the work").1 = true;
        WORK.1.notify_all();
        while state.requests_of_links.take("one".to_owned()).is_none() {
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
        let permits = take_all(&state.service.quick);
        for source in [TICKET, TICKET_DOCUMENT, CALENDAR_ENTRY, ORDER, ORDER_DOCUMENT] {
            assert!(is_busy(source).await, "the token is looked up with a permit for pages");
        }
        let sells = async || state.service.call(Class::Gateway, None, |_| Ok(())).await.is_ok();
        assert!(sells().await, "orders have permits of their own");
        drop(permits);
        for source in [TICKET, TICKET_DOCUMENT, CALENDAR_ENTRY, ORDER, ORDER_DOCUMENT] {
            assert!(!is_busy(source).await);
        }
        // So do documents, after the look-up.
        let _permits = take_all(&state.service.documents);
        assert!(sells().await);
        for source in [TICKET, CALENDAR_ENTRY, ORDER] {
            assert!(!is_busy(Source { organization: FOUND, ..source }).await);
        }
        for source in [TICKET_DOCUMENT, ORDER_DOCUMENT] {
            assert!(is_busy(Source { organization: FOUND, ..source }).await);
        }
    }
}
