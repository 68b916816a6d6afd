//! Operations of the API: name, method, path, scope, and the types of request and response.
//!
//! Each resource has a file with a table of its operations. Their [constructors](super::operation_kinds) take the handler function of an
//! operation and derive from its types how the request is read, how the response is written, and how the OpenAPI
//! document describes both. This layer exists on top of axum's extractors so that the document cannot differ from the
//! code, and so that each operation is one entry in a table.

use std::borrow::Cow;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::enums::scope::Scope;
use crate::error::{Reason, Result};
use crate::form::declare::schema::NamedSchemas;
use crate::form::request::Nothing;
use crate::model::values::id::OrganizationId;
use crate::server::http::blocking::{Class, PreparedResponse};
use crate::server::http::call::{Call, read_json};
use crate::server::http::representation::compressed;
use crate::server::responses::problem::Problem;

/// The path prefix of all operations.
pub(in crate::server) const BASE: &str = "/v1";

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
    pub(super) is_compressed: bool,
    pub(super) run: Run,
}

/// What an operation does.
pub(super) enum Run {
    /// Calls the service on a blocking thread and writes the response.
    Call(Handler<Response>),
    /// Looks up a few rows and prepares a write.
    Prepare(Handler<PreparedResponse>),
}

pub(super) type Handler<T> = Box<dyn Fn(&Call<'_>) -> Result<T, Problem> + Send + Sync>;

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
    pub(super) const NO_CONTENT: Self = Self {
        status: StatusCode::NO_CONTENT,
        also: None,
        body: None,
        has_location: false,
        has_etag: false,
        is_document: false,
        is_export: false,
    };

    /// 200 with a `T` as its body.
    pub(super) fn ok<T: JsonSchema>() -> Self {
        let body: ResponseSchema = |generator| generator.subschema_for::<T>();
        Self { status: StatusCode::OK, body: Some(body), ..Self::NO_CONTENT }
    }

    pub(super) fn with_etag(self) -> Self {
        Self { has_etag: true, ..self }
    }
}

impl Operation {
    pub(super) fn new(
        route: Route,
        method: Method,
        input: Input,
        success: Success,
        run: impl Fn(&Call<'_>) -> Result<Response, Problem> + Send + Sync + 'static,
    ) -> Self {
        Self::with(route, method, input, success, Run::Call(Box::new(run)))
    }

    pub(super) fn with(route: Route, method: Method, input: Input, success: Success, run: Run) -> Self {
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
