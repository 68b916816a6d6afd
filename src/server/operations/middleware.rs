//! The middleware around every route: request id, problem bodies, a log line and metrics.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::{ConnectInfo, MatchedPath, Request};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::Response;
use tokio::time::Instant;
use tower::{Layer, Service};

use super::operation_routes::UnknownRoute;
use crate::server::http::base_path::base_path;
use crate::server::prometheus::metrics::{GaugeGuard, method_label};
use crate::server::responses::problem::Problem;
use crate::server::responses::request_id::{REQUEST_ID, request_id};
use crate::server::state::AppState;

/// Adds the middleware to a route.
#[derive(Debug, Clone)]
pub(in crate::server) struct Observe {
    pub(in crate::server) state: AppState,
    /// Whether the route is one of the server, which the public URL leads to, and not one of the application.
    pub(in crate::server) is_of_server: bool,
}

/// A route with the middleware.
#[derive(Debug, Clone)]
pub(in crate::server) struct Observed<S> {
    observe: Observe,
    route: S,
}

impl<S> Layer<S> for Observe {
    type Service = Observed<S>;

    fn layer(&self, route: S) -> Observed<S> {
        Observed { observe: self.clone(), route }
    }
}

impl<S: Service<Request, Response = Response, Error = Infallible, Future: Send + 'static>> Service<Request>
    for Observed<S>
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.route.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let header = self.observe.state.client_address_header.as_ref();
        if let Some(client) = header.and_then(|header| client_named_by_proxy(request.headers(), header)) {
            request.extensions_mut().insert(ConnectInfo(SocketAddr::new(client, 0)));
        }
        let observation = Observation::start(&self.observe, &request);
        let response = self.route.call(request);
        Box::pin(async move { Ok(observation.finish(response.await?)) })
    }
}

/// The address of the client that the proxy before the server names: the last entry of the header. What clients have put
/// before it is not trusted.
fn client_named_by_proxy(request: &HeaderMap, header: &HeaderName) -> Option<IpAddr> {
    let last = request.get_all(header).iter().next_back()?.to_str().ok()?;
    last.rsplit(',').next()?.trim().parse().ok()
}

/// A request that is being handled.
struct Observation {
    state: AppState,
    started: Instant,
    _in_progress: GaugeGuard,
    id: HeaderValue,
    method: &'static str,
    uri: Uri,
    base_path: String,
    matched_path: Option<MatchedPath>,
}

impl Observation {
    fn start(Observe { state, is_of_server }: &Observe, request: &Request) -> Self {
        let public_path = if *is_of_server { &*state.public_path } else { "" };
        Self {
            state: Arc::clone(state),
            started: Instant::now(),
            _in_progress: GaugeGuard::new(&state.metrics.in_progress),
            id: request_id(request.headers()),
            method: method_label(request.method()),
            uri: request.uri().clone(),
            base_path: base_path(request.uri(), request.extensions(), public_path).to_owned(),
            matched_path: request.extensions().get::<MatchedPath>().cloned(),
        }
    }

    /// Completes the response, and writes the log line, which must not contain API keys, ticket codes or addresses: it
    /// has the route instead of the path, only known methods, and no header but the request id. Of requests that are
    /// refused because there are too many, one in a second has a line.
    fn finish(self, mut response: Response) -> Response {
        let id = self.id.to_str().unwrap_or_default();
        let route = match &self.matched_path {
            Some(path) if response.extensions().get::<UnknownRoute>().is_none() => path.as_str(),
            _ => "-",
        };
        if let Some(problem) = response.extensions_mut().remove::<Problem>() {
            // Keep the headers that were added to the response, except the length of its empty body.
            let mut headers = std::mem::take(response.headers_mut());
            headers.remove(CONTENT_LENGTH);
            response = problem.render(&format!("{}{}", self.base_path, self.uri.path()), id);
            response.headers_mut().extend(headers);
        }
        let duration = self.started.elapsed();
        self.state.metrics.request_finished(route, self.method, response.status(), duration);
        let is_refused = response.status() == StatusCode::TOO_MANY_REQUESTS;
        let refused = if is_refused { self.state.refusal_log.count(Instant::now()) } else { None };
        if !is_refused || refused.is_some() {
            tracing::info!(
                target: "ticketing::request",
                method = %self.method,
                route,
                status = response.status().as_u16(),
                milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                request_id = id,
                refused_before = refused,
                "request handled"
            );
        }
        response.headers_mut().insert(REQUEST_ID, self.id);
        response
    }
}
