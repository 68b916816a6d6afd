//! The kinds of operations: the constructors that the tables use. From the types of a handler function they derive how the
//! request is read and the response is written.

use std::fmt::Display;

use axum::http::header::LOCATION;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

#[cfg(feature = "exports")]
use super::operation::RequestSchema;
use super::operation::{BASE, Input, Operation, Route, Run, Success};
#[cfg(feature = "documents")]
use crate::documents::TicketDocument;
use crate::error::Result;
use crate::form::object::{self, Form};
use crate::form::request::{Nothing, Request};
use crate::model::tenants::idempotency::Replayable;
#[cfg(feature = "documents")]
use crate::server::http::blocking::Class;
use crate::server::http::call::{Call, Revisioned, json, json_with_etag, no_content};
#[cfg(feature = "documents")]
use crate::server::http::representation::Representation;
use crate::server::responses::problem::Problem;
use crate::write::Prepared;

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// What a function of the service returns that prepares a write.
type PreparedResult<T> = Result<Prepared<Replayable<T>>>;

impl Operation {
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
}

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
