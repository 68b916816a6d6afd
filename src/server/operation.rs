//! How an operation is mounted: its method, path, scope and body are one line of a table, and what is common to all of
//! them is judged here, in this order: key, route and method, scope, size of the body, its media type, its syntax. The
//! rest is the facade's.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, Request};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;

use super::authentication::ShownKey;
use super::blocking::{Facade, Wait};
use super::problem::Problem;
use super::{body, query};
use crate::error::Error;
use crate::model::fields::FromFields;
use crate::model::id::{Id, Kind};
use crate::model::organization::Caller;
use crate::model::request::{Nothing, Request as FacadeRequest};
use crate::model::scope::Scope;
use crate::service::TicketingService;

/// What an operation does with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    /// It has none, and does not read one.
    NoBody,
    /// It takes none, or an object in which nothing counts.
    NothingMuch,
    /// It needs one.
    Json,
}

/// One operation over HTTP.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    method: Method,
    path: &'static str,
    scope: Scope,
    expects: Expects,
    wait: Wait,
    run: Run,
}

/// What does the work, on a thread that may wait.
type Run = fn(&Call<'_>) -> Result<Answer, Problem>;

impl Operation {
    const fn new(method: Method, path: &'static str, scope: Scope, expects: Expects, run: Run) -> Self {
        Self { method, path, scope, expects, wait: Wait::Store, run }
    }

    /// An operation that reads. It answers HEAD too.
    pub(super) const fn get(path: &'static str, scope: Scope, run: Run) -> Self {
        Self::new(Method::GET, path, scope, Expects::NoBody, run)
    }

    /// An operation that makes something out of a body.
    pub(super) const fn post(path: &'static str, scope: Scope, run: Run) -> Self {
        Self::new(Method::POST, path, scope, Expects::Json, run)
    }

    /// An operation that needs no more than its path.
    pub(super) const fn act(path: &'static str, scope: Scope, run: Run) -> Self {
        Self::new(Method::POST, path, scope, Expects::NothingMuch, run)
    }

    /// An operation that changes what its body names.
    pub(super) const fn patch(path: &'static str, scope: Scope, run: Run) -> Self {
        Self::new(Method::PATCH, path, scope, Expects::Json, run)
    }

    /// An operation that deletes.
    pub(super) const fn delete(path: &'static str, scope: Scope, run: Run) -> Self {
        Self::new(Method::DELETE, path, scope, Expects::NoBody, run)
    }

    /// The same operation, which may have to wait for the payment gateway.
    pub(super) const fn that_may_wait_for_the_gateway(mut self) -> Self {
        self.wait = Wait::Gateway;
        self
    }

    fn answers(&self, method: &Method) -> bool {
        self.method == *method || (self.method == Method::GET && *method == Method::HEAD)
    }
}

/// A request that was let in, as an operation sees it.
pub(super) struct Call<'a> {
    pub(super) service: &'a TicketingService,
    pub(super) caller: &'a Caller,
    parameter: Option<&'a str>,
    query: &'a str,
    body: &'a [u8],
}

impl Call<'_> {
    /// The id in the path. A text that cannot be one names a thing that does not exist.
    pub(super) fn id<K: Kind>(&self) -> Result<Id<K>, Problem> {
        let id = self.parameter.and_then(|text| text.parse().ok());
        id.ok_or_else(|| Error::NotFound(K::NAME).into())
    }

    /// The request in the query string.
    pub(super) fn query<T: FromFields>(&self) -> Result<FacadeRequest<T>, Problem> {
        let pairs = query::pairs(self.query).ok_or_else(|| Problem::malformed("the query string cannot be read"))?;
        Ok(FacadeRequest::from_query(pairs))
    }

    /// The request in the body.
    pub(super) fn json<T: FromFields>(&self) -> Result<FacadeRequest<T>, Problem> {
        if self.body.is_empty() {
            return Err(Problem::malformed("the body is empty"));
        }
        Ok(FacadeRequest::from_json(self.body)?)
    }
}

/// What an operation came to.
#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    location: Option<String>,
    body: Option<Vec<u8>>,
}

impl Answer {
    /// 200 with this body.
    pub(super) fn ok(body: &impl serde::Serialize) -> Result<Self, Problem> {
        // Most answers fit at once.
        let mut json = Vec::with_capacity(1024);
        serde_json::to_writer(&mut json, body).map_err(Problem::internal)?;
        Ok(Self { status: StatusCode::OK, location: None, body: Some(json) })
    }

    /// 201 with this body.
    pub(super) fn created(body: &impl serde::Serialize) -> Result<Self, Problem> {
        Ok(Self { status: StatusCode::CREATED, ..Self::ok(body)? })
    }

    /// The same answer, which says where the new thing is.
    pub(super) fn at(self, collection: &str, id: impl std::fmt::Display) -> Self {
        Self { location: Some(format!("{BASE}/{collection}/{id}")), ..self }
    }

    /// 204, without a body.
    pub(super) fn nothing() -> Self {
        Self { status: StatusCode::NO_CONTENT, location: None, body: None }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.body.map_or_else(Body::empty, Body::from));
        *response.status_mut() = self.status;
        if self.status != StatusCode::NO_CONTENT {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(location) = self.location.and_then(|location| HeaderValue::try_from(location).ok()) {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    }
}

/// What every operation's path begins with.
const BASE: &str = "/v1";

/// Mounts the operations, each path once with all of its methods.
pub(super) fn mount(mut router: Router, facade: &Facade, operations: impl IntoIterator<Item = Operation>) -> Router {
    let mut by_path: Vec<(&'static str, Vec<Operation>)> = Vec::new();
    for operation in operations {
        match by_path.iter_mut().find(|(path, _)| *path == operation.path) {
            Some((_, same)) => same.push(operation),
            None => by_path.push((operation.path, vec![operation])),
        }
    }
    for (path, operations) in by_path {
        let (facade, operations) = (facade.clone(), Arc::<[Operation]>::from(operations));
        let handle = move |parameters: Result<RawPathParams, _>, request: Request| {
            let (facade, operations) = (facade.clone(), Arc::clone(&operations));
            async move { answer(&facade, &operations, parameters.ok(), request).await }
        };
        router = router.route(&format!("{BASE}{path}"), any(handle));
    }
    router
}

/// What is answered under a path that no operation has: only who has a key learns that nothing is there.
pub(super) async fn no_such_route(facade: &Facade, request: Request) -> Problem {
    let path = request.uri().path();
    if path != BASE && !path.starts_with("/v1/") {
        return Problem::no_such_route();
    }
    let caller = match ShownKey::of(request.headers()) {
        Ok(key) => facade.call(Wait::Store, move |service| key.caller(service)).await,
        Err(problem) => Err(problem),
    };
    caller.err().unwrap_or_else(Problem::no_such_route)
}

async fn answer(
    facade: &Facade,
    operations: &[Operation],
    parameters: Option<RawPathParams>,
    request: Request,
) -> Result<Answer, Problem> {
    let (head, incoming) = request.into_parts();
    let key = ShownKey::of(&head.headers)?;
    let Some(operation) = operations.iter().find(|operation| operation.answers(&head.method)) else {
        facade.call(Wait::Store, move |service| key.caller(service)).await?;
        return Err(Problem::method_not_allowed(Some(allowed(operations))));
    };
    let parameter =
        parameters.as_ref().and_then(|parameters| parameters.iter().next()).map(|(_, value)| value.to_owned());
    let Operation { scope, expects, wait, run, ref method, .. } = *operation;
    let method = method.clone();
    if expects == Expects::NoBody {
        // One trip to a thread that may wait does it all.
        let work = move |service: &TicketingService| {
            let all = || {
                let caller = &key.caller_with(service, scope)?;
                body::check_length(&head.headers)?;
                let (parameter, query) = (parameter.as_deref(), head.uri.query().unwrap_or_default());
                run(&Call { service, caller, parameter, query, body: &[] })
            };
            // Who asks and what there is to see are read together.
            if method == Method::GET { service.on_one_snapshot(all)? } else { all() }
        };
        return facade.call(wait, work).await;
    }
    let caller = facade.call(Wait::Store, move |service| key.caller_with(service, scope)).await?;
    let bytes = body::read(&head.headers, incoming).await?;
    if !bytes.is_empty() || (expects == Expects::Json && head.headers.contains_key(CONTENT_TYPE)) {
        body::check_media_type(&head.headers)?;
    }
    let work = move |service: &TicketingService| {
        if expects == Expects::NothingMuch && !bytes.is_empty() {
            FacadeRequest::<Nothing>::from_json(&bytes)?.errors.into_result()?;
        }
        let (parameter, query) = (parameter.as_deref(), head.uri.query().unwrap_or_default());
        run(&Call { service, caller: &caller, parameter, query, body: &bytes })
    };
    facade.call(wait, work).await
}

fn allowed(operations: &[Operation]) -> String {
    let methods = operations.iter().flat_map(|operation| match operation.method {
        Method::GET => vec!["GET", "HEAD"],
        ref method => vec![method.as_str()],
    });
    methods.collect::<Vec<_>>().join(", ")
}
