//! The argument of an operation's handler function, an authorized request, and the responses that it returns.

use std::sync::LazyLock;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::http::request::Parts;
use axum::response::Response;
use serde::Serialize;

use super::base_path::base_path;
use crate::fair::Semaphore;
use crate::form::object::Form;
use crate::form::picture::may_have_data_uri;
use crate::form::request::Request;
use crate::model::notifications::webhook::WebhookEndpoint;
use crate::model::sale::discount::Discount;
use crate::model::sale::event::Event;
#[cfg(feature = "mail")]
use crate::model::sale::mail::MailSettings;
use crate::model::sale::ticket_type::TicketType;
use crate::model::tenants::caller::{Caller, ConditionalCaller, KeyedCaller};
use crate::model::values::id::{Id, Kind, OrganizationId};
use crate::server::responses::problem::Problem;
use crate::service::TicketingService;

/// An authorized request.
pub(in crate::server) struct Call<'a> {
    pub(in crate::server) service: &'a TicketingService,
    pub(in crate::server) caller: &'a Caller,
    /// The caller with its idempotency key, if it sent one.
    pub(in crate::server) keyed: &'a KeyedCaller,
    /// The caller with the revisions of the resource that it expects, if it sent any.
    pub(in crate::server) conditional: &'a ConditionalCaller,
    /// The values of the path parameters, in the order of the path.
    pub(in crate::server) parameters: &'a [String],
    pub(in crate::server) head: &'a Parts,
    pub(in crate::server) query: &'a [(String, String)],
    /// The names of the query parameters that the operation has.
    pub(in crate::server) query_names: &'a [String],
    pub(in crate::server) body: &'a [u8],
    /// The path of the service's public URL.
    pub(in crate::server) public_path: &'a str,
}

impl Call<'_> {
    /// The first id in the path. Text that is not an id becomes [`Id::UNKNOWN`], which no resource has.
    pub(in crate::server) fn id<K: Kind>(&self) -> Id<K> {
        self.id_at(0)
    }

    pub(in crate::server) fn second_id<K: Kind>(&self) -> Id<K> {
        self.id_at(1)
    }

    fn id_at<K: Kind>(&self, index: usize) -> Id<K> {
        self.parameters.get(index).and_then(|text| text.parse().ok()).unwrap_or(Id::UNKNOWN)
    }

    /// The path under which clients reach the routes, without a trailing slash.
    pub(in crate::server) fn base_path(&self) -> &str {
        base_path(&self.head.uri, &self.head.extensions, self.public_path)
    }

    /// Reads the request from the query string. A parameter that the operation does not have is an error: without a
    /// misspelled filter, a list would have more items than the client meant.
    pub(in crate::server) fn query<T: Form>(&self) -> Request<T> {
        self.query_and(None)
    }

    /// Reads the request from the query string and one more parameter, which follows from the path.
    pub(in crate::server) fn query_and<T: Form>(&self, of_path: Option<(String, String)>) -> Request<T> {
        let is_known = |(name, _): &&(String, String)| self.query_names.contains(name);
        let mut request = Request::<T>::from_query(self.query.iter().filter(is_known).cloned().chain(of_path));
        for (name, _) in self.query.iter().filter(|parameter| !is_known(parameter)) {
            request.errors.add(name.as_str(), "is not a parameter of this operation");
        }
        request
    }

    /// Reads the request from the body.
    pub(in crate::server) fn json<T: Form>(&self) -> Result<Request<T>, Problem> {
        read_json(self.caller.organization, self.body)
    }
}

/// Bodies larger than this are parsed one after another: 64 KiB. While a body is parsed, it may take fifty times its
/// size.
const LARGE_BODY: usize = 64 * 1024;

/// The permit to parse a large body, or one with pictures, which are decoded. It takes some tenths of a second at most.
/// Organizations take turns.
static SLOW_BODIES: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(1));

pub(in crate::server) fn read_json<T: Form>(organization: OrganizationId, body: &[u8]) -> Result<Request<T>, Problem> {
    if body.is_empty() {
        return Err(Problem::malformed("the body is empty"));
    }
    let is_slow = body.len() > LARGE_BODY || may_have_data_uri(body);
    let _permit = is_slow.then(|| SLOW_BODIES.acquire(Some(organization), Duration::MAX, || false));
    Ok(Request::from_json(body)?)
}

pub(in crate::server) fn json(body: &impl Serialize) -> Result<Response, Problem> {
    // Large enough for most responses, and small enough for what glibc allocates without tidying up first.
    let mut bytes = Vec::with_capacity(1000);
    serde_json::to_writer(&mut bytes, body).map_err(Problem::internal)?;
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

pub(in crate::server) fn json_with_etag<T: Serialize + Revisioned>(resource: &T) -> Result<Response, Problem> {
    let mut response = json(resource)?;
    if let Ok(etag) = HeaderValue::try_from(format!("\"{}\"", resource.revision())) {
        response.headers_mut().insert(ETAG, etag);
    }
    Ok(response)
}

pub(in crate::server) fn no_content() -> Response {
    Response::new(Body::empty())
}

/// A resource with a revision, which is its `ETag`.
pub(in crate::server) trait Revisioned {
    fn revision(&self) -> i64;
}

macro_rules! revisioned {
    ($($resource:ident),+) => {
        $(impl Revisioned for $resource {
            fn revision(&self) -> i64 {
                self.revision
            }
        })+
    };
}

revisioned! { Event, TicketType, Discount, WebhookEndpoint }

#[cfg(feature = "mail")]
revisioned! { MailSettings }

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::fair::tenant;
    use crate::form::request::Nothing;

    #[test]
    fn a_slow_body_does_not_wait_behind_all_those_of_another_organization() {
        let large = format!("[{}0]", "0,".repeat(200_000));
        let (sender, parsed) = mpsc::channel();
        let held = SLOW_BODIES.try_acquire(tenant(3));
        std::thread::scope(|scope| {
            for (waiting, organization) in [1, 1, 1, 1, 1, 1, 2].into_iter().enumerate() {
                let (sender, large) = (sender.clone(), &large);
                scope.spawn(move || {
                    drop(read_json::<Nothing>(OrganizationId::from_raw(organization), large.as_bytes()));
                    sender.send(organization)
                });
                while SLOW_BODIES.waiting() <= waiting {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        drop(sender);
        let order: Vec<_> = parsed.iter().collect();
        assert!(order.iter().position(|organization| *organization == 2) < Some(6), "{order:?}");

        // Small bodies with pictures wait like large ones.
        let picture = r#"{"ticketLogo": "Data:image/png;base64,iVBORw0KGgo="}"#;
        let escaped = r#"{"ticketLogo": "d\u0061ta:image/png;base64,iVBORw0KGgo="}"#;
        for body in [picture, escaped] {
            let held = SLOW_BODIES.try_acquire(tenant(3));
            std::thread::scope(|scope| {
                scope.spawn(|| drop(read_json::<Nothing>(OrganizationId::from_raw(1), body.as_bytes())));
                while SLOW_BODIES.waiting() == 0 {
                    std::thread::yield_now();
                }
                drop(held);
            });
        }
        // Other small bodies do not wait.
        let _held = SLOW_BODIES.try_acquire(tenant(3));
        let small = r#"{"name": "Zo\u00eb", "metadata": {"date": "today"}}"#;
        drop(read_json::<Nothing>(OrganizationId::from_raw(1), small.as_bytes()));
    }
}
