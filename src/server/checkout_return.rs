//! The page to which a payment gateway sends the customer back: `/checkout/return/{session}`. The id of the gateway's
//! checkout is in the path; there is no API key.

use axum::Router;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use super::blocking::BlockingService;
use super::checkout_html::{self, Notice};
use super::checkout_routes::{PathParams, respond, token};
use super::problem::Problem;
use super::state::AppState;
use crate::model::checkout::{CheckoutState, SettledCheckout};
use crate::model::order::{OrderStatus, PaymentStatus};
use crate::service::TicketingService;

/// Makes the browser load the page again after so many seconds, until the outcome is known.
const REFRESH: (HeaderName, HeaderValue) = (HeaderName::from_static("refresh"), HeaderValue::from_static("5"));

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/checkout/return/{session}", get(show))
}

async fn show(State(state): State<AppState>, parameters: PathParams) -> Response {
    respond(settle(&state.service, token(parameters)).await)
}

/// Asks the gateway for the state of the checkout, and redirects the customer. What the browser says is not trusted.
async fn settle(service: &BlockingService, session: String) -> Result<Response, Problem> {
    let known = session.clone();
    let organization = service.call(move |service| Ok(service.organization_of_checkout(&known)?)).await?;
    let settle = move |service: &TicketingService| Ok(service.settle_checkout(&session)?);
    let settled = service.call_with(&service.pages, Some(organization), settle).await?;
    if let Some(url) = &settled.redirect_url {
        let location = HeaderValue::try_from(url).map_err(Problem::internal)?;
        return Ok((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response());
    }
    let page = Html(checkout_html::render_return(&settled.order, &notice(&settled)));
    match settled.outcome {
        Some(_) => Ok(page.into_response()),
        None => Ok(([REFRESH], page).into_response()),
    }
}

/// What the page says.
fn notice(settled: &SettledCheckout) -> Notice {
    let payment = settled.order.payment_gateway.as_ref().map(|payment| payment.status);
    let (tone, title, text) = match (settled.order.status, &settled.state) {
        _ if settled.paid_too_late && payment == Some(PaymentStatus::Refunded) => {
            ("calm", "Refunded", "Your payment came too late for this order, and has been refunded.")
        }
        _ if settled.paid_too_late => {
            ("calm", "Too late", "Your payment came too late for this order. It goes back to you.")
        }
        (OrderStatus::Completed, _) => ("good", "Paid", "Thank you! Your tickets have been issued."),
        (OrderStatus::Pending, CheckoutState::Open) => {
            ("calm", "Not paid yet", "Nothing was charged. You can go back to the checkout page and pay.")
        }
        (OrderStatus::Pending, CheckoutState::Processing) => {
            ("calm", "In progress", "Your payment is on its way. Your tickets are issued as soon as it has arrived.")
        }
        _ if settled.outcome.is_none() => (
            "calm",
            "Please wait",
            "It is not known yet whether your payment has arrived. This page looks again every few seconds.",
        ),
        (OrderStatus::Pending, CheckoutState::Closed) => {
            ("calm", "Not paid", "Nothing was charged. You can no longer pay on the page that you come from.")
        }
        (OrderStatus::Pending, _) => {
            ("calm", "Not paid", "Your payment does not fit this order. If you were charged, your money goes back.")
        }
        (OrderStatus::Cancelled, _) => {
            ("calm", "Cancelled", "This order was cancelled. If you have paid, your money goes back.")
        }
        (OrderStatus::Expired, _) => {
            ("calm", "Expired", "This order was not paid in time. If you have paid since, your money goes back.")
        }
    };
    Notice { tone, title, text }
}
