//! The responses of an operation: its success, and every problem that it can return.

use axum::http::{Method, StatusCode};
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::headers::{self, AUTHENTICATED};
use super::{examples, links};
use crate::enums::scope::Scope;
use crate::error::Reason;
use crate::server::operations::operation::Operation;
use crate::server::responses::problem::{self, CODES, ProblemCode};

/// The shared response of an operation that has an idempotency key and can fail validation: both are a 422.
const VALIDATION_FAILED_OR_KEY_REUSED: &str = "ValidationFailedOrKeyReused";

/// The responses of an operation by status.
pub(super) fn of(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for status in [Some(operation.success.status), operation.success.also].into_iter().flatten() {
        responses.insert(status.as_str().to_owned(), success(operation, status, generator));
    }
    if operation.success.is_document {
        let header_names = [AUTHENTICATED.as_slice(), &["ETag"]].concat();
        let headers = headers::references(&header_names);
        responses.insert("304".to_owned(), json!({"description": "The client has this version.", "headers": headers}));
    }
    for status in problem_statuses(operation) {
        let response = match status {
            StatusCode::CONFLICT => conflict(operation),
            StatusCode::BAD_REQUEST if operation.may_require_key => {
                problem_response(&[&problem::MALFORMED_REQUEST, &problem::IDEMPOTENCY_KEY_REQUIRED], &[])
            }
            StatusCode::UNPROCESSABLE_ENTITY if operation.idempotent => reference(VALIDATION_FAILED_OR_KEY_REUSED),
            status => reference(&shared_response(status)),
        };
        responses.insert(status.as_str().to_owned(), response);
    }
    Value::Object(responses)
}

fn success(operation: &Operation, status: StatusCode, generator: &mut SchemaGenerator) -> Value {
    let success = operation.success;
    let mut header_names = AUTHENTICATED.to_vec();
    if success.has_location {
        header_names.push("Location");
    }
    if success.has_etag {
        header_names.push("ETag");
    }
    if operation.idempotent {
        header_names.push("Idempotent-Replayed");
    }
    #[cfg(feature = "exports")]
    if success.is_export {
        header_names.extend(super::exports::HEADERS);
    }
    let description = status.canonical_reason().unwrap_or_default();
    let mut response = json!({"description": description, "headers": headers::references(&header_names)});
    if let Some(schema) = success.body {
        let mut content = json!({"schema": schema(generator)});
        if let Some(example) = examples::of(operation.route.name, "response") {
            content["example"] = example;
        }
        response["content"] = json!({"application/json": content});
    }
    if success.is_document {
        response["content"] = json!({"application/pdf": {"schema": {"type": "string", "format": "binary"}}});
    }
    #[cfg(feature = "exports")]
    if success.is_export {
        response["content"] = super::exports::content();
    }
    if let Some(links) = links::of(operation) {
        response["links"] = links;
    }
    response
}

/// The statuses of the problems that an operation can return.
fn problem_statuses(operation: &Operation) -> Vec<StatusCode> {
    // At the entrance, the code of the ticket and the event are in the body.
    let names_a_resource = operation.route.path.contains('{')
        || operation.route.path.ends_with("/by-code")
        || operation.route.scope == Scope::TicketsCheckIn;
    let can_conflict = operation.idempotent || !operation.conflicts.is_empty();
    let statuses = [
        (true, StatusCode::BAD_REQUEST),
        (true, StatusCode::UNAUTHORIZED),
        (true, StatusCode::FORBIDDEN),
        (names_a_resource, StatusCode::NOT_FOUND),
        (can_conflict, StatusCode::CONFLICT),
        (operation.success.is_document, StatusCode::GONE),
        (matches!(operation.method, Method::PATCH | Method::DELETE), StatusCode::PRECONDITION_FAILED),
        (true, StatusCode::PAYLOAD_TOO_LARGE),
        (operation.reads_body() || operation.method == Method::POST, StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (true, StatusCode::UNPROCESSABLE_ENTITY),
        (true, StatusCode::TOO_MANY_REQUESTS),
        (true, StatusCode::INTERNAL_SERVER_ERROR),
        (operation.starts_checkout, StatusCode::BAD_GATEWAY),
        (true, StatusCode::SERVICE_UNAVAILABLE),
    ];
    statuses.into_iter().filter_map(|(is_possible, status)| is_possible.then_some(status)).collect()
}

/// 409 with the reasons of this operation.
fn conflict(operation: &Operation) -> Value {
    let mut codes = Vec::new();
    if !operation.conflicts.is_empty() {
        codes.push(&problem::CONFLICT);
    }
    if operation.idempotent {
        codes.push(&problem::IDEMPOTENCY_IN_PROGRESS);
    }
    problem_response(&codes, operation.conflicts)
}

pub(super) fn reference(component: &str) -> Value {
    json!({"$ref": format!("#/components/responses/{component}")})
}

/// The name of the shared response with this status: that of the first problem with the status.
fn shared_response(status: StatusCode) -> String {
    CODES.iter().find(|code| code.status == status).map_or_else(String::new, |code| pascal_case(code.name))
}

/// `not-found` becomes `NotFound`.
fn pascal_case(name: &str) -> String {
    let mut result = String::new();
    for word in name.split('-') {
        let (first, rest) = word.split_at(word.len().min(1));
        result.push_str(&first.to_uppercase());
        result.push_str(rest);
    }
    result
}

/// The responses that operations share.
pub(super) fn components() -> Value {
    // Conflicts differ between operations, no operation returns 405, and only those with documents return 410.
    let gone = if cfg!(feature = "documents") { None } else { Some(StatusCode::GONE) };
    let not_shared = [Some(StatusCode::CONFLICT), Some(StatusCode::METHOD_NOT_ALLOWED), gone];
    // Only some operations return these.
    let not_in_all = [problem::IDEMPOTENCY_KEY_REQUIRED, problem::IDEMPOTENCY_KEY_REUSED];
    let mut components = Map::new();
    for ProblemCode { status, .. } in CODES.iter().copied().filter(|code| !not_shared.contains(&Some(code.status))) {
        let of_status = |code: &&&ProblemCode| code.status == *status && !not_in_all.contains(code);
        let codes: Vec<_> = CODES.iter().filter(of_status).copied().collect();
        components.entry(shared_response(*status)).or_insert_with(|| problem_response(&codes, &[]));
    }
    let both = [&problem::VALIDATION_FAILED, &problem::IDEMPOTENCY_KEY_REUSED];
    components.insert(VALIDATION_FAILED_OR_KEY_REUSED.to_owned(), problem_response(&both, &[]));
    Value::Object(components)
}

/// A response that is one of these problems, which have the same status.
fn problem_response(codes: &[&ProblemCode], reasons: &[Reason]) -> Value {
    let Some(first) = codes.first() else { return json!({}) };
    let status = first.status;
    let mut header_names = match status {
        StatusCode::UNAUTHORIZED => vec!["X-Request-Id", "WWW-Authenticate"],
        _ => AUTHENTICATED.to_vec(),
    };
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
        || codes.contains(&&problem::IDEMPOTENCY_IN_PROGRESS)
    {
        header_names.push("Retry-After");
    }
    let descriptions: Vec<_> = codes.iter().map(|code| problem_description(code, reasons)).collect();
    json!({
        "description": descriptions.join(", or: "),
        "headers": headers::references(&header_names),
        // All problems have the same schema. With one of its own for each response, generated clients would have a type
        // for each response, or none.
        "content": {"application/problem+json": {
            "schema": {"$ref": "#/components/schemas/ProblemDetails"},
            "examples": problem_examples(codes, reasons),
        }},
    })
}

/// The title and the type of a problem, and the reasons of a conflict.
fn problem_description(code: &ProblemCode, reasons: &[Reason]) -> String {
    let title = code.title;
    let kind = code.type_uri();
    if *code != problem::CONFLICT {
        return format!("{title} (`{kind}`)");
    }
    let reasons: Vec<_> = reasons.iter().map(|reason| format!("`{}`", reason.as_str())).collect();
    format!("{title} (`{kind}`; `reason`: {})", reasons.join(", "))
}

fn problem_examples(codes: &[&ProblemCode], reasons: &[Reason]) -> Value {
    let mut examples = Map::new();
    for code in codes {
        if **code == problem::CONFLICT {
            for reason in reasons {
                examples.insert(reason.as_str().to_owned(), json!({"value": code.example(Some(*reason))}));
            }
        } else {
            examples.insert(code.name.to_owned(), json!({"value": code.example(None)}));
        }
    }
    Value::Object(examples)
}

/// The schemas of problems and of the field errors in them, by their names.
pub(super) fn problem_schemas() -> [(String, Value); 2] {
    let types: Vec<_> = CODES.iter().map(|code| code.type_uri()).collect();
    let reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    let text = |description: &str| json!({"type": "string", "description": description});
    let field_error = json!({
        "type": "object",
        "description": "What is wrong with one field of a request.",
        "required": ["path", "message"],
        "properties": {
            "path": text("The field, such as `items[0].quantity`; empty for the request as a whole."),
            "message": text("What is wrong with the field, for humans."),
        },
    });
    let problem_details = json!({
        "type": "object",
        "description": "An error (RFC 9457).",
        "required": ["type", "title", "status", "detail", "instance", "requestId"],
        "properties": {
            "type": {"type": "string", "format": "uri", "enum": types, "description": "The kind of problem."},
            "title": text("A short name of the kind of problem."),
            "status": {"type": "integer", "description": "The HTTP status."},
            "detail": text("What is wrong with this request, for humans."),
            "instance": text("The path of the request."),
            "requestId": text("The id of the request, as in the header `X-Request-Id`."),
            "reason": {"type": "string", "enum": reasons, "description": "Why there is a conflict; only in conflicts."},
            "errors": {
                "type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/FieldError"},
                "description": "All invalid fields; only if the validation failed.",
            },
        },
    });
    [("ProblemDetails".to_owned(), problem_details), ("FieldError".to_owned(), field_error)]
}
