//! The routes beside the operations. None of them asks for a key.

use serde_json::{Value, json};

use super::headers;

/// Paths, and what they answer, as the document has it.
pub(super) fn paths() -> Value {
    let request_id = json!([{"$ref": "#/components/parameters/RequestId"}]);
    let headers = headers::named(&["X-Request-Id"]);
    let answer =
        |description: &str, content: Value| json!({"description": description, "headers": headers, "content": content});
    let page = |description: &str| answer(description, json!({"text/html": {"schema": {"type": "string"}}}));
    let mut paths = json!({
        "/checkout/{token}": {
            "parameters": [{
                "name": "token", "in": "path", "required": true, "schema": {"type": "string"},
                "description": "What the order's `checkoutUrl` ends with.",
            }],
            "get": {
                "operationId": "show_checkout", "tags": ["Checkout"], "summary": "Show the sandbox's checkout",
                "description": "A page for the customer, with the order and buttons to pay, to fail and to cancel.",
                "responses": {
                    "200": page("The page"),
                    "404": page("There is no such checkout"),
                    "500": page("Something went wrong inside"),
                    "503": page("The service is busy"),
                },
            },
            "post": {
                "operationId": "finish_checkout", "tags": ["Checkout"], "summary": "Pay, fail or cancel a checkout",
                "description": "What the buttons of the page send.",
                "requestBody": {"required": true, "content": {"application/x-www-form-urlencoded": {"schema": {
                    "type": "object", "required": ["outcome"],
                    "properties": {"outcome": {"type": "string", "enum": ["success", "failure", "cancel"]}},
                }}}},
                "responses": {
                    "303": {
                        "description": "On to the order's redirect address for the outcome, or back to the page",
                        "headers": headers::named(&["X-Request-Id", "Location"]),
                    },
                    "400": page("The form says no outcome that there is"),
                    "404": page("There is no such checkout"),
                    "413": page("The form is too large"),
                    "500": page("Something went wrong inside"),
                    "503": page("The service is busy"),
                },
            },
        },
        "/health/live": {"get": {
            "operationId": "is_alive", "tags": ["Server"], "summary": "Whether the process lives",
            "responses": {"200": answer("It does", ok())},
        }},
        "/health/ready": {"get": {
            "operationId": "is_ready", "tags": ["Server"], "summary": "Whether the store can do its work",
            "responses": {
                "200": answer("It can", ok()),
                "503": {"$ref": "#/components/responses/Unavailable"},
            },
        }},
        "/metrics": {"get": {
            "operationId": "get_metrics", "tags": ["Server"], "summary": "Figures for whoever watches over the server",
            "description": "Of all organizations together: keep them from the public.",
            "responses": {
                "200": answer("As OpenMetrics has them", json!({"application/openmetrics-text": {
                    "schema": {"type": "string"},
                }})),
                "500": {"$ref": "#/components/responses/Internal"},
            },
        }},
        "/openapi.json": {"get": {
            "operationId": "get_openapi", "tags": ["Server"], "summary": "This document",
            "responses": {"200": answer("The document", json!({"application/json": {"schema": {"type": "object"}}}))},
        }},
        "/docs": {"get": {
            "operationId": "show_docs", "tags": ["Server"], "summary": "This document as a page to try it",
            "responses": {"200": page("The page")},
        }},
        "/docs/scalar.js": {"get": {
            "operationId": "get_docs_script", "tags": ["Server"], "summary": "The script of that page",
            "responses": {"200": answer("The script", json!({"text/javascript": {"schema": {"type": "string"}}}))},
        }},
    });
    for operation in paths.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut) {
        for method in ["get", "post"] {
            if let Some(operation) = operation.get_mut(method) {
                operation["security"] = json!([]);
                operation["parameters"] = request_id.clone();
                let flaw = json!({"$ref": "#/components/responses/MalformedRequest"});
                let responses = operation["responses"].as_object_mut();
                responses.map(|responses| responses.entry("400").or_insert(flaw));
            }
        }
    }
    paths
}

fn ok() -> Value {
    let schema = json!({
        "type": "object", "required": ["status"], "properties": {"status": {"type": "string", "enum": ["ok"]}},
    });
    json!({"application/json": {"schema": schema, "example": {"status": "ok"}}})
}
