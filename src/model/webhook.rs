//! Webhooks: who is notified of what, and what came of it.

use super::id::{NotificationId, OutboxId, WebhookDeliveryId, WebhookId, kind};
use super::page::PageRequest;
use super::secret::Secret;
use super::timestamp::Timestamp;
use crate::form::change::Change;
use crate::form::fields::{Fields, FromFields};
use crate::text_enum::text_enum;

text_enum! {
    /// What a notification reports.
    pub enum NotificationType {
        /// An order was completed.
        OrderCompleted = "order.completed",
        /// An order was cancelled.
        OrderCancelled = "order.cancelled",
        /// A ticket was issued.
        TicketIssued = "ticket.issued",
        /// A ticket was checked in.
        TicketCheckedIn = "ticket.checked_in",
    }
}

text_enum! {
    /// What a notification reports, as the history of deliveries spells it.
    pub enum DeliveryEventType {
        /// `order.completed`
        OrderCompleted = "ORDER_COMPLETED",
        /// `order.cancelled`
        OrderCancelled = "ORDER_CANCELLED",
        /// `ticket.issued`
        TicketIssued = "TICKET_ISSUED",
        /// `ticket.checked_in`
        TicketCheckedIn = "TICKET_CHECKED_IN",
    }
}

impl From<NotificationType> for DeliveryEventType {
    fn from(of: NotificationType) -> Self {
        match of {
            NotificationType::OrderCompleted => Self::OrderCompleted,
            NotificationType::OrderCancelled => Self::OrderCancelled,
            NotificationType::TicketIssued => Self::TicketIssued,
            NotificationType::TicketCheckedIn => Self::TicketCheckedIn,
        }
    }
}

impl From<DeliveryEventType> for NotificationType {
    fn from(of: DeliveryEventType) -> Self {
        match of {
            DeliveryEventType::OrderCompleted => Self::OrderCompleted,
            DeliveryEventType::OrderCancelled => Self::OrderCancelled,
            DeliveryEventType::TicketIssued => Self::TicketIssued,
            DeliveryEventType::TicketCheckedIn => Self::TicketCheckedIn,
        }
    }
}

/// A receiver of notifications.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WebhookEndpoint {
    /// Its id.
    pub id: WebhookId,
    /// Where notifications are sent.
    pub url: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it wants to hear of.
    pub events: Vec<NotificationType>,
    /// While it is not, nothing new is queued for it, and what it has waits.
    pub enabled: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// The last four characters of its signing secret.
    pub secret_hint: Option<String>,
    /// Raised by every change, the rotation of the secret included. Not part of the JSON.
    #[serde(skip, default = "super::first_revision")]
    pub revision: i64,
}

/// A receiver at the moment of its creation, with its signing secret.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct CreatedWebhookEndpoint {
    /// The receiver.
    #[serde(flatten)]
    pub endpoint: WebhookEndpoint,
    /// The signing secret: `whsec_` and 32 random bytes in base64. It is shown here and by no read.
    pub secret: Secret,
}

/// The new signing secret of a receiver.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct RotatedWebhookSecret {
    /// The receiver.
    pub id: WebhookId,
    /// The signing secret from now on. It is shown here alone.
    pub secret: Secret,
}

/// A new receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct CreateWebhook {
    /// An `https` URL of a public address, on port 443 or one from 1024 up.
    pub url: String,
    /// At most 500 characters.
    pub description: Option<String>,
    /// At least one; each counts once.
    pub events: Vec<NotificationType>,
    /// True where it is not given.
    pub enabled: Option<bool>,
}

impl CreateWebhook {
    /// A receiver at `url` of these notifications.
    #[must_use]
    pub fn new(url: impl Into<String>, events: impl IntoIterator<Item = NotificationType>) -> Self {
        Self { url: url.into(), description: None, events: events.into_iter().collect(), enabled: None }
    }
}

impl FromFields for CreateWebhook {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            url: fields.required("url"),
            description: fields.nullable("description"),
            events: fields.required("events"),
            enabled: fields.optional("enabled"),
        }
    }
}

/// Changes to a receiver, under the same limits as [`CreateWebhook`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct UpdateWebhook {
    /// Where notifications are sent from the next attempt on.
    pub url: Change<String>,
    /// What it is for.
    pub description: Change<Option<String>>,
    /// What it wants to hear of. What waits for it of a type that is not among them any more is dropped.
    pub events: Change<Vec<NotificationType>>,
    /// Whether anything is sent to it.
    pub enabled: Change<bool>,
}

impl FromFields for UpdateWebhook {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            url: fields.change("url"),
            description: fields.change_nullable("description"),
            events: fields.change("events"),
            enabled: fields.change("enabled"),
        }
    }
}

/// Which receivers to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ListWebhooks {
    /// Which part of the list.
    #[cfg_attr(feature = "server", schemars(flatten))]
    pub page: PageRequest<kind::Webhook>,
}

impl FromFields for ListWebhooks {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self { page: PageRequest::from_fields(fields) }
    }
}

/// One attempt to deliver a notification to a receiver.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WebhookDelivery {
    /// Its id.
    pub id: WebhookDeliveryId,
    /// The receiver.
    pub endpoint_id: WebhookId,
    /// What was to be sent; all attempts at it have the same.
    pub outbox_id: Option<OutboxId>,
    /// What the notification reports.
    pub event_type: DeliveryEventType,
    /// The notification's own id.
    pub event_id: NotificationId,
    /// The body that was sent, byte for byte.
    pub request_body: String,
    /// The HTTP status of the answer, where one came.
    pub response_status: Option<i64>,
    /// The beginning of the answer, at most 4 KiB of it.
    pub response_body: Option<String>,
    /// Whether the receiver answered with a 2xx status.
    pub success: bool,
    /// Which attempt it was, from 1 to 8.
    pub attempt: i64,
    /// How long it took in milliseconds; `None` where no connection was tried.
    pub duration_ms: Option<i64>,
    /// What went wrong; `None` exactly where it succeeded.
    pub error_message: Option<String>,
    /// When it ended.
    pub created_at: Timestamp,
}

/// Which deliveries to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ListWebhookDeliveries {
    /// Only those that succeeded, or only the others.
    pub success: Option<bool>,
    /// Only those of this type.
    pub event_type: Option<DeliveryEventType>,
    /// Which part of the list.
    #[cfg_attr(feature = "server", schemars(flatten))]
    pub page: PageRequest<kind::WebhookDelivery>,
}

impl FromFields for ListWebhookDeliveries {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            success: fields.optional("success"),
            event_type: fields.optional("eventType"),
            page: PageRequest::from_fields(fields),
        }
    }
}

/// What a resend is sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResentWebhookDelivery {
    /// Its deliveries carry this id.
    pub outbox_id: OutboxId,
}
