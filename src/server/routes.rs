//! How a request gets to its operation. What is common to all of them is judged here, in this order: key, rate limit,
//! route and method, scope, size of the body, its media type, its syntax, idempotency key. The rest is the facade's.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, RawPathParams, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use axum::routing::any;

use super::authentication::ShownKey;
use super::blocking::{Facade, Wait};
use super::body::{self, Incoming};
use super::conditions;
use super::contract::Takes;
use super::limits::{Limits, Standing};
use super::operation::{Answer, BASE, Call, Operation};
use super::problem::Problem;
use super::query;
use crate::error::Error;
use crate::model::caller::Caller;
use crate::service::TicketingService;

/// What every route leads to.
#[derive(Debug, Clone)]
pub(super) struct Desk {
    pub(super) facade: Facade,
    pub(super) limits: Arc<Limits>,
}

/// Mounts the operations, each path once with all of its methods. Where nothing is mounted, only who has a key learns
/// that nothing is there.
pub(super) fn mount(mut router: Router, desk: &Desk, operations: impl IntoIterator<Item = Operation>) -> Router {
    let mut by_path: Vec<(&'static str, Vec<Operation>)> = Vec::new();
    for operation in operations {
        match by_path.iter_mut().find(|(path, _)| *path == operation.path) {
            Some((_, same)) => same.push(operation),
            None => by_path.push((operation.path, vec![operation])),
        }
    }
    for (path, operations) in by_path {
        let (desk, operations) = (desk.clone(), Arc::<[Operation]>::from(operations));
        let handle = move |parameters: Result<RawPathParams, _>, request: Request| {
            let (desk, operations) = (desk.clone(), Arc::clone(&operations));
            async move { desk.answer(operations, parameters.ok(), request).await }
        };
        router = router.route(&format!("{BASE}{path}"), any(handle));
    }
    let desk = desk.clone();
    router.fallback(move |request: Request| {
        let desk = desk.clone();
        async move {
            match request.uri().path() {
                path if path == BASE || path.starts_with("/v1/") => desk.answer(Arc::new([]), None, request).await,
                _ => Problem::no_such_route().into_response(),
            }
        }
    })
}

impl Desk {
    /// Answers a request for one of the operations on its path, of which there may be none.
    async fn answer(
        self,
        operations: Arc<[Operation]>,
        parameters: Option<RawPathParams>,
        request: Request,
    ) -> Response {
        let (head, body) = request.into_parts();
        let mut asked = Asked {
            address: head.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip()),
            operation: operations.iter().position(|operation| operation.answers(&head.method)),
            parameters: parameters.iter().flatten().map(|(_, value)| value.to_owned()).collect(),
            head,
            operations,
            limits: self.limits,
            standing: None,
        };
        let wait = asked.operation().map_or(Wait::Store, |operation| operation.wait);
        let has_body = asked.operation().is_some_and(Operation::has_body);
        let mut incoming = Incoming::new(body);
        let crowded = wait == Wait::Gateway && self.facade.gateway_is_crowded();
        if has_body && (crowded || !incoming.is_there(&asked.head.headers).await) {
            // Nobody waits for a body, or for the gateway's other callers, before its sender was let in.
            let admitted = self.facade.call(Wait::Store, move |service| {
                let caller = asked.admit(service);
                Ok((asked, caller))
            });
            let (asked, caller) = match admitted.await {
                Ok((asked, Ok(caller))) => (asked, caller),
                Ok((asked, Err(problem))) => return asked.respond(Err(problem)),
                Err(problem) => return finish(None, Err(problem)),
            };
            let body = incoming.read(&asked.head.headers).await;
            let standing = asked.standing;
            let answer = self.facade.call(wait, move |service| asked.perform(service, caller, body)).await;
            return finish(standing, answer);
        }
        // What is there is judged and done in one go, on a thread that may wait.
        let body = match has_body {
            false => body::check_length(&asked.head.headers).map(|()| Vec::new()),
            true => incoming.read(&asked.head.headers).await,
        };
        let done = self.facade.call(wait, move |service| {
            let reads = asked.head.method == Method::GET;
            let all = || {
                let caller = asked.admit(service)?;
                asked.perform(service, caller, body)
            };
            let answer = if reads {
                // Who asks and what there is to see are read together.
                service.on_one_snapshot(all).unwrap_or_else(|error| Err(error.into()))
            } else {
                all()
            };
            Ok((asked.standing, answer))
        });
        done.await.map_or_else(|problem| finish(None, Err(problem)), |(standing, answer)| finish(standing, answer))
    }
}

/// A request on its way to its operation.
struct Asked {
    head: Parts,
    address: Option<IpAddr>,
    operations: Arc<[Operation]>,
    /// Which of them the method is for.
    operation: Option<usize>,
    /// What the path has in the places of its parameters.
    parameters: Vec<String>,
    limits: Arc<Limits>,
    /// Where the key stands, once it is known.
    standing: Option<Standing>,
}

impl Asked {
    fn operation(&self) -> Option<&Operation> {
        self.operation.and_then(|index| self.operations.get(index))
    }

    /// Who asks, if they may.
    fn admit(&mut self, service: &TicketingService) -> Result<Caller, Problem> {
        let caller = match ShownKey::of(&self.head.headers).map(|key| key.caller(service)) {
            Some(Ok(caller)) => caller,
            None | Some(Err(Error::Unauthenticated)) => return Err(self.limits.failure(self.address, service.now())),
            Some(Err(error)) => return Err(error.into()),
        };
        self.standing = caller.key.and_then(|key| self.limits.request(key, service.now()));
        Limits::check(self.standing)?;
        let Some(operation) = self.operation() else {
            return Err(match &*self.operations {
                [] => Problem::no_such_route(),
                operations => Problem::method_not_allowed(Some(allowed(operations))),
            });
        };
        caller.require(operation.scope)?;
        Ok(caller)
    }

    /// Has the operation done, once its body is as it should be.
    fn perform(
        &self,
        service: &TicketingService,
        caller: Caller,
        body: Result<Vec<u8>, Problem>,
    ) -> Result<Answer, Problem> {
        let Some(operation) = self.operation() else { return Err(Problem::no_such_route()) };
        let (headers, body) = (&self.head.headers, body?);
        if !body.is_empty()
            || (matches!(operation.contract.takes, Takes::Body(_)) && headers.contains_key(CONTENT_TYPE))
        {
            body::check_media_type(headers)?;
        }
        let conditions = conditions::lay_on(caller, operation, headers);
        // A body that cannot be read is told of first.
        let caller = &conditions.or_else(|flaw| operation.check_syntax(&body).and(Err(flaw)))?;
        // It has to be readable also where nothing in it counts.
        let query = query::pairs(self.head.uri.query().unwrap_or_default());
        let query = &query.ok_or_else(|| Problem::malformed("the query string cannot be read"))?;
        operation.run(&Call { service, caller, parameters: &self.parameters, query, body: &body })
    }

    fn respond(self, answer: Result<Answer, Problem>) -> Response {
        finish(self.standing, answer)
    }
}

/// Adds what every answer to a key has.
fn finish(standing: Option<Standing>, answer: Result<Answer, Problem>) -> Response {
    let mut response = answer.into_response();
    let headers = response.headers_mut();
    // It was for the eyes of this key alone, and may be different a moment later.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(standing) = standing {
        standing.describe(headers);
    }
    response
}

fn allowed(operations: &[Operation]) -> String {
    let methods = operations.iter().flat_map(|operation| match operation.method {
        Method::GET => vec!["GET", "HEAD"],
        ref method => vec![method.as_str()],
    });
    methods.collect::<Vec<_>>().join(", ")
}
