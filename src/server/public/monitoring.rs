//! Health checks for orchestrators and load balancers, and metrics for Prometheus. They need no API key.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::server::http::blocking::Class;
use crate::server::prometheus::metrics::OPEN_METRICS;
use crate::server::prometheus::prometheus_text::{self, PROMETHEUS_TEXT};
use crate::server::responses::page_responses::accepts_html;
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

const OK: ([(HeaderName, &str); 1], &str) = ([(CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#);

/// The routes of the health checks.
pub(in crate::server) fn health() -> Router<AppState> {
    Router::new().route("/health/live", get(async || OK)).route("/health/ready", get(ready))
}

/// The route of the metrics.
pub(in crate::server) fn metrics() -> Router<AppState> {
    Router::new().route("/metrics", get(scrape))
}

/// Checks the store. The cause of a failure is only in the log.
async fn ready(State(state): State<AppState>) -> Result<impl IntoResponse, Problem> {
    let check = |service: &TicketingService| match service.ready() {
        Ok(()) => Ok(OK),
        Err(error) => {
            tracing::error!(target: "ticketing::server", %error, "the store is not ready");
            Err(Problem::unavailable("the store is not ready"))
        }
    };
    state.service.call(Class::Health, None, check).await
}

async fn scrape(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let open_metrics = state.metrics.scrape().await?;
    // Browsers show the text format of Prometheus, and save OpenMetrics.
    let headers = request.headers();
    let mut response = if accepts_html(headers) || prometheus_text::is_preferred(headers) {
        ([(CONTENT_TYPE, PROMETHEUS_TEXT)], prometheus_text::from_open_metrics(&open_metrics)).into_response()
    } else {
        ([(CONTENT_TYPE, OPEN_METRICS)], open_metrics).into_response()
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    state.memory.begin_anonymous(request.extensions()).hold(response, false)
}
