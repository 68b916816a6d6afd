//! The answers of an operation: its success, and every problem that it may come to.

use axum::http::{Method, StatusCode};
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::super::blocking::Wait;
use super::super::contract::Takes;
use super::super::operation::Operation;
use super::super::problem::{CODES, Code};
use super::headers::{self, TO_A_KEY};
use super::{examples, links, told, words};
use crate::error::Reason;
use crate::model::text_enum::TextEnum;

/// The answers of an operation by their status.
pub(super) fn of(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut responses =
        Map::from_iter([(operation.contract.status.as_str().to_owned(), success(operation, generator))]);
    for status in problems(operation) {
        let response = match status {
            StatusCode::CONFLICT => conflict(operation),
            StatusCode::UNPROCESSABLE_ENTITY if operation.once => reference("ValidationFailedOrKeyReused"),
            status => reference(&component_of(status)),
        };
        responses.insert(status.as_str().to_owned(), response);
    }
    Value::Object(responses)
}

fn success(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let contract = &operation.contract;
    let mut names = TO_A_KEY.to_vec();
    let more = [(contract.located, "Location"), (contract.revised, "ETag"), (operation.once, "Idempotent-Replayed")];
    names.extend(more.into_iter().filter_map(|(there, name)| there.then_some(name)));
    let description = contract.status.canonical_reason().unwrap_or_default();
    let mut response = json!({"description": description, "headers": headers::named(&names)});
    if let Some(gives) = contract.gives {
        let mut content = json!({"schema": gives(generator)});
        if let Some(example) = examples::of(operation.name, "response") {
            content["example"] = example;
        }
        response["content"] = json!({"application/json": content});
    }
    if let Some(links) = links::of(operation) {
        response["links"] = links;
    }
    response
}

/// The statuses of the problems that an operation may come to.
fn problems(operation: &Operation) -> Vec<StatusCode> {
    let reads = !matches!(operation.contract.takes, Takes::Nothing);
    // The door is the one place where something is named by its code.
    let names_something = operation.path.contains('{') || operation.path.starts_with("/tickets/check");
    let makes_a_checkout = operation.wait == Wait::Gateway && operation.contract.located;
    let may_conflict = operation.once || told::about(operation.name).is_none_or(|told| !told.conflicts.is_empty());
    let all = [
        (true, StatusCode::BAD_REQUEST),
        (true, StatusCode::UNAUTHORIZED),
        (true, StatusCode::FORBIDDEN),
        (names_something, StatusCode::NOT_FOUND),
        (may_conflict, StatusCode::CONFLICT),
        (matches!(operation.method, Method::PATCH | Method::DELETE), StatusCode::PRECONDITION_FAILED),
        (true, StatusCode::PAYLOAD_TOO_LARGE),
        (operation.has_body(), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (reads, StatusCode::UNPROCESSABLE_ENTITY),
        (true, StatusCode::TOO_MANY_REQUESTS),
        (true, StatusCode::INTERNAL_SERVER_ERROR),
        (makes_a_checkout, StatusCode::BAD_GATEWAY),
        (true, StatusCode::SERVICE_UNAVAILABLE),
    ];
    all.into_iter().filter_map(|(may_be, status)| may_be.then_some(status)).collect()
}

/// 409, with the reasons that the operation can have.
fn conflict(operation: &Operation) -> Value {
    let reasons = told::about(operation.name).map_or(Reason::ALL, |told| told.conflicts);
    let codes = CODES.iter().filter(|code| match code.2 {
        StatusCode::CONFLICT if code.0 == "conflict" => !reasons.is_empty(),
        StatusCode::CONFLICT => operation.once,
        _ => false,
    });
    problem(&codes.copied().collect::<Vec<_>>(), reasons)
}

fn reference(component: &str) -> Value {
    json!({"$ref": format!("#/components/responses/{component}")})
}

/// The name of the answer with this status: that of the first problem that has it.
fn component_of(status: StatusCode) -> String {
    CODES.iter().find(|code| code.2 == status).map_or_else(String::new, |code| pascal(code.0))
}

fn pascal(name: &str) -> String {
    name.split('-').map(words::capital).collect()
}

/// The answers that operations share.
pub(super) fn components() -> Value {
    let mut components = Map::new();
    // A conflict is each operation's own, and no operation answers that its method is not allowed.
    let not_shared = [StatusCode::CONFLICT, StatusCode::METHOD_NOT_ALLOWED];
    for code in CODES.iter().filter(|code| !not_shared.contains(&code.2) && code.0 != "idempotency-key-reused") {
        components.insert(pascal(code.0), problem(&[code], &[]));
    }
    let both: Vec<_> = CODES.iter().filter(|code| code.2 == StatusCode::UNPROCESSABLE_ENTITY).copied().collect();
    components.insert("ValidationFailedOrKeyReused".to_owned(), problem(&both, &[]));
    Value::Object(components)
}

/// An answer that is one of these problems, which have one status.
fn problem(codes: &[&Code], reasons: &[Reason]) -> Value {
    let Some(first) = codes.first() else { return json!({}) };
    let status = first.2;
    let types: Vec<_> = codes.iter().map(|code| code.type_uri()).collect();
    let mut properties = json!({"type": {"enum": types}, "status": {"const": status.as_u16()}});
    if !reasons.is_empty() {
        properties["reason"] = json!({"enum": reasons.iter().map(|reason| reason.as_str()).collect::<Vec<_>>()});
    }
    let examples: Map<_, _> = codes
        .iter()
        .map(|code| (code.0.to_owned(), json!({"value": code.example(reasons.first().copied())})))
        .collect();
    let mut names = match status {
        StatusCode::UNAUTHORIZED => vec!["X-Request-Id", "WWW-Authenticate"],
        _ => TO_A_KEY.to_vec(),
    };
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
        || codes.iter().any(|code| code.0 == "idempotency-in-progress")
    {
        names.push("Retry-After");
    }
    json!({
        "description": codes.iter().map(|code| code.1).collect::<Vec<_>>().join(", or: "),
        "headers": headers::named(&names),
        "content": {"application/problem+json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/ProblemDetails"}, {"properties": properties}]},
            "examples": examples,
        }},
    })
}

/// The body of every problem.
pub(super) fn problem_details() -> Value {
    let types: Vec<_> = CODES.iter().map(|code| code.type_uri()).collect();
    let reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    let text = |description: &str| json!({"type": "string", "description": description});
    let field = json!({
        "type": "object",
        "required": ["path", "message"],
        "properties": {
            "path": text("Where the field is, such as `items[0].quantity`; empty for the request as a whole."),
            "message": text("What is wrong with it, for a person."),
        },
    });
    json!({
        "type": "object",
        "description": "What went wrong (RFC 9457).",
        "required": ["type", "title", "status", "detail", "instance", "requestId"],
        "properties": {
            "type": {"type": "string", "format": "uri", "enum": types, "description": "Which problem it is."},
            "title": text("The same text for a problem every time."),
            "status": {"type": "integer", "description": "The status of the answer."},
            "detail": text("What happened to this request, for a person."),
            "instance": text("The path of the request."),
            "requestId": text("The same as in the header `X-Request-Id`."),
            "reason": {"type": "string", "enum": reasons, "description": "Why the state forbids it, on a conflict."},
            "errors": {
                "type": "array", "minItems": 1, "items": field,
                "description": "Every field that breaks a constraint, where that is the problem.",
            },
        },
    })
}
