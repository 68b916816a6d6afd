//! The figures of an event, counted from its orders and tickets.

use std::collections::HashMap;

use super::{Row, Transaction};
use crate::error::{Error, Result};
use crate::model::amount::Amount;
use crate::model::id::{EventId, OrganizationId, TicketTypeId};
use crate::model::summary::{EventSummary, OrdersByStatus, TicketTypeSummary};
use crate::rules::money::decimals;

// Amounts are summed in two halves, 32 bits and the rest: a sum of totals may be more than 64 bits hold.

const CURRENCY: &str = "SELECT id, currency FROM events WHERE id = ?1 AND organization_id = ?2";
pub(super) const ORDERS: &str = "SELECT COUNT(*) FILTER (WHERE status = 'PENDING' AND hold_until > ?2),
        COUNT(*) FILTER (WHERE status = 'COMPLETED'),
        COUNT(*) FILTER (WHERE status = 'CANCELLED'),
        COUNT(*) FILTER (WHERE status = 'EXPIRED' OR status = 'PENDING' AND hold_until <= ?2),
        SUM(total >> 32) FILTER (WHERE payment_status = 'REFUNDED' AND completed_at IS NOT NULL),
        SUM(total & 4294967295) FILTER (WHERE payment_status = 'REFUNDED' AND completed_at IS NOT NULL)
    FROM orders WHERE event_id = ?1";
pub(super) const ITEMS: &str = "SELECT i.ticket_type_id,
        SUM(i.quantity) FILTER (WHERE o.status = 'PENDING' AND o.hold_until > ?2),
        SUM((i.price * i.quantity - i.discount) >> 32) FILTER (WHERE o.completed_at IS NOT NULL),
        SUM((i.price * i.quantity - i.discount) & 4294967295) FILTER (WHERE o.completed_at IS NOT NULL),
        SUM(i.discount >> 32) FILTER (WHERE o.completed_at IS NOT NULL),
        SUM(i.discount & 4294967295) FILTER (WHERE o.completed_at IS NOT NULL)
    FROM orders o JOIN order_items i ON i.order_id = o.id WHERE o.event_id = ?1 GROUP BY i.ticket_type_id";
pub(super) const TICKETS: &str = "SELECT ticket_type_id, COUNT(*), COUNT(*) FILTER (WHERE status = 'CHECKED_IN'),
        COUNT(*) FILTER (WHERE status = 'CANCELLED')
    FROM tickets WHERE event_id = ?1 GROUP BY ticket_type_id";
pub(super) const TYPES: &str =
    "SELECT id, name, quantity, sold FROM ticket_types WHERE event_id = ?1 ORDER BY sort_order, id";

/// What the orders bought of one ticket type.
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

pub(crate) fn of_event(tx: &Transaction<'_>, organization: OrganizationId, event: EventId) -> Result<EventSummary> {
    let found = tx.query_opt(CURRENCY, &[event.into(), organization.into()], |row| {
        let currency: String = row.get(1)?;
        let decimals = decimals(&currency).ok_or_else(|| row.corrupt(1, "is no known currency"))?;
        Ok((currency, decimals))
    })?;
    let (currency, decimals) = found.ok_or(Error::NotFound("event"))?;
    let amount = |sum: i128| Amount::new(i64::try_from(sum).unwrap_or(i64::MAX), decimals);
    let (orders_by_status, refunded) = orders(tx, event)?;
    let bought = bought(tx, event)?;
    let issued = issued(tx, event)?;
    let ticket_types = tx.query_all(TYPES, &[event.into()], |row| {
        let (ticket_type_id, quantity, sold) = (row.get(0)?, row.get(2)?, row.get(3)?);
        let Bought { reserved, revenue, .. } = bought.get(&ticket_type_id).copied().unwrap_or_default();
        Ok(TicketTypeSummary {
            ticket_type_id,
            name: row.get(1)?,
            quantity,
            sold,
            reserved,
            available: quantity - sold - reserved,
            checked_in: issued.get(&ticket_type_id).map_or(0, |issued| issued.checked_in),
            revenue: amount(revenue),
        })
    })?;
    Ok(EventSummary {
        event_id: event,
        currency,
        orders_by_status,
        // An order's total is the sum of its items.
        gross_revenue: amount(bought.values().map(|bought| bought.revenue).sum()),
        discount_total: amount(bought.values().map(|bought| bought.discount).sum()),
        refunded_total: amount(refunded),
        tickets_issued: issued.values().map(|issued| issued.all).sum(),
        tickets_checked_in: issued.values().map(|issued| issued.checked_in).sum(),
        tickets_cancelled: issued.values().map(|issued| issued.cancelled).sum(),
        ticket_types,
    })
}

/// How many orders stand where, and what the gateway gave back of those that had completed.
fn orders(tx: &Transaction<'_>, event: EventId) -> Result<(OrdersByStatus, i128)> {
    let counted = tx.query_opt(ORDERS, &[event.into(), tx.now().into()], |row| {
        let by_status = OrdersByStatus {
            pending: row.get(0)?,
            completed: row.get(1)?,
            cancelled: row.get(2)?,
            expired: row.get(3)?,
        };
        Ok((by_status, sum(row, 4)?))
    })?;
    counted.ok_or_else(|| Error::Internal("a count gave no row".to_owned()))
}

fn bought(tx: &Transaction<'_>, event: EventId) -> Result<HashMap<TicketTypeId, Bought>> {
    let rows = tx.query_all(ITEMS, &[event.into(), tx.now().into()], |row| {
        let bought = Bought { reserved: count(row, 1)?, revenue: sum(row, 2)?, discount: sum(row, 4)? };
        Ok((row.get(0)?, bought))
    })?;
    Ok(rows.into_iter().collect())
}

fn issued(tx: &Transaction<'_>, event: EventId) -> Result<HashMap<TicketTypeId, Issued>> {
    let rows = tx.query_all(TICKETS, &[event.into()], |row| {
        let issued = Issued { all: row.get(1)?, checked_in: row.get(2)?, cancelled: row.get(3)? };
        Ok((row.get(0)?, issued))
    })?;
    Ok(rows.into_iter().collect())
}

/// A sum that is NULL where there was nothing to add up.
fn count(row: &Row<'_>, index: usize) -> Result<i64> {
    row.get::<Option<i64>>(index).map(Option::unwrap_or_default)
}

/// The amount whose halves were summed in this column and the next.
fn sum(row: &Row<'_>, index: usize) -> Result<i128> {
    Ok((i128::from(count(row, index)?) << 32) + i128::from(count(row, index + 1)?))
}
