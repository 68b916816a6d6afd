//! Operations of the API: name, method, path, scope, and the types of request and response.
//!
//! Each resource has a file with a table of its operations. The constructors below take the handler function of an
//! operation and derive from its types how the request is read, how the response is written, and how the OpenAPI
//! document describes both. This layer exists on top of axum's extractors so that the document cannot differ from the
//! code, and so that each operation is one entry in a table.

use std::borrow::Cow;
use std::fmt::Display;

use axum::http::header::LOCATION;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

#[cfg(feature = "documents")]
use crate::documents::TicketDocument;
use crate::enums::scope::Scope;
use crate::error::{Reason, Result};
use crate::form::declare::schema::NamedSchemas;
use crate::form::object::{self, Form};
use crate::form::request::{Nothing, Request};
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::id::OrganizationId;
use crate::server::http::blocking::{Class, PreparedResponse};
use crate::server::http::call::{Call, Revisioned, json, json_with_etag, no_content, read_json};
#[cfg(feature = "documents")]
use crate::server::http::representation::Representation;
use crate::server::http::representation::compressed;
use crate::server::responses::problem::Problem;
use crate::write::Prepared;

/// The path prefix of all operations.
pub(in crate::server) const BASE: &str = "/v1";

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The name of an operation, its path, and the scope that the key needs.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct Route {
    pub(in crate::server) name: &'static str,
    /// The path below [`BASE`], with its parameters in braces.
    pub(in crate::server) path: &'static str,
    pub(in crate::server) scope: Scope,
}

impl Route {
    pub(in crate::server) const fn new(name: &'static str, path: &'static str, scope: Scope) -> Self {
        Self { name, path, scope }
    }
}

/// One operation of the API.
pub(in crate::server) struct Operation {
    pub(in crate::server) route: Route,
    pub(in crate::server) method: Method,
    /// Further scopes that the key needs.
    pub(in crate::server) further_scopes: Vec<Scope>,
    /// One line of documentation for API clients.
    pub(in crate::server) summary: &'static str,
    /// More documentation for API clients; may be empty.
    pub(in crate::server) description: Cow<'static, str>,
    /// Every reason that a conflict (409) of this operation can have.
    pub(in crate::server) conflicts: &'static [Reason],
    pub(in crate::server) input: Input,
    /// The names of the query parameters.
    pub(in crate::server) query_names: Vec<String>,
    pub(in crate::server) success: Success,
    /// Whether an `Idempotency-Key` makes a repeated request return the first response.
    pub(in crate::server) idempotent: bool,
    /// Whether some requests are refused without an `Idempotency-Key`.
    pub(in crate::server) may_require_key: bool,
    /// Decides which permits a request needs.
    pub(in crate::server) class: Class,
    /// Whether it fails if the payment gateway returns no checkout.
    pub(in crate::server) starts_checkout: bool,
    /// Whether the key of a door link may call it only for few orders.
    pub(in crate::server) looks_up_order: bool,
    /// Whether the response is compressed for clients that accept it.
    is_compressed: bool,
    run: Run,
}

/// What an operation does.
enum Run {
    /// Calls the service on a blocking thread and writes the response.
    Call(Handler<Response>),
    /// Looks up a few rows and prepares a write.
    Prepare(Handler<PreparedResponse>),
}

type Handler<T> = Box<dyn Fn(&Call<'_>) -> Result<T, Problem> + Send + Sync>;

/// What a function of the service returns that prepares a write.
type PreparedResult<T> = Result<Prepared<Replayable<T>>>;

/// Adds the schema of a request to the OpenAPI document.
pub(in crate::server) type RequestSchema = fn(&mut NamedSchemas) -> serde_json::Value;

/// Adds the schema of a response to the OpenAPI document.
pub(in crate::server) type ResponseSchema = fn(&mut SchemaGenerator) -> Schema;

/// Which part of a request an operation reads, in addition to the path.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) enum Input {
    None,
    Query(RequestSchema),
    Body(RequestSchema),
    /// A body that may be missing. If present, it must be a JSON object.
    OptionalBody(RequestSchema),
}

/// The response to a request that succeeded.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct Success {
    pub(in crate::server) status: StatusCode,
    /// Another status that it may have: 202 if the request has started something that goes on, or 200 if an earlier request
    /// has created the resource.
    pub(in crate::server) also: Option<StatusCode>,
    pub(in crate::server) body: Option<ResponseSchema>,
    /// Whether it has a `Location` header.
    pub(in crate::server) has_location: bool,
    /// Whether it has an `ETag` header.
    pub(in crate::server) has_etag: bool,
    /// Whether the body is a PDF file.
    pub(in crate::server) is_document: bool,
    /// Whether the body is an exported file.
    pub(in crate::server) is_export: bool,
}

impl Success {
    const NO_CONTENT: Self = Self {
        status: StatusCode::NO_CONTENT,
        also: None,
        body: None,
        has_location: false,
        has_etag: false,
        is_document: false,
        is_export: false,
    };

    /// 200 with a `T` as its body.
    fn ok<T: JsonSchema>() -> Self {
        let body: ResponseSchema = |generator| generator.subschema_for::<T>();
        Self { status: StatusCode::OK, body: Some(body), ..Self::NO_CONTENT }
    }

    fn with_etag(self) -> Self {
        Self { has_etag: true, ..self }
    }
}

impl Operation {
    fn new(
        route: Route,
        method: Method,
        input: Input,
        success: Success,
        run: impl Fn(&Call<'_>) -> Result<Response, Problem> + Send + Sync + 'static,
    ) -> Self {
        Self::with(route, method, input, success, Run::Call(Box::new(run)))
    }

    fn with(route: Route, method: Method, input: Input, success: Success, run: Run) -> Self {
        let idempotent = method == Method::POST;
        let is_look_up = method == Method::GET && matches!(input, Input::None);
        let query =
            if let Input::Query(schema) = input { schema(&mut NamedSchemas::default()) } else { serde_json::json!({}) };
        let query_names = query["properties"].as_object().into_iter().flat_map(|names| names.keys().cloned()).collect();
        Self {
            route,
            method,
            further_scopes: Vec::new(),
            summary: "",
            description: Cow::Borrowed(""),
            conflicts: &[],
            input,
            query_names,
            success,
            idempotent,
            may_require_key: false,
            class: if is_look_up { Class::LookUp } else { Class::Store },
            starts_checkout: false,
            looks_up_order: false,
            is_compressed: false,
            run,
        }
    }

    /// `POST` that prepares a write. `respond` gets the path under which clients reach the routes, and the result.
    fn prepared<B: Form + 'static, T: Send + 'static>(
        route: Route,
        success: Success,
        prepare: fn(&Call<'_>, Request<B>) -> PreparedResult<T>,
        respond: impl Fn(&str, &Replayable<T>) -> Result<Response, Problem> + Copy + Send + Sync + 'static,
    ) -> Self {
        let prepare = move |call: &Call<'_>| {
            let base_path = call.base_path().to_owned();
            Ok(prepare(call, call.json()?)?.map(move |result| respond(&base_path, &result)))
        };
        Self::with(route, Method::POST, body::<B>(), success, Run::Prepare(Box::new(prepare)))
    }

    /// `GET` of a page, selected by the query string.
    pub(in crate::server) fn list<Q: Form + 'static, T: Serialize + JsonSchema + 'static>(
        route: Route,
        run: fn(&Call<'_>, Q) -> Result<T>,
    ) -> Self {
        let input = Input::Query(object::schema::<Q>);
        Self::new(route, Method::GET, input, Success::ok::<T>(), move |call| {
            json(&run(call, call.query().into_inner()?)?)
        })
    }

    /// `GET` of one resource.
    pub(in crate::server) fn get<T: Serialize + JsonSchema + 'static>(
        route: Route,
        run: fn(&Call<'_>) -> Result<T>,
    ) -> Self {
        Self::new(route, Method::GET, Input::None, Success::ok::<T>(), move |call| json(&run(call)?))
    }

    /// `GET` of one resource that has a revision.
    pub(in crate::server) fn get_with_etag<T: Serialize + JsonSchema + Revisioned + 'static>(
        route: Route,
        run: fn(&Call<'_>) -> Result<T>,
    ) -> Self {
        Self::new(route, Method::GET, Input::None, Success::ok::<T>().with_etag(), move |call| {
            json_with_etag(&run(call)?)
        })
    }

    /// `GET` of a document.
    #[cfg(feature = "documents")]
    pub(in crate::server) fn document(route: Route, run: fn(&Call<'_>) -> Result<TicketDocument>) -> Self {
        let success = Success { status: StatusCode::OK, is_document: true, ..Success::NO_CONTENT.with_etag() };
        let operation = Self::new(route, Method::GET, Input::None, success, move |call| {
            Ok(Representation::document(run(call)?).send(&call.head.headers))
        });
        Self { class: Class::Document, ..operation }
    }

    /// `GET` of a document of which the query selects a part.
    #[cfg(feature = "documents")]
    pub(in crate::server) fn document_part<Q: Form + 'static, T: Into<TicketDocument> + 'static>(
        route: Route,
        run: fn(&Call<'_>, Q) -> Result<T>,
    ) -> Self {
        let success = Success { status: StatusCode::OK, is_document: true, ..Success::NO_CONTENT.with_etag() };
        let operation = Self::new(route, Method::GET, Input::Query(object::schema::<Q>), success, move |call| {
            let document = run(call, call.query().into_inner()?)?.into();
            Ok(Representation::document(document).send(&call.head.headers))
        });
        Self { class: Class::Document, ..operation }
    }

    /// `GET` of an exported file.
    #[cfg(feature = "exports")]
    pub(in crate::server) fn export(
        route: Route,
        query: RequestSchema,
        run: impl Fn(&Call<'_>) -> Result<Response, Problem> + Send + Sync + 'static,
    ) -> Self {
        let success = Success { status: StatusCode::OK, is_export: true, ..Success::NO_CONTENT };
        Self::new(route, Method::GET, Input::Query(query), success, run)
    }

    /// The operation may look at many rows.
    #[cfg(feature = "exports")]
    pub(in crate::server) fn searches(self) -> Self {
        Self { class: Class::Store, ..self }
    }

    /// The same operation, for which the key needs this scope too.
    pub(in crate::server) fn also_requires(mut self, scope: Scope) -> Self {
        self.further_scopes.push(scope);
        self
    }

    /// `POST` that creates one resource with an id, whose path has the same name for the resources as this one.
    pub(in crate::server) fn create<B: Form + 'static, T: Serialize + JsonSchema + 'static>(
        route: Route,
        run: fn(&Call<'_>, Request<B>) -> Result<Replayable<T>>,
        id: fn(&T) -> &dyn Display,
    ) -> Self {
        Self::new(route, Method::POST, body::<B>(), created::<T>(), move |call| {
            let created = run(call, call.json()?)?;
            created_json(route, call.base_path(), &created, id)
        })
    }

    /// Like [`create`](Self::create), for what is prepared.
    pub(in crate::server) fn create_prepared<B: Form + 'static, T: Serialize + JsonSchema + Send + 'static>(
        route: Route,
        prepare: fn(&Call<'_>, Request<B>) -> PreparedResult<T>,
        id: fn(&T) -> &dyn Display,
    ) -> Self {
        let respond = move |base_path: &str, result: &_| created_json(route, base_path, result, id);
        Self::prepared(route, created::<T>(), prepare, respond)
    }

    /// `POST` that creates something of the resource that the path names, unless it is there: `is_new` says whether it was
    /// created. It needs no body.
    pub(in crate::server) fn ensure<T: Serialize + JsonSchema + 'static>(
        route: Route,
        run: fn(&Call<'_>) -> Result<Replayable<T>>,
        is_new: fn(&T) -> bool,
    ) -> Self {
        let success = Success { status: StatusCode::CREATED, also: Some(StatusCode::OK), ..Success::ok::<T>() };
        Self::new(route, Method::POST, optional_body(), success, move |call| {
            let result = run(call)?;
            let mut response = replayable_json(&result)?;
            if is_new(&result.value) {
                *response.status_mut() = StatusCode::CREATED;
            }
            Ok(response)
        })
    }

    /// `POST` of an action that is described by its body.
    pub(in crate::server) fn action<B: Form + 'static, T: Serialize + JsonSchema + 'static>(
        route: Route,
        run: fn(&Call<'_>, Request<B>) -> Result<Replayable<T>>,
    ) -> Self {
        let run = move |call: &Call<'_>| replayable_json(&run(call, call.json()?)?);
        Self::new(route, Method::POST, body::<B>(), Success::ok::<T>(), run)
    }

    /// Like [`action`](Self::action), for what is prepared.
    pub(in crate::server) fn action_prepared<B: Form + 'static, T: Serialize + JsonSchema + Send + 'static>(
        route: Route,
        prepare: fn(&Call<'_>, Request<B>) -> PreparedResult<T>,
    ) -> Self {
        Self::prepared(route, Success::ok::<T>(), prepare, |_, result| replayable_json(result))
    }

    /// `POST` of an action on the resource that the path names. It needs no body.
    pub(in crate::server) fn action_on<T: Serialize + JsonSchema + 'static>(
        route: Route,
        run: fn(&Call<'_>) -> Result<Replayable<T>>,
    ) -> Self {
        Self::new(route, Method::POST, optional_body(), Success::ok::<T>(), move |call| replayable_json(&run(call)?))
    }

    /// `POST` of an action on the resource that the path names. Its body describes it, and may be missing.
    pub(in crate::server) fn action_with_options<B: Form + Default + 'static, T: Serialize + JsonSchema + 'static>(
        route: Route,
        run: fn(&Call<'_>, Request<B>) -> Result<Replayable<T>>,
    ) -> Self {
        let input = Input::OptionalBody(object::reference::<B>);
        Self::new(route, Method::POST, input, Success::ok::<T>(), move |call| {
            let request = if call.body.is_empty() { Request::from(B::default()) } else { call.json()? };
            replayable_json(&run(call, request)?)
        })
    }

    /// Like [`action_with_options`](Self::action_with_options), for what goes on after the response: 202 if the request
    /// has started it, and 200 if it had been started before.
    pub(in crate::server) fn start<B: Form + Default + 'static, T: Serialize + JsonSchema + 'static>(
        route: Route,
        run: fn(&Call<'_>, Request<B>) -> Result<Replayable<T>>,
        was_started: fn(&T) -> bool,
    ) -> Self {
        let success = Success { also: Some(StatusCode::ACCEPTED), ..Success::ok::<T>() };
        let input = Input::OptionalBody(object::reference::<B>);
        Self::new(route, Method::POST, input, success, move |call| {
            let request = if call.body.is_empty() { Request::from(B::default()) } else { call.json()? };
            let started = run(call, request)?;
            let mut response = replayable_json(&started)?;
            if !was_started(&started.value) {
                *response.status_mut() = StatusCode::ACCEPTED;
            }
            Ok(response)
        })
    }

    /// `POST` that records something about the resource that the path names. It needs no body, returns none, and counts
    /// each request.
    pub(in crate::server) fn record(route: Route, run: fn(&Call<'_>) -> Result<()>) -> Self {
        let run = move |call: &Call<'_>| Ok(run(call).map(|()| no_content())?);
        Self::new(route, Method::POST, optional_body(), Success::NO_CONTENT, run).not_idempotent()
    }

    /// `PATCH` of a resource that has a revision.
    pub(in crate::server) fn update<B: Form + 'static, T: Serialize + JsonSchema + Revisioned + 'static>(
        route: Route,
        run: fn(&Call<'_>, Request<B>) -> Result<T>,
    ) -> Self {
        let run = move |call: &Call<'_>| json_with_etag(&run(call, call.json()?)?);
        Self::new(route, Method::PATCH, body::<B>(), Success::ok::<T>().with_etag(), run)
    }

    /// `DELETE` of a resource.
    pub(in crate::server) fn delete(route: Route, run: fn(&Call<'_>) -> Result<()>) -> Self {
        let run = move |call: &Call<'_>| Ok(run(call).map(|()| no_content())?);
        Self::new(route, Method::DELETE, Input::None, Success::NO_CONTENT, run)
    }

    /// Documents the operation for API clients. The description may be empty.
    pub(in crate::server) fn docs(self, summary: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        Self { summary, description: description.into(), ..self }
    }

    /// Documents the reasons for which the operation returns a conflict (409).
    pub(in crate::server) fn conflicts(self, conflicts: &'static [Reason]) -> Self {
        Self { conflicts, ..self }
    }

    /// The operation ignores `Idempotency-Key` and runs for every request.
    pub(in crate::server) fn not_idempotent(self) -> Self {
        Self { idempotent: false, ..self }
    }

    /// The operation refuses some requests without an `Idempotency-Key`.
    pub(in crate::server) fn may_require_key(self) -> Self {
        Self { may_require_key: true, ..self }
    }

    /// The operation returns this status instead of 200.
    pub(in crate::server) fn returns(mut self, status: StatusCode) -> Self {
        self.success.status = status;
        self
    }

    /// The operation may call the payment gateway.
    pub(in crate::server) fn calls_gateway(self) -> Self {
        Self { class: Class::Gateway, ..self }
    }

    /// The operation asks the payment gateway for a checkout, and fails with 502 if it returns none.
    pub(in crate::server) fn starts_checkout(self) -> Self {
        Self { starts_checkout: true, ..self.calls_gateway() }
    }

    /// The operation shows an order to the key of a door link, which must not find orders by trying numbers.
    pub(in crate::server) fn looks_up_order(self) -> Self {
        Self { looks_up_order: true, ..self }
    }

    /// The response is large and read by phones. It is compressed on the thread of the call, for clients that accept it.
    pub(in crate::server) fn compressed(self) -> Self {
        Self { is_compressed: true, ..self }
    }

    /// Whether the operation reads a request body.
    pub(in crate::server) fn reads_body(&self) -> bool {
        matches!(self.input, Input::Body(_) | Input::OptionalBody(_))
    }

    /// Checks that the body is JSON, if the operation reads one.
    pub(in crate::server) fn check_syntax(&self, organization: OrganizationId, body: &[u8]) -> Result<(), Problem> {
        match (self.input, body) {
            (Input::None | Input::Query(_), _) | (Input::OptionalBody(_), []) => Ok(()),
            _ => read_json::<Nothing>(organization, body).map(drop),
        }
    }

    /// Calls the service and returns its response.
    pub(in crate::server) fn run(&self, call: &Call<'_>) -> Result<Response, Problem> {
        self.check(call)?;
        let response = match &self.run {
            Run::Call(run) => run(call)?,
            Run::Prepare(prepare) => prepare(call)?.run()??,
        };
        let response = self.with_status(response);
        Ok(if self.is_compressed { compressed(response, &call.head.headers) } else { response })
    }

    /// Whether the operation prepares a write.
    pub(in crate::server) fn is_prepared(&self) -> bool {
        matches!(self.run, Run::Prepare(_))
    }

    /// Prepares the write of the operation.
    pub(in crate::server) fn prepare(&self, call: &Call<'_>) -> Result<PreparedResponse, Problem> {
        self.check(call)?;
        match &self.run {
            Run::Call(_) => Err(Problem::internal("the operation prepares no write")),
            Run::Prepare(prepare) => prepare(call),
        }
    }

    /// Checks the parts of a request that have no fields.
    fn check(&self, call: &Call<'_>) -> Result<(), Problem> {
        if self.query_names.is_empty() {
            call.query::<Nothing>().into_inner()?;
        }
        if matches!(self.input, Input::OptionalBody(_)) && !call.body.is_empty() {
            read_json::<Nothing>(call.caller.organization, call.body)?.errors.into_result()?;
        }
        Ok(())
    }

    /// Sets the status of a successful response.
    pub(in crate::server) fn with_status(&self, mut response: Response) -> Response {
        // Not if the client has the document already, which is 304.
        if response.status() == StatusCode::OK && self.success.also != Some(StatusCode::OK) {
            *response.status_mut() = self.success.status;
        }
        response
    }
}

/// An operation with the name of the method of the service that it calls. `$request` is the type of what it reads from
/// the body, or of a list from the query; `$caller` is a field of [`Call`], and `$id` a method of it.
macro_rules! operation {
    ($kind:ident, $method:ident($caller:ident $(, $id:ident)*), $path:literal, $scope:expr $(, $of_result:expr)?) => {
        Operation::$kind(
            $crate::server::operations::operation::Route::new(stringify!($method), $path, $scope),
            |call| call.service.$method(call.$caller $(, call.$id())*)
            $(, $of_result)?
        )
    };
    (
        $kind:ident, $method:ident::<$request:ident>($caller:ident $(, $id:ident)*), $path:literal, $scope:expr
        $(, $id_of_new:expr)?
    ) => {
        Operation::$kind::<$request, _>(
            $crate::server::operations::operation::Route::new(stringify!($method), $path, $scope),
            |call, request| call.service.$method(call.$caller $(, call.$id())*, request)
            $(, $id_of_new)?
        )
    };
    (
        $kind:ident, $method:ident by $prepare:ident::<$request:ident>($caller:ident), $path:literal, $scope:expr
        $(, $id_of_new:expr)?
    ) => {
        Operation::$kind::<$request, _>(
            $crate::server::operations::operation::Route::new(stringify!($method), $path, $scope),
            |call, request| call.service.$prepare(call.$caller, request)
            $(, $id_of_new)?
        )
    };
}

pub(super) use operation;

fn created<T: JsonSchema>() -> Success {
    Success { status: StatusCode::CREATED, has_location: true, ..Success::ok::<T>() }
}

/// A response with what was created, and its URL.
fn created_json<T: Serialize>(
    route: Route,
    base_path: &str,
    created: &Replayable<T>,
    id: fn(&T) -> &dyn Display,
) -> Result<Response, Problem> {
    let mut response = replayable_json(created)?;
    let resources = route.path.rsplit('/').next().unwrap_or_default();
    let id = id(&created.value);
    if let Ok(location) = HeaderValue::try_from(format!("{base_path}{BASE}/{resources}/{id}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

/// A response with this result as JSON. A stored result of an earlier request is marked as such.
fn replayable_json<T: Serialize>(result: &Replayable<T>) -> Result<Response, Problem> {
    let mut response = json(&result.value)?;
    if result.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

fn body<B: Form>() -> Input {
    Input::Body(object::reference::<B>)
}

fn optional_body() -> Input {
    Input::OptionalBody(object::reference::<Nothing>)
}
