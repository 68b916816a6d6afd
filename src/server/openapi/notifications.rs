//! What is sent to webhook endpoints, as the document's `webhooks`.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::model::id::NotificationId;
use crate::model::notification::{OrderCancelled, OrderCompleted, TicketCheckedIn, TicketIssued};
use crate::model::text_enum::TextEnum;
use crate::model::timestamp::Timestamp;
use crate::model::webhook::NotificationType;
use crate::webhook::{EVENT_ID_HEADER, EVENT_TYPE_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER};

const ABOUT: &str = "It is delivered at least once: what repeats itself has the same id. Any answer but a 2xx within 10 \
    seconds counts as failed, and it is sent again 1, 2, 5, 10, 20, 40 and 80 minutes after the attempt before.";

/// Each type of notification, by its name.
pub(super) fn webhooks(answers: &mut SchemaGenerator) -> Value {
    let described = NotificationType::ALL.iter().map(|of| {
        let (summary, data) = match of {
            NotificationType::OrderCompleted => ("An order was completed", answers.subschema_for::<OrderCompleted>()),
            NotificationType::OrderCancelled => ("An order was cancelled", answers.subschema_for::<OrderCancelled>()),
            NotificationType::TicketIssued => ("A ticket was issued", answers.subschema_for::<TicketIssued>()),
            NotificationType::TicketCheckedIn => {
                ("A ticket was checked in", answers.subschema_for::<TicketCheckedIn>())
            }
        };
        (of.as_str().to_owned(), json!({"post": post(*of, summary, &data, answers)}))
    });
    Value::Object(described.collect())
}

fn post(of: NotificationType, summary: &str, data: &Schema, answers: &mut SchemaGenerator) -> Value {
    let body = json!({
        "type": "object",
        "required": ["id", "type", "createdAt", "data"],
        "properties": {
            "id": answers.subschema_for::<NotificationId>(),
            "type": {"type": "string", "const": of.as_str()},
            "createdAt": answers.subschema_for::<Timestamp>(),
            "data": data,
        },
    });
    json!({
        "operationId": format!("receive_{}", of.as_str().replace('.', "_")),
        "tags": ["Webhooks"],
        "summary": summary,
        "description": ABOUT,
        "security": [],
        "parameters": [
            header(SIGNATURE_HEADER, "HMAC-SHA256 over `<timestamp>.<body>` in hexadecimal, under the endpoint's secret."),
            header(TIMESTAMP_HEADER, "When it was signed, in Unix seconds."),
            header(EVENT_ID_HEADER, "The `id` of the body."),
            header(EVENT_TYPE_HEADER, "The `type` of the body."),
        ],
        "requestBody": {"required": true, "content": {"application/json": {"schema": body}}},
        "responses": {
            "2XX": {"description": "It was accepted."},
            "default": {"description": "It was not, and is sent again."},
        },
    })
}

fn header(name: &str, description: &str) -> Value {
    json!({"name": name, "in": "header", "required": true, "description": description, "schema": {"type": "string"}})
}
