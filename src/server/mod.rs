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
//! serve(listener, router(service, &options), options, shutdown).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # In an axum application
//!
//! An application mounts the routes under a prefix, next to pages of its own. This one also has its own login, and a
//! handler that calls the service:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use axum::Router;
//! use axum::extract::{FromRef, Path, Request, State};
//! use axum::middleware::{Next, from_fn_with_state};
//! use axum::response::Response;
//! use axum::routing::get;
//! use ticketing::id::{EventId, OrganizationId};
//! use ticketing::server::{ServerOptions, router, serve};
//! use ticketing::webhook::SenderOptions;
//! use ticketing::{Caller, TicketingService};
//!
//! /// The state of the application.
//! #[derive(Clone)]
//! struct Shop {
//!     service: TicketingService,
//!     name: &'static str,
//! }
//!
//! // Lets extractors find the service in the state.
//! impl FromRef<Shop> for TicketingService {
//!     fn from_ref(shop: &Shop) -> Self {
//!         shop.service.clone()
//!     }
//! }
//!
//! /// Finds the organization of the user who is logged in.
//! /// A real application looks up a session.
//! fn organization_of_user(request: &Request) -> Option<OrganizationId> {
//!     request.headers().get("cookie")?.to_str().ok()?.parse().ok()
//! }
//!
//! async fn log_in(
//!     State(service): State<TicketingService>,
//!     mut request: Request,
//!     next: Next,
//! ) -> ticketing::Result<Response> {
//!     if let Some(organization) = organization_of_user(&request) {
//!         let caller = service.run(move |service| service.act_for(organization)).await?;
//!         request.extensions_mut().insert(caller);
//!     }
//!     Ok(next.run(request).await)
//! }
//!
//! async fn home(State(shop): State<Shop>) -> &'static str {
//!     shop.name
//! }
//!
//! async fn revenue(
//!     State(service): State<TicketingService>,
//!     caller: Caller,
//!     Path(event): Path<EventId>,
//! ) -> ticketing::Result<String> {
//!     let summary = move |service: &TicketingService| service.get_event_summary(&caller, event);
//!     let summary = service.run(summary).await?;
//!     Ok(summary.gross_revenue.to_string())
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let service = TicketingService::builder("shop.db")
//!         .sandbox_gateway()
//!         .public_url("https://shop.example/tickets")
//!         .maintenance()
//!         // Needs the feature `ring`, or a provider that the program has installed.
//!         .webhook_sender(SenderOptions::default())
//!         .open()?;
//!
//!     let options = ServerOptions::default();
//!     let shop = Shop { service: service.clone(), name: "My shop" };
//!     let app = Router::new()
//!         .route("/", get(home))
//!         .route("/revenue/{event}", get(revenue))
//!         .nest("/tickets", router(service.clone(), &options))
//!         .layer(from_fn_with_state(shop.clone(), log_in))
//!         .with_state(shop);
//!     let listener = std::net::TcpListener::bind("127.0.0.1:8080")?;
//!     let shutdown = async { drop(tokio::signal::ctrl_c().await) };
//!     serve(listener, app, options, shutdown).await?;
//!
//!     service.close(Duration::from_secs(10))?;
//!     Ok(())
//! }
//! ```
//!
//! ## Mounting
//!
//! The routes can be nested under any prefix: the headers `Location`, the `instance` of problems, the `servers` of the
//! OpenAPI document and the links of its page include it. The [public URL](crate::Builder::public_url) must include it
//! too, because checkout links begin with it. If a proxy removes a prefix from the requests, only the public URL tells
//! the server about it.
//!
//! [`Routes`] has the parts of [`router`] one by one. This serves `/metrics` on an internal address only, and ends both
//! servers on SIGTERM or Ctrl-C:
//!
//! ```no_run
//! use std::net::TcpListener;
//! use std::time::Duration;
//!
//! use axum::Router;
//! use ticketing::TicketingService;
//! use ticketing::server::{Routes, ServerOptions, serve};
//! use tokio::signal::ctrl_c;
//! use tokio::signal::unix::{SignalKind, signal};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let service = TicketingService::builder("shop.db").sandbox_gateway().maintenance().open()?;
//!     let options = ServerOptions::default();
//!     let routes = Routes::new(service.clone(), &options);
//!     let app: Router = Router::new().nest("/tickets", routes.public());
//!     let metrics = TcpListener::bind("127.0.0.1:9090")?;
//!     // The metrics can be read until the last request has ended.
//!     let metrics = tokio::spawn(serve(metrics, routes.metrics(), options.clone(), std::future::pending()));
//!     let mut terminated = signal(SignalKind::terminate())?;
//!     let shutdown = async move {
//!         tokio::select! {
//!             _ = terminated.recv() => {}
//!             _ = ctrl_c() => {}
//!         }
//!     };
//!     serve(TcpListener::bind("127.0.0.1:8080")?, app, options, shutdown).await?;
//!     metrics.abort();
//!     // The handles of the service that both have: it could not be closed otherwise.
//!     drop(metrics.await);
//!     drop(routes);
//!     service.close(Duration::from_secs(10))?;
//!     Ok(())
//! }
//! ```
//!
//! [`serve`] protects the routes of the application too: it limits the number of connections and the time that a client
//! may take. `axum::serve` does not. It must then get the addresses of clients with
//! `into_make_service_with_connect_info::<SocketAddr>()`, for [`ServerOptions::failed_authentications`].
//!
//! ## Calling the service
//!
//! The methods of [`TicketingService`](crate::TicketingService) wait for the disk. Handlers call them with
//! [`run`](crate::TicketingService::run), on a blocking thread. An [`Error`](crate::Error) is a response: the same
//! problem that the server sends. [`Routes::observe`] gives routes of the application the log, the metrics and the
//! request ids of the server.
//!
//! ## A login of your own
//!
//! The server authenticates requests by the header `X-Api-Key`. A middleware that authenticates users itself inserts a
//! [`Caller`](crate::Caller) into the extensions of the request, which is then used instead of the header: the one of
//! [`act_for`](crate::TicketingService::act_for), with fewer scopes by [`with_scopes`](crate::Caller::with_scopes) if
//! the user may not do everything. **A caller opens the whole API to the browser of its user**, as far as its scopes
//! go. So insert one for organizers and their staff, never for buyers: keep a type of your own in the extensions for
//! these, and call the service in handlers that check whose order it is. The [rate limit](ServerOptions::rate_limit) is
//! one for each API key: the application limits its own users itself.
//!
//! A cookie that names the user is also sent with requests of other sites' pages. So the server refuses such a caller
//! with 403 if the method is not GET, HEAD, OPTIONS or TRACE, and the browser says that a page of another origin has sent
//! the request: by `Sec-Fetch-Site`, or else by an `Origin` whose host is neither that of the request nor that of the
//! [public URL](crate::Builder::public_url). Clients that are no browsers send neither header. A subdomain is another
//! origin too. If your own pages have another origin than the API, let the middleware compare `Origin` with theirs and then
//! remove both headers. The same holds for the extractor below, and not for handlers that read the extensions themselves.
//! Set `SameSite=Lax` or `Strict` on the cookie all the same. Requests with an API key are not affected: no browser sends
//! one by itself.
//!
//! As an extractor, [`Caller`](crate::Caller) gives a handler the caller of the middleware or of the header.
//!
//! ## Shutdown
//!
//! First stop the server: [`serve`] returns after the last request, once its `shutdown` completes. Then
//! [`close`](crate::TicketingService::close) stops the threads that the builder has started, and leaves a single file.
//! Tasks of the application that hold a clone of the service must end before. The guide
//! [`production`](crate::guide::production) has more about running a server.
//!
//! # Tests
//!
//! A router can be called without a socket, with `oneshot` of the crate tower:
//!
//! ```
//! use axum::Router;
//! use axum::body::Body;
//! use axum::http::Request;
//! use ticketing::server::{ServerOptions, router};
//! use tower::ServiceExt;
#![doc = include_str!("../doc_fixture.md")]
//! # tokio::runtime::Runtime::new()?.block_on(async {
//!
//! let key = CreateApiKey::new("Test");
//! let key = service.create_api_key(organization.id, key)?.key;
//! let app: Router = router(service, &ServerOptions::default());
//! let request = Request::get("/v1/events").header("X-Api-Key", key.expose()).body(Body::empty())?;
//! let response = app.oneshot(request).await?;
//! assert_eq!(response.status(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Versions
//!
//! axum 0.8 is part of the API of this module: the application must use the same version. It is used without its
//! default features, so an application that needs them, such as `json`, has `axum = "0.8"` among its own dependencies.

mod http;
mod net;
mod openapi;
mod operations;
mod options;
mod prometheus;
mod public;
mod responses;
mod routes;
mod state;

pub use net::connections::serve;
pub use options::ServerOptions;
pub use routes::{Routes, router};
