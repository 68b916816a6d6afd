//! The pages of events, and what can be done with the order of a link.

use serde_json::{Value, json};

use super::headers::{self, in_path};

/// The path items of these routes.
pub(super) fn paths() -> Value {
    let form =
        json!({"required": true, "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}});
    let choice = [
        ("code", "The code of a discount."),
        ("ref", "The code of the affiliate who referred the customer: the order's `affiliateCode`."),
        ("lang", "The language of the page and of the order."),
    ];
    let choice = choice.map(|(name, description)| {
        json!({"name": name, "in": "query", "schema": {"type": "string"}, "description": description})
    });
    json!({
        "/e/{organization}/{slug}": of_event(&json!({"get": {
            "operationId": "show_event", "summary": "Show an event",
            "description": "The page on which customers choose tickets, with a quantity for each type in a parameter named `t.` and \
                its id. This is `pageUrl`. The routes below `/e` are there if event pages are switched on.",
            "parameters": choice,
            "responses": responses("The page.", "text/html", &[]),
        }})),
        "/e/{organization}/{slug}/order": of_event(&json!({
            "get": {
                "operationId": "show_order_form", "summary": "Show the form for an order",
                "description": "What the chosen tickets cost, and fields for the customer.",
                "parameters": choice,
                "responses": responses("The page.", "text/html", &[
                    ("303", "Nothing was chosen. Redirects to the page of the event."),
                ]),
            },
            "post": {
                "operationId": "send_order_form", "summary": "Order tickets with the form",
                "description": "Sent by the button of the form, whose token is its idempotency key.",
                "requestBody": form,
                "responses": responses("", "", &[
                    ("303", "The order was created. Redirects to its checkout, or to its page if there is nothing to pay."),
                    ("403", "A page of another site has sent the form."),
                    ("409", "Nothing was ordered. The page has the form again, and says why."),
                    ("413", "The form is too large."),
                    ("415", "The body is not a form."),
                    ("422", "Fields have to be changed. The page has the form again, and says which."),
                    ("429", "The network of the client has ordered too often."),
                    ("502", "The payment gateway has failed, and nothing was ordered."),
                ]),
            },
        })),
        "/e/{organization}/{slug}/cover": of_event(&json!({"get": {
            "operationId": "get_cover", "summary": "Get the cover of an event",
            "description": "The picture at the event's `coverImage`, without metadata.",
            "responses": responses("The picture.", "image/*", &[]),
        }})),
        "/e/{organization}/{slug}/event.ics": of_event(&json!({"get": {
            "operationId": "get_calendar_entry", "summary": "Get the calendar entry of an event",
            "description": "For the calendars of those who want to come.",
            "responses": responses("A calendar entry (RFC 5545).", "text/calendar", &[]),
        }})),
        "/orders/{token}/pay": of_order(&json!({"post": {
            "operationId": "pay_order", "summary": "Go on to the payment of an order",
            "description": "Sent by a button on the page of a pending order, with event pages.",
            "responses": responses("", "", &[
                ("303", "Redirects to the checkout, or to the page of the order."),
                ("403", "A page of another site has sent the form."),
            ]),
        }})),
        "/orders/{token}/cancel": of_order(&json!({
            "get": {
                "operationId": "ask_to_cancel_order", "summary": "Ask whether to cancel an order",
                "description": "A page with a button to cancel a pending order, with event pages.",
                "responses": responses("The page.", "text/html", &[
                    ("303", "The order is not pending. Redirects to its page."),
                ]),
            },
            "post": {
                "operationId": "cancel_order_of_link", "summary": "Cancel a pending order",
                "description": "Sent by the button of the page. An order that is not pending stays as it is.",
                "responses": responses("", "", &[
                    ("303", "Redirects to the page of the order."),
                    ("403", "A page of another site has sent the form."),
                ]),
            },
        })),
    })
}

fn of_event(item: &Value) -> Value {
    let parameters = [
        in_path("organization", "The id of the organization, or its page name."),
        in_path("slug", "The slug of the event."),
    ];
    with_parameters(item, &json!(parameters))
}

fn of_order(item: &Value) -> Value {
    with_parameters(item, &json!([in_path("token", "The token in the order's `orderUrl`: its last part.")]))
}

fn with_parameters(item: &Value, parameters: &Value) -> Value {
    let mut item = item.clone();
    for method in ["get", "post"] {
        if let Some(operation) = item.get_mut(method) {
            operation["tags"] = json!(["Event pages"]);
        }
    }
    item["parameters"] = parameters.clone();
    item
}

/// The responses by status: 200 with a body of this type, unless it is empty, and pages for everything else.
fn responses(description: &str, media_type: &str, others: &[(&str, &str)]) -> Value {
    let mut responses = json!({});
    if !media_type.is_empty() {
        let binary = json!({"type": "string", "format": "binary"});
        let schema = if media_type == "image/*" { binary } else { json!({"type": "string"}) };
        responses["200"] = json!({
            "description": description, "headers": headers::references(&["X-Request-Id", "ETag"]),
            "content": {media_type: {"schema": schema}},
        });
        responses["304"] = json!({
            "description": "The client has this version.", "headers": headers::references(&["X-Request-Id", "ETag"]),
        });
    }
    let common = [
        ("400", "The request is malformed."),
        ("404", "There is no such page, or it is not shown."),
        ("429", "Too many requests came from this address."),
        ("500", "An internal error occurred."),
        ("503", "The server is busy."),
    ];
    for (status, description) in common.iter().chain(others) {
        let names: &[&str] = match *status {
            "303" => &["X-Request-Id", "Location"],
            "429" | "503" => &["X-Request-Id", "Retry-After"],
            _ => &["X-Request-Id"],
        };
        responses[*status] = json!({"description": description, "headers": headers::references(names)});
        if *status != "303" {
            responses[*status]["content"] = json!({"text/html": {"schema": {"type": "string"}}});
        }
    }
    responses
}
