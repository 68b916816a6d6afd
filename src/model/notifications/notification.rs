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

/// A notification inside the program, with its organization: from
/// [`Builder::on_notification`](crate::Builder::on_notification) or
/// [`subscribe`](crate::TicketingService::subscribe).
///
/// A webhook receiver gets a [`WebhookNotification`](crate::webhook::WebhookNotification).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notification {
    /// The id, which is the same for every call of a handler with this notification, and for all subscriptions. Each
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::notifications::notification_types::EventType;

    #[test]
    fn a_body_has_the_fields_of_its_type_and_reads_back() {
        let order = r#""orderId":"order_000000000000B","eventId":"event_000000000000B""#;
        let of_customer = format!(r#"{order},"customerId":"customer_000000000000B""#);
        let ticket = r#""issuedTicketId":"ticket_000000000000B","ticketId":"type_000000000000B","eventId":"event_000000000000B""#;
        let money = r#""amount":12.5,"currency":"EUR""#;
        let refund = format!(r#""refundId":"refund_000000000000B",{order}"#);
        let dispute = format!(r#""disputeId":"dispute_000000000000B",{order},{money},"reason":"fraudulent""#);
        let by_type = [
            ("order.completed", format!(r#"{of_customer},"total":12.5,"currency":"EUR""#)),
            ("order.cancelled", format!(r#"{of_customer},"requiresManualRefund":true"#)),
            ("ticket.issued", format!(r#"{ticket},"orderId":null"#)),
            (
                "ticket.checked_in",
                format!(r#"{ticket},"orderId":"order_000000000000B","checkInDate":"1970-01-01T00:00:00.000Z""#),
            ),
            ("refund.succeeded", format!(r#"{refund},"paymentId":"payment_000000000000B",{money},"source":"ORDER""#)),
            (
                "refund.failed",
                format!(r#"{refund},"paymentId":null,{money},"source":"LATE_PAYMENT","requiresManualRefund":true"#),
            ),
            ("dispute.opened", format!(r#"{dispute},"status":"OPEN""#)),
            ("dispute.closed", format!(r#"{dispute},"status":"LOST""#)),
            ("payment.returned", format!(r#""paymentId":null,{order},{money},"reason":"OTHER_AMOUNT""#)),
        ];
        let names: Vec<_> = EventType::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(by_type.each_ref().map(|(name, _)| *name).as_slice(), names);
        for (name, data) in by_type {
            let json = format!(
                r#"{{"id":"evt_000000000000B","type":"{name}","createdAt":"1970-01-01T00:00:00.000Z","data":{{{data}}}}}"#
            );
            let notification: WebhookNotification = serde_json::from_str(&json).unwrap();
            assert_eq!(notification.data.event_type().as_str(), name);
            assert_eq!(serde_json::to_string(&notification).unwrap(), json);
        }
    }
}
