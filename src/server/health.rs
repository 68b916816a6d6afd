//! Whether the process lives, and whether it can do its work: for whatever watches over it. No key is asked for.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

use super::blocking::{Facade, Wait};
use super::problem::Problem;

const OK: ([(axum::http::HeaderName, &str); 1], &str) = ([(CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#);

pub(super) fn mount(router: Router, facade: &Facade) -> Router {
    let facade = facade.clone();
    router.route("/health/live", get(async || OK)).route(
        "/health/ready",
        get(move || {
            let facade = facade.clone();
            async move {
                // Whatever is the matter with the store, it is not ready; the cause is for the log alone.
                let ready = |service: &crate::TicketingService| match service.ready() {
                    Ok(()) => Ok(OK),
                    Err(error) => {
                        tracing::error!(%error, "the store is not ready");
                        Err(Problem::unavailable("the store is not ready"))
                    }
                };
                facade.call(Wait::Store, ready).await
            }
        }),
    )
}
