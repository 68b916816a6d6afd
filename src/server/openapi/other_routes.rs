//! The routes that are not operations. None of them needs an API key.

use serde_json::{Value, json};

#[cfg(feature = "event-pages")]
use super::event_page_routes;
use super::headers::{self, in_path};
#[cfg(feature = "documents")]
use super::link_routes;
use super::responses::reference;

/// The path items of these routes.
pub(super) fn paths() -> Value {
    let request_id = json!({"$ref": "#/components/parameters/RequestId"});
    let mut paths = json!({
        "/checkout/{token}": checkout(),
        "/checkout/return/{session}": checkout_return(),
        "/gateway/notices": notices(),
        "/reports/{token}": report(),
        "/health/live": {"get": {
            "operationId": "is_alive", "tags": ["Server"], "summary": "Check that the process is alive",
            "description": "For a probe that restarts the process if it does not answer.",
            "responses": {"200": response("It is alive.", &ok())},
        }},
        "/health/ready": {"get": {
            "operationId": "is_ready", "tags": ["Server"], "summary": "Check that the store is ready",
            "description": "For a probe that sends no requests to the process while it cannot read its database.",
            "responses": {
                "200": response("It is ready.", &ok()),
                "503": reference("Unavailable"),
            },
        }},
        "/metrics": {"get": {
            "operationId": "get_metrics", "tags": ["Server"], "summary": "Get metrics",
            "description": "Metrics for Prometheus, over all organizations. Do not expose them to the public. Clients \
                whose `Accept` prefers `text/plain` get the text format of Prometheus, version 0.0.4.",
            "responses": {
                "200": response("Metrics in the OpenMetrics text format, or in that of Prometheus.", &json!({
                    "application/openmetrics-text": {"schema": {"type": "string"}},
                    "text/plain": {"schema": {"type": "string"}},
                })),
                "500": reference("Internal"),
            },
        }},
        "/openapi.json": {"get": {
            "operationId": "get_openapi", "tags": ["Server"], "summary": "Get this document",
            "description": "The OpenAPI 3.1 document of all routes and of the notifications that webhooks receive.",
            "parameters": [{
                "name": "server", "in": "query", "schema": {"type": "string"},
                "description": "If it is `same-origin`, the server in the document is the one that sends it, instead of \
                    its public URL. The page at `/docs` needs that.",
            }],
            "responses": {
                "200": response("The document.", &json!({"application/json": {"schema": {"type": "object"}}})),
                "304": not_modified(),
            },
        }},
    });
    for (path, item) in door() {
        paths[path] = item;
    }
    #[cfg(feature = "docs-page")]
    {
        let text = ["Show this document as a page", "On the page, each operation can be tried with an API key."];
        paths["/docs"] = file("show_docs", "Server", text, &page("The page."));
        let text = ["Get the script of the page", "Loaded by the page at `/docs`."];
        paths["/docs/scalar.js"] = file("get_docs_script", "Server", text, &script());
    }
    #[cfg(feature = "documents")]
    if let (Some(paths), Some(links)) = (paths.as_object_mut(), link_routes::paths().as_object_mut()) {
        paths.append(links);
    }
    #[cfg(feature = "event-pages")]
    if let (Some(paths), Some(pages)) = (paths.as_object_mut(), event_page_routes::paths().as_object_mut()) {
        paths.append(pages);
    }
    for path in paths.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut) {
        for method in ["get", "post"] {
            if let Some(operation) = path.get_mut(method) {
                operation["security"] = json!([]);
                let own = operation["parameters"].as_array().cloned().unwrap_or_default();
                operation["parameters"] = own.into_iter().chain([request_id.clone()]).collect();
                if operation["responses"].get("400").is_none() {
                    operation["responses"]["400"] = reference("MalformedRequest");
                }
            }
        }
    }
    paths
}

/// The path items of the page for check-in.
fn door() -> [(&'static str, Value); 3] {
    let page_text = [
        "Show the page for check-in at the entrance",
        "Links of entrances lead to it, with their API key in the fragment.",
    ];
    let worker_text = [
        "Get the service worker of the page",
        "Keeps the files of the page in the browser, so that it starts without a connection.",
    ];
    let text = json!({"schema": {"type": "string"}});
    let content = json!({
        "text/javascript": text, "text/css": text, "image/svg+xml": text,
        "application/manifest+json": {"schema": {"type": "object"}},
    });
    let file_text = ["Get a file of the page", "Scripts, the style, the icon and the manifest."];
    let mut files = file("get_door_file", "Tickets", file_text, &response("The file.", &content));
    files["get"]["responses"]["404"] = reference("NotFound");
    files["parameters"] =
        json!([in_path("version", "The version of the page."), in_path("file", "The name of the file.")]);
    [
        ("/door/", file("show_door", "Tickets", page_text, &page("The page."))),
        ("/door/sw.js", file("get_door_worker", "Tickets", worker_text, &script())),
        ("/door/{version}/{file}", files),
    ]
}

/// The path item of a file, with a summary and a description.
fn file(id: &str, tag: &str, [summary, description]: [&str; 2], response: &Value) -> Value {
    json!({"get": {
        "operationId": id, "tags": [tag], "summary": summary, "description": description,
        "responses": {"200": response, "304": not_modified()},
    }})
}

fn script() -> Value {
    response("The script.", &json!({"text/javascript": {"schema": {"type": "string"}}}))
}

/// The response without a file.
fn not_modified() -> Value {
    json!({"description": "The client has this version.", "headers": headers::references(&["X-Request-Id"])})
}

/// The path item of the notices of the payment gateway.
fn notices() -> Value {
    let received = json!({
        "description": "What the notice says is stored, or it concerns no order of this server, or it cannot be read, which is logged.",
        "headers": headers::references(&["X-Request-Id"]),
    });
    json!({"post": {
        "operationId": "receive_gateway_notice", "tags": ["Checkout"], "summary": "Receive a notice of the payment gateway",
        "description": "Sent by the payment gateway, in its own format and with its own signature, when a payment, a \
            refund or a dispute changes. A notice that is not signed by the gateway is refused with 400. The gateway should \
            send it again after 500 and 503.",
        "requestBody": {"required": true, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        "responses": {
            "200": received, "400": reference("MalformedRequest"), "404": reference("NotFound"),
            "413": reference("PayloadTooLarge"), "500": reference("Internal"), "503": reference("Unavailable"),
        },
    }})
}

/// The path item of the sandbox's checkout page.
fn checkout() -> Value {
    json!({
        "parameters": [in_path("token", "The last part of the order's `checkoutUrl`.")],
        "get": {
            "operationId": "show_checkout", "tags": ["Checkout"], "summary": "Show the sandbox checkout",
            "description": "A page for the customer with the order, and buttons to pay, to let the payment fail, \
                and to cancel.",
            "responses": {
                "200": page("The page."),
                "404": page("No checkout has this token."),
                "410": page("The checkout was replaced by a newer one."),
                "500": page("An internal error occurred."),
                "503": page("The server is busy."),
            },
        },
        "post": {
            "operationId": "finish_checkout", "tags": ["Checkout"],
            "summary": "Pay or cancel an order in the sandbox checkout",
            "description": "Sent by the buttons of the page.",
            "requestBody": {"required": true, "content": {"application/x-www-form-urlencoded": {"schema": {
                "type": "object", "required": ["outcome"],
                "properties": {"outcome": {"type": "string", "enum": ["success", "failure", "cancel"]}},
            }}}},
            "responses": {
                "303": {
                    "description": "Redirects to the order's redirect URL for the outcome, or back to the page.",
                    "headers": headers::references(&["X-Request-Id", "Location"]),
                },
                "400": page("The form field `outcome` is missing or invalid."),
                "404": page("No checkout has this token."),
                "410": page("The checkout was replaced by a newer one."),
                "413": page("The form is too large."),
                "500": page("An internal error occurred."),
                "503": page("The server is busy."),
            },
        },
    })
}

/// The path item of the page to which a gateway sends the customer back.
/// The report of an event. Errors are pages too.
fn report() -> Value {
    let language = json!({
        "name": "lang", "in": "query", "schema": {"type": "string"},
        "description": "The language of the page. Without it, the page is in one that the browser accepts.",
    });
    json!({
        "parameters": [in_path("token", "The token in the `url` of a report link: its last part.")],
        "get": {
            "operationId": "show_report", "tags": ["Events"], "summary": "Show the report of an event",
            "description": "A page that shows how the event sells and fills. Its figures are read again after a minute.",
            "parameters": [language],
            "responses": {
                "200": page("The page."),
                "304": not_modified(),
                "404": page("No link has the token, or the link was revoked, or has ended."),
                "429": page("Too many requests of this link or this address."),
                "503": page("The server is busy."),
            },
        },
    })
}

fn checkout_return() -> Value {
    json!({
        "parameters": [in_path("session", "The gateway's id of the checkout, or the text that the server has given the \
            order for its return.")],
        "get": {
            "operationId": "return_from_checkout", "tags": ["Checkout"],
            "summary": "Come back from the page of the payment gateway",
            "description": "The payment gateway sends the customer here. The gateway is asked what became of the checkout, \
                and the order is completed if it is paid.",
            "responses": {
                "200": page("A page that says whether the order is paid. Of an order that names no pages."),
                "303": {
                    "description": "Redirects to the order's redirect URL for the outcome: for `cancel`, if the order can \
                        still be paid.",
                    "headers": headers::references(&["X-Request-Id", "Location"]),
                },
                "404": page("No checkout has this id."),
                "500": page("An internal error occurred."),
                "503": page("The server is busy, or the payment gateway does not answer."),
            },
        },
    })
}

fn response(description: &str, content: &Value) -> Value {
    json!({"description": description, "headers": headers::references(&["X-Request-Id"]), "content": content})
}

fn page(description: &str) -> Value {
    response(description, &json!({"text/html": {"schema": {"type": "string"}}}))
}

fn ok() -> Value {
    json!({"application/json": {"schema": {"$ref": "#/components/schemas/HealthStatus"}, "example": {"status": "ok"}}})
}

/// The schema of the response to a health check that succeeded.
pub(super) fn health_status() -> Value {
    json!({
        "type": "object",
        "description": "The response to a health check that succeeded.",
        "required": ["status"],
        "properties": {"status": {"type": "string", "enum": ["ok"]}},
    })
}
