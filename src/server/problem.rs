//! What is answered where an operation could not be done: `application/problem+json` (RFC 9457). This is the one place
//! that knows which error has which status.

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::error::{Error, FieldError, Reason};
use crate::form::json::SyntaxError;
use crate::model::scope::Scope;
use crate::model::text_enum::TextEnum;

/// What kind of problem it is: the end of its `type`, its title, and its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(pub(super) &'static str, pub(super) &'static str, pub(super) StatusCode);

impl Code {
    /// What tells it from the others.
    pub(super) fn type_uri(self) -> String {
        format!("urn:ticketing:problem:{}", self.0)
    }

    /// What is said of every problem.
    fn body(self, detail: &str, instance: &str, request_id: &str) -> Value {
        json!({
            "type": self.type_uri(),
            "title": self.1,
            "status": self.2.as_u16(),
            "detail": detail,
            "instance": instance,
            "requestId": request_id,
        })
    }

    /// What such a problem looks like.
    pub(super) fn example(self, reason: Option<Reason>) -> Value {
        let mut problem = self.body("what happened to this request", "/v1/events", "7d4c3f0b9a");
        match (self, reason) {
            (CONFLICT, Some(reason)) => problem["reason"] = reason.as_str().into(),
            (VALIDATION_FAILED, _) => problem["errors"] = json!([{"path": "title", "message": "is required"}]),
            _ => {}
        }
        problem
    }
}

/// Every kind, by status.
pub(super) const CODES: [&Code; 16] = [
    &MALFORMED_REQUEST,
    &UNAUTHENTICATED,
    &FORBIDDEN,
    &NOT_FOUND,
    &METHOD_NOT_ALLOWED,
    &CONFLICT,
    &IDEMPOTENCY_IN_PROGRESS,
    &PRECONDITION_FAILED,
    &PAYLOAD_TOO_LARGE,
    &UNSUPPORTED_MEDIA_TYPE,
    &VALIDATION_FAILED,
    &IDEMPOTENCY_KEY_REUSED,
    &RATE_LIMITED,
    &INTERNAL,
    &PAYMENT_GATEWAY_FAILED,
    &UNAVAILABLE,
];

const MALFORMED_REQUEST: Code = Code("malformed-request", "The request cannot be read", StatusCode::BAD_REQUEST);
const UNAUTHENTICATED: Code = Code("unauthenticated", "A valid API key is required", StatusCode::UNAUTHORIZED);
const FORBIDDEN: Code = Code("forbidden", "The API key lacks a scope", StatusCode::FORBIDDEN);
const NOT_FOUND: Code = Code("not-found", "There is no such thing", StatusCode::NOT_FOUND);
const METHOD_NOT_ALLOWED: Code =
    Code("method-not-allowed", "The method is not allowed here", StatusCode::METHOD_NOT_ALLOWED);
const CONFLICT: Code = Code("conflict", "The present state forbids it", StatusCode::CONFLICT);
const IDEMPOTENCY_IN_PROGRESS: Code =
    Code("idempotency-in-progress", "The same request is under way", StatusCode::CONFLICT);
const PRECONDITION_FAILED: Code =
    Code("precondition-failed", "The resource is at another revision", StatusCode::PRECONDITION_FAILED);
const PAYLOAD_TOO_LARGE: Code = Code("payload-too-large", "The body is too large", StatusCode::PAYLOAD_TOO_LARGE);
const UNSUPPORTED_MEDIA_TYPE: Code =
    Code("unsupported-media-type", "The body is not JSON", StatusCode::UNSUPPORTED_MEDIA_TYPE);
const VALIDATION_FAILED: Code =
    Code("validation-failed", "The request breaks a constraint", StatusCode::UNPROCESSABLE_ENTITY);
const IDEMPOTENCY_KEY_REUSED: Code = Code(
    "idempotency-key-reused",
    "The idempotency key was used for another request",
    StatusCode::UNPROCESSABLE_ENTITY,
);
const RATE_LIMITED: Code = Code("rate-limited", "Too many requests", StatusCode::TOO_MANY_REQUESTS);
const PAYMENT_GATEWAY_FAILED: Code =
    Code("payment-gateway-failed", "The payment gateway failed", StatusCode::BAD_GATEWAY);
const UNAVAILABLE: Code = Code("unavailable", "The service is busy", StatusCode::SERVICE_UNAVAILABLE);
const INTERNAL: Code = Code("internal", "Something went wrong inside", StatusCode::INTERNAL_SERVER_ERROR);

/// A problem on its way out. It becomes a body where the request's path and id are known: see [`Problem::render`].
#[derive(Debug, Clone)]
pub(super) struct Problem {
    code: &'static Code,
    detail: String,
    reason: Option<Reason>,
    errors: Vec<FieldError>,
    /// The methods that are allowed, where it is the method that is not.
    allow: Option<String>,
    /// How many seconds to wait, where it is of use to come back.
    retry_after: Option<u64>,
}

impl Problem {
    fn new(code: &'static Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), reason: None, errors: Vec::new(), allow: None, retry_after: None }
    }

    /// The request cannot be read at all.
    pub(super) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(&MALFORMED_REQUEST, detail)
    }

    /// The key is missing or not valid: the same answer whatever is wrong with it.
    pub(super) fn unauthenticated() -> Self {
        let detail = "a valid API key is required in the header X-Api-Key";
        Self::new(&UNAUTHENTICATED, detail)
    }

    fn forbidden(scope: Scope) -> Self {
        Self::new(&FORBIDDEN, format!("the API key lacks the scope {}", scope.as_str()))
    }

    /// Nothing is under this path.
    pub(super) fn no_such_route() -> Self {
        Self::new(&NOT_FOUND, "nothing is under this path")
    }

    /// There is something under this path, which answers other methods: `allow`, where axum does not say so itself.
    pub(super) fn method_not_allowed(allow: Option<String>) -> Self {
        Self { allow, ..Self::new(&METHOD_NOT_ALLOWED, "this path does not answer the method") }
    }

    /// The body is larger than `limit` bytes.
    pub(super) fn too_large(limit: usize) -> Self {
        Self::new(&PAYLOAD_TOO_LARGE, format!("a body may have {limit} bytes"))
    }

    /// The body is not JSON by its own word.
    pub(super) fn not_json() -> Self {
        Self::new(&UNSUPPORTED_MEDIA_TYPE, "the body must be JSON, with the Content-Type application/json")
    }

    /// More is asked at once than is done at once.
    pub(super) fn unavailable(detail: impl Into<String>) -> Self {
        Self { retry_after: Some(1), ..Self::new(&UNAVAILABLE, detail) }
    }

    /// More was asked than may be, until `seconds` from now.
    pub(super) fn rate_limited(detail: impl Into<String>, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..Self::new(&RATE_LIMITED, detail) }
    }

    /// Something that the caller can do nothing about, and learns nothing about; `cause` is for the log.
    pub(super) fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "a request failed");
        Self::new(&INTERNAL, "the request could not be completed")
    }

    /// The status that goes with it.
    pub(super) fn status(&self) -> StatusCode {
        self.code.2
    }

    /// The header that goes with it, where there is one.
    pub(super) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self.code.2 {
            StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey"))),
            _ if self.retry_after.is_some() => self.retry_after.map(|seconds| (RETRY_AFTER, seconds.into())),
            _ => self.allow.as_deref().and_then(|methods| Some((ALLOW, HeaderValue::try_from(methods).ok()?))),
        }
    }

    /// The answer to the request with this path and this id.
    pub(super) fn render(&self, instance: &str, request_id: &str) -> Response {
        let mut problem = self.code.body(&self.detail, instance, request_id);
        if let Some(reason) = self.reason {
            problem["reason"] = reason.as_str().into();
        }
        if !self.errors.is_empty() {
            problem["errors"] = json!(self.errors);
        }
        let mut headers = HeaderMap::from_iter(self.header());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        (self.status(), headers, problem.to_string()).into_response()
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Validation(errors) => {
                Self { errors: errors.as_slice().to_vec(), ..Self::new(&VALIDATION_FAILED, errors.to_string()) }
            }
            Error::Conflict(conflict) => {
                Self { reason: Some(conflict.reason), ..Self::new(&CONFLICT, conflict.detail) }
            }
            Error::NotFound(_) => Self::new(&NOT_FOUND, error.to_string()),
            Error::Unauthenticated => Self::unauthenticated(),
            Error::Forbidden(scope) => Self::forbidden(scope),
            Error::RevisionMismatch(_) => Self::new(&PRECONDITION_FAILED, error.to_string()),
            Error::IdempotencyKeyReused => Self::new(&IDEMPOTENCY_KEY_REUSED, error.to_string()),
            Error::IdempotencyInProgress => {
                Self { retry_after: Some(1), ..Self::new(&IDEMPOTENCY_IN_PROGRESS, error.to_string()) }
            }
            // What the gateway said is in the log: it may tell of the inside.
            Error::PaymentGatewayFailed(_) => {
                let detail = "the gateway gave no checkout link; the order was cancelled and its places are free again";
                Self::new(&PAYMENT_GATEWAY_FAILED, detail)
            }
            Error::Unavailable(why) => Self::unavailable(why),
            Error::Store(cause) => Self::internal(cause),
            Error::Internal(cause) => Self::internal(cause),
        }
    }
}

impl From<SyntaxError> for Problem {
    fn from(error: SyntaxError) -> Self {
        Self::malformed(error.to_string())
    }
}

impl IntoResponse for Problem {
    /// The status alone, with the problem beside it: who knows the request's id makes the body of it.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status();
        response.extensions_mut().insert(self);
        response
    }
}
