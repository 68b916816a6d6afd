//! The OpenAPI 3.1 document. It is generated from the table of operations and the types of their requests and
//! responses.

#[cfg(feature = "event-pages")]
mod event_page_routes;
mod examples;
#[cfg(feature = "exports")]
mod exports;
mod headers;
#[cfg(feature = "documents")]
mod link_routes;
mod links;
mod notifications;
mod other_routes;
mod responses;

use std::sync::LazyLock;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use axum::routing::get;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::http::base_path::base_path;
use super::operations::operation::{BASE, Input, Operation};
use super::state::AppState;
use crate::enums::scope::Scope;
use crate::form::declare::schema::NamedSchemas;
use crate::form::value::FormValue;
use crate::model::values::id::{
    AllocationId, ApiKeyId, DiscountId, EventId, OrderId, RefundId, TicketId, TicketTypeId, WebhookDeliveryId,
    WebhookId,
};

/// Stands for the URL of the server in [`DOCUMENT`].
const SERVER_URL: &str = "urn:ticketing:server";

/// The query string of a request for a document whose server is the one that sends it, however the client reaches it.
/// The page at `/docs` may only call its own origin.
const SAME_ORIGIN: &str = "server=same-origin";

/// The document as it is sent, except for the URL of the server.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/openapi.json", get(send))
}

async fn send(State(state): State<AppState>, request: Request) -> Response {
    let server = server_url(&state, &request).to_owned();
    // As JSON, because the path may contain quotes.
    let (placeholder, url) = (json!(SERVER_URL).to_string(), json!(server).to_string());
    let make = move || DOCUMENT.replacen(&placeholder, &url, 1).into_bytes();
    state
        .files
        .respond(format!("openapi.json {server}"), make, request.headers(), &[(CONTENT_TYPE, "application/json")])
        .await
}

/// The public URL, if it is the place of these routes. Otherwise the path of the routes, to which clients add what
/// precedes it in the URL of the document.
fn server_url<'a>(state: &'a AppState, request: &'a Request) -> &'a str {
    let path = base_path(request.uri(), request.extensions(), &state.public_path);
    match &state.public_url {
        Some(url) if path == state.public_path && request.uri().query() != Some(SAME_ORIGIN) => url,
        _ if path.is_empty() => "/",
        _ => path,
    }
}

const DESCRIPTION: &str = "Sells tickets for events: ticket types, orders with payment, issued tickets with scannable \
    codes, check-in, discounts and webhooks. Every request acts for one organization: that of its API key. The version \
    of this document is that of the API; the program that serves it has another one.\n\n\
    Amounts are numbers in the event's currency. Timestamps are in UTC and end in `Z`, such as \
    `2026-06-01T18:00:00Z`; requests may leave out the seconds. A field of a response that can be null is always \
    present. Unknown fields of a request body are ignored; a query parameter that the operation does not have is an \
    error. `null` is accepted only for fields that can be null. White space at both ends of a text is cut off. A text \
    is one line, without control characters, unless its description says that it may have several. Lists have pages: \
    pass the `nextCursor` of one page as `cursor` to get the next. Paths that support GET also support HEAD. Any other \
    method that is not listed here is refused with 405 and an `Allow` header.";

/// Generates the document.
fn document() -> Value {
    let mut requests = NamedSchemas::default();
    let mut responses = generator();
    let mut paths = other_routes::paths();
    for operation in super::operations::all() {
        let method = operation.method.as_str().to_lowercase();
        paths[format!("{BASE}{}", operation.route.path)][method] = describe(&operation, &mut requests, &mut responses);
    }
    let webhooks = notifications::webhooks(&mut requests, &mut responses);
    let mut schemas = responses.take_definitions(true);
    // If requests and responses have a schema in common, that of requests is used: it has the limits.
    schemas.extend(requests.into_map());
    schemas.extend(responses::problem_schemas());
    schemas.insert("HealthStatus".to_owned(), other_routes::health_status());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ticketing",
            "version": "1.0.0",
            "description": DESCRIPTION,
            "contact": {"name": "The operator of this server"},
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": SERVER_URL, "description": "This server"}],
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
                "description": "An API key of the organization. It needs the scope of the operation.",
            }},
        },
    })
}

/// Collects the schemas of responses.
fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    settings.for_serialize().into_generator()
}

fn describe(operation: &Operation, requests: &mut NamedSchemas, responses: &mut SchemaGenerator) -> Value {
    let scopes: Vec<_> = std::iter::once(operation.route.scope)
        .chain(operation.further_scopes.iter().copied())
        .map(Scope::as_str)
        .collect();
    let mut parameters = path_parameters(operation, requests);
    let mut body = None;
    match operation.input {
        Input::None => {}
        Input::Query(schema) => parameters.extend(query_parameters(&schema(requests))),
        Input::Body(schema) => body = Some(json_body(operation, true, &schema(requests))),
        Input::OptionalBody(schema) => body = Some(json_body(operation, false, &schema(requests))),
    }
    parameters.extend(headers::of_request(operation));
    let mut described = json!({
        "operationId": operation.route.name,
        "tags": [tag(operation)],
        "summary": operation.summary,
        "description": format!("{}\n\nScope: `{}`", operation.description, scopes.join("`, `")).trim(),
        "security": [{"ApiKey": scopes}],
        "x-scope": scopes.join(" "),
        "parameters": parameters,
        "responses": responses::of(operation, responses),
    });
    if let Some(body) = body {
        described["requestBody"] = body;
    }
    described
}

fn path_parameters(operation: &Operation, named: &mut NamedSchemas) -> Vec<Value> {
    let template = format!("{BASE}{}", operation.route.path);
    let mut parameters = Vec::new();
    for name in template.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}')) {
        let (description, schema) = path_parameter(name, named);
        let mut parameter =
            json!({"name": name, "in": "path", "required": true, "description": description, "schema": schema});
        if let Some(example) = examples::of_parameter(operation.route.name, &template, name) {
            parameter["example"] = example;
        }
        parameters.push(parameter);
    }
    parameters
}

/// The description and the schema of a path parameter.
fn path_parameter(name: &str, named: &mut NamedSchemas) -> (&'static str, Value) {
    match name {
        "eventId" => ("The id of the event.", EventId::schema(named)),
        "ticketTypeId" => ("The id of the ticket type.", TicketTypeId::schema(named)),
        "allocationId" => ("The id of the allocation.", AllocationId::schema(named)),
        "orderId" => ("The id of the order.", OrderId::schema(named)),
        "refundId" => ("The id of the refund.", RefundId::schema(named)),
        "issuedTicketId" => ("The id of the issued ticket.", TicketId::schema(named)),
        "discountId" => ("The id of the discount.", DiscountId::schema(named)),
        "webhookId" => ("The id of the webhook endpoint.", WebhookId::schema(named)),
        "doorLinkId" => ("The id of the door link.", ApiKeyId::schema(named)),
        "deliveryId" => ("The id of the delivery.", WebhookDeliveryId::schema(named)),
        _ => ("", json!({})),
    }
}

fn query_parameters(schema: &Value) -> Vec<Value> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let mut parameters = Vec::new();
    for (name, mut schema) in properties {
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        parameters.push(json!({
            "name": name, "in": "query", "required": required.contains(&json!(name)),
            "description": description.unwrap_or_default(),
            "schema": schema,
        }));
    }
    parameters
}

fn json_body(operation: &Operation, required: bool, schema: &Value) -> Value {
    let mut content = json!({"schema": schema});
    let example = |part| examples::of(operation.route.name, part);
    match (example("minimal"), example("request")) {
        (Some(minimal), Some(request)) => {
            // Readers show the first one, and sort them by their names.
            content["examples"] = json!({
                "minimal": {"summary": "Minimal", "value": minimal},
                "withOptionalFields": {"summary": "With optional fields", "value": request},
            });
        }
        (_, Some(request)) => content["example"] = request,
        (_, None) => {}
    }
    json!({"required": required, "content": {"application/json": content}})
}

/// What the paths of operations about payments contain.
const MONEY: [&str; 6] = ["/payments", "/refunds", "/disputes", "/ledger-entries", "/balance", "/settlement"];

/// The tag of an operation: it follows from the scope that it needs.
fn tag(operation: &Operation) -> &'static str {
    if operation.success.is_export {
        return "Exports";
    }
    if MONEY.iter().any(|money| operation.route.path.contains(money)) {
        return "Payments";
    }
    match operation.route.scope {
        Scope::EventsRead | Scope::EventsWrite => "Events",
        Scope::TicketTypesRead | Scope::TicketTypesWrite => "Ticket Types",
        Scope::OrdersRead | Scope::OrdersWrite | Scope::PaymentsWrite => "Orders",
        Scope::TicketsRead | Scope::TicketsWrite | Scope::TicketsCheckIn => "Tickets",
        Scope::DiscountsRead | Scope::DiscountsWrite => "Discounts",
        Scope::WebhooksRead | Scope::WebhooksWrite => "Webhooks",
        Scope::MailRead | Scope::MailWrite => "Mail",
    }
}

fn tags() -> Value {
    let mut tags = vec![
        ("Events", "Events that tickets are sold for."),
        ("Ticket Types", "The kinds of tickets that are sold for an event."),
        ("Orders", "Orders of tickets for an event."),
        ("Payments", "Payments, refunds, disputes, and the ledger of all movements of money."),
        ("Tickets", "Issued tickets and their check-in."),
        ("Discounts", "Discount codes of an event."),
        ("Webhooks", "Endpoints that receive notifications about orders and tickets."),
        (notifications::TAG, "The requests that webhook endpoints receive."),
        ("Checkout", "The page on which a customer pays. It needs no API key."),
        ("Server", "Health, metrics and documentation. These routes need no API key."),
    ];
    if cfg!(feature = "exports") {
        tags.push(("Exports", "Files for spreadsheets and accounting."));
    }
    if cfg!(feature = "documents") {
        let description =
            "The pages and documents for those who have the link of a ticket or an order, without an API key.";
        tags.push(("Documents", description));
    }
    if cfg!(feature = "mail") {
        tags.push(("Mail", "Mails to customers and organizers."));
    }
    if cfg!(feature = "event-pages") {
        tags.push(("Event pages", "The pages on which customers buy. They need no API key."));
    }
    tags.into_iter().map(|(name, description)| json!({"name": name, "description": description})).collect()
}
