//! The headers of requests and responses, and texts in paths.

use axum::http::Method;
use serde_json::{Map, Value, json};

use crate::server::operations::operation::Operation;

/// The headers of every response to an authenticated request.
pub(super) const AUTHENTICATED: [&str; 4] =
    ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/// References to the headers that a request for this operation may have.
pub(super) fn of_request(operation: &Operation) -> Vec<Value> {
    let mut parameters = Vec::new();
    if operation.idempotent {
        parameters.push(parameter("IdempotencyKey"));
    }
    if matches!(operation.method, Method::PATCH | Method::DELETE) {
        parameters.push(parameter("IfMatch"));
    }
    parameters.push(parameter("RequestId"));
    parameters
}

fn parameter(name: &str) -> Value {
    json!({"$ref": format!("#/components/parameters/{name}")})
}

/// A parameter in a path that is a text.
pub(super) fn in_path(name: &str, description: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}, "description": description})
}

/// References to headers of a response, by their names.
pub(super) fn references(names: &[&str]) -> Value {
    let mut references = Map::new();
    for name in names {
        let component = name.replace('-', "");
        references.insert((*name).to_owned(), json!({"$ref": format!("#/components/headers/{component}")}));
    }
    Value::Object(references)
}

/// All headers of requests. They have no examples: the page at `/docs` would send those by default.
pub(super) fn parameters() -> Value {
    json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header",
            "description": "Makes it safe to retry: for 24 hours, the same request with the same key returns the first \
                response instead of being executed again. Use a text that no other request has, such as a random UUID. \
                Each API key has idempotency keys of its own.",
            "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
        },
        "IfMatch": {
            "name": "If-Match", "in": "header",
            "description": "An `ETag`, such as `\"3\"`: the request is executed only if the resource still has this \
                revision. Otherwise the response is 412.",
            "schema": {"type": "string"},
        },
        "RequestId": {
            "name": "X-Request-Id", "in": "header",
            "description": "An id for the request: 1 to 128 visible ASCII characters. If it is missing or invalid, the \
                server chooses one.",
            "schema": {"type": "string"},
        },
    })
}

/// All headers of responses.
pub(super) fn components() -> Value {
    let text = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    let number = |description: &str| json!({"description": description, "schema": {"type": "integer", "minimum": 0}});
    let mut components = json!({
        "XRequestId": text("The id of the request: the client's own, or one chosen by the server."),
        "XRateLimitLimit": number("The number of requests that the API key may make per minute."),
        "XRateLimitRemaining": number("The number of requests left in the current minute."),
        "XRateLimitReset": number("When the current minute ends, in seconds since 1970."),
        "RetryAfter": number("The number of seconds to wait before trying again."),
        "Location": text("The URL of the created resource, or of the page to go to."),
        "ETag": text("In quotes: the revision of the resource, for `If-Match`, or the version of a document or a page."),
        "IdempotentReplayed":
            text("`true` if this is the response to an earlier request with the same `Idempotency-Key`."),
        "WWWAuthenticate": text("Always `ApiKey`."),
    });
    for name in ["XRequestId", "Location", "ETag", "WWWAuthenticate"] {
        components[name]["required"] = true.into();
    }
    components["XRequestId"]["schema"]["pattern"] = "^[!-~]{1,128}$".into();
    components["ETag"]["schema"]["pattern"] = "^\"[0-9A-Za-z]+\"$".into();
    components["IdempotentReplayed"]["schema"]["enum"] = json!(["true"]);
    #[cfg(feature = "exports")]
    for (name, header) in super::exports::headers() {
        components[name] = header;
    }
    components
}
