//! The route to which the payment gateway sends its notices. It needs no API key: the signature of a notice
//! authenticates it.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::StatusCode;
use axum::routing::post;

use crate::payment::NoticeHeaders;
use crate::server::http::body::{RequestBody, declared_length};
use crate::server::http::problem::Problem;
use crate::server::net::client_network::network;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// The maximum size of a notice: 256 KiB.
const MAX_NOTICE_BYTES: usize = 256 * 1024;

pub(in crate::server) fn routes() -> Router<AppState> {
    Router::new().route("/gateway/notices", post(receive))
}

/// Responds with 200 only after what the notice says is stored: the gateway sends it again after any other response.
///
/// Anybody can send requests here. The body is read only if the headers may be those of a notice, and within a bound
/// for all bodies whose signature was not verified yet.
async fn receive(State(state): State<AppState>, request: Request) -> Result<StatusCode, Problem> {
    let (head, body) = request.into_parts();
    let headers = head.headers.iter();
    // A signature is plain ASCII. A header that is not text is of no use to any gateway.
    let headers: NoticeHeaders =
        headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    state.service.service().check_gateway_notice_headers(&headers)?;
    let client = head.extensions.get::<ConnectInfo<SocketAddr>>().map(|client| client.0.ip());
    let length = declared_length(&head.headers, MAX_NOTICE_BYTES);
    let reservation = state.unverified_bodies.take(client.map(network), length);
    let reservation = reservation.ok_or_else(|| Problem::unavailable("too many notices are in progress"))?;
    let body = RequestBody::up_to(MAX_NOTICE_BYTES, body).read(&head.headers).await?;
    let receive = move |service: &TicketingService| {
        let _reservation = reservation;
        Ok(service.receive_gateway_notice(&headers, &body).map(drop)?)
    };
    // Whose payment it is about is known only after it was read.
    state.service.call_with(&state.service.gateway, None, receive).await?;
    Ok(StatusCode::OK)
}
