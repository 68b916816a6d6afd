//! The sales figures of an event, counted from its orders and tickets.

use std::collections::HashMap;

use super::currency::read_currency;
use super::{Row, Transaction};
use crate::error::{Error, ResourceKind, Result};
use crate::model::amount::Amount;
use crate::model::id::{EventId, OrganizationId, TicketTypeId};
use crate::model::summary::{EventSummary, OrdersByStatus, TicketTypeSummary};

// Amounts are summed in two halves, the lower 32 bits and the rest, because the sum of all totals may exceed 64 bits.

const CURRENCY: &str = "SELECT id, currency FROM events WHERE id = ?1 AND organization_id = ?2";
// An order that was completed through the gateway and cancelled is refunded by hand unless its refund is due or done.
pub(super) const ORDERS: &str = "SELECT COUNT(*) FILTER (WHERE status = 'PENDING' AND hold_until > ?2) AS pending,
        COUNT(*) FILTER (WHERE status = 'COMPLETED') AS completed,
        COUNT(*) FILTER (WHERE status = 'CANCELLED') AS cancelled,
        COUNT(*) FILTER (WHERE status = 'EXPIRED' OR status = 'PENDING' AND hold_until <= ?2) AS expired,
        CAST(SUM(total >> 32) FILTER (WHERE refunded) AS BIGINT) AS refunded_high,
        CAST(SUM(total & 4294967295) FILTER (WHERE refunded) AS BIGINT) AS refunded_low,
        CAST(SUM(total >> 32) FILTER (WHERE paid_by_hand) AS BIGINT) AS paid_by_hand_high,
        CAST(SUM(total & 4294967295) FILTER (WHERE paid_by_hand) AS BIGINT) AS paid_by_hand_low,
        CAST(SUM(total >> 32) FILTER (WHERE refunded_by_hand) AS BIGINT) AS refunded_by_hand_high,
        CAST(SUM(total & 4294967295) FILTER (WHERE refunded_by_hand) AS BIGINT) AS refunded_by_hand_low
    FROM (SELECT status, hold_until, total,
            completed_at IS NOT NULL AND paid_by_gateway = 1 AND payment_status = 'REFUNDED' AS refunded,
            completed_at IS NOT NULL AND paid_by_gateway = 0 AS paid_by_hand,
            completed_at IS NOT NULL AND status = 'CANCELLED' AND (paid_by_gateway = 0 OR payment_status = 'COMPLETED'
                AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.order_id = o.id AND r.status = 'DUE'))
                AS refunded_by_hand
        FROM orders o WHERE event_id = ?1) figures";
pub(super) const ITEMS: &str = "SELECT i.ticket_type_id,
        CAST(SUM(i.quantity) FILTER (WHERE o.status = 'PENDING' AND o.hold_until > ?2) AS BIGINT) AS reserved,
        CAST(SUM((i.price * i.quantity - i.discount) >> 32) FILTER (WHERE o.completed_at IS NOT NULL) AS BIGINT)
            AS revenue_high,
        CAST(SUM((i.price * i.quantity - i.discount) & 4294967295) FILTER (WHERE o.completed_at IS NOT NULL) AS BIGINT)
            AS revenue_low,
        CAST(SUM(i.discount >> 32) FILTER (WHERE o.completed_at IS NOT NULL) AS BIGINT) AS discount_high,
        CAST(SUM(i.discount & 4294967295) FILTER (WHERE o.completed_at IS NOT NULL) AS BIGINT) AS discount_low
    FROM orders o JOIN order_items i ON i.order_id = o.id WHERE o.event_id = ?1 GROUP BY i.ticket_type_id";
pub(super) const TICKETS: &str =
    "SELECT ticket_type_id, COUNT(*) AS issued, COUNT(*) FILTER (WHERE status = 'CHECKED_IN') AS checked_in,
        COUNT(*) FILTER (WHERE status = 'CANCELLED') AS cancelled
    FROM tickets WHERE event_id = ?1 GROUP BY ticket_type_id";
pub(super) const TYPES: &str =
    "SELECT id, name, quantity, sold FROM ticket_types WHERE event_id = ?1 ORDER BY sort_order, id";

/// The sales of one ticket type by orders. Amounts are in minor units.
#[derive(Debug, Clone, Copy, Default)]
struct Bought {
    reserved: i64,
    revenue: i128,
    discount: i128,
}

/// The tickets of one type.
#[derive(Debug, Clone, Copy, Default)]
struct Issued {
    all: i64,
    checked_in: i64,
    cancelled: i64,
}

/// The orders of an event.
struct Orders {
    by_status: OrdersByStatus,
    /// The sums of the totals of completed orders that the gateway has refunded, that were marked as paid, and that are
    /// to be refunded by hand, in minor units.
    refunded: i128,
    paid_by_hand: i128,
    refunded_by_hand: i128,
}

pub(crate) fn of_event(tx: &Transaction<'_>, organization: OrganizationId, event: EventId) -> Result<EventSummary> {
    let currency = tx.query_opt(CURRENCY, &[event.into(), organization.into()], read_currency)?;
    let currency = currency.ok_or(Error::NotFound(ResourceKind::Event))?;
    let amount = |sum: i128| Amount::in_currency(i64::try_from(sum).unwrap_or(i64::MAX), currency.decimals);

    let orders = orders(tx, event)?;
    let bought = bought(tx, event)?;
    let issued = issued(tx, event)?;
    let ticket_types = tx.query_all(TYPES, &[event.into()], |row| {
        let ticket_type_id = row.get("id")?;
        let name = row.get("name")?;
        let quantity = row.get("quantity")?;
        let sold = row.get("sold")?;
        let Bought { reserved, revenue, .. } = bought.get(&ticket_type_id).copied().unwrap_or_default();
        let checked_in = issued.get(&ticket_type_id).map_or(0, |issued| issued.checked_in);
        Ok(TicketTypeSummary {
            ticket_type_id,
            name,
            quantity,
            sold,
            reserved,
            available: quantity - sold - reserved,
            checked_in,
            revenue: amount(revenue),
        })
    })?;
    Ok(EventSummary {
        event_id: event,
        currency: currency.code,
        orders_by_status: orders.by_status,
        // An order's total is the sum of its items.
        gross_revenue: amount(bought.values().map(|bought| bought.revenue).sum()),
        discount_total: amount(bought.values().map(|bought| bought.discount).sum()),
        refunded_total: amount(orders.refunded),
        manual_payment_total: amount(orders.paid_by_hand),
        manual_refund_total: amount(orders.refunded_by_hand),
        tickets_issued: issued.values().map(|issued| issued.all).sum(),
        tickets_checked_in: issued.values().map(|issued| issued.checked_in).sum(),
        tickets_cancelled: issued.values().map(|issued| issued.cancelled).sum(),
        ticket_types,
    })
}

fn orders(tx: &Transaction<'_>, event: EventId) -> Result<Orders> {
    let counted = tx.query_opt(ORDERS, &[event.into(), tx.now().into()], |row| {
        let by_status = OrdersByStatus {
            pending: row.get("pending")?,
            completed: row.get("completed")?,
            cancelled: row.get("cancelled")?,
            expired: row.get("expired")?,
        };
        Ok(Orders {
            by_status,
            refunded: sum(row, "refunded_high", "refunded_low")?,
            paid_by_hand: sum(row, "paid_by_hand_high", "paid_by_hand_low")?,
            refunded_by_hand: sum(row, "refunded_by_hand_high", "refunded_by_hand_low")?,
        })
    })?;
    counted.ok_or_else(|| Error::Internal("a count returned no row".to_owned()))
}

fn bought(tx: &Transaction<'_>, event: EventId) -> Result<HashMap<TicketTypeId, Bought>> {
    let mut by_type = HashMap::new();
    tx.query_each(ITEMS, &[event.into(), tx.now().into()], |row| {
        let ticket_type = row.get("ticket_type_id")?;
        let reserved = row.get::<Option<i64>>("reserved")?.unwrap_or_default();
        let revenue = sum(row, "revenue_high", "revenue_low")?;
        let discount = sum(row, "discount_high", "discount_low")?;
        by_type.insert(ticket_type, Bought { reserved, revenue, discount });
        Ok(())
    })?;
    Ok(by_type)
}

fn issued(tx: &Transaction<'_>, event: EventId) -> Result<HashMap<TicketTypeId, Issued>> {
    let mut by_type = HashMap::new();
    tx.query_each(TICKETS, &[event.into()], |row| {
        let ticket_type = row.get("ticket_type_id")?;
        let all = row.get("issued")?;
        let checked_in = row.get("checked_in")?;
        let cancelled = row.get("cancelled")?;
        by_type.insert(ticket_type, Issued { all, checked_in, cancelled });
        Ok(())
    })?;
    Ok(by_type)
}

/// Returns the amount whose halves were summed in these columns. The sum of no rows is NULL and counts as 0.
fn sum(row: &Row<'_>, high: &str, low: &str) -> Result<i128> {
    let high: Option<i64> = row.get(high)?;
    let low: Option<i64> = row.get(low)?;
    Ok((i128::from(high.unwrap_or_default()) << 32) + i128::from(low.unwrap_or_default()))
}
