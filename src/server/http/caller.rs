//! The caller of a request: set by the program that embeds the server, or authenticated by an API key.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::request::Parts;

use crate::error::Error;
use crate::model::tenants::caller::Caller;
use crate::service::TicketingService;

const API_KEY: &str = "x-api-key";

/// Returns the API key in the headers, or `None` if the header is missing or repeated.
pub(in crate::server) fn api_key(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(API_KEY).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Extracts the caller that a middleware has put into the extensions of the request, or else the one whose API key is
/// in the header `X-Api-Key`.
///
/// Other than in the server's own routes, failed authentications are not limited.
///
/// ```
/// use axum::extract::State;
/// use axum::{Router, routing::get};
#[doc = include_str!("../../doc_fixture.md")]
///
/// async fn newest_event(State(service): State<TicketingService>, caller: Caller) -> Result<String> {
///     let page = service.run(move |service| service.list_events(&caller, ListEvents::default())).await?;
///     Ok(page.data.into_iter().next().map_or_else(String::new, |event| event.title))
/// }
///
/// let app: Router = Router::new().route("/newest-event", get(newest_event)).with_state(service);
/// # drop(app);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<S: Send + Sync> FromRequestParts<S> for Caller
where
    TicketingService: FromRef<S>,
{
    type Rejection = Error;

    async fn from_request_parts(head: &mut Parts, state: &S) -> Result<Self, Error> {
        if let Some(caller) = head.extensions.get::<Self>() {
            return Ok(caller.clone());
        }
        let key = api_key(&head.headers).ok_or(Error::Unauthenticated)?.to_owned();
        TicketingService::from_ref(state).run(move |service| service.authenticate(&key)).await
    }
}
