//! Notifications for handlers and subscribers inside the program.

use super::amount::Amount;
use super::amounts::{self, InCurrency, amounts};
use super::id::{CustomerId, EventId, NotificationId, OrderId, OrganizationId, RefundId, TicketId, TicketTypeId};
use super::notification::{NotificationData, OrderCancelled, OrderCompleted, TicketCheckedIn, TicketIssued};
use super::timestamp::Timestamp;
use crate::text_enum::text_enum;

text_enum! {
    /// The topic of a notification: the kind of change that it reports. The first four are also sent to webhooks.
    pub enum NotificationTopic {
        /// An order was completed.
        OrderCompleted = "order.completed",
        /// An order was cancelled.
        OrderCancelled = "order.cancelled",
        /// A ticket was issued.
        TicketIssued = "ticket.issued",
        /// A ticket was checked in.
        TicketCheckedIn = "ticket.checked_in",
        /// An order was created. A free order is completed at the same time, and has both notifications.
        OrderCreated = "order.created",
        /// An order was marked as expired, because it was not paid in time. The maintenance does this within a second,
        /// if it runs.
        OrderExpired = "order.expired",
        /// A payment is to be refunded through the gateway.
        RefundDue = "refund.due",
        /// A payment was not refunded, because the gateway refused to or cannot. Give the money back by hand.
        RefundRefused = "refund.refused",
        /// A ticket was cancelled, by itself or with its order.
        TicketCancelled = "ticket.cancelled",
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

/// The details of a notification: what happened.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "topic", content = "data")]
#[non_exhaustive]
pub enum NotificationDetails {
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
    /// An order was created.
    #[serde(rename = "order.created")]
    OrderCreated(#[serde(deserialize_with = "amounts::in_currency")] OrderCreated),
    /// An order was marked as expired.
    #[serde(rename = "order.expired")]
    OrderExpired(OrderExpired),
    /// A payment is to be refunded.
    #[serde(rename = "refund.due")]
    RefundDue(#[serde(deserialize_with = "amounts::in_currency")] RefundNotification),
    /// A payment was not refunded.
    #[serde(rename = "refund.refused")]
    RefundRefused(#[serde(deserialize_with = "amounts::in_currency")] RefundNotification),
    /// A ticket was cancelled.
    #[serde(rename = "ticket.cancelled")]
    TicketCancelled(TicketCancelled),
}

/// An order that was created.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct OrderCreated {
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// The customer.
    pub customer_id: CustomerId,
    /// Its total.
    pub total: Amount,
    /// The currency of the total: an ISO 4217 code.
    pub currency: String,
}

amounts! { OrderCreated { total } }

impl InCurrency for OrderCreated {
    fn currency(&self) -> &str {
        &self.currency
    }
}

/// An order that was marked as expired.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct OrderExpired {
    /// The order.
    pub order_id: OrderId,
    /// Its event.
    pub event_id: EventId,
    /// The customer.
    pub customer_id: CustomerId,
}

/// A refund of a payment for an order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct RefundNotification {
    /// The refund. Not set in a notification that was queued before refunds had ids.
    pub refund_id: Option<RefundId>,
    /// The order.
    pub order_id: OrderId,
    /// The amount.
    pub amount: Amount,
    /// The currency of the amount: an ISO 4217 code.
    pub currency: String,
}

amounts! { RefundNotification { amount } }

impl InCurrency for RefundNotification {
    fn currency(&self) -> &str {
        &self.currency
    }
}

/// A ticket that was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct TicketCancelled {
    /// The ticket.
    pub issued_ticket_id: TicketId,
    /// Its type.
    pub ticket_type_id: TicketTypeId,
    /// Its event.
    pub event_id: EventId,
    /// Its order. Not set if the organization issued the ticket without one.
    pub order_id: Option<OrderId>,
}

impl NotificationDetails {
    /// The topic.
    #[must_use]
    pub const fn topic(&self) -> NotificationTopic {
        match self {
            Self::OrderCompleted(_) => NotificationTopic::OrderCompleted,
            Self::OrderCancelled(_) => NotificationTopic::OrderCancelled,
            Self::TicketIssued(_) => NotificationTopic::TicketIssued,
            Self::TicketCheckedIn(_) => NotificationTopic::TicketCheckedIn,
            Self::OrderCreated(_) => NotificationTopic::OrderCreated,
            Self::OrderExpired(_) => NotificationTopic::OrderExpired,
            Self::RefundDue(_) => NotificationTopic::RefundDue,
            Self::RefundRefused(_) => NotificationTopic::RefundRefused,
            Self::TicketCancelled(_) => NotificationTopic::TicketCancelled,
        }
    }
}

impl From<NotificationData> for NotificationDetails {
    fn from(data: NotificationData) -> Self {
        match data {
            NotificationData::OrderCompleted(data) => Self::OrderCompleted(data),
            NotificationData::OrderCancelled(data) => Self::OrderCancelled(data),
            NotificationData::TicketIssued(data) => Self::TicketIssued(data),
            NotificationData::TicketCheckedIn(data) => Self::TicketCheckedIn(data),
        }
    }
}
