//! The answer to a token that is not that of any link.

use std::net::IpAddr;

use axum::http::StatusCode;

use crate::error::Error;
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// A wrong token counts as a failed authentication of its address. A right one is answered even if the address is
/// braked.
pub(super) fn refuse(state: &AppState, error: Error, client: Option<IpAddr>, service: &TicketingService) -> Problem {
    if matches!(error, Error::NotFound(_)) {
        let braked = state.limits.count_failure(client, service.now());
        if braked.status() == StatusCode::TOO_MANY_REQUESTS {
            return braked;
        }
    }
    error.into()
}
