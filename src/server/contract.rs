//! What an operation takes and gives, as its function's types say it.

use axum::http::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::form::describe;
use crate::form::fields::FromFields;
use crate::form::request::Nothing;

/// Describes something with the help of what was described before.
pub(super) type Describe = fn(&mut SchemaGenerator) -> Schema;

/// Where an operation finds its request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Takes {
    /// Nowhere: its path says it all.
    Nothing,
    /// In the query string.
    Query(Describe),
    /// In a body, which it needs.
    Body(Describe),
    /// In a body, which may be missing.
    BodyOrNot(Describe),
}

/// What an operation takes and gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contract {
    pub(super) takes: Takes,
    /// The status of its success.
    pub(super) status: StatusCode,
    /// The body of its success, where it has one.
    pub(super) gives: Option<Describe>,
    /// Whether its success says where to find what was made.
    pub(super) located: bool,
    /// Whether its success tells a revision.
    pub(super) revised: bool,
}

impl Contract {
    /// 204, and no body on either side.
    pub(super) const SILENT: Self =
        Self { takes: Takes::Nothing, status: StatusCode::NO_CONTENT, gives: None, located: false, revised: false };

    /// 200 with a `T`.
    pub(super) fn giving<T: JsonSchema>() -> Self {
        let gives: Describe = |generator| generator.subschema_for::<T>();
        Self { status: StatusCode::OK, gives: Some(gives), ..Self::SILENT }
    }

    pub(super) fn with_query<Q: FromFields>(self) -> Self {
        Self { takes: Takes::Query(describe::object::<Q>), ..self }
    }

    pub(super) fn with_body<B: FromFields>(self) -> Self {
        Self { takes: Takes::Body(describe::named_object::<B>), ..self }
    }

    /// Of a body that may be missing nothing counts.
    pub(super) fn with_nothing_much(self) -> Self {
        Self { takes: Takes::BodyOrNot(describe::object::<Nothing>), ..self }
    }

    pub(super) fn created(self) -> Self {
        Self { status: StatusCode::CREATED, ..self }
    }

    pub(super) fn accepted(self) -> Self {
        Self { status: StatusCode::ACCEPTED, ..self }
    }

    pub(super) fn located(self) -> Self {
        Self { located: true, ..self }
    }

    pub(super) fn revised(self) -> Self {
        Self { revised: true, ..self }
    }
}
