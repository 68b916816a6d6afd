//! The headers of requests and answers.

use axum::http::Method;
use serde_json::{Value, json};

use super::super::operation::Operation;

fn parameter(name: &str) -> Value {
    json!({"$ref": format!("#/components/parameters/{name}")})
}

/// The headers that a request may have.
pub(super) fn of_request(operation: &Operation) -> Vec<Value> {
    let mut parameters = Vec::new();
    if operation.once {
        parameters.push(parameter("IdempotencyKey"));
    }
    if matches!(operation.method, Method::PATCH | Method::DELETE) {
        parameters.push(parameter("IfMatch"));
    }
    parameters.push(parameter("RequestId"));
    parameters
}

/// References to the headers of an answer.
pub(super) fn named(names: &[&str]) -> Value {
    let references = names.iter().map(|name| {
        let component = name.replace('-', "");
        ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{component}")}))
    });
    Value::Object(references.collect())
}

/// What every answer to a key has.
pub(super) const TO_A_KEY: [&str; 4] =
    ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/// Every header that a request may have. They have no examples: a page on which requests are tried would send them.
pub(super) fn parameters() -> Value {
    json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header",
            "description": "With it the request is done once within 24 hours, however often it is sent: a repetition \
                is given the first answer. Any text that no other request has, such as a random UUID.",
            "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
        },
        "IfMatch": {
            "name": "If-Match", "in": "header",
            "description": "An `ETag`: the request is done only while the resource is at this revision, such as `\"3\"`.",
            "schema": {"type": "string"},
        },
        "RequestId": {
            "name": "X-Request-Id", "in": "header",
            "description": "An id for the request, up to 128 visible ASCII characters; any other is replaced.",
            "schema": {"type": "string"},
        },
    })
}

/// Every header that an answer may have.
pub(super) fn components() -> Value {
    let text = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    let number = |description: &str| json!({"description": description, "schema": {"type": "integer", "minimum": 0}});
    let mut components = json!({
        "XRequestId": text("The request's id: the client's own, or a new one."),
        "XRateLimitLimit": number("How many requests the key may make in a window of a minute."),
        "XRateLimitRemaining": number("How many of them are left."),
        "XRateLimitReset": number("When the window ends, in seconds since 1970."),
        "RetryAfter": number("How many seconds to wait before the next try."),
        "Location": text("Where it is to be found."),
        "ETag": text("The revision of the resource, in quotes, for `If-Match`."),
        "IdempotentReplayed": text("`true` where the answer is that to an earlier request with the same key."),
        "WWWAuthenticate": text("Always `ApiKey`."),
    });
    for always in ["XRequestId", "Location", "ETag", "WWWAuthenticate"] {
        components[always]["required"] = true.into();
    }
    components["XRequestId"]["schema"]["pattern"] = "^[!-~]{1,128}$".into();
    components["ETag"]["schema"]["pattern"] = "^\"[0-9]+\"$".into();
    components["IdempotentReplayed"]["schema"]["enum"] = json!(["true"]);
    components
}
