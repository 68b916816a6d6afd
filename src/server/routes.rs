//! Routes the operations below `/v1`.
//!
//! axum picks the operation by path and method. Its own answers to unknown paths and methods are replaced, because both
//! come after the API key and the rate limit: the fallback of each path is a handler that authenticates first.

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, any};

use super::operation::{BASE, Operation};
use super::problem::Problem;
use super::request;
use super::state::AppState;

/// The routes of these operations, and the fallback for all other paths.
pub(super) fn routes(operations: Vec<Operation>) -> Router<AppState> {
    let mut by_path: Vec<(&'static str, Vec<Operation>)> = Vec::new();
    for operation in operations {
        match by_path.iter_mut().find(|(path, _)| *path == operation.path) {
            Some((_, same_path)) => same_path.push(operation),
            None => by_path.push((operation.path, vec![operation])),
        }
    }
    let mut router = Router::new();
    for (path, operations) in by_path {
        router = router.route(&format!("{BASE}{path}"), method_router(operations));
    }
    router.fallback(no_such_route)
}

/// Routes the methods of one path. The fallback is set with [`any`]: otherwise axum would add `Allow` to all its
/// responses, such as a 401.
fn method_router(operations: Vec<Operation>) -> MethodRouter<AppState> {
    let allow = allowed_methods(&operations);
    let mut router = any(async move |State(state): State<AppState>, request: Request| {
        request::refuse(state, Problem::method_not_allowed(allow), request).await
    });
    for operation in operations {
        // Every operation has a standard method, so this cannot fail.
        let Ok(method) = MethodFilter::try_from(operation.method.clone()) else { continue };
        let operation = Arc::new(operation);
        router = router.on(
            method,
            async move |State(state): State<AppState>, parameters: Result<RawPathParams, _>, request: Request| {
                let parameters = parameters.iter().flatten().map(|(_, value)| value.to_owned()).collect();
                request::handle(state, operation, parameters, request).await
            },
        );
    }
    router
}

/// The header `Allow`. axum answers HEAD with the handler for GET.
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

async fn no_such_route(State(state): State<AppState>, request: Request) -> Response {
    let problem = Problem::no_such_route();
    let path = request.uri().path();
    if path == BASE || path.starts_with("/v1/") {
        request::refuse(state, problem, request).await
    } else {
        problem.into_response()
    }
}
