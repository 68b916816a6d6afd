//! The notifications that are sent to webhook endpoints: the document's `webhooks`.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::form::declare::schema::NamedSchemas;
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::NotificationId;
use crate::model::values::timestamp::Timestamp;
use crate::webhook::{EVENT_ID_HEADER, EVENT_TYPE_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER};

/// The tag of the notifications. No operation has it: generators of clients write one file for each tag, and would
/// write the operations and the notifications of one tag to the same file.
pub(super) const TAG: &str = "Notifications";

const DESCRIPTION: &str = "Delivered at least once: if it arrives again, it has the same `id`. An attempt succeeds if \
    the endpoint returns a 2xx status within 10 seconds. Otherwise the notification is sent again, 1, 2, 5, 10, 20, 40 \
    and 80 minutes after the previous attempt.";

/// Every type of notification by its name. Adds the schemas of their bodies to `named`.
pub(super) fn webhooks(named: &mut NamedSchemas, generator: &mut SchemaGenerator) -> Value {
    let mut webhooks = Map::new();
    for kind in EventType::ALL {
        let summary = kind.title();
        let data = kind.data_schema(generator);
        let body = body(*kind, summary, &data, generator);
        let body = named.refer_to(&format!("{kind:?}Notification"), body);
        webhooks.insert(kind.as_str().to_owned(), json!({"post": post(*kind, summary, &body)}));
    }
    Value::Object(webhooks)
}

fn body(kind: EventType, summary: &str, data: &Schema, generator: &mut SchemaGenerator) -> Value {
    json!({
        "type": "object",
        "description": format!("{summary}: the body of a webhook request."),
        "required": ["id", "type", "createdAt", "data"],
        "properties": {
            "id": generator.subschema_for::<NotificationId>(),
            "type": {"type": "string", "const": kind.as_str()},
            "createdAt": generator.subschema_for::<Timestamp>(),
            "data": data,
        },
    })
}

fn post(kind: EventType, summary: &str, body: &Value) -> Value {
    let signature =
        "The HMAC-SHA256 of `<timestamp>.<body>` in hexadecimal. The key is the endpoint's secret, including `whsec_`.";
    json!({
        "operationId": format!("receive_{}", kind.as_str().replace('.', "_")),
        "tags": [TAG],
        "summary": summary,
        "description": DESCRIPTION,
        "security": [],
        "parameters": [
            header(SIGNATURE_HEADER, signature),
            header(TIMESTAMP_HEADER, "When the notification was signed, in seconds since 1970."),
            header(EVENT_ID_HEADER, "The `id` in the body."),
            header(EVENT_TYPE_HEADER, "The `type` in the body."),
        ],
        "requestBody": {"required": true, "content": {"application/json": {"schema": body}}},
        "responses": {
            "2XX": {"description": "The notification was received."},
            "default": {"description": "The attempt failed. The notification is sent again."},
        },
    })
}

fn header(name: &str, description: &str) -> Value {
    json!({"name": name, "in": "header", "required": true, "description": description, "schema": {"type": "string"}})
}
