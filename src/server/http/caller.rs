//! The caller of a request: set by the program that embeds the server, or authenticated by an API key.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;

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

/// Returns the caller that the program's own login has put into the extensions; `None` without one.
///
/// Browsers send cookies and the like with the requests of every page, so a page of another site could act for the user.
/// Such a request fails with [`Error::CrossSiteRequest`], unless its method is safe: the page cannot read the response.
pub(in crate::server) fn logged_in<'h>(
    head: &'h Parts,
    service: &TicketingService,
) -> Result<Option<&'h Caller>, Error> {
    let caller = head.extensions.get::<Caller>();
    let is_refused = caller.is_some() && !head.method.is_safe() && is_cross_site(head, service.public_url());
    if is_refused { Err(Error::CrossSiteRequest) } else { Ok(caller) }
}

/// Whether a browser says that a page of another origin has sent the request. Older browsers, and all browsers without
/// TLS, name only the origin.
pub(in crate::server) fn is_cross_site(head: &Parts, public_url: Option<&str>) -> bool {
    let mut sites = head.headers.get_all("sec-fetch-site").iter().peekable();
    if sites.peek().is_some() {
        return sites.any(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"));
    }
    let header = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    // A proxy may have replaced the header `Host`.
    let hosts = [header, head.uri.authority().map(Authority::as_str), public_url.and_then(host_of)];
    let is_own = |origin: &str| hosts.iter().flatten().any(|host| is_host_of(origin, host));
    head.headers.get_all(ORIGIN).iter().any(|origin| !origin.to_str().is_ok_and(is_own))
}

/// The host and the port of a URL.
fn host_of(url: &str) -> Option<&str> {
    url.split_once("://")?.1.split('/').next()
}

/// Whether an origin has this host and port. An origin does not name the port of its scheme.
fn is_host_of(origin: &str, host: &str) -> bool {
    let Some((scheme, of_origin)) = origin.split_once("://") else { return false };
    let port = if scheme == "https" { ":443" } else { ":80" };
    host.strip_suffix(port).unwrap_or(host).eq_ignore_ascii_case(of_origin)
}

/// Extracts the caller that a middleware has put into the extensions of the request, or else the one whose API key is
/// in the header `X-Api-Key`. The caller of a middleware is refused if a page of another site sends the request: see
/// [a login of your own](crate::server#a-login-of-your-own).
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
        let service = TicketingService::from_ref(state);
        if let Some(caller) = logged_in(head, &service)? {
            return Ok(caller.clone());
        }
        let key = api_key(&head.headers).ok_or(Error::Unauthenticated)?.to_owned();
        service.run(move |service| service.authenticate(&key)).await
    }
}
