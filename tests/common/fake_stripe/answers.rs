//! Answers of the API: objects and errors.

use serde_json::{Value, json};

/// An answer of the API.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    /// Whether the answer is stored under the idempotency key. "We save results only after the execution of an endpoint
    /// begins. If incoming parameters fail validation, or the request conflicts with another request that's executing
    /// concurrently, we don't save the idempotent result."
    pub is_stored: bool,
    /// The header `Stripe-Should-Retry`.
    pub should_retry: Option<bool>,
}

/// The result of an operation. Both sides are answers.
pub type Answered = Result<Value, Answer>;

impl Answer {
    pub fn success(body: Value) -> Self {
        Self { status: 200, body, is_stored: true, should_retry: None }
    }

    /// An error of the client. The request was not executed.
    pub fn invalid(message: impl Into<String>, param: Option<&str>, code: Option<&str>) -> Self {
        Self::error(400, "invalid_request_error", message, param, code)
    }

    /// An error that the operation found while it ran.
    pub fn refused(message: impl Into<String>, param: Option<&str>, code: Option<&str>) -> Self {
        Self { is_stored: true, ..Self::invalid(message, param, code) }
    }

    pub fn missing(kind: &str, id: &str, param: &str) -> Self {
        let message = format!("No such {kind}: '{id}'");
        Self::error(404, "invalid_request_error", message, Some(param), Some("resource_missing"))
    }

    pub fn unauthorized(message: &str) -> Self {
        Self::error(401, "invalid_request_error", message, None, None)
    }

    /// The connected account does not exist, or has revoked the access.
    pub fn forbidden() -> Self {
        let message = "The provided key does not have access to this account, or that account does not exist.";
        Self::error(403, "invalid_request_error", message, None, Some("account_invalid"))
    }

    /// A restricted key lacks a permission.
    pub fn not_permitted() -> Self {
        let message = "The provided key 'rk_test_****' does not have the required permissions for this endpoint.";
        Self::error(403, "invalid_request_error", message, None, None)
    }

    /// The parameters of a repeated request are not those of the first.
    pub fn other_parameters(key: &str) -> Self {
        let message = format!(
            "Keys for idempotent requests can only be used with the same parameters they were first used with. Try \
            using a key other than '{key}' if you meant to execute a different request."
        );
        Self::error(400, "idempotency_error", message, None, None)
    }

    /// Another request with this key is running.
    pub fn key_in_use(key: &str) -> Self {
        let message =
            format!("There is currently another in-progress request using this Stripe idempotency key: {key}");
        Self::error(409, "idempotency_error", message, None, Some("idempotency_key_in_use"))
    }

    pub fn too_many_requests() -> Self {
        let message = "Request rate limit exceeded. Learn more about rate limits in our documentation.";
        Self::error(429, "invalid_request_error", message, None, Some("rate_limit"))
    }

    /// A failure before the execution, after which the client should send the request again.
    pub fn to_retry() -> Self {
        let message = "Sorry! There was an error while talking to one of our backends. Please try again.";
        Self { should_retry: Some(true), ..Self::error(503, "api_error", message, None, None) }
    }

    pub fn server_error() -> Self {
        let message = "An unknown error occurred. Please try again, or contact support.";
        Self { is_stored: true, ..Self::error(500, "api_error", message, None, None) }
    }

    fn error(status: u16, kind: &str, message: impl Into<String>, param: Option<&str>, code: Option<&str>) -> Self {
        let mut error = json!({ "message": message.into(), "type": kind });
        for (name, value) in [("param", param), ("code", code)] {
            if let Some(value) = value {
                error[name] = value.into();
            }
        }
        if let Some(code) = code {
            error["doc_url"] = format!("https://docs.stripe.com/error-codes/{}", code.replace('_', "-")).into();
        }
        Self { status, body: json!({ "error": error }), is_stored: false, should_retry: None }
    }
}
