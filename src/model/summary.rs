//! What an organizer wants to know of an event at a glance.

use super::amount::Amount;
use super::id::{EventId, TicketTypeId};

/// The figures of an event. They agree with its orders and tickets at one instant.
///
/// Amounts are in the event's currency. A sum that 2^63 - 1 minor units cannot hold reads as that many.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EventSummary {
    /// The event.
    pub event_id: EventId,
    /// The currency of every amount here.
    pub currency: String,
    /// How many orders stand where.
    pub orders_by_status: OrdersByStatus,
    /// The totals of every order that ever completed, also where it was cancelled later.
    pub gross_revenue: Amount,
    /// What discounts took off the same orders.
    pub discount_total: Amount,
    /// What the payment gateway gave back of the same orders.
    pub refunded_total: Amount,
    /// Every ticket, cancelled ones included.
    pub tickets_issued: i64,
    /// Tickets that are checked in now.
    pub tickets_checked_in: i64,
    /// Tickets that are cancelled.
    pub tickets_cancelled: i64,
    /// All of its ticket types, in the order of their list.
    pub ticket_types: Vec<TicketTypeSummary>,
}

/// How many orders of an event stand where. An order counts as EXPIRED from the instant at which its hold has run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub struct OrdersByStatus {
    /// They hold their places and wait for the payment.
    pub pending: i64,
    /// They are paid, or cost nothing.
    pub completed: i64,
    /// They were cancelled.
    pub cancelled: i64,
    /// They were not paid in time.
    pub expired: i64,
}

/// The figures of one ticket type.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TicketTypeSummary {
    /// Its id.
    #[serde(rename = "ticketId")]
    pub ticket_type_id: TicketTypeId,
    /// Its name.
    pub name: String,
    /// How many places there are.
    pub quantity: i64,
    /// How many are sold or issued and not cancelled.
    pub sold: i64,
    /// How many the pending orders hold.
    pub reserved: i64,
    /// How many are neither sold nor reserved.
    pub available: i64,
    /// How many of its tickets are checked in now.
    pub checked_in: i64,
    /// What its items come to, discounts taken off, in every order that ever completed.
    pub revenue: Amount,
}
