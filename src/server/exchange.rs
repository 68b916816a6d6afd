//! What every exchange has, whatever it is about: a request id, a problem's body, and a line in the log.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONTENT_LENGTH, HOST};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::metrics::{Metrics, name_of};
use super::problem::Problem;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// How long an address may be.
const LONGEST_URI: usize = 8 * 1024;

/// Marks a request whose body has no one length.
#[derive(Debug, Clone, Copy)]
pub(super) struct AmbiguousLength;

/// Answers a request through `next`, and adds what every answer has. The line in the log names the route and not the
/// path, a method only where it is a known one, and of headers the request's id alone: no key, no ticket code and no
/// address gets into it.
pub(super) async fn exchange(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let _under_way = metrics.request();
    let id = request_id(request.headers());
    let method = name_of(request.method());
    let uri = request.uri().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match flaw(&request) {
        Some(flaw) => flaw.into_response(),
        None => next.run(request).await,
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        // What was set around the problem stays, but for what described the body that it did not have yet.
        let mut around = std::mem::take(response.headers_mut());
        around.remove(CONTENT_LENGTH);
        response = problem.render(uri.path(), id.to_str().unwrap_or_default());
        response.headers_mut().extend(around);
    }
    let (route, took) = (route.as_ref().map_or("-", MatchedPath::as_str), started.elapsed());
    metrics.answered(route, method, response.status(), took);
    tracing::info!(
        method = %method,
        route,
        status = response.status().as_u16(),
        milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        request_id = id.to_str().unwrap_or_default(),
        "answered"
    );
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// What is wrong with the request as HTTP, whatever it asks for.
fn flaw(request: &Request) -> Option<Problem> {
    let length = request.uri().path_and_query().map_or(0, |text| text.as_str().len());
    let hosts = request.headers().get_all(HOST).iter().count();
    if length > LONGEST_URI {
        Some(Problem::malformed("the address is too long"))
    } else if hosts > 1 || (hosts == 0 && request.version() == Version::HTTP_11) {
        Some(Problem::malformed("the request must name one host"))
    } else if request.extensions().get::<AmbiguousLength>().is_some() {
        Some(Problem::malformed("the body must have one length"))
    } else {
        None
    }
}

/// The client's own id where it is one, and a new one otherwise.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let own = headers.get(REQUEST_ID).filter(|id| {
        let bytes = id.as_bytes();
        (1..=128).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    });
    own.cloned().unwrap_or_else(new_id)
}

/// An id that no other request has. It is no secret: its randomness only keeps processes apart.
fn new_id() -> HeaderValue {
    static PROCESS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let [first, second] = PROCESS.each_ref().map(|state| state.hash_one(count));
    HeaderValue::try_from(format!("{first:016x}{second:016x}")).unwrap_or(HeaderValue::from_static("-"))
}
