//! Problem responses: `application/problem+json` (RFC 9457).

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::error::{Error, FieldError, Reason};
use crate::form::json::SyntaxError;

/// A kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) struct ProblemCode {
    /// The last part of the problem's `type`.
    pub(in crate::server) name: &'static str,
    pub(in crate::server) title: &'static str,
    pub(in crate::server) status: StatusCode,
}

impl ProblemCode {
    /// The problem's `type`.
    pub(in crate::server) fn type_uri(self) -> String {
        format!("urn:ticketing:problem:{}", self.name)
    }

    /// The kind of problem that an error is.
    fn of(error: &Error) -> &'static Self {
        CODES.iter().copied().find(|code| code.name == error.code()).unwrap_or(&INTERNAL)
    }

    /// The members that every problem has.
    fn body(self, detail: &str) -> Value {
        json!({"type": self.type_uri(), "title": self.title, "status": self.status.as_u16(), "detail": detail})
    }

    /// An example for the OpenAPI document.
    pub(in crate::server) fn example(self, reason: Option<Reason>) -> Value {
        let mut problem = self.body("what is wrong with this request");
        problem["instance"] = "/v1/events".into();
        problem["requestId"] = "7d4c3f0b9a".into();
        match (self, reason) {
            (CONFLICT, Some(reason)) => problem["reason"] = reason.as_str().into(),
            (VALIDATION_FAILED, _) => problem["errors"] = json!([{"path": "title", "message": "is required"}]),
            _ => {}
        }
        problem
    }
}

macro_rules! problem_codes {
    ($($constant:ident: $status:ident, $name:literal, $title:literal;)+) => {
        /// Every problem, ordered by status.
        pub(in crate::server) const CODES: &[&ProblemCode] = &[$(&$constant),+];

        $(
            pub(in crate::server) const $constant: ProblemCode =
                ProblemCode { name: $name, title: $title, status: StatusCode::$status };
        )+
    };
}

problem_codes! {
    MALFORMED_REQUEST: BAD_REQUEST, "malformed-request", "Malformed request";
    IDEMPOTENCY_KEY_REQUIRED: BAD_REQUEST, "idempotency-key-required", "Idempotency key required";
    UNAUTHENTICATED: UNAUTHORIZED, "unauthenticated", "Authentication required";
    FORBIDDEN: FORBIDDEN, "forbidden", "Forbidden";
    ORGANIZATION_SUSPENDED: FORBIDDEN, "organization-suspended", "Organization suspended";
    NOT_FOUND: NOT_FOUND, "not-found", "Not found";
    METHOD_NOT_ALLOWED: METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed";
    CONFLICT: CONFLICT, "conflict", "Conflict";
    GONE: GONE, "gone", "Gone";
    IDEMPOTENCY_IN_PROGRESS: CONFLICT, "idempotency-in-progress", "Request in progress";
    PRECONDITION_FAILED: PRECONDITION_FAILED, "precondition-failed", "Precondition failed";
    PAYLOAD_TOO_LARGE: PAYLOAD_TOO_LARGE, "payload-too-large", "Payload too large";
    UNSUPPORTED_MEDIA_TYPE: UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Unsupported media type";
    VALIDATION_FAILED: UNPROCESSABLE_ENTITY, "validation-failed", "Validation failed";
    IDEMPOTENCY_KEY_REUSED: UNPROCESSABLE_ENTITY, "idempotency-key-reused", "Idempotency key reused";
    RATE_LIMITED: TOO_MANY_REQUESTS, "rate-limited", "Rate limit exceeded";
    INTERNAL: INTERNAL_SERVER_ERROR, "internal", "Internal error";
    PAYMENT_GATEWAY_FAILED: BAD_GATEWAY, "payment-gateway-failed", "Payment gateway failed";
    UNAVAILABLE: SERVICE_UNAVAILABLE, "unavailable", "Service unavailable";
}

/// The detail if the disk is full, or if the store has stopped. The cause is only in the log.
const STORE_NOT_WRITABLE: &str = "the store cannot be written at the moment";

/// A problem that is returned to the client. [`Problem::render`] writes its body.
#[derive(Debug, Clone)]
pub(in crate::server) struct Problem {
    code: &'static ProblemCode,
    detail: Box<str>,
    /// Only of a conflict.
    reason: Option<Reason>,
    /// Only of a failed validation, and of a conflict about entries of a list.
    errors: Box<[FieldError]>,
    /// The header `Allow`: only of a method that is not allowed.
    allow: Option<HeaderValue>,
    /// The header `Retry-After`, in seconds.
    retry_after: Option<u64>,
    /// The JSON of the body, without what depends on the request, if it was written already.
    prepared_body: Option<Box<str>>,
}

impl Problem {
    fn new(code: &'static ProblemCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into().into(),
            reason: None,
            errors: Box::default(),
            allow: None,
            retry_after: None,
            prepared_body: None,
        }
    }

    /// 400: the request cannot be parsed.
    pub(in crate::server) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(&MALFORMED_REQUEST, detail)
    }

    /// 401: there is neither a valid API key, nor a caller that the program has authenticated by a login of its own.
    /// The text does not depend on what is wrong with the key.
    pub(in crate::server) fn unauthenticated() -> Self {
        let detail = "authentication is required, for example with a valid API key in the header X-Api-Key";
        Self::new(&UNAUTHENTICATED, detail)
    }

    /// 404: no route has the path of the request.
    pub(in crate::server) fn no_such_route() -> Self {
        Self::new(&NOT_FOUND, "no route has this path")
    }

    /// 404: there is no file with the name in the path.
    pub(in crate::server) fn no_such_file() -> Self {
        Self::new(&NOT_FOUND, "the page has no such file in this version")
    }

    /// 405: the path has routes for other methods. `allow` is `None` if axum adds the header `Allow`.
    pub(in crate::server) fn method_not_allowed(allow: Option<HeaderValue>) -> Self {
        let detail = "this path does not support the method; the header Allow lists the supported ones";
        Self { allow, ..Self::new(&METHOD_NOT_ALLOWED, detail) }
    }

    /// 413: the body has more than `limit` bytes.
    pub(in crate::server) fn too_large(limit: usize) -> Self {
        Self::new(&PAYLOAD_TOO_LARGE, format!("the body must not have more than {limit} bytes"))
    }

    /// 415: the body is compressed, or its `Content-Type` is not JSON.
    pub(in crate::server) fn not_json() -> Self {
        Self::new(
            &UNSUPPORTED_MEDIA_TYPE,
            "the body must be JSON, with the Content-Type application/json and no Content-Encoding",
        )
    }

    /// 415: the body is not what a form without files sends.
    #[cfg(feature = "event-pages")]
    pub(in crate::server) fn not_form() -> Self {
        let detail = "the body must be a form, with the Content-Type application/x-www-form-urlencoded";
        Self::new(&UNSUPPORTED_MEDIA_TYPE, detail)
    }

    /// 503: the service is busy. The client should try again in a second.
    pub(in crate::server) fn unavailable(detail: impl Into<String>) -> Self {
        Self { retry_after: Some(1), ..Self::new(&UNAVAILABLE, detail) }
    }

    /// 429: a rate limit was exceeded. It is reset after `retry_after` seconds.
    pub(in crate::server) fn rate_limited(detail: impl Into<String>, retry_after: u64) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(&RATE_LIMITED, detail) }
    }

    /// 500: logs the cause, and reveals nothing of it to the client.
    pub(in crate::server) fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(target: "ticketing::request", %cause, "internal error");
        Self::new(&INTERNAL, "an internal error occurred")
    }

    /// The status of the response.
    pub(in crate::server) fn status(&self) -> StatusCode {
        self.code.status
    }

    /// The header that belongs to the problem, if there is one.
    pub(in crate::server) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        if self.status() == StatusCode::UNAUTHORIZED {
            return Some((WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey")));
        }
        if let Some(seconds) = self.retry_after {
            return Some((RETRY_AFTER, seconds.into()));
        }
        self.allow.clone().map(|methods| (ALLOW, methods))
    }

    /// The response to the request with this path and id.
    pub(in crate::server) fn render(&self, path: &str, request_id: &str) -> Response {
        let mut body = self.prepared_body.as_deref().map_or_else(|| self.body(), str::to_owned);
        // The other two members come before the brace that ends the object.
        body.pop();
        self.response(format!("{body},\"instance\":{},\"requestId\":{}}}", json!(path), json!(request_id)))
    }

    /// The response to a request whose path must not be repeated.
    pub(in crate::server) fn render_without_request(&self) -> Response {
        self.response(self.prepared_body.as_deref().map_or_else(|| self.body(), str::to_owned))
    }

    /// Writes the body, so that [`render`](Self::render) has little left to do on an async thread: a body may list many
    /// errors.
    pub(in crate::server) fn prepare(mut self) -> Self {
        self.prepared_body = Some(self.body().into());
        self
    }

    /// The JSON of the body, without what depends on the request.
    fn body(&self) -> String {
        let mut problem = self.code.body(&self.detail);
        if let Some(reason) = self.reason {
            problem["reason"] = reason.as_str().into();
        }
        if !self.errors.is_empty() {
            problem["errors"] = json!(self.errors);
        }
        problem.to_string()
    }

    fn response(&self, body: String) -> Response {
        let mut headers = HeaderMap::from_iter(self.header());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        (self.status(), headers, body).into_response()
    }
}

/// Rounded up, so that a client that waits this long never retries too early.
fn seconds_rounded_up(retry_after: Duration) -> u64 {
    u64::try_from(retry_after.as_millis().div_ceil(1000)).unwrap_or(u64::MAX)
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let code = ProblemCode::of(&error);
        match error {
            Error::Validation(errors) => {
                Self { errors: errors.as_slice().into(), ..Self::new(code, errors.to_string()) }
            }
            Error::Conflict(conflict) => Self {
                reason: Some(conflict.reason),
                errors: conflict.errors.into(),
                ..Self::new(code, conflict.detail)
            },
            Error::Unauthenticated => Self::unauthenticated(),
            Error::IdempotencyInProgress { retry_after } => {
                Self { retry_after: Some(seconds_rounded_up(retry_after)), ..Self::new(code, error.to_string()) }
            }
            Error::WriteQuotaExceeded { retry_after, .. } | Error::WebhookBacklogExceeded { retry_after, .. } => {
                Self::rate_limited(error.to_string(), seconds_rounded_up(retry_after))
            }
            Error::Unavailable(reason) => Self::unavailable(reason.to_string()),
            Error::Store(cause) if cause.is_temporary() => {
                tracing::error!(target: "ticketing::request", %cause, "the store cannot be written");
                Self::unavailable(STORE_NOT_WRITABLE)
            }
            Error::Store(cause) => Self::internal(cause),
            Error::Internal(cause) => Self::internal(cause),
            error => Self::new(code, error.to_string()),
        }
    }
}

impl From<SyntaxError> for Problem {
    fn from(error: SyntaxError) -> Self {
        Self::malformed(error.to_string())
    }
}

impl IntoResponse for Problem {
    /// A response without a body, with the problem as an extension: the middleware knows the path and the request id,
    /// and renders it.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status();
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for Error {
    /// The problem that the server sends for this error, as `application/problem+json`. It reveals nothing of internal
    /// errors, which are logged, nor of the payment gateway's message.
    ///
    /// The members `instance` and `requestId` depend on the request, and are missing unless
    /// [`Routes::observe`](crate::server::Routes::observe) adds them.
    fn into_response(self) -> Response {
        let problem = Problem::from(self);
        let mut response = problem.response(problem.body());
        response.extensions_mut().insert(problem);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enums::scope::Scope;
    use crate::error::{Conflict, FieldErrors, ResourceKind, StoreErrorKind, Unavailable};
    use crate::payment::GatewayError;

    #[test]
    fn a_client_waits_for_as_many_seconds_as_are_left_of_the_request_in_progress() {
        for (millis, seconds) in [(1, 1), (1000, 1), (5001, 6)] {
            let retry_after = Duration::from_millis(millis);
            assert_eq!(Problem::from(Error::IdempotencyInProgress { retry_after }).retry_after, Some(seconds));
        }
    }

    #[test]
    fn every_error_has_the_code_and_the_status_of_its_problem() {
        let conflict = Conflict { reason: Reason::SoldOut, detail: String::new(), errors: Vec::new() };
        for (status, error) in [
            (422, Error::Validation(FieldErrors::default())),
            (409, Error::Conflict(conflict)),
            (404, Error::NotFound(ResourceKind::Event)),
            (410, Error::Gone(ResourceKind::Ticket)),
            (401, Error::Unauthenticated),
            (403, Error::Forbidden(Scope::EventsRead)),
            (403, Error::OrganizationSuspended),
            (412, Error::RevisionMismatch(1)),
            (400, Error::IdempotencyKeyRequired),
            (422, Error::IdempotencyKeyReused),
            (409, Error::IdempotencyInProgress { retry_after: Duration::from_secs(1) }),
            (429, Error::WriteQuotaExceeded { bytes_per_minute: 1, retry_after: Duration::from_secs(1) }),
            (429, Error::WebhookBacklogExceeded { most: 1, retry_after: Duration::from_secs(1) }),
            (502, Error::gateway(GatewayError::Refused(String::new()))),
            (502, Error::CheckoutNotRenewed(GatewayError::Refused(String::new()))),
            (503, Error::Unavailable(Unavailable::Busy)),
            (503, StoreErrorKind::Full.into()),
            (503, StoreErrorKind::SyncFailed.into()),
            (503, StoreErrorKind::FileReplaced(String::new()).into()),
            (500, StoreErrorKind::Failed(String::new()).into()),
            (500, Error::Internal(String::new())),
        ] {
            let code = error.code();
            let problem = Problem::from(error);
            assert_eq!((problem.code.name, problem.status().as_u16()), (code, status));
            assert_eq!(
                problem.retry_after.is_some(),
                matches!(code, "idempotency-in-progress" | "rate-limited" | "unavailable")
            );
        }
    }
}
