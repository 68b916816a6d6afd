//! The form with which a customer orders the chosen tickets. Showing it changes nothing; sending it creates the order.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;
use tokio::time::{Instant, sleep};

use super::entries::{self, SentForm};
use super::event_routes::not_allowed;
use super::responses::{languages_of, names, page, refusal, with_form};
use crate::enums::text_enum::TextEnum;
use crate::error::{Error, Reason};
use crate::model::sale::customer::NewCustomer;
use crate::model::sale::discount::DiscountRefusal;
use crate::model::sale::event::DeliveryMethod;
use crate::model::sale::event_page::EventPage;
use crate::model::sale::new_order::{CreateOrder, NewOrderItem, ShippingAddress};
use crate::model::sale::order::CreateOrderResponse;
use crate::model::tickets::form_token::{FormContent, TokenState};
use crate::model::values::id::{OrderId, OrganizationId};
use crate::pages::{self, Entries, FormError, FormNotice, FormToShow};
use crate::server::http::blocking::Class;
use crate::server::http::body::RequestBody;
use crate::server::http::caller::is_cross_site;
use crate::server::http::query;
use crate::server::public::checkout_routes::{PathParams, redirect};
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// The maximum size of a form: 16 KiB.
const MAX_FORM_BYTES: usize = 16 * 1024;

/// How long a form that is sent twice waits for the order of the first.
const MAX_WAIT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/e/{organization}/{slug}/order", get(show).post(send).fallback(not_allowed))
}

/// The event of a form, and who reads it.
#[derive(Clone)]
struct Place {
    organization: String,
    slug: String,
    languages: Vec<String>,
}

/// Why a form is shown again.
#[derive(Default)]
struct Again {
    status: StatusCode,
    notice: Option<FormNotice>,
    errors: Vec<FormError>,
}

async fn show(State(state): State<AppState>, parameters: PathParams, request: Request) -> Response {
    let (head, _) = request.into_parts();
    show_form(&state, parameters, &head).await.unwrap_or_else(|problem| refusal(&problem, &head.headers))
}

async fn show_form(state: &AppState, parameters: PathParams, head: &Parts) -> Result<Response, Problem> {
    let (organization, slug) = names(state, parameters)?;
    let form = entries::read(head.uri.query().and_then(query::pairs).unwrap_or_default());
    let languages = languages_of(form.entries.language.as_deref(), &head.headers);
    let place = Place { organization, slug, languages };
    if form.chosen.iter().all(|(_, quantity)| *quantity < 1) {
        let query = entries::query_of(&[], &form.entries);
        let query = format!("{query}{}{}", if query.is_empty() { "?" } else { "&" }, entries::NOTHING_CHOSEN);
        return redirect(format!("../{}{query}", place.slug)).map(with_form);
    }
    render_form(state, place, form, Again::default(), &head.headers).await
}

/// Renders the form for what was chosen and entered, with a new token.
async fn render_form(
    state: &AppState,
    place: Place,
    form: SentForm,
    again: Again,
    request: &HeaderMap,
) -> Result<Response, Problem> {
    let status = again.status;
    let render = move |service: &TicketingService| Ok(html_of_form(service, &place, &form, again)?);
    let html = state.service.call(Class::Page, None, render).await?;
    Ok(page(html, status, request))
}

fn html_of_form(
    service: &TicketingService,
    Place { organization, slug, languages }: &Place,
    SentForm { entries, chosen, .. }: &SentForm,
    again: Again,
) -> Result<String, Error> {
    let Again { notice, mut errors, .. } = again;
    let choose = |page: &EventPage| entries::available(page, chosen);
    let form = service.order_form(organization, slug, entries.code.as_deref(), choose)?;
    let is_code_named = errors.iter().any(|error| error.field() == "code");
    if let Some(refusal) = form.refusal.filter(|_| !is_code_named) {
        errors.push(FormError::Code(refusal));
    }
    let ordered = |id: &str| form.items.iter().find(|item| item.ticket_type_id.to_string() == id);
    let is_fewer = |(id, wanted): &&(String, i64)| ordered(id).map_or(0, |item| item.quantity) < *wanted;
    let notice = notice.or_else(|| match form.items.is_empty() {
        true => Some(FormNotice::SoldOut),
        false => chosen.iter().find(is_fewer).map(|_| FormNotice::Fewer),
    });
    let query = entries::query_of(chosen, entries);
    let shown = FormToShow {
        page: &form.page,
        quote: &form.quote,
        entries,
        token: &form.token,
        errors: &errors,
        notice,
        query: &query,
    };
    pages::order_form_page(&shown, languages)
}

async fn send(State(state): State<AppState>, parameters: PathParams, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = RequestBody::up_to(MAX_FORM_BYTES, body);
    receive(&state, parameters, &head, body).await.unwrap_or_else(|problem| refusal(&problem, &head.headers))
}

/// Creates the order of a form, and sends the customer to the checkout, or to the page of the order.
async fn receive(
    state: &AppState,
    parameters: PathParams,
    head: &Parts,
    body: RequestBody,
) -> Result<Response, Problem> {
    let (organization, slug) = names(state, parameters)?;
    let languages = languages_of(None, &head.headers);
    let service = &state.service;
    if is_cross_site(head, service.service().public_url()) {
        return Ok(page(pages::other_site_page(&languages)?, StatusCode::FORBIDDEN, &head.headers));
    }
    check_content_type(&head.headers)?;
    // Anyone can send a form, so nothing of it is read before the page was found.
    let (of_page, of_slug) = (organization.clone(), slug.clone());
    let find = move |service: &TicketingService| Ok(service.get_event_page(&of_page, &of_slug)?);
    let event_page = service.call(Class::Page, None, find).await?;
    let seller = event_page.event.organizer_id;
    let holding = state.memory.begin_anonymous(&head.extensions);
    let bytes = body.read(&head.headers, holding).await?;
    let pairs = std::str::from_utf8(bytes.as_ref()).ok().and_then(query::pairs);
    let form = entries::read(pairs.ok_or_else(|| Problem::malformed("the form is not URL-encoded"))?);
    let languages = languages_of(form.entries.language.as_deref(), &head.headers);
    let place = Place { organization, slug, languages };

    let Some(items) = entries::items(&form.chosen) else {
        return render_form(state, place, form, Again::conflict(FormNotice::SentTooLate), &head.headers).await;
    };
    let (token, total, code) = (form.token.clone(), form.total.unwrap_or(-1), form.entries.code.clone());
    let event = event_page.event.id;
    let of_check = items.clone();
    let check = move |service: &TicketingService| {
        let content = FormContent { event, items: &of_check, code: code.as_deref(), total };
        Ok(service.check_form(seller, &token, &content)?)
    };
    let (token_state, made) = service.call(Class::Page, Some(seller), check).await?;
    if token_state != TokenState::Usable && made.is_none() {
        return render_form(state, place, form, Again::conflict(FormNotice::SentTooLate), &head.headers).await;
    }
    if made.is_none() {
        let client = head.extensions.get::<ConnectInfo<SocketAddr>>().map(|client| client.0.ip());
        if let Some(seconds) = state.limits.count_order(client, event, service.service().now()) {
            let html = pages::too_many_orders_page(seconds, &place.languages)?;
            let mut response = page(html, StatusCode::TOO_MANY_REQUESTS, &head.headers);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
            return Ok(response);
        }
    }
    let order = order_of(&event_page, &items, &form.entries);
    match create(state, seller, &form, total, order).await {
        Ok(created) => forward(state, created).await,
        Err(error) => refused(state, place, form, error, made, &head.headers).await,
    }
}

/// The order that a form asks for. The service checks it.
fn order_of(page: &EventPage, items: &[NewOrderItem], entries: &Entries) -> CreateOrder {
    let text = |text: &str| text.trim().to_owned();
    let optional = |entry: &str| Some(text(entry)).filter(|entry| !entry.is_empty());
    let mut customer = NewCustomer::new(text(&entries.name), text(&entries.email));
    customer.company_name = optional(&entries.company).filter(|_| page.event.accepts_company);
    let mut order = CreateOrder::with_items(page.event.id, customer, items.iter().copied());
    order.discount_code.clone_from(&entries.code);
    order.affiliate_code.clone_from(&entries.referrer);
    order.language.clone_from(&entries.language);
    if page.event.delivery_method == DeliveryMethod::Physical {
        let country = text(&entries.country).to_uppercase();
        order.shipping_address =
            Some(ShippingAddress::new(text(&entries.street), text(&entries.zip), text(&entries.city), country));
    }
    order
}

/// Creates the order. A form that was sent twice waits for the order of the first one.
async fn create(
    state: &AppState,
    seller: OrganizationId,
    form: &SentForm,
    total: i64,
    order: CreateOrder,
) -> Result<CreateOrderResponse, Refused> {
    let service = &state.service;
    let started = Instant::now();
    if has_reserved_address(&order.customer.email) {
        return Err(Refused::Form(Again::field(FormError::Email)));
    }
    loop {
        let (token, order) = (form.token.clone(), order.clone());
        let create = move |service: &TicketingService| Ok(service.order_from_page(seller, &token, total, order));
        let created = service.call(Class::Gateway, Some(seller), create).await.map_err(Refused::Problem)?;
        match created {
            Err(Error::IdempotencyInProgress { .. }) if started.elapsed() < MAX_WAIT => sleep(PAUSE).await,
            Err(error) => return Err(Refused::Service(error)),
            Ok(created) => return Ok(created),
        }
    }
}

/// Whether nobody can have this address (RFC 6761).
fn has_reserved_address(email: &str) -> bool {
    email.trim().trim_end_matches('.').to_ascii_lowercase().ends_with(".invalid")
}

enum Refused {
    Service(Error),
    Form(Again),
    Problem(Problem),
}

/// Sends the customer on: to the checkout, or else to the page of the order.
async fn forward(state: &AppState, created: CreateOrderResponse) -> Result<Response, Problem> {
    let CreateOrderResponse { order, checkout_url, .. } = created;
    if let Some(url) = checkout_url {
        return redirect(url).map(with_form);
    }
    redirect(format!("../../../orders/{}", token_of(state, order.id).await?)).map(with_form)
}

async fn token_of(state: &AppState, order: OrderId) -> Result<String, Problem> {
    let service = &state.service;
    service.call(Class::Page, None, move |service| Ok(service.token_of_order(order)?)).await
}

/// Shows the form again, with what is wrong.
async fn refused(
    state: &AppState,
    place: Place,
    mut form: SentForm,
    refused: Refused,
    made: Option<OrderId>,
    request: &HeaderMap,
) -> Result<Response, Problem> {
    let again = match refused {
        Refused::Problem(problem) => return Err(problem),
        Refused::Form(again) => again,
        Refused::Service(Error::IdempotencyKeyReused) => {
            let Some(made) = made else {
                return render_form(state, place, form, Again::conflict(FormNotice::SentTooLate), request).await;
            };
            let order = token_of(state, made).await?;
            let query = entries::query_of(&form.chosen, &form.entries);
            let html = pages::sent_already_page(&order, &place.slug, &query, &place.languages)?;
            return Ok(page(html, StatusCode::CONFLICT, request));
        }
        Refused::Service(error) => again(error, &form.entries)?,
    };
    if again.errors.iter().any(|error| error.field() == "code") {
        // The price without it is shown.
        form.total = None;
    }
    render_form(state, place, form, again, request).await
}

/// What a refusal of the service means for the form. An error about anything else is a problem.
fn again(error: Error, entries: &Entries) -> Result<Again, Problem> {
    match error {
        Error::Conflict(conflict) => Ok(Again::conflict(match conflict.reason {
            Reason::SoldOut | Reason::MaxPerOrderExceeded => FormNotice::SoldOut,
            Reason::LimitReached => FormNotice::LimitReached,
            Reason::EventNotOnSale | Reason::TicketTypeNotOnSale | Reason::SaleNotStarted | Reason::SaleEnded => {
                FormNotice::SaleOver
            }
            _ => return Err(Error::Conflict(conflict).into()),
        })),
        Error::PaymentGatewayFailed(_) => {
            Ok(Again { status: StatusCode::BAD_GATEWAY, notice: Some(FormNotice::NoPayment), errors: Vec::new() })
        }
        Error::Validation(errors) => {
            let mut again = Again { status: StatusCode::UNPROCESSABLE_ENTITY, ..Again::default() };
            for error in errors.as_slice() {
                match error.path.as_str() {
                    "total" => return Ok(Again::conflict(FormNotice::TotalChanged)),
                    "items" => return Ok(Again { notice: Some(FormNotice::TooCheap), ..again }),
                    path if path.starts_with("items[") => return Ok(Again::conflict(FormNotice::SaleOver)),
                    path => again.errors.extend(field_error(path, &error.message, entries)),
                }
            }
            if again.errors.is_empty() { Err(Error::Validation(errors).into()) } else { Ok(again) }
        }
        error => Err(error.into()),
    }
}

/// What a customer has to change because of an error about a field of the order.
fn field_error(path: &str, message: &str, entries: &Entries) -> Option<FormError> {
    let field = |name, entry: &str| {
        if entry.trim().is_empty() { FormError::Missing(name) } else { FormError::Invalid(name) }
    };
    Some(match path {
        "customer.name" => field("name", &entries.name),
        "customer.email" if entries.email.trim().is_empty() => FormError::Missing("email"),
        "customer.email" => FormError::Email,
        "customer.companyName" => FormError::Invalid("company"),
        "shippingAddress.street" => field("street", &entries.street),
        "shippingAddress.zip" => field("zip", &entries.zip),
        "shippingAddress.city" => field("city", &entries.city),
        "shippingAddress.country" if entries.country.trim().is_empty() => FormError::Missing("country"),
        "shippingAddress.country" => FormError::Country,
        "discountCode" => FormError::Code(DiscountRefusal::from_text(message).unwrap_or(DiscountRefusal::NotFound)),
        _ => return None,
    })
}

impl Again {
    fn conflict(notice: FormNotice) -> Self {
        Self { status: StatusCode::CONFLICT, notice: Some(notice), errors: Vec::new() }
    }

    fn field(error: FormError) -> Self {
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, notice: None, errors: vec![error] }
    }
}

/// Refuses what is not sent by a form without files.
fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let is_form = |value: &HeaderValue| {
        let media_type = value.to_str().ok().and_then(|value| value.split(';').next());
        media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded"))
    };
    let has_form = headers.get(CONTENT_TYPE).is_some_and(is_form);
    if has_form && !headers.contains_key(CONTENT_ENCODING) { Ok(()) } else { Err(Problem::not_form()) }
}
