//! The pages of events, on which customers buy: `/e/{organization}/{slug}`, and what can be done with the order of a
//! link. There is no API key.

mod entries;
mod event_routes;
mod form_routes;
mod order_routes;
mod responses;

use axum::Router;

pub(in crate::server) use responses::with_form;

use crate::server::state::AppState;

pub(in crate::server) fn routes() -> Router<AppState> {
    event_routes::routes().merge(form_routes::routes()).merge(order_routes::routes())
}
