//! The route to which the payment gateway sends its notices. It needs no API key: the signature of a notice
//! authenticates it.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::routing::post;

use super::body::RequestBody;
use super::problem::Problem;
use super::state::AppState;
use crate::payment::NoticeHeaders;
use crate::service::TicketingService;

/// The maximum size of a notice: 256 KiB.
const MAX_NOTICE_BYTES: usize = 256 * 1024;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/gateway/notices", post(receive))
}

/// Responds with 200 only after what the notice says is stored: the gateway sends it again after any other response.
async fn receive(State(state): State<AppState>, request: Request) -> Result<StatusCode, Problem> {
    let (head, body) = request.into_parts();
    let body = RequestBody::up_to(MAX_NOTICE_BYTES, body).read(&head.headers).await?;
    let headers = head.headers.iter();
    // A signature is plain ASCII. A header that is not text is of no use to any gateway.
    let headers: NoticeHeaders =
        headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    let receive = move |service: &TicketingService| Ok(service.receive_gateway_notice(&headers, &body).map(drop)?);
    // Whose payment it is about is known only after it was read.
    state.service.call_with(&state.service.gateway, None, receive).await?;
    Ok(StatusCode::OK)
}
