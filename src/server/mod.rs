//! The HTTP API: axum routes for every operation of the service, and a server for them.
//!
//! [`router`] has all routes, and [`serve`] serves them:
//!
//! ```no_run
//! use ticketing::TicketingService;
//! use ticketing::server::{ServerOptions, router, serve};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let service = TicketingService::builder("ticketing.db").sandbox_gateway().open()?;
//! let listener = std::net::TcpListener::bind("127.0.0.1:8080")?;
//! let shutdown = async { drop(tokio::signal::ctrl_c().await) };
//! let options = ServerOptions::default();
//! serve(router(service, &options), listener, options, shutdown).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # A login of your own
//!
//! A middleware that authenticates users itself inserts a [`Caller`](crate::Caller) into the extensions of a request.
//! The request then needs no API key.

mod base_path;
mod blocking;
mod body;
mod call;
mod caller;
mod checkout_html;
mod checkout_routes;
mod client_connection;
mod conditions;
mod connections;
#[cfg(feature = "docs-page")]
mod docs;
mod framing;
mod invalid_http;
mod metrics;
mod middleware;
mod monitoring;
mod openapi;
mod operation;
mod operation_routes;
mod operations;
mod options;
mod problem;
mod query;
mod rate_limit;
mod request;
mod request_id;
mod routes;
mod run;
mod serve;
mod state;
#[cfg(feature = "docs-page")]
mod static_file;
mod transport;

pub use options::ServerOptions;
pub use routes::{Routes, router};
pub use serve::serve;
