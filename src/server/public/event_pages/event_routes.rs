//! The page of an event, its cover and its entry in a calendar.

use std::hash::BuildHasher;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::get;
use sha2::{Digest, Sha256};

use super::entries;
use super::responses::{languages_of, names, public, refusal};
use crate::model::sale::event_page::EventPage;
use crate::pages::{self, Prefilled};
use crate::server::http::blocking::Class;
use crate::server::http::representation::{Representation, entity_tag, prefers_gzip};
use crate::server::public::checkout_routes::PathParams;
use crate::server::public::page_cache::{KeptPage, PageKey};
use crate::server::responses::problem::Problem;
use crate::server::state::AppState;
use crate::service::TicketingService;

/// How long browsers and proxies may keep a page, in seconds, and a cover or a calendar entry.
const PAGE_AGE: u32 = 5;
const FILE_AGE: u32 = 300;

/// How long a page is sent without being rendered again.
const AGE: Duration = Duration::from_secs(1);

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/e/{organization}/{slug}", get(show).fallback(not_allowed))
        .route("/e/{organization}/{slug}/cover", get(cover).fallback(not_allowed))
        .route("/e/{organization}/{slug}/event.ics", get(calendar_entry).fallback(not_allowed))
}

pub(super) async fn not_allowed(headers: HeaderMap) -> Response {
    refusal(&Problem::method_not_allowed(None), &headers)
}

async fn show(State(state): State<AppState>, parameters: PathParams, request: Request) -> Response {
    let (head, _) = request.into_parts();
    match page_of_event(&state, parameters, &head).await {
        Ok(response) => response,
        Err(problem) => refusal(&problem, &head.headers),
    }
}

/// Sends the page of an event. One that chooses nothing is the same for everybody, and kept for a second.
async fn page_of_event(state: &AppState, parameters: PathParams, head: &Parts) -> Result<Response, Problem> {
    let (organization, slug) = names(state, parameters)?;
    let prefilled = entries::prefilled(&head.uri);
    let languages = languages_of(prefilled.language.as_deref(), &head.headers);
    let language = pages::language_for(&languages);
    let gzip = prefers_gzip(&head.headers);
    let is_same_for_all = prefilled == Prefilled { language: prefilled.language.clone(), ..Prefilled::default() };
    // The form passes a language on that the link names.
    let path = format!("{organization}/{slug} {}", prefilled.language.as_deref().unwrap_or_default());
    let has_long_language = prefilled.language.as_ref().is_some_and(|language| language.len() > 16);
    let service = &state.service;
    let render = async || {
        let shared = AppState::clone(state);
        let page = read(state, organization, slug).await?;
        fetch_cover(state, &page).await?;
        let seller = page.event.organizer_id;
        let render = move |service: &TicketingService| {
            let (html, version) = render(service, &page, &prefilled, &languages)?;
            let bytes = html.len();
            let (event, organization) = (page.event.id, page.event.organizer_id);
            let etag = entity_tag(&format!("{:016x}", shared.page_tags.hash_one((version, gzip))));
            let page = Representation::page(html, gzip).with_etag(etag);
            Ok(KeptPage { event, organization, page, bytes })
        };
        service.call(Class::Page, Some(seller), render).await
    };
    let kept = if is_same_for_all && !has_long_language {
        let key = PageKey { path, language, gzip };
        state.kept_pages.get(key, AGE, || state.service.service().monotonic(), render).await?
    } else {
        render().await?
    };
    let response = kept.page.send(&head.headers);
    if response.status() == StatusCode::OK && head.method == Method::GET {
        state.service.service().count_page_view(kept.event);
    }
    Ok(public(response, PAGE_AGE))
}

async fn read(state: &AppState, organization: String, slug: String) -> Result<EventPage, Problem> {
    let service = &state.service;
    let read = move |service: &TicketingService| Ok(service.get_event_page(&organization, &slug)?);
    service.call(Class::Page, None, read).await
}

/// Fetches the cover of an event if it is not kept. This may wait for another host, so it needs a permit for documents, and
/// none for pages.
async fn fetch_cover(state: &AppState, page: &EventPage) -> Result<(), Problem> {
    let service = &state.service;
    let (organization, Some(url)) = (page.event.organizer_id, page.event.cover_image.clone()) else { return Ok(()) };
    if service.service().kept_cover(organization, &url).is_some() {
        return Ok(());
    }
    let fetch = move |service: &TicketingService| {
        let _ = service.cover(organization, &url);
        Ok(())
    };
    service.call(Class::Document, Some(organization), fetch).await
}

/// Renders the page of an event. Returns also what its `ETag` is made of.
fn render(
    service: &TicketingService,
    page: &EventPage,
    prefilled: &Prefilled,
    languages: &[String],
) -> Result<(String, [u8; 32]), Problem> {
    let url = service.url_of_event(page)?;
    let cover = service.cover_of_event(page);
    let html = pages::event_page(page, &url, cover.as_ref(), prefilled, languages)?;
    let digest = Sha256::digest(&html).into();
    Ok((html, digest))
}

async fn cover(State(state): State<AppState>, parameters: PathParams, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let send = async || {
        let (organization, slug) = names(&state, parameters)?;
        let page = read(&state, organization, slug).await?;
        fetch_cover(&state, &page).await?;
        let cover = state.service.service().cover_of_event(&page).ok_or_else(Problem::no_such_file)?;
        Ok(public(Representation::picture(cover.file, &cover.digest, cover.media_type).send(&head.headers), FILE_AGE))
    };
    send().await.unwrap_or_else(|problem: Problem| refusal(&problem, &head.headers))
}

async fn calendar_entry(State(state): State<AppState>, parameters: PathParams, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let send = async || {
        let (organization, slug) = names(&state, parameters)?;
        let service = &state.service;
        let read = move |service: &TicketingService| {
            let page = service.get_event_page(&organization, &slug)?;
            let entry = pages::calendar_entry_of_event(&page, &service.url_of_event(&page)?);
            Ok(Representation::calendar_entry(format!("{slug}.ics"), entry))
        };
        let entry = service.call(Class::Page, None, read).await?;
        Ok(public(entry.send(&head.headers), PAGE_AGE))
    };
    send().await.unwrap_or_else(|problem: Problem| refusal(&problem, &head.headers))
}
