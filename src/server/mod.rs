//! The operations over HTTP: axum routes over the facade, and the loop that accepts connections.
//!
//! [`serve`] is the whole server. A program that has its own, or wants more routes, mounts [`router`] in it; then it is
//! that server's part to bound its connections and their time.
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

mod authentication;
mod blocking;
mod body;
mod checkout;
mod checkout_page;
mod conditions;
mod connection;
mod connections;
mod contract;
mod discounts;
mod docs;
mod events;
mod exchange;
mod head;
mod health;
mod limits;
mod metrics;
mod openapi;
mod operation;
mod orders;
mod problem;
mod query;
mod routes;
mod ticket_types;
mod tickets;
mod transport;
mod webhooks;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;

use blocking::Facade;
use connection::Patience;
use connections::Connections;
use limits::Limits;
use metrics::Metrics;
use operation::Operation;
use problem::Problem;
use routes::Desk;

use crate::service::TicketingService;

/// The bounds of a server. The defaults are good for one that is reached from anywhere.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// How long the head of a request may take, from its first byte on, or from the beginning of the connection:
    /// 10 seconds.
    pub head_timeout: Duration,
    /// How long a request may take, from the first byte of its head to the last one of its body: 20 seconds.
    pub request_timeout: Duration,
    /// How long a connection may do nothing between two requests: 60 seconds.
    pub idle_timeout: Duration,
    /// How long the requests under way may take once the server is to stop: 10 seconds.
    pub shutdown_timeout: Duration,
    /// How many connections may be open: 4096, or as many as the system gives file handles for. Past that, the one that
    /// has waited longest for its client makes room for the new one.
    pub connections: usize,
    /// How many requests may be inside the service at once, each on a blocking thread of the runtime: 256. Past that,
    /// the answer is 503. Those that may have to wait for the payment gateway have half of these places, of which the
    /// [calls to the gateway](crate::Builder::gateway_calls), 64 by default, should leave some to the orders that cost
    /// nothing. A runtime whose `max_blocking_threads` (512 by default) are fewer than this makes requests wait.
    pub calls: usize,
    /// How many requests a key may make in a minute: 1,200; `None` for any number. The minute begins with the first
    /// request. It is counted in this process alone.
    pub rate_limit: Option<u32>,
    /// How many requests without a valid key an address may make in a minute before it hears no more than that they are
    /// too many: 60. A valid key passes all the same. Of IPv6, a network of 64 bits counts as one address. Where a
    /// [`router`] runs in another server, that server has to provide axum's `ConnectInfo<SocketAddr>`; otherwise all
    /// clients are counted together.
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

/// Every route: the operations under `/v1`, the hosted checkout, the health checks, the metrics, the document of all of
/// them at `/openapi.json`, and a page to read and try it at `/docs`.
///
/// Of the options, [`ServerOptions::calls`], [`ServerOptions::rate_limit`] and
/// [`ServerOptions::failed_authentications`] concern the routes. `/metrics` asks for no key and tells figures of all
/// organizations together: keep it from the public. It knows of no connections but those of [`serve`].
pub fn router(service: TicketingService, options: &ServerOptions) -> Router {
    let metrics = Arc::new(Metrics::new(service.clone()));
    routes(service, options, metrics)
}

fn routes(service: TicketingService, options: &ServerOptions, metrics: Arc<Metrics>) -> Router {
    let facade = Facade::new(service, options.calls);
    let limits = Limits::new(options.rate_limit, options.failed_authentications);
    let desk = Desk { facade: facade.clone(), limits: Arc::new(limits) };
    let mut router = routes::mount(Router::new(), &desk, operations());
    router = checkout::mount(router, &facade);
    router = health::mount(router, &facade);
    router = docs::mount(openapi::mount(router));
    router = metrics::mount(router, &metrics);
    router
        .method_not_allowed_fallback(async || Problem::method_not_allowed(None))
        .layer(from_fn_with_state(metrics, exchange::exchange))
}

/// Every operation.
fn operations() -> impl Iterator<Item = Operation> {
    let tables = [
        events::operations(),
        ticket_types::operations(),
        orders::operations(),
        tickets::operations(),
        discounts::operations(),
        webhooks::operations(),
    ];
    tables.into_iter().flatten()
}

/// Serves the [`router`] on `listener` until `shutdown` comes. Then it accepts nothing more, lets the requests under way
/// be answered, for [`ServerOptions::shutdown_timeout`] at most, and returns.
///
/// # Errors
/// Where the listener cannot be used. A connection that fails harms no other and ends nothing.
pub async fn serve(
    service: TicketingService,
    listener: std::net::TcpListener,
    options: ServerOptions,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let patience =
        Patience { head: options.head_timeout, request: options.request_timeout, idle: options.idle_timeout };
    let metrics = Arc::new(Metrics::new(service.clone()));
    let router = routes(service, &options, Arc::clone(&metrics));
    let mut connections = Connections::new(router, metrics, patience, options.connections);
    connections.accept(&listener, shutdown).await;
    drop(listener);
    connections.close(options.shutdown_timeout).await;
    Ok(())
}
