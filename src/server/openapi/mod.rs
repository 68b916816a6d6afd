//! The document of the interface: OpenAPI 3.1, made of the operations' own types and tables.

mod bounds;
mod examples;
mod headers;
mod links;
mod notifications;
mod outside;
mod responses;
mod told;
mod words;

use std::sync::LazyLock;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::contract::Takes;
use super::operation::{BASE, Operation};
use crate::model::scope::Scope;
use crate::model::text_enum::TextEnum;

/// The document as it is sent: the same for every server of this program.
static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| document().to_string().into());

pub(super) fn mount(router: Router) -> Router {
    router.route("/openapi.json", get(async || ([(CONTENT_TYPE, "application/json")], DOCUMENT.clone())))
}

const ABOUT: &str = "Events, ticket types, orders with payment, tickets with scannable codes, the door, discounts, and \
    webhooks. Every request acts for one organization: that of its API key.\n\n\
    Amounts are numbers in the event's currency. Instants are UTC and end in `Z`; in requests their seconds may be left \
    out. A field of an answer that may be null is always there. Fields of a request that are not named here are ignored, \
    and `null` is taken only where a field may be null. Lists are read page by page: `nextCursor` of one page is the \
    `cursor` of the next. Whatever answers GET answers HEAD; any other method is refused with 405, and `Allow` names those \
    that are not.";

/// Makes the document.
fn document() -> Value {
    // Requests first: their bounds hold for what is shown of them again.
    let mut requests = generator(SchemaSettings::for_deserialize);
    let mut answers = generator(SchemaSettings::for_serialize);
    let mut paths = outside::paths();
    for operation in super::operations() {
        let method = operation.method.as_str().to_lowercase();
        paths[format!("{BASE}{}", operation.path)][method] = describe(&operation, &mut requests, &mut answers);
    }
    let webhooks = notifications::webhooks(&mut answers);
    bounds::lay_on_all(&mut requests);
    let mut schemas = answers.take_definitions(true);
    schemas.extend(requests.take_definitions(true));
    schemas.insert("ProblemDetails".to_owned(), responses::problem_details());
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ticketing",
            "version": "1.0.0",
            "description": ABOUT,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This server"}],
        "tags": tags(),
        "security": [{"ApiKey": []}],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": schemas,
            "responses": responses::components(),
            "parameters": headers::parameters(),
            "headers": headers::components(),
            "securitySchemes": {"ApiKey": {
                "type": "apiKey", "in": "header", "name": "X-Api-Key",
                "description": "A key of the organization. Each operation names the scope that the key needs.",
            }},
        },
    });
    words::translate(&mut document);
    document
}

/// Collects what types look like on one side of the interface.
fn generator(settings: fn(SchemaSettings) -> SchemaSettings) -> SchemaGenerator {
    let draft = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    settings(draft).into_generator()
}

fn describe(operation: &Operation, requests: &mut SchemaGenerator, answers: &mut SchemaGenerator) -> Value {
    let told = told::about(operation.name);
    let (summary, more) = match told {
        Some(told) => (told.summary.to_owned(), told.description),
        None => (words::sentence(operation.name), ""),
    };
    let scope = operation.scope.as_str();
    let mut parameters = in_path(operation);
    let mut body = None;
    match operation.contract.takes {
        Takes::Nothing => {}
        Takes::Query(describe) => parameters.extend(in_query(describe(requests).to_value())),
        Takes::Body(describe) => body = Some(json_body(operation, true, describe(requests).as_value())),
        Takes::BodyOrNot(describe) => body = Some(json_body(operation, false, describe(requests).as_value())),
    }
    parameters.extend(headers::of_request(operation));
    let mut described = json!({
        "operationId": operation.name,
        "tags": [area(operation.scope)],
        "summary": summary,
        "description": format!("{more}\n\nScope: `{scope}`").trim(),
        "security": [{"ApiKey": [scope]}],
        "x-scope": scope,
        "parameters": parameters,
        "responses": responses::of(operation, answers),
    });
    if let Some(body) = body {
        described["requestBody"] = body;
    }
    described
}

fn in_path(operation: &Operation) -> Vec<Value> {
    let names = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| {
        let mut parameter = json!({
            "name": name, "in": "path", "required": true,
            "description": format!("The id of the {}.", words::sentence(name.trim_end_matches("Id")).to_lowercase()),
            "schema": {"type": "string", "minLength": 1},
        });
        let template = format!("{BASE}{}", operation.path);
        if let Some(example) = examples::of_parameter(operation.name, &template, name) {
            parameter["example"] = example;
        }
        parameter
    };
    names.map(parameter).collect()
}

fn in_query(mut schema: Value) -> Vec<Value> {
    let name = schema["title"].as_str().unwrap_or_default().to_owned();
    bounds::lay_on(&name, &mut schema);
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|each| each == name));
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let parameter = |(name, mut schema): (String, Value)| {
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        json!({
            "name": name, "in": "query", "required": required(&name), "description": description.unwrap_or_default(),
            "schema": schema,
        })
    };
    properties.into_iter().map(parameter).collect()
}

fn json_body(operation: &Operation, required: bool, schema: &Value) -> Value {
    let mut content = json!({"schema": schema});
    if let Some(example) = examples::of(operation.name, "request") {
        content["example"] = example;
    }
    json!({"required": required, "content": {"application/json": content}})
}

/// The area that a scope is about.
fn area(scope: Scope) -> String {
    let resource = scope.as_str().split(':').next().unwrap_or_default();
    resource.split('-').map(words::capital).collect::<Vec<_>>().join(" ")
}

fn tags() -> Value {
    json!([
        {"name": "Events", "description": "Events an organizer sells tickets for."},
        {"name": "Ticket Types", "description": "What can be bought for an event."},
        {"name": "Orders", "description": "What customers buy for an event, and how it is paid."},
        {"name": "Tickets", "description": "Issued tickets, and the door."},
        {"name": "Discounts", "description": "Discount codes of an event, and what they take off a basket."},
        {"name": "Webhooks", "description": "Receivers that are told of orders and tickets."},
        {"name": "Checkout", "description": "The page on which a customer pays. Nobody needs a key for it."},
        {"name": "Server", "description": "About the server itself. Nobody needs a key for it."},
    ])
}
