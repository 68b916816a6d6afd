//! What a customer can do with a pending order on its page: pay and cancel.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::{get, post};

use super::event_routes::not_allowed;
use super::responses::{page, refusal, with_form};
use crate::error::Error;
use crate::model::sale::order::OrderStatus;
use crate::model::values::id::OrganizationId;
use crate::pages;
use crate::server::http::blocking::Class;
use crate::server::http::caller::is_cross_site;
use crate::server::public::checkout_routes::{PathParams, redirect, token};
use crate::server::public::wrong_tokens::refuse;
use crate::server::responses::page_responses::accepted_languages;
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/orders/{token}/pay", post(pay).fallback(not_allowed))
        .route("/orders/{token}/cancel", get(ask).post(cancel).fallback(not_allowed))
}

/// Finds the organization of a link, unless its address or the link has made too many requests. A wrong link counts as a
/// failed authentication of the address.
async fn admit(state: &AppState, head: &Parts, token: &str) -> Result<OrganizationId, Problem> {
    let client = head.extensions.get::<ConnectInfo<SocketAddr>>().map(|client| client.0.ip());
    let service = &state.service;
    state.limits.count_link_request(client, service.service().now())?;
    let (shared, token) = (AppState::clone(state), token.to_owned());
    let find = move |service: &TicketingService| {
        if !service.has_event_pages() {
            return Err(Problem::no_such_route());
        }
        let found = service.organization_of_order_link(&token);
        let organization = found.map_err(|error| refuse(&shared, error, client, service))?;
        shared.limits.count_link(&token, service.now())?;
        Ok(organization)
    };
    service.call(Class::Page, None, find).await
}

async fn pay(State(state): State<AppState>, parameters: PathParams, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let pay = async || {
        let token = token(parameters);
        let organization = admit(&state, &head, &token).await?;
        if let Some(response) = refuse_other_site(&state, &head)? {
            return Ok(response);
        }
        let back = format!("../{token}");
        let pay = move |service: &TicketingService| match service.pay_order_of_link(&token) {
            Ok(url) => Ok(url),
            // The page of the order says what is the matter.
            Err(Error::Conflict(_) | Error::NotFound(_) | Error::CheckoutNotRenewed(_)) => Ok(back),
            Err(error) => Err(error.into()),
        };
        let service = &state.service;
        redirect(service.call(Class::Gateway, Some(organization), pay).await?).map(with_form)
    };
    pay().await.unwrap_or_else(|problem: Problem| refusal(&problem, &head.headers))
}

async fn ask(State(state): State<AppState>, parameters: PathParams, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let ask = async || {
        let token = token(parameters);
        let organization = admit(&state, &head, &token).await?;
        let accepted = accepted_languages(&head.headers);
        let render = move |service: &TicketingService| {
            let shown = service.order_on_page(&token)?;
            if shown.order.status != OrderStatus::Pending {
                return redirect(format!("../{token}")).map(with_form).map(Err);
            }
            Ok(Ok(pages::cancel_page(&shown, &token, &accepted)?))
        };
        let service = &state.service;
        let rendered = service.call(Class::Page, Some(organization), render).await?;
        Ok(rendered.map_or_else(|elsewhere| elsewhere, |html| page(html, StatusCode::OK, &head.headers)))
    };
    ask().await.unwrap_or_else(|problem: Problem| refusal(&problem, &head.headers))
}

async fn cancel(State(state): State<AppState>, parameters: PathParams, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let cancel = async || {
        let token = token(parameters);
        let organization = admit(&state, &head, &token).await?;
        if let Some(response) = refuse_other_site(&state, &head)? {
            return Ok(response);
        }
        let back = format!("../{token}");
        let service = &state.service;
        let cancel = move |service: &TicketingService| Ok(service.cancel_order_of_link(&token)?);
        service.call(Class::Store, Some(organization), cancel).await?;
        redirect(back).map(with_form)
    };
    cancel().await.unwrap_or_else(|problem: Problem| refusal(&problem, &head.headers))
}

/// The page that refuses a form of another site.
fn refuse_other_site(state: &AppState, head: &Parts) -> Result<Option<Response>, Problem> {
    if !is_cross_site(head, state.service.service().public_url()) {
        return Ok(None);
    }
    let html = pages::other_site_page(&accepted_languages(&head.headers))?;
    Ok(Some(page(html, StatusCode::FORBIDDEN, &head.headers)))
}
