//! The argument of an operation's handler function, an authorized request, and the responses that it returns.

use std::sync::{Mutex, PoisonError};

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::http::request::Parts;
use axum::response::Response;
use serde::Serialize;

use super::base_path::base_path;
use super::problem::Problem;
use crate::form::object::Form;
use crate::form::request::Request;
use crate::model::caller::{Caller, ConditionalCaller, KeyedCaller};
use crate::model::discount::Discount;
use crate::model::event::Event;
use crate::model::id::{Id, Kind};
use crate::model::ticket_type::TicketType;
use crate::model::webhook::WebhookEndpoint;
use crate::service::TicketingService;

/// An authorized request.
pub(super) struct Call<'a> {
    pub(super) service: &'a TicketingService,
    pub(super) caller: &'a Caller,
    /// The caller with its idempotency key, if it sent one.
    pub(super) keyed: &'a KeyedCaller,
    /// The caller with the revisions of the resource that it expects, if it sent any.
    pub(super) conditional: &'a ConditionalCaller,
    /// The values of the path parameters, in the order of the path.
    pub(super) parameters: &'a [String],
    pub(super) head: &'a Parts,
    pub(super) query: &'a [(String, String)],
    pub(super) body: &'a [u8],
    /// The path of the service's public URL.
    pub(super) public_path: &'a str,
}

impl Call<'_> {
    /// The first id in the path. Text that is not an id becomes [`Id::UNKNOWN`], which no resource has.
    pub(super) fn id<K: Kind>(&self) -> Id<K> {
        self.id_at(0)
    }

    /// The second id in the path.
    pub(super) fn second_id<K: Kind>(&self) -> Id<K> {
        self.id_at(1)
    }

    fn id_at<K: Kind>(&self, index: usize) -> Id<K> {
        self.parameters.get(index).and_then(|text| text.parse().ok()).unwrap_or(Id::UNKNOWN)
    }

    /// The path under which clients reach the routes, without a trailing slash.
    pub(super) fn base_path(&self) -> &str {
        base_path(&self.head.uri, &self.head.extensions, self.public_path)
    }

    /// Reads the request from the query string.
    pub(super) fn query<T: Form>(&self) -> Request<T> {
        Request::from_query(self.query.iter().cloned())
    }

    /// Reads the request from the body.
    pub(super) fn json<T: Form>(&self) -> Result<Request<T>, Problem> {
        read_json(self.body)
    }
}

/// Bodies larger than this are parsed one after another: 64 KiB. While a body is parsed, it may take fifty times its size.
const LARGE_BODY: usize = 64 * 1024;

/// Held while a large body is parsed, which takes some hundredths of a second.
static LARGE_BODY_IS_PARSED: Mutex<()> = Mutex::new(());

/// Reads a request from a body.
pub(super) fn read_json<T: Form>(body: &[u8]) -> Result<Request<T>, Problem> {
    if body.is_empty() {
        return Err(Problem::malformed("the body is empty"));
    }
    let _turn = (body.len() > LARGE_BODY).then(|| LARGE_BODY_IS_PARSED.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Request::from_json(body)?)
}

/// A response with this body as JSON.
pub(super) fn json(body: &impl Serialize) -> Result<Response, Problem> {
    // Large enough for most responses, and small enough for what glibc allocates without tidying up first.
    let mut bytes = Vec::with_capacity(1000);
    serde_json::to_writer(&mut bytes, body).map_err(Problem::internal)?;
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// A response with this resource as JSON, and its revision as `ETag`.
pub(super) fn json_with_etag<T: Serialize + Revisioned>(resource: &T) -> Result<Response, Problem> {
    let mut response = json(resource)?;
    if let Ok(etag) = HeaderValue::try_from(format!("\"{}\"", resource.revision())) {
        response.headers_mut().insert(ETAG, etag);
    }
    Ok(response)
}

/// A response without a body.
pub(super) fn no_content() -> Response {
    Response::new(Body::empty())
}

/// A resource with a revision, which is its `ETag`.
pub(super) trait Revisioned {
    fn revision(&self) -> i64;
}

impl Revisioned for Event {
    fn revision(&self) -> i64 {
        self.revision
    }
}

impl Revisioned for TicketType {
    fn revision(&self) -> i64 {
        self.revision
    }
}

impl Revisioned for Discount {
    fn revision(&self) -> i64 {
        self.revision
    }
}

impl Revisioned for WebhookEndpoint {
    fn revision(&self) -> i64 {
        self.revision
    }
}
