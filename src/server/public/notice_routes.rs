//! The route to which the payment gateway sends its notices. It needs no API key: the signature of a notice
//! authenticates it.

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::routing::post;
use tokio::time::timeout;

use crate::payment::NoticeHeaders;
use crate::server::http::blocking::Class;
use crate::server::http::body::RequestBody;
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// The maximum size of a notice: 256 KiB.
const MAX_NOTICE_BYTES: usize = 256 * 1024;

/// How long the body of a notice may take to arrive. A real one comes with its head.
const MAX_TIME: Duration = Duration::from_secs(5);

pub(in crate::server) fn routes() -> Router<AppState> {
    Router::new().route("/gateway/notices", post(receive))
}

/// Responds with 200 only after what the notice says is stored: the gateway sends it again after any other response.
///
/// Anybody can send requests here. Until the signature is verified, a notice takes no permit, and its body is read only if
/// the headers may be those of a notice.
async fn receive(State(state): State<AppState>, request: Request) -> Result<StatusCode, Problem> {
    let (head, body) = request.into_parts();
    let headers = head.headers.iter();
    // A signature is plain ASCII. A header that is not text is of no use to any gateway.
    let headers: NoticeHeaders =
        headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    let service = state.service.service();
    service.payments().check_gateway_notice_headers(&headers)?;
    let holding = state.memory.begin_anonymous(&head.extensions);
    let body = timeout(MAX_TIME, RequestBody::up_to(MAX_NOTICE_BYTES, body).read(&head.headers, holding)).await;
    let body = body.map_err(|_| Problem::malformed("the body did not arrive within five seconds"))??;
    let notices = service.payments().read_gateway_notice(&headers, body.as_ref())?;
    drop(body);
    let receive = move |service: &TicketingService| Ok(service.payments().receive_read_notices(notices).map(drop)?);
    // Whose payment it is about is known only later.
    state.service.call(Class::Gateway, None, receive).await?;
    Ok(StatusCode::OK)
}
