//! Notifications: what webhooks and functions of the program get.

use serde::ser::SerializeStruct;

use super::notification_types::{NotificationData, NotificationDetails};
use crate::model::values::id::{NotificationId, OrganizationId};
use crate::model::values::timestamp::Timestamp;

/// A notification as a webhook receiver gets it: the JSON body of a webhook request.
///
/// [`notification::Notification`](crate::notification::Notification) is the one that functions inside the program get.
/// [`Verifier::verify`](crate::webhook::Verifier::verify) returns a verified one.
///
/// ```
/// use ticketing::webhook::{NotificationData, WebhookNotification};
/// let body = br#"{"id": "evt_1NR6E9XB00000", "type": "ticket.issued", "createdAt": "2026-06-01T12:00:00.000Z",
///     "data": {"issuedTicketId": "ticket_1NR6E9XB00001", "ticketId": "type_1NR6E9XB00002",
///              "eventId": "event_1NR6E9XB00003", "orderId": null}}"#;
/// let notification: WebhookNotification = serde_json::from_slice(body)?;
/// assert!(matches!(notification.data, NotificationData::TicketIssued(ticket) if ticket.order_id.is_none()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct WebhookNotification {
    /// The same for every endpoint, attempt and resend. Use it to detect duplicates.
    pub id: NotificationId,
    /// When what it reports happened.
    pub created_at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub data: NotificationData,
}

impl serde::Serialize for WebhookNotification {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_struct("WebhookNotification", 4)?;
        body.serialize_field("id", &self.id)?;
        body.serialize_field("type", &self.data.event_type())?;
        body.serialize_field("createdAt", &self.created_at)?;
        self.data.serialize_as_field("data", &mut body)?;
        body.end()
    }
}

/// A notification for a function of the program, with its organization: see
/// [`Builder::on_notification`](crate::Builder::on_notification).
///
/// A webhook receiver gets a [`WebhookNotification`](crate::webhook::WebhookNotification).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notification {
    /// The id, which is the same for every call of a handler with this notification. Each
    /// handler has an id of its own, and so has a webhook that reports the same change.
    pub id: NotificationId,
    /// The organization whose data has changed. [`act_for`](crate::TicketingService::act_for) returns a caller for it.
    pub organization_id: OrganizationId,
    /// When the change happened.
    pub created_at: Timestamp,
    /// The number of this call of the handler: 1 to 8. It is 1 in a subscription.
    pub attempt: u32,
    /// What happened.
    pub details: NotificationDetails,
}
