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
    use crate::model::notifications::notification_data::{
        DisputeNotification, OrderCancelled, OrderCompleted, PaymentReturnReason, PaymentReturned, RefundFailed,
        RefundSucceeded, TicketCheckedIn, TicketIssued,
    };
    use crate::model::payments::dispute::DisputeStatus;
    use crate::model::payments::refund::RefundSource;
    use crate::model::values::amount::Amount;

    /// An id that is the number 11 in every kind: 13 base32 digits.
    fn id<K: crate::model::values::id::Kind>() -> crate::model::values::id::Id<K> {
        crate::model::values::id::Id::from_raw(11)
    }

    /// Asserts that a notification is written with these fields of its data, and read back.
    #[track_caller]
    fn assert_json(data: NotificationData, name: &str, expected: &str) {
        let notification = WebhookNotification { id: id(), created_at: Timestamp::UNIX_EPOCH, data };
        let expected = format!(
            r#"{{"id":"evt_000000000000B","type":"{name}","createdAt":"1970-01-01T00:00:00.000Z","data":{{{expected}}}}}"#
        );
        assert_eq!(serde_json::to_string(&notification).unwrap(), expected);
        assert_eq!(serde_json::from_str::<WebhookNotification>(&expected).unwrap(), notification);
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
            assert_json(data, name, &expected);
        }
    }

    #[test]
    fn a_body_about_money_has_the_fields_of_its_type_and_reads_back() {
        let order_id = id();
        let event_id = id();
        let total = Amount::cents(1250);
        let money = r#""amount":12.5,"currency":"EUR""#;
        let of_order = r#""orderId":"order_000000000000B","eventId":"event_000000000000B""#;
        let refund = format!(r#""refundId":"refund_000000000000B",{of_order}"#);
        let currency = "EUR".to_owned();
        let dispute = DisputeNotification {
            dispute_id: id(),
            order_id,
            event_id,
            amount: Amount::cents(1250),
            currency: currency.clone(),
            reason: "fraudulent".to_owned(),
            status: DisputeStatus::Open,
        };
        let disputed = |status: &str| {
            let dispute = r#""disputeId":"dispute_000000000000B""#;
            format!(r#"{dispute},{of_order},{money},"reason":"fraudulent","status":"{status}""#)
        };
        for (data, name, expected) in [
            (
                NotificationData::RefundSucceeded(RefundSucceeded {
                    refund_id: id(),
                    order_id,
                    event_id,
                    payment_id: Some(id()),
                    amount: total,
                    currency: currency.clone(),
                    source: RefundSource::Order,
                }),
                "refund.succeeded",
                format!(r#"{refund},"paymentId":"payment_000000000000B",{money},"source":"ORDER""#),
            ),
            (
                NotificationData::RefundFailed(RefundFailed {
                    refund_id: id(),
                    order_id,
                    event_id,
                    payment_id: None,
                    amount: total,
                    currency: currency.clone(),
                    source: RefundSource::LatePayment,
                    requires_manual_refund: true,
                }),
                "refund.failed",
                format!(r#"{refund},"paymentId":null,{money},"source":"LATE_PAYMENT","requiresManualRefund":true"#),
            ),
            (NotificationData::DisputeOpened(dispute.clone()), "dispute.opened", disputed("OPEN")),
            (
                NotificationData::DisputeClosed(DisputeNotification { status: DisputeStatus::Lost, ..dispute }),
                "dispute.closed",
                disputed("LOST"),
            ),
            (
                NotificationData::PaymentReturned(PaymentReturned {
                    payment_id: None,
                    order_id,
                    event_id,
                    amount: total,
                    currency,
                    reason: PaymentReturnReason::OtherAmount,
                }),
                "payment.returned",
                format!(r#""paymentId":null,{of_order},{money},"reason":"OTHER_AMOUNT""#),
            ),
        ] {
            assert_json(data, name, &expected);
        }
    }
}
