//! Routes the operations below `/v1`.
//!
//! axum selects the operation by path and method. Its own responses to unknown paths and methods are not used, because
//! such requests must be authenticated and rate limited first. Instead, a catch-all route handles unknown paths, and a
//! fallback of each known path handles unknown methods. Both authenticate before they respond.

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderValue, Method};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, any};

use super::operation::{BASE, Operation};
use super::request;
use crate::pages::{self, ProblemKind};
use crate::server::http::base_path::base_path;
#[cfg(feature = "event-pages")]
use crate::server::http::blocking::Class;
use crate::server::responses::page_responses::{accepted_languages, accepts_html, problem_response, with_page_headers};
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
#[cfg(feature = "event-pages")]
use crate::service::TicketingService;

/// Catch-all routes for [`BASE`] and all paths below it. axum prefers the more specific routes of the operations.
const UNKNOWN_PATHS: [&str; 3] = ["/v1", "/v1/", "/v1/{*unknown}"];

/// Response extension: the request matched no route except one of [`UNKNOWN_PATHS`].
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct UnknownRoute;

/// The routes of these operations, and of the unknown paths below [`BASE`].
pub(in crate::server) fn routes(operations: Vec<Operation>) -> Router<AppState> {
    let mut by_path: Vec<(&'static str, Vec<Operation>)> = Vec::new();
    for operation in operations {
        match by_path.iter_mut().find(|(path, _)| *path == operation.route.path) {
            Some((_, same_path)) => same_path.push(operation),
            None => by_path.push((operation.route.path, vec![operation])),
        }
    }
    let mut router = Router::new();
    for (path, operations) in by_path {
        router = router.route(&format!("{BASE}{path}"), method_router(operations));
    }
    for path in UNKNOWN_PATHS {
        router = router.route(path, any(unknown_path));
    }
    router
}

/// Routes the methods of one path. The fallback is set with [`any`]: otherwise axum would add `Allow` to every response
/// of the fallback, even to a 401.
fn method_router(operations: Vec<Operation>) -> MethodRouter<AppState> {
    let allow = allowed_methods(&operations);
    let mut router = any(async move |State(state): State<AppState>, request: Request| {
        request::refuse(state, Problem::method_not_allowed(allow), request).await
    });
    for operation in operations {
        // Every operation has a standard method, so this cannot fail.
        let Ok(method) = MethodFilter::try_from(operation.method.clone()) else { continue };
        let own_parameters = operation.route.path.matches('{').count();
        let operation = Arc::new(operation);
        router = router.on(
            method,
            move |State(state): State<AppState>, parameters: Result<RawPathParams, _>, request: Request| {
                let values = parameters.iter().flatten().map(|(_, value)| value.to_owned());
                // Drop the parameters of the prefix under which the routes are nested: they come first.
                let mut parameters: Vec<_> = values.collect();
                parameters.drain(..parameters.len().saturating_sub(own_parameters));
                request::handle(state, Arc::clone(&operation), parameters, request)
            },
        );
    }
    router
}

/// The value of the header `Allow`. It includes HEAD with GET, because axum calls the handler of GET for both.
fn allowed_methods(operations: &[Operation]) -> Option<HeaderValue> {
    let mut methods = Vec::new();
    for operation in operations {
        methods.push(operation.method.as_str());
        if operation.method == Method::GET {
            methods.push(Method::HEAD.as_str());
        }
    }
    HeaderValue::try_from(methods.join(", ")).ok()
}

async fn unknown_path(State(state): State<AppState>, request: Request) -> Response {
    let mut response = request::refuse(state, Problem::no_such_route(), request).await;
    response.extensions_mut().insert(UnknownRoute);
    response
}

/// The fallback for unknown paths that are not below [`BASE`]. It needs no API key. Browsers get an HTML page: at `/`, that
/// of the server. It is no route, so that an application can have its own `/` and merge the others.
pub(in crate::server) async fn no_such_route(State(state): State<AppState>, request: Request) -> Response {
    let problem = Problem::no_such_route();
    if !accepts_html(request.headers()) {
        return problem.into_response();
    }
    let accepted = accepted_languages(request.headers());
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let response = if is_read && request.uri().path() == "/" {
        let base = base_path(request.uri(), request.extensions(), &state.public_path).to_owned();
        let page = home_page(&state, base, accepted).await;
        page.map_or_else(IntoResponse::into_response, |page| Html(page).into_response())
    } else {
        problem_response(&problem, ProblemKind::Other, &accepted)
    };
    with_page_headers(response, "form-action 'none'; ")
}

/// The page at `/`: with event pages, the events of the only organization.
#[cfg(feature = "event-pages")]
async fn home_page(state: &AppState, base: String, accepted: Vec<String>) -> Result<String, Problem> {
    if !state.service.service().has_event_pages() {
        return Ok(pages::home_page(&base, &accepted)?);
    }
    let render = move |service: &TicketingService| {
        Ok(match service.events_of_only_organization()? {
            Some((organization, events)) => pages::events_page(&base, &organization, &events, &accepted)?,
            None => pages::home_page(&base, &accepted)?,
        })
    };
    state.service.call(Class::Page, None, render).await
}

#[cfg(not(feature = "event-pages"))]
#[expect(clippy::unused_async, reason = "with event pages, it reads the events")]
async fn home_page(_: &AppState, base: String, accepted: Vec<String>) -> Result<String, Problem> {
    Ok(pages::home_page(&base, &accepted)?)
}
