//! Holds: the time for which a pending order reserves its seats and its discount use.
//!
//! From the instant at which the hold expires, the seats and the discount use count as available, and the order is
//! reported as expired. The stored counts change when the order is marked as expired: by the maintenance, or earlier if
//! another order needs the seats or the discount use: see `hold_releases`.

use std::time::Duration;

use crate::error::Result;
use crate::model::notifications::handler_notification::OrderExpired;
use crate::model::notifications::notification_types::NotificationDetails;
use crate::model::sale::order::OrderStatus;
use crate::model::values::id::{EventId, OrderId};
use crate::sales::each_row::{EachRow, each_row};
use crate::store::money::checkout_attempts;
use crate::store::order::order_status::{self, ExpiredHold};
use crate::store::sale::seat_counts::Seats;
use crate::store::sale::{discounts, order_items, seat_counts};
use crate::store::webhooks::handlers;
use crate::store::{CommitEvent, LockedEvent, Transaction};

/// What a pending order reserves, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HoldTerms {
    pub(crate) duration: Duration,
    /// How many seats the pending orders of one customer may reserve for an event; `None` for no limit.
    pub(crate) max_seats_per_customer: Option<u32>,
}

/// Marks the orders of these holds as expired, those whose hold has expired.
pub(crate) fn expire_all(tx: &Transaction<'_>, holds: &[ExpiredHold]) -> Result<EachRow<ExpiredHold>> {
    each_row(tx, holds, |hold| hold.event, |tx, hold| expire(tx, hold.order, hold.event))
}

/// If the hold of an order has expired, marks the order as expired and releases its seats and its discount use. Returns
/// whether it did.
pub(in crate::sales) fn expire(tx: &LockedEvent<'_>, order: OrderId, event: EventId) -> Result<bool> {
    let Some(expired) = order_status::expire(tx, order)? else { return Ok(false) };
    tx.record(CommitEvent::OrderExpired);
    for seats in seats_of_order(tx, order, event)? {
        seat_counts::release(tx, seats, OrderStatus::Expired)?;
    }
    if let Some(discount) = expired.discount {
        discounts::release_use(tx, event, discount)?;
    }
    if expired.has_open_checkout {
        checkout_attempts::begin_closing(tx, order)?;
    }
    let notification = NotificationDetails::OrderExpired(OrderExpired {
        order_id: order,
        event_id: event,
        customer_id: expired.customer,
    });
    handlers::enqueue(tx, expired.organization, [notification])?;
    Ok(true)
}

/// The seats of an order, added up by ticket type, in the order in which ticket types are locked.
pub(in crate::sales) fn seats_of_order(tx: &Transaction<'_>, order: OrderId, event: EventId) -> Result<Vec<Seats>> {
    let items = order_items::of_orders(tx, &[order])?;
    Ok(Seats::of_order(event, items.iter().map(|item| (item.ticket_type_id, item.price))))
}
