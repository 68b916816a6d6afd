//! What an operation is over HTTP: a name, a method, a path, a scope, and what it takes and gives. Each resource's file
//! is a table of them. The types of a table's functions are the operation's contract: what is read, what is answered
//! and what the document of the interface says all come from them.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ETAG, LOCATION};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::blocking::Wait;
use super::contract::{Contract, Takes};
use super::problem::Problem;
use crate::error::Result;
use crate::form::fields::FromFields;
use crate::form::request::{Nothing, Request};
use crate::model::caller::Caller;
use crate::model::discount::Discount;
use crate::model::event::Event;
use crate::model::id::{Id, Kind};
use crate::model::scope::Scope;
use crate::model::ticket_type::TicketType;
use crate::model::webhook::WebhookEndpoint;
use crate::service::TicketingService;

/// What every operation's path begins with.
pub(super) const BASE: &str = "/v1";

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// One operation over HTTP.
#[derive(Clone)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) scope: Scope,
    pub(super) contract: Contract,
    /// Whether it is done once for an idempotency key.
    pub(super) once: bool,
    pub(super) wait: Wait,
    pub(super) run: Run,
}

/// What does the work, on a thread that may wait.
type Run = Arc<dyn Fn(&Call<'_>) -> Result<Answer, Problem> + Send + Sync>;

/// Something that has a revision.
pub(super) trait Revised {
    fn revision(&self) -> i64;
}

impl Revised for Event {
    fn revision(&self) -> i64 {
        self.revision
    }
}

impl Revised for TicketType {
    fn revision(&self) -> i64 {
        self.revision
    }
}

impl Revised for Discount {
    fn revision(&self) -> i64 {
        self.revision
    }
}

impl Revised for WebhookEndpoint {
    fn revision(&self) -> i64 {
        self.revision
    }
}

/// The scope that an operation needs, and where it is.
pub(super) type Mounted = (&'static str, &'static str, Scope);

impl Operation {
    fn new(
        (name, path, scope): Mounted,
        method: Method,
        contract: Contract,
        run: impl Fn(&Call<'_>) -> Result<Answer, Problem> + Send + Sync + 'static,
    ) -> Self {
        let once = method == Method::POST;
        Self { name, method, path, scope, contract, once, wait: Wait::Store, run: Arc::new(run) }
    }

    /// Reads a page of what the query string asks for.
    pub(super) fn list<Q: FromFields + 'static, T: Serialize + JsonSchema + 'static>(
        mounted: Mounted,
        run: fn(&Call<'_>, Request<Q>) -> Result<T>,
    ) -> Self {
        let contract = Contract::giving::<T>().with_query::<Q>();
        Self::new(mounted, Method::GET, contract, move |call| Answer::ok(&run(call, call.query())?))
    }

    /// Reads one thing.
    pub(super) fn get<T: Serialize + JsonSchema + 'static>(mounted: Mounted, run: fn(&Call<'_>) -> Result<T>) -> Self {
        Self::new(mounted, Method::GET, Contract::giving::<T>(), move |call| Answer::ok(&run(call)?))
    }

    /// Reads one thing, and tells its revision.
    pub(super) fn get_revised<T: Serialize + JsonSchema + Revised + 'static>(
        mounted: Mounted,
        run: fn(&Call<'_>) -> Result<T>,
    ) -> Self {
        Self::new(mounted, Method::GET, Contract::giving::<T>().revised(), move |call| {
            let shown = run(call)?;
            Ok(Answer::ok(&shown)?.at_revision(shown.revision()))
        })
    }

    /// Makes one thing out of a body, and says where it is: a path below [`BASE`].
    pub(super) fn create<B: FromFields + 'static, T: Serialize + JsonSchema + 'static>(
        mounted: Mounted,
        run: fn(&Call<'_>, Request<B>) -> Result<T>,
        place: fn(&T) -> String,
    ) -> Self {
        let contract = Contract::giving::<T>().with_body::<B>().created().located();
        Self::new(mounted, Method::POST, contract, move |call| {
            let made = run(call, call.json()?)?;
            Ok(Answer::ok(&made)?.at(&place(&made)))
        })
    }

    /// Makes several things out of a body.
    pub(super) fn create_several<B: FromFields + 'static, T: Serialize + JsonSchema + 'static>(
        mounted: Mounted,
        run: fn(&Call<'_>, Request<B>) -> Result<T>,
    ) -> Self {
        let contract = Contract::giving::<T>().with_body::<B>().created();
        Self::new(mounted, Method::POST, contract, move |call| Answer::ok(&run(call, call.json()?)?))
    }

    /// Does what a body says.
    pub(super) fn act<B: FromFields + 'static, T: Serialize + JsonSchema + 'static>(
        mounted: Mounted,
        run: fn(&Call<'_>, Request<B>) -> Result<T>,
    ) -> Self {
        let contract = Contract::giving::<T>().with_body::<B>();
        Self::new(mounted, Method::POST, contract, move |call| Answer::ok(&run(call, call.json()?)?))
    }

    /// Does something with what its path names.
    pub(super) fn act_on<T: Serialize + JsonSchema + 'static>(
        mounted: Mounted,
        run: fn(&Call<'_>) -> Result<T>,
    ) -> Self {
        let contract = Contract::giving::<T>().with_nothing_much();
        Self::new(mounted, Method::POST, contract, move |call| Answer::ok(&run(call)?))
    }

    /// Does something with what its path names, as often as it is told, whatever the idempotency key.
    pub(super) fn act_on_each_time<T: Serialize + JsonSchema + 'static>(
        mounted: Mounted,
        run: fn(&Call<'_>) -> Result<T>,
    ) -> Self {
        Self { once: false, ..Self::act_on(mounted, run) }
    }

    /// Takes note of something about what its path names, as often as it is told.
    pub(super) fn note(mounted: Mounted, run: fn(&Call<'_>) -> Result<()>) -> Self {
        let noted = move |call: &Call<'_>| Ok(run(call).map(|()| Answer::nothing())?);
        Self { once: false, ..Self::new(mounted, Method::POST, Contract::SILENT.with_nothing_much(), noted) }
    }

    /// Changes what a body names.
    pub(super) fn update<B: FromFields + 'static, T: Serialize + JsonSchema + Revised + 'static>(
        mounted: Mounted,
        run: fn(&Call<'_>, Request<B>) -> Result<T>,
    ) -> Self {
        let contract = Contract::giving::<T>().with_body::<B>().revised();
        Self::new(mounted, Method::PATCH, contract, move |call| {
            let changed = run(call, call.json()?)?;
            Ok(Answer::ok(&changed)?.at_revision(changed.revision()))
        })
    }

    /// Deletes what its path names.
    pub(super) fn delete(mounted: Mounted, run: fn(&Call<'_>) -> Result<()>) -> Self {
        let deleted = move |call: &Call<'_>| Ok(run(call).map(|()| Answer::nothing())?);
        Self::new(mounted, Method::DELETE, Contract::SILENT, deleted)
    }

    /// The same operation, whose answer says that what was asked for is still to be done.
    pub(super) fn that_is_done_later(self) -> Self {
        Self { contract: self.contract.accepted(), ..self }
    }

    /// The same operation, which may have to wait for the payment gateway.
    pub(super) fn that_may_wait_for_the_gateway(mut self) -> Self {
        self.wait = Wait::Gateway;
        self
    }

    /// Whether it reads a body at all.
    pub(super) fn has_body(&self) -> bool {
        matches!(self.contract.takes, Takes::Body(_) | Takes::BodyOrNot(_))
    }

    pub(super) fn answers(&self, method: &Method) -> bool {
        self.method == *method || (self.method == Method::GET && *method == Method::HEAD)
    }

    /// Refuses a body that cannot be read, whatever it says.
    pub(super) fn check_syntax(&self, body: &[u8]) -> Result<(), Problem> {
        match (self.contract.takes, body) {
            (Takes::Nothing | Takes::Query(_), _) | (Takes::BodyOrNot(_), []) => Ok(()),
            _ => read_json::<Nothing>(body).map(drop),
        }
    }

    /// Does the work. A replay says so.
    pub(super) fn run(&self, call: &Call<'_>) -> Result<Answer, Problem> {
        if matches!(self.contract.takes, Takes::BodyOrNot(_)) && !call.body.is_empty() {
            Request::<Nothing>::from_json(call.body)?.errors.into_result()?;
        }
        let answer = (self.run)(call)?;
        Ok(Answer { status: self.contract.status, replayed: call.caller.was_replayed(), ..answer })
    }
}

/// A request that was let in, as an operation sees it.
pub(super) struct Call<'a> {
    pub(super) service: &'a TicketingService,
    pub(super) caller: &'a Caller,
    /// What the path has in the places of its parameters.
    pub(super) parameters: &'a [String],
    pub(super) query: &'a [(String, String)],
    pub(super) body: &'a [u8],
}

impl Call<'_> {
    /// The id in the path. A text that cannot be one names a thing that does not exist.
    pub(super) fn id<K: Kind>(&self) -> Id<K> {
        self.id_at(0)
    }

    /// The id in the path that comes after [`Call::id`].
    pub(super) fn second_id<K: Kind>(&self) -> Id<K> {
        self.id_at(1)
    }

    fn id_at<K: Kind>(&self, place: usize) -> Id<K> {
        self.parameters.get(place).and_then(|text| text.parse().ok()).unwrap_or(Id::NOTHING)
    }

    /// The request in the query string.
    fn query<T: FromFields>(&self) -> Request<T> {
        Request::from_query(self.query.iter().cloned())
    }

    /// The request in the body.
    fn json<T: FromFields>(&self) -> Result<Request<T>, Problem> {
        read_json(self.body)
    }
}

fn read_json<T: FromFields>(body: &[u8]) -> Result<Request<T>, Problem> {
    if body.is_empty() {
        return Err(Problem::malformed("the body is empty"));
    }
    Ok(Request::from_json(body)?)
}

/// What an operation came to.
#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    location: Option<String>,
    revision: Option<i64>,
    replayed: bool,
    body: Option<Vec<u8>>,
}

impl Answer {
    /// An answer with this body.
    fn ok(body: &impl Serialize) -> Result<Self, Problem> {
        // Most answers fit at once.
        let mut json = Vec::with_capacity(1024);
        serde_json::to_writer(&mut json, body).map_err(Problem::internal)?;
        Ok(Self { status: StatusCode::OK, body: Some(json), ..Self::nothing() })
    }

    /// An answer without a body.
    fn nothing() -> Self {
        Self { status: StatusCode::NO_CONTENT, location: None, revision: None, replayed: false, body: None }
    }

    fn at(self, place: &str) -> Self {
        Self { location: Some(format!("{BASE}/{place}")), ..self }
    }

    fn at_revision(self, revision: i64) -> Self {
        Self { revision: Some(revision), ..self }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.body.map_or_else(Body::empty, Body::from));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if self.status != StatusCode::NO_CONTENT {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(location) = self.location.and_then(|location| HeaderValue::try_from(location).ok()) {
            headers.insert(LOCATION, location);
        }
        if let Some(tag) = self.revision.and_then(|revision| HeaderValue::try_from(format!("\"{revision}\"")).ok()) {
            headers.insert(ETAG, tag);
        }
        if self.replayed {
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}
