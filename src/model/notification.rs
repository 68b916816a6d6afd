//! Notifications: what webhooks report. No code, name or e-mail address is in one: a receiver reads what it needs.

use serde::ser::SerializeStruct;

use super::amount::Amount;
use super::amounts::{self, InCurrency, amounts};
use super::id::{CustomerId, EventId, NotificationId, OrderId, TicketId, TicketTypeId};
use super::timestamp::Timestamp;
use super::webhook::EventType;

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
    /// The same for every endpoint, attempt and resend: what a receiver tells a repetition by.
    pub id: NotificationId,
    /// When what it reports happened.
    pub created_at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub data: NotificationData,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(tag = "type", content = "data")]
#[non_exhaustive]
pub enum NotificationData {
    /// An order was completed.
    #[serde(rename = "order.completed")]
    OrderCompleted(#[serde(deserialize_with = "amounts::in_currency")] OrderCompleted),
    /// An order was cancelled.
    #[serde(rename = "order.cancelled")]
    OrderCancelled(OrderCancelled),
    /// A ticket was issued.
    #[serde(rename = "ticket.issued")]
    TicketIssued(TicketIssued),
    /// A ticket was checked in.
    #[serde(rename = "ticket.checked_in")]
    TicketCheckedIn(TicketCheckedIn),
}

/// An order that was completed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "http", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OrderCompleted {
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// Who ordered.
    pub customer_id: CustomerId,
    /// What it cost.
    pub total: Amount,
    /// The currency of the total: an ISO 4217 code.
    pub currency: String,
}

amounts! { OrderCompleted { total } }

impl InCurrency for OrderCompleted {
    fn currency(&self) -> &str {
        &self.currency
    }
}

/// An order that was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "http", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OrderCancelled {
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// Who ordered.
    pub customer_id: CustomerId,
    /// Whether somebody has to give money back by hand.
    pub requires_manual_refund: bool,
}

/// A ticket that was issued.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "http", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TicketIssued {
    /// The ticket.
    pub issued_ticket_id: TicketId,
    /// Its type.
    #[serde(rename = "ticketId")]
    pub ticket_type_id: TicketTypeId,
    /// Its event.
    pub event_id: EventId,
    /// Its order. Not set if the organization issued the ticket without one.
    pub order_id: Option<OrderId>,
}

/// A ticket that was checked in.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "http", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TicketCheckedIn {
    /// The ticket.
    pub issued_ticket_id: TicketId,
    /// Its type.
    #[serde(rename = "ticketId")]
    pub ticket_type_id: TicketTypeId,
    /// Its event.
    pub event_id: EventId,
    /// Its order. Not set if the organization issued the ticket without one.
    pub order_id: Option<OrderId>,
    /// When it was checked in.
    pub check_in_date: Timestamp,
}

impl NotificationData {
    /// Which of the four it is.
    #[must_use]
    pub const fn event_type(&self) -> EventType {
        match self {
            Self::OrderCompleted(_) => EventType::OrderCompleted,
            Self::OrderCancelled(_) => EventType::OrderCancelled,
            Self::TicketIssued(_) => EventType::TicketIssued,
            Self::TicketCheckedIn(_) => EventType::TicketCheckedIn,
        }
    }
}

impl serde::Serialize for WebhookNotification {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_struct("WebhookNotification", 4)?;
        body.serialize_field("id", &self.id)?;
        body.serialize_field("type", &self.data.event_type())?;
        body.serialize_field("createdAt", &self.created_at)?;
        match &self.data {
            NotificationData::OrderCompleted(data) => body.serialize_field("data", data)?,
            NotificationData::OrderCancelled(data) => body.serialize_field("data", data)?,
            NotificationData::TicketIssued(data) => body.serialize_field("data", data)?,
            NotificationData::TicketCheckedIn(data) => body.serialize_field("data", data)?,
        }
        body.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An id that is the number 11 in every kind: 13 base32 digits.
    fn id<K: super::super::id::Kind>() -> super::super::id::Id<K> {
        super::super::id::Id::from_raw(11)
    }

    #[test]
    fn a_body_has_the_fields_of_its_type_and_reads_back() {
        let at = Timestamp::UNIX_EPOCH;
        let ticket = r#""issuedTicketId":"ticket_000000000000B","ticketId":"type_000000000000B","eventId":"event_000000000000B""#;
        let order =
            r#""orderId":"order_000000000000B","eventId":"event_000000000000B","customerId":"customer_000000000000B""#;
        let order_id = id();
        let event_id = id();
        let customer_id = id();
        let issued_ticket_id = id();
        let ticket_type_id = id();
        let total = Amount::cents(1250);
        for (data, name, expected) in [
            (
                NotificationData::OrderCompleted(OrderCompleted {
                    order_id,
                    event_id,
                    customer_id,
                    total,
                    currency: "EUR".to_owned(),
                }),
                "order.completed",
                format!(r#"{order},"total":12.5,"currency":"EUR""#),
            ),
            (
                NotificationData::OrderCancelled(OrderCancelled {
                    order_id,
                    event_id,
                    customer_id,
                    requires_manual_refund: true,
                }),
                "order.cancelled",
                format!(r#"{order},"requiresManualRefund":true"#),
            ),
            (
                NotificationData::TicketIssued(TicketIssued {
                    issued_ticket_id,
                    ticket_type_id,
                    event_id,
                    order_id: None,
                }),
                "ticket.issued",
                format!(r#"{ticket},"orderId":null"#),
            ),
            (
                NotificationData::TicketCheckedIn(TicketCheckedIn {
                    issued_ticket_id,
                    ticket_type_id,
                    event_id,
                    order_id: Some(order_id),
                    check_in_date: at,
                }),
                "ticket.checked_in",
                format!(r#"{ticket},"orderId":"order_000000000000B","checkInDate":"1970-01-01T00:00:00.000Z""#),
            ),
        ] {
            let notification = WebhookNotification { id: id(), created_at: at, data };
            let expected = format!(
                r#"{{"id":"evt_000000000000B","type":"{name}","createdAt":"1970-01-01T00:00:00.000Z","data":{{{expected}}}}}"#
            );
            assert_eq!(serde_json::to_string(&notification).unwrap(), expected);
            assert_eq!(serde_json::from_str::<WebhookNotification>(&expected).unwrap(), notification);
        }
    }
}
