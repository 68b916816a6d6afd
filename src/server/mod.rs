//! The HTTP API: axum routes for every operation of the service, and a server for them.
//!
//! [`serve`] runs the whole server. To add routes of your own, mount [`router`] in a server of your own; that server
//! must then limit its connections and their timeouts itself.
//!
//! ```no_run
//! use ticketing::TicketingService;
//! use ticketing::server::{ServerOptions, serve};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let service = TicketingService::builder("ticketing.db").sandbox_gateway().open()?;
//! let listener = std::net::TcpListener::bind("127.0.0.1:8080")?;
//! let shutdown = async { drop(tokio::signal::ctrl_c().await) };
//! serve(service, listener, ServerOptions::default(), shutdown).await?;
//! # Ok(())
//! # }
//! ```

mod blocking;
mod body;
mod call;
mod checkout_html;
mod checkout_routes;
mod client_connection;
mod conditions;
mod connections;
mod docs;
mod framing;
mod metrics;
mod middleware;
mod monitoring;
mod openapi;
mod operation;
mod operations;
mod problem;
mod query;
mod rate_limit;
mod request;
mod routes;
mod state;
mod transport;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;

use blocking::BlockingService;
use client_connection::Timeouts;
use connections::Connections;
use metrics::Metrics;
use problem::Problem;
use rate_limit::RateLimits;
use state::AppState;

use crate::service::TicketingService;

/// Limits and timeouts of a server. The defaults suit a server that is reachable from the internet.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The maximum time for the head of a request, from its first byte on; of the first request, from the start of the
    /// connection. Default: 10 seconds.
    pub head_timeout: Duration,
    /// The maximum time for receiving a request, from the first byte of its head to the last byte of its body. Default:
    /// 20 seconds.
    pub request_timeout: Duration,
    /// How long a connection may be idle between two requests. Default: 60 seconds.
    pub idle_timeout: Duration,
    /// How long the server waits for requests in progress when it shuts down. Default: 10 seconds.
    pub shutdown_timeout: Duration,
    /// The maximum number of open connections. Default: 4096, or fewer if the system runs out of file handles. At the
    /// limit, a new connection replaces the one that has waited longest for its client.
    pub connections: usize,
    /// The maximum number of requests that call the service at once, each on a blocking thread of the runtime. Default:
    /// 256. Further requests are refused with 503. Requests that may call the payment gateway can use half of them: keep
    /// the [calls to the gateway](crate::Builder::gateway_calls) (64 by default) below that half, so that free orders
    /// need not wait for it. The runtime's `max_blocking_threads` (512 by default) must not be lower, or requests wait.
    pub calls: usize,
    /// The maximum number of requests per minute for each API key, or `None` for no limit. Default: 1,200. The minute
    /// starts with the first request. Each process counts for itself.
    pub rate_limit: Option<u32>,
    /// The maximum number of requests per minute without a valid API key from one client address; further ones are
    /// refused with 429. Default: 60. Requests with a valid key are not affected. An IPv6 network of 64 bits counts as
    /// one address. If a [`router`] runs in a server of your own, that server must provide axum's
    /// `ConnectInfo<SocketAddr>`; otherwise all clients count as one.
    pub failed_authentications: u32,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            head_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_mins(1),
            shutdown_timeout: Duration::from_secs(10),
            connections: 4096,
            calls: 256,
            rate_limit: Some(1200),
            failed_authentications: 60,
        }
    }
}

/// Creates a router with the operations under `/v1`, the hosted checkout, the health checks, `/metrics`, the OpenAPI
/// document `/openapi.json`, and `/docs`, a page to read and try it.
///
/// Of the options it uses [`ServerOptions::calls`], [`ServerOptions::rate_limit`] and
/// [`ServerOptions::failed_authentications`]. `/metrics` needs no API key and covers all organizations: do not expose
/// it to the public. Its number of connections counts only those of [`serve`].
pub fn router(service: TicketingService, options: &ServerOptions) -> Router {
    let metrics = Arc::new(Metrics::new(service.clone()));
    router_with_metrics(service, options, metrics)
}

fn router_with_metrics(service: TicketingService, options: &ServerOptions, metrics: Arc<Metrics>) -> Router {
    let state = AppState {
        service: BlockingService::new(service, options.calls),
        limits: Arc::new(RateLimits::new(options.rate_limit, options.failed_authentications)),
        metrics: Arc::clone(&metrics),
    };
    routes::routes(operations::all())
        .merge(checkout_routes::routes())
        .merge(monitoring::routes())
        .merge(openapi::routes())
        .merge(docs::routes())
        .method_not_allowed_fallback(async || Problem::method_not_allowed(None))
        .layer(from_fn_with_state(metrics, middleware::handle))
        .with_state(state)
}

/// Serves the [`router`] on `listener` until `shutdown` completes. Then it accepts no more connections, waits up to
/// [`ServerOptions::shutdown_timeout`] for requests in progress, and returns.
///
/// # Errors
/// If the listener cannot be used. A failure of one connection does not affect others and is not returned.
pub async fn serve(
    service: TicketingService,
    listener: std::net::TcpListener,
    options: ServerOptions,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let timeouts =
        Timeouts { head: options.head_timeout, request: options.request_timeout, idle: options.idle_timeout };
    let metrics = Arc::new(Metrics::new(service.clone()));
    let router = router_with_metrics(service, &options, Arc::clone(&metrics));
    let mut connections = Connections::new(router, metrics, timeouts, options.connections);
    connections.accept(&listener, shutdown).await;
    drop(listener);
    connections.close(options.shutdown_timeout).await;
    Ok(())
}
