//! Handles a request below `/v1`. The checks that all operations share are made here, in this order: API key, rate
//! limit, route and method, scope, body size, media type, syntax, idempotency key. The service checks the rest.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method};
use axum::response::{IntoResponse, Response};

use super::conditions;
use super::operation::{Input, Operation, Route};
use crate::enums::scope::Scope;
use crate::error::Error;
use crate::fair::Tenant;
use crate::model::tenants::caller::{Caller, ConditionalCaller, KeyedCaller};
use crate::server::http::blocking::{BlockingService, Class};
use crate::server::http::body::{self, MAX_BYTES, RequestBody};
use crate::server::http::call::Call;
use crate::server::http::caller::{api_key, logged_in};
#[cfg(feature = "exports")]
use crate::server::http::export_body;
use crate::server::http::held_bytes::{Holding, Owner};
use crate::server::http::query;
use crate::server::http::rate_limit::RateLimitStatus;
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// The size of the largest body that is parsed on the async thread of its request, in bytes. That takes microseconds.
const QUEUED_BODY: usize = 4096;

/// What a blocking thread does for a request.
type Execution = Box<dyn FnOnce(&TicketingService) -> Result<Response, Problem> + Send>;

/// Handles a request for an operation. `parameters` are the values of its path parameters.
pub(in crate::server) fn handle(
    state: AppState,
    operation: Arc<Operation>,
    parameters: Vec<String>,
    request: Request,
) -> impl Future<Output = Response> + Send {
    // Before the future, which axum allocates for each request, so that it is small.
    let (head, body) = request.into_parts();
    let request = IncomingRequest::new(&state, head);
    async move {
        let result = authorize_and_execute(&state.service, &request, operation, parameters, body).await;
        request.finish(result)
    }
}

/// Handles a request that matches no operation: returns `problem` to clients with a valid API key. Others get 401, so
/// that they cannot find out which paths exist.
pub(in crate::server) async fn refuse(state: AppState, problem: Problem, request: Request) -> Response {
    let (head, _body) = request.into_parts();
    let request = IncomingRequest::new(&state, head);
    let authenticated = Arc::clone(&request);
    let authenticate = move |service: &TicketingService| authenticated.authenticate(service);
    let result = state.service.look_up(request.likely_tenant(), authenticate).await;
    request.finish(result.and(Err(problem)))
}

/// Authorizes the request and executes the operation, in one call on a blocking thread for the organization of the API
/// key. The request is authorized first, in a separate call, if this organization is not known yet, or if the body has
/// not arrived, so that the server never waits for a client that it is going to refuse.
async fn authorize_and_execute(
    service: &BlockingService,
    request: &Arc<IncomingRequest>,
    operation: Arc<Operation>,
    parameters: Vec<String>,
    body: Body,
) -> Result<Response, Problem> {
    let Operation { class, route: Route { scope, .. }, .. } = *operation;
    let is_look_up = class == Class::LookUp;
    #[cfg(feature = "exports")]
    let is_export = operation.success.is_export;
    let mut tenant = request.likely_tenant();
    let mut caller = None;
    let mut body = operation.reads_body().then(|| RequestBody::up_to(MAX_BYTES, body));
    let has_arrived = match &mut body {
        Some(body) => body.has_arrived(&request.head.headers).await,
        None => true,
    };
    // What not every request needs is boxed, because the future is allocated for each request.
    if !has_arrived || (tenant.is_none() && !is_look_up) {
        let first = Arc::clone(request);
        let authorize = move |service: &TicketingService| first.authorize(service, scope);
        let authorized = Box::pin(service.look_up(tenant, authorize)).await?;
        tenant = Some(authorized.organization);
        caller = Some(authorized);
    }
    let body = match body {
        Some(body) => Box::pin(body.read(&request.head.headers, request.holding())).await,
        None => body::check_length(&request.head.headers, MAX_BYTES).map(|()| Bytes::new()),
    };
    let is_write = !operation.method.is_safe();
    let executed = Arc::clone(request);
    let is_small = body.as_ref().is_ok_and(|body| body.len() <= QUEUED_BODY);
    if is_small && operation.is_prepared() && service.service().queues_writes() {
        let prepared = Arc::clone(&operation);
        let prepare = move |service: &TicketingService| {
            let caller = caller.map_or_else(|| executed.authorize(service, scope), Ok)?;
            executed.execute(service, &prepared, &parameters, &caller, body, Operation::prepare)
        };
        let response = Box::pin(service.queue(class, tenant, prepare)).await?;
        return request.holding().hold(operation.with_status(response), is_write);
    }
    let run: Execution = Box::new(move |service| {
        let caller = caller.map_or_else(|| executed.authorize(service, scope), Ok)?;
        executed.execute(service, &operation, &parameters, &caller, body, Operation::run)
    });
    #[cfg(feature = "exports")]
    if is_export {
        return Box::pin(export_body::call(&request.state, tenant, &request.head, run)).await;
    }
    let response = match is_look_up {
        // The key and the resource are looked up in one transaction.
        true => service.look_up(tenant, run).await?,
        false => service.call(class, tenant, run).await?,
    };
    request.holding().hold(response, is_write)
}

/// A request below `/v1`, without its body.
struct IncomingRequest {
    head: Parts,
    client: Option<IpAddr>,
    state: AppState,
    /// Set once the request was counted.
    rate_limit: OnceLock<RateLimitStatus>,
    /// Set once the request was authenticated.
    owner: OnceLock<Owner>,
}

impl IncomingRequest {
    fn new(state: &AppState, head: Parts) -> Arc<Self> {
        let client = head.extensions.get::<ConnectInfo<SocketAddr>>().map(|client| client.0.ip());
        Arc::new(Self { head, client, state: Arc::clone(state), rate_limit: OnceLock::new(), owner: OnceLock::new() })
    }

    /// The organization whose permits the request takes: that of the API key when it was last valid. Without one, it is
    /// `None` until the request is authenticated.
    fn likely_tenant(&self) -> Tenant {
        match self.head.extensions.get::<Caller>() {
            Some(caller) => Some(caller.organization),
            None => self.state.limits.organization_of(api_key(&self.head.headers)?),
        }
    }

    fn holding(&self) -> Holding {
        let owner = self.owner.get().copied().unwrap_or_else(|| Owner::of_tenant(None));
        self.state.memory.begin(owner, &self.head.extensions)
    }

    /// Returns the caller, and counts the request for the rate limit of its API key. A caller without one is not
    /// limited: it was authenticated by the program that embeds the server.
    fn authenticate(&self, service: &TicketingService) -> Result<Caller, Problem> {
        let caller = match logged_in(&self.head, service)? {
            Some(caller) => caller.clone(),
            None => self.authenticate_key(service)?,
        };
        self.owner.get_or_init(|| Owner::of(&caller));
        if let Some(status) = self.state.limits.count_request(&caller, service.now()) {
            self.rate_limit.get_or_init(|| status).check()?;
        }
        Ok(caller)
    }

    fn authenticate_key(&self, service: &TicketingService) -> Result<Caller, Problem> {
        let limits = &self.state.limits;
        let authenticated = match api_key(&self.head.headers) {
            Some(key) => {
                limits.refuse_unchecked(key, self.client, service.now())?;
                service.authenticate(key).inspect(|caller| limits.remember_valid(key, caller.organization))
            }
            None => Err(Error::Unauthenticated),
        };
        authenticated.map_err(|error| match error {
            Error::Unauthenticated => limits.count_failure(self.client, service.now()),
            error => error.into(),
        })
    }

    /// Authenticates the caller, and checks that it has the scope.
    fn authorize(&self, service: &TicketingService, scope: Scope) -> Result<Caller, Problem> {
        let caller = self.authenticate(service)?;
        caller.require(scope)?;
        Ok(caller)
    }

    /// Checks the rest of the request, and runs or prepares the operation.
    fn execute<T>(
        &self,
        service: &TicketingService,
        operation: &Operation,
        parameters: &[String],
        caller: &Caller,
        body: Result<Bytes, Problem>,
        execute: fn(&Operation, &Call<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let headers = &self.head.headers;
        let body = body?;
        if operation.looks_up_order {
            self.state.limits.count_order_look_up(caller, service.now())?;
        }
        let needs_body = matches!(operation.input, Input::Body(_));
        let is_form = self.head.method == Method::POST && body::is_form(headers);
        if !body.is_empty() || is_form || (needs_body && headers.contains_key(CONTENT_TYPE)) {
            body::check_media_type(headers)?;
        }
        let key = match conditions::idempotency_key(operation, headers) {
            Ok(key) => key,
            Err(problem) => {
                // A body that is not JSON is reported first.
                operation.check_syntax(caller.organization, &body)?;
                return Err(problem);
            }
        };
        // The query string must be well-formed even if the operation does not read it.
        let query = query::pairs(self.head.uri.query().unwrap_or_default())
            .ok_or_else(|| Problem::malformed("the query string has an invalid escape sequence, or is not UTF-8"))?;
        let revisions = conditions::expected_revisions(headers);
        let call = Call {
            service,
            caller,
            keyed: &KeyedCaller { caller: caller.clone(), key: key.map(Ok) },
            conditional: &ConditionalCaller { caller: caller.clone(), revisions },
            parameters,
            head: &self.head,
            query: &query,
            query_names: &operation.query_names,
            body: &body,
            public_path: &self.state.public_path,
        };
        execute(operation, &call)
    }

    /// Adds the headers that every response has.
    fn finish(&self, result: Result<Response, Problem>) -> Response {
        let mut response = result.into_response();
        let headers = response.headers_mut();
        // The response is for this API key only, and may soon be out of date.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(status) = self.rate_limit.get() {
            status.add_headers(headers);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::ServerOptions;
    use crate::server::operations;
    use crate::server::state::ServerState;

    #[test]
    fn the_future_of_a_request_is_small() {
        let folder = tempfile::tempdir().unwrap();
        let service = TicketingService::open(folder.path().join("ticketing.db")).unwrap();
        let state = Arc::new(ServerState::new(service, &ServerOptions::default()));
        let operation = Arc::new(operations::all().remove(0));
        let future = handle(state, operation, Vec::new(), Request::default());
        assert!(size_of_val(&future) <= 1000, "{} bytes", size_of_val(&future));
    }
}
