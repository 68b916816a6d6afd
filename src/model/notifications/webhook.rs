//! Webhook endpoints and the deliveries of notifications to them.

use super::notification_types::{DeliveryEventType, EventType};
use crate::form::declare::writable_fields::writable_fields;
use crate::form::limits::ListLimit::{MaxItems, MinItems};
use crate::form::limits::TextLimit::{Lines, MaxLength, WebhookUrl};
use crate::form::limits::{ANY_LINES, URL_LENGTH};
use crate::model::values::id::{NotificationId, OutboxId, WebhookDeliveryId, WebhookId};
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::secret::Secret;
use crate::model::values::timestamp::Timestamp;

responses! {
    /// A webhook endpoint: a URL to which notifications are sent.
    pub struct WebhookEndpoint {
        /// The id.
        pub id: WebhookId,
        /// The URL to which notifications are sent.
        pub url: String,
        /// What the endpoint is for.
        pub description: Option<String>,
        /// The types of notifications to send.
        pub events: Vec<EventType>,
        /// Whether notifications are sent. While disabled, no new ones are queued, and queued ones wait.
        pub enabled: bool,
        /// When the endpoint was created.
        pub created_at: Timestamp,
        /// When the endpoint was last changed.
        pub updated_at: Timestamp,
        /// The last four characters of the signing secret.
        pub secret_hint: Option<String>,
        /// The number of the current version. Every change increases it, including the rotation of the secret.
        pub revision: i64,
    }

    /// A newly created webhook endpoint, with its signing secret.
    pub struct CreatedWebhookEndpoint {
        /// The endpoint.
        #[serde(flatten)]
        pub endpoint: WebhookEndpoint,
        /// The signing secret: `whsec_` and 32 random bytes in base64. No other response contains it.
        pub secret: Secret,
    }

    /// The new signing secret of a webhook endpoint.
    pub struct RotatedWebhookSecret {
        /// The endpoint.
        pub id: WebhookId,
        /// The new signing secret. No other response contains it.
        pub secret: Secret,
    }
}

/// # Constructors
impl CreateWebhook {
    /// Creates an endpoint at `url` for notifications of these types.
    #[must_use]
    pub fn new(url: impl Into<String>, events: impl IntoIterator<Item = EventType>) -> Self {
        Self { url: url.into(), description: None, events: events.into_iter().collect(), enabled: None }
    }
}

writable_fields! {
    /// A request to create a webhook endpoint.
    create CreateWebhook;
    /// Changes to a webhook endpoint, with the same limits as for its creation.
    update UpdateWebhook;
    fields WebhookFields of WebhookEndpoint;

    /// The URL to which notifications are sent: `https` at a public address, on port 443 or a port from 1024 to 65535.
    /// At most 2,048 characters. A changed URL is used from the next attempt on.
    url: String => required, MaxLength(URL_LENGTH), WebhookUrl;
    /// What the endpoint is for: at most 500 characters. It may have several lines.
    description: String => nullable, MaxLength(500), Lines(ANY_LINES);
    /// The types of notifications to send: 1 to 100. Duplicates are ignored. Queued notifications of a type that is
    /// removed are dropped.
    events: Vec<EventType> => required, MinItems(1), MaxItems(100);
    /// Whether notifications are sent. While disabled, no new ones are queued, and queued ones wait.
    enabled: bool => default(true);
}

list_request! {
    /// A request to list webhook endpoints.
    pub struct ListWebhooks {
        /// The part of the list to return.
        pub page: PageRequest<WebhookId>,
    }
}

responses! {
    /// One attempt to deliver a notification to a webhook endpoint.
    pub struct WebhookDelivery {
        /// The id.
        pub id: WebhookDeliveryId,
        /// The endpoint.
        pub endpoint_id: WebhookId,
        /// The queued notification. It is the same for all attempts.
        pub outbox_id: Option<OutboxId>,
        /// The type of the notification.
        pub event_type: DeliveryEventType,
        /// The id of the notification.
        #[serde(rename = "eventId")]
        pub notification_id: NotificationId,
        /// The body that was sent, byte for byte.
        pub request_body: String,
        /// The HTTP status of the response, if there was one.
        pub response_status: Option<i64>,
        /// The first 4 KiB of the response, if there was one.
        pub response_body: Option<String>,
        /// Whether the endpoint responded with a 2xx status.
        pub success: bool,
        /// The number of the attempt: 1 to 8.
        pub attempt: i64,
        /// The duration in milliseconds. Not set if no connection was attempted.
        pub duration_ms: Option<i64>,
        /// The error. Not set if the attempt succeeded.
        pub error_message: Option<String>,
        /// When the attempt ended.
        pub created_at: Timestamp,
    }
}

list_request! {
    /// A request to list the deliveries of a webhook endpoint.
    pub struct ListWebhookDeliveries {
        /// Only successful deliveries, or only the others.
        pub success: Option<bool>,
        /// Only deliveries of this type of notification.
        pub event_type: Option<DeliveryEventType>,
        /// The part of the list to return.
        pub page: PageRequest<WebhookDeliveryId>,
    }
}

responses! {
    /// The response to the request to resend a notification.
    #[derive(Copy)]
    pub struct ResentWebhookDelivery {
        /// The outbox id of the deliveries that follow.
        pub outbox_id: OutboxId,
    }
}
