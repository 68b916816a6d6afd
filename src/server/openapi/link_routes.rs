//! The pages and documents for those who have the link of a ticket or of an order.

use serde_json::{Value, json};

use super::headers::{self, in_path};

/// The path items of these routes.
pub(super) fn paths() -> Value {
    let calendar = "A calendar entry (RFC 5545), without the code. It is cancelled if the ticket or the event is.";
    json!({
        "/tickets/{token}": item(TICKET, &json!({
            "operationId": "show_ticket", "summary": "Show a ticket",
            "description": "A page for the holder of the ticket, with its QR code. It says whether the ticket is checked in \
                or cancelled. Errors of all links are pages too, or problems (RFC 9457) without `instance` if the request \
                accepts `application/json` and not `text/html`.",
            "responses": responses("The page.", "text/html", &[]),
        })),
        "/tickets/{token}/ticket.pdf": item(TICKET, &json!({
            "operationId": "download_ticket", "summary": "Download a ticket as PDF",
            "description": "This is `downloadTicketUrl`.",
            "responses": responses("The document.", "application/pdf", &[("410", "The ticket or the event is cancelled.")]),
        })),
        "/tickets/{token}/event.ics": item(TICKET, &json!({
            "operationId": "download_calendar_entry", "summary": "Download the calendar entry of a ticket",
            "description": "For the calendar of the ticket's holder.",
            "responses": responses(calendar, "text/calendar", &[]),
        })),
        "/orders/{token}": item(ORDER, &json!({
            "operationId": "show_order", "summary": "Show the tickets and the receipt of an order",
            "description": "A page for the buyer, with the tickets of the order, 20 in a part, and what was paid and refunded. This is \
                `documentsUrl`.",
            "parameters": [{
                "name": "part", "in": "query", "schema": {"type": "integer", "minimum": 1},
                "description": "The part, from 1. Without it, or if there is no such part, the first or the last.",
            }],
            "responses": responses("The page.", "text/html", &[("409", "The order is not paid.")]),
        })),
        "/orders/{token}/tickets.pdf": item(ORDER, &json!({
            "operationId": "download_tickets", "summary": "Download the tickets of an order as PDF",
            "description": "One file with all tickets of the order that are not cancelled.",
            "responses": responses("The document.", "application/pdf", &[
                ("409", "The order is not paid."),
                ("410", "The order, all its tickets or the event are cancelled."),
            ]),
        })),
    })
}

const TICKET: &str = "The token in the ticket's `downloadTicketUrl`: the part after `tickets/`.";
const ORDER: &str = "The token in the order's `documentsUrl`: its last part.";

fn item(token: &str, get: &Value) -> Value {
    let mut get = get.clone();
    get["tags"] = json!(["Documents"]);
    json!({"parameters": [in_path("token", token)], "get": get})
}

/// The responses by status: 200 with a body of this type, and pages for everything else.
fn responses(description: &str, media_type: &str, others: &[(&str, &str)]) -> Value {
    let binary = json!({"type": "string", "format": "binary"});
    let schema = if media_type == "application/pdf" { binary } else { json!({"type": "string"}) };
    let headers = |names: &[&str]| headers::references(names);
    let mut responses = json!({
        "200": {
            "description": description, "headers": headers(&["X-Request-Id", "ETag"]),
            "content": {media_type: {"schema": schema}},
        },
        "304": {"description": "The client has this version.", "headers": headers(&["X-Request-Id", "ETag"])},
    });
    let common = [
        ("400", "The request is malformed."),
        ("404", "Nothing has this token, or its link was renewed."),
        ("429", "Too many wrong tokens came from this address."),
        ("500", "An internal error occurred."),
        ("503", "The server is busy."),
    ];
    for (status, description) in common.iter().chain(others) {
        let names: &[&str] =
            if matches!(*status, "429" | "503") { &["X-Request-Id", "Retry-After"] } else { &["X-Request-Id"] };
        responses[*status] = json!({
            "description": description, "headers": headers(names),
            "content": {"text/html": {"schema": {"type": "string"}}},
        });
    }
    responses
}
