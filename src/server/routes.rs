//! The routes of the server as axum routers, which can be mounted together or one by one.

use std::sync::Arc;

use axum::Router;

use super::operations::middleware::Observe;
use super::operations::operation_routes;
use super::options::ServerOptions;
use super::public::{checkout_return, checkout_routes, door_routes, monitoring, notice_routes, report_routes};
use super::responses::problem::Problem;
use super::state::{AppState, ServerState};
use super::{openapi, operations};
use crate::service::TicketingService;

/// Creates a router with all [`Routes`]. Unknown paths are answered with 404, as a problem: this is the fallback of the
/// returned router. axum cannot merge two routers with fallbacks: an application that has one nests this router, or
/// merges the parts of [`Routes`].
///
/// `/metrics` needs no API key and covers all organizations: do not expose it to the public.
///
/// ```
/// use axum::Router;
/// use axum::routing::get;
/// use ticketing::server::{ServerOptions, router};
#[doc = include_str!("../doc_fixture.md")]
/// let tickets = router(service, &ServerOptions::default());
/// let app: Router = Router::new().route("/", get(async || "My shop")).nest("/tickets", tickets);
/// # drop(app);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn router<S: Clone + Send + Sync + 'static>(service: TicketingService, options: &ServerOptions) -> Router<S> {
    let routes = Routes::new(service, options);
    routes.public().merge(routes.metrics())
}

/// The parts of the [`router`], for an application that mounts only some of them, or in different places.
///
/// Each part is a router, which can be merged or nested into a router of your own. All parts of one `Routes` and
/// of its clones share the limits of [`ServerOptions`] and the metrics, so create one `Routes` for each service.
///
/// ```
/// use axum::Router;
/// use axum::routing::get;
/// use ticketing::server::{Routes, ServerOptions};
#[doc = include_str!("../doc_fixture.md")]
/// let routes = Routes::new(service, &ServerOptions::default());
/// let public: Router = Router::new()
///     .route("/", get(async || "My shop"))
///     .merge(routes.checkout())
///     .nest("/api", routes.operations());
/// let internal: Router = Router::new().merge(routes.health()).merge(routes.metrics());
/// # drop((public, internal));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Routes {
    state: AppState,
}

impl Routes {
    /// Creates the routes of a service. Of the options they use [`ServerOptions::calls`], [`ServerOptions::rate_limit`]
    /// and [`ServerOptions::failed_authentications`].
    #[must_use]
    pub fn new(service: TicketingService, options: &ServerOptions) -> Self {
        Self { state: Arc::new(ServerState::new(service, options)) }
    }

    /// All routes except [`/metrics`](Self::metrics). Unknown paths are answered with 404, as a problem: this is the
    /// fallback of the returned router.
    pub fn public<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let routes = operation_routes::routes(operations::all())
            .merge(checkout_routes::routes())
            .merge(checkout_return::routes())
            .merge(notice_routes::routes())
            .merge(monitoring::health())
            .merge(door_routes::routes())
            .merge(report_routes::routes())
            .merge(documents())
            .merge(event_pages())
            .merge(docs())
            .fallback(operation_routes::no_such_route);
        with_problems(routes).layer(self.middleware(true)).with_state(Arc::clone(&self.state))
    }

    /// The operations, under `/v1`. Unknown paths under `/v1` require an API key too, and are then answered with 404.
    pub fn operations<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        self.part(operation_routes::routes(operations::all()))
    }

    /// `/checkout/{token}`: the checkout page of the [`SandboxGateway`](crate::payment::SandboxGateway), and
    /// `/checkout/return/{session}`, to which a gateway with a page of its own sends the customer back. The
    /// [public URL](crate::Builder::public_url) of the service must be where this is mounted.
    pub fn checkout<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        self.part(checkout_routes::routes().merge(checkout_return::routes()))
    }

    /// `/tickets/{token}` and `/orders/{token}`: the pages and documents of [`documents`](crate::documents), for those
    /// who have a link. They need no API key. The [public URL](crate::Builder::public_url) of the service must be where
    /// this is mounted. Until documents are [switched on](crate::Builder::ticket_documents), there is nothing.
    #[cfg(feature = "documents")]
    pub fn documents<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        self.part(documents())
    }

    /// `/e/{organization}/{slug}`: the [pages of events](crate::guide::event_pages), on which customers buy. They need no API
    /// key. The [public URL](crate::Builder::public_url) of the service must be where this is mounted, and the pages of
    /// [orders](Self::documents) and the [checkout](Self::checkout) must be mounted there too. Until the pages are [switched
    /// on](crate::Builder::event_pages), there is nothing.
    #[cfg(feature = "event-pages")]
    pub fn event_pages<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        self.part(event_pages())
    }

    /// `/door/`: the page for [check-in at the entrance](crate::guide::door). It needs no API key: its links have one. The
    /// [public URL](crate::Builder::public_url) of the service must be where this is mounted, and the
    /// [operations](Self::operations) must be mounted there too.
    pub fn door<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        self.part(door_routes::routes())
    }

    /// `/reports/{token}`: the [reports of events](crate::guide::reports), for those who have a link. They need no API key.
    /// The [public URL](crate::Builder::public_url) of the service must be where this is mounted.
    pub fn reports<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        self.part(report_routes::routes())
    }

    /// `/gateway/notices`: where a payment gateway sends its notices. They need no API key, because they are signed.
    /// Tell the provider the URL at which this is mounted.
    pub fn notices<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        self.part(notice_routes::routes())
    }

    /// `/health/live` and `/health/ready`: probes for orchestrators and load balancers.
    pub fn health<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        self.part(monitoring::health())
    }

    /// `/metrics`, for Prometheus. It needs no API key and covers all organizations: do not expose it to the public.
    pub fn metrics<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        self.part(monitoring::metrics())
    }

    /// `/openapi.json`, the OpenAPI document of all routes, and `/docs`, a page to read and try it. Without the
    /// feature `docs-page`, there is no `/docs`. Mount them where the [operations](Self::operations) are.
    pub fn docs<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        self.part(docs())
    }

    /// Adds to routes of your own what those of the server have: the id of each request in `X-Request-Id`, a line in
    /// the log, metrics, and the members `instance` and `requestId` in the responses of an [`Error`](crate::Error).
    /// `instance` is the path of the request as the application gets it: the path of the [public
    /// URL](crate::Builder::public_url) is only put before those of the server. The routes must not contain those of
    /// the server, whose requests would be counted twice.
    pub fn observe<S: Clone + Send + Sync + 'static>(&self, routes: Router<S>) -> Router<S> {
        routes.layer(self.middleware(false))
    }

    fn middleware(&self, is_of_server: bool) -> Observe {
        Observe { state: Arc::clone(&self.state), is_of_server }
    }

    /// Only requests that a route matches pass the middleware: the fallback belongs to the application.
    fn part<S: Clone + Send + Sync + 'static>(&self, routes: Router<AppState>) -> Router<S> {
        with_problems(routes).route_layer(self.middleware(true)).with_state(Arc::clone(&self.state))
    }
}

fn docs() -> Router<AppState> {
    let routes = openapi::routes();
    #[cfg(feature = "docs-page")]
    let routes = routes.merge(super::public::docs::routes());
    routes
}

fn documents() -> Router<AppState> {
    let routes = Router::new();
    #[cfg(feature = "documents")]
    let routes = routes.merge(super::public::document_routes::routes());
    routes
}

fn event_pages() -> Router<AppState> {
    let routes = Router::new();
    #[cfg(feature = "event-pages")]
    let routes = routes.merge(super::public::event_pages::routes());
    routes
}

fn with_problems(routes: Router<AppState>) -> Router<AppState> {
    routes.method_not_allowed_fallback(async || Problem::method_not_allowed(None))
}
