//! The sales figures of an event, added up from the figures that are kept with its ticket types. What this costs does
//! not depend on how many orders and tickets the event has.

use std::collections::HashMap;

use super::sales_figures::MoneyFigures;
use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::sale::summary::{EventSummary, OrdersByStatus, TicketTypeSummary};
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{EventId, OrganizationId, TicketTypeId};
use crate::store::columns::row_struct;
use crate::store::{Row, Transaction};

const CURRENCY: &str = "SELECT id, currency FROM events WHERE id = ?1 AND organization_id = ?2";
pub(in crate::store) const TYPES: &str = "SELECT id, name, quantity, sold, held, pending_orders, completed_orders,
        cancelled_orders, expired_orders, checked_in_tickets, cancelled_tickets, issued_tickets, imported_tickets, revenue, discount_total,
        manual_payment_total, refunded_total, manual_refund_total, manually_refunded_total, owed_total, disputed_total
    FROM ticket_types WHERE event_id = ?1 ORDER BY sort_order, id";
pub(in crate::store) const EXPIRED_ORDERS: &str = "SELECT COUNT(*) AS number FROM orders
    WHERE status = 'PENDING' AND hold_until <= ?2 AND event_id = ?1";
pub(in crate::store) const EXPIRED_SEATS: &str =
    "SELECT +i.ticket_type_id AS ticket_type_id, CAST(SUM(i.quantity) AS BIGINT) AS seats
    FROM orders o JOIN order_items i ON i.order_id = o.id
    WHERE o.status = 'PENDING' AND o.hold_until <= ?2 AND o.event_id = ?1 GROUP BY +i.ticket_type_id";

/// Whether an event has received money in this mode.
pub(in crate::store) const HAS_MODE: &str = "SELECT 1 FROM payments WHERE event_id = ?1 AND mode = ?2 LIMIT 1";
/// What the tests of an event have paid for ticket types.
pub(in crate::store) const TEST_SALES: &str = "SELECT i.ticket_type_id,
        CAST(SUM(i.price * i.quantity - i.discount) AS BIGINT) AS revenue, CAST(SUM(i.discount) AS BIGINT) AS discount
    FROM payments p JOIN order_items i ON i.order_id = p.order_id
    WHERE p.event_id = ?1 AND p.mode = 'TEST' AND p.purpose = 'ORDER' GROUP BY i.ticket_type_id";
/// What went back of the payments of tests in this currency, by the gateway or manually, and what has to.
pub(in crate::store) const TEST_RETURNS: &str = "SELECT
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' THEN p.returned - h.by_hand ELSE 0 END), 0) AS BIGINT) AS refunded,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' THEN h.by_hand ELSE 0 END), 0) AS BIGINT) AS manually_refunded,
        CAST(COALESCE(SUM(CASE WHEN p.purpose = 'ORDER' THEN p.owed ELSE 0 END), 0) AS BIGINT) AS manual_refund,
        CAST(COALESCE(SUM(p.owed), 0) AS BIGINT) AS owed, CAST(COALESCE(SUM(p.taken), 0) AS BIGINT) AS disputed
    FROM payments p JOIN (SELECT q.id, (SELECT CAST(COALESCE(-SUM(e.amount), 0) AS BIGINT) FROM ledger_entries e
            WHERE e.payment_id = q.id AND e.kind = 'REFUND' AND e.manual_method IS NOT NULL) AS by_hand
        FROM payments q WHERE q.event_id = ?1 AND q.mode = 'TEST') h ON h.id = p.id
    WHERE p.event_id = ?1 AND p.mode = 'TEST' AND p.currency = ?2";

row_struct! {
    /// The figures of a ticket type that are reported only for the whole event. Amounts are in minor units.
    pub(crate) struct Figures(row) {
        orders: OrdersByStatus = OrdersByStatus {
            pending: row.get("pending_orders")?,
            completed: row.get("completed_orders")?,
            cancelled: row.get("cancelled_orders")?,
            expired: row.get("expired_orders")?,
        },
        pub(crate) cancelled_tickets: i64,
        revenue: i64,
        pub(crate) discount: i64 => discount_total,
        manual_payment: i64 => manual_payment_total,
        refunded: i64 => refunded_total,
        manual_refund: i64 => manual_refund_total,
        manually_refunded: i64 => manually_refunded_total,
        owed: i64 => owed_total,
        disputed: i64 => disputed_total,
    }
}

pub(crate) fn of_event(tx: &Transaction<'_>, organization: OrganizationId, event: EventId) -> Result<EventSummary> {
    with_types(tx, organization, event).map(|(summary, _)| summary)
}

/// The summary of an event, and further figures of its ticket types, in the same order.
pub(crate) fn with_types(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
) -> Result<(EventSummary, Vec<Figures>)> {
    let decode = |row: &Row<'_>| Ok((row.get("currency")?, row.get("currency")?));
    let currency: Option<(String, Decimals)> = tx.query_opt(CURRENCY, &[event.into(), organization.into()], decode)?;
    let (currency, decimals) = currency.ok_or(Error::NotFound(ResourceKind::Event))?;
    let amount = |minor| Amount::in_currency(minor, decimals);

    // These orders are still stored and counted as PENDING.
    let expired = expired_orders(tx, event)?;
    let expired_seats = if expired == 0 { HashMap::new() } else { expired_seats(tx, event)? };
    let has_mode = |mode: PaymentMode| tx.exists(HAS_MODE, &[event.into(), mode.as_str().into()]);
    let (live, test) = (has_mode(PaymentMode::Live)?, has_mode(PaymentMode::Test)?);
    let test_sales = if live && test { test_sales(tx, event)? } else { HashMap::new() };
    let test_returns = if live && test { test_returns(tx, event, &currency)? } else { MoneyFigures::default() };
    let types = tx.query_all(TYPES, &[event.into()], |row| {
        let ticket_type_id = row.get("id")?;
        let name = row.get("name")?;
        let quantity = row.get("quantity")?;
        let sold = row.get("sold")?;
        let held: i64 = row.get("held")?;
        let reserved = held - expired_seats.get(&ticket_type_id).copied().unwrap_or_default();
        let mut figures = Figures::read(row)?;
        if let Some((revenue, discount)) = test_sales.get(&ticket_type_id) {
            figures.revenue = figures.revenue.saturating_sub(*revenue);
            figures.discount = figures.discount.saturating_sub(*discount);
        }
        let summary = TicketTypeSummary {
            ticket_type_id,
            name,
            quantity,
            sold,
            issued_without_order: row.get("issued_tickets")?,
            imported: row.get("imported_tickets")?,
            reserved,
            available: quantity - sold - reserved,
            checked_in: row.get("checked_in_tickets")?,
            revenue: amount(figures.revenue),
        };
        Ok((summary, figures))
    })?;
    let count = |figure: fn(&Figures) -> i64| types.iter().map(|(_, figures)| figure(figures)).sum::<i64>();
    let sum = |figure: fn(&Figures) -> i64| {
        types.iter().fold(0, |sum: i64, (_, figures)| sum.saturating_add(figure(figures)))
    };
    let total = |figure| amount(sum(figure));
    let without_tests = |figure, test: i64| amount(sum(figure).saturating_sub(test));
    let cancelled_tickets = count(|figures| figures.cancelled_tickets);
    let summary = EventSummary {
        event_id: event,
        currency,
        mode: match (live, test) {
            (true, _) => Some(PaymentMode::Live),
            (false, true) => Some(PaymentMode::Test),
            (false, false) => None,
        },
        orders_by_status: OrdersByStatus {
            pending: count(|figures| figures.orders.pending) - expired,
            completed: count(|figures| figures.orders.completed),
            cancelled: count(|figures| figures.orders.cancelled),
            expired: count(|figures| figures.orders.expired) + expired,
        },
        // An order's total is the sum of its items.
        gross_revenue: total(|figures| figures.revenue),
        discount_total: total(|figures| figures.discount),
        refunded_total: without_tests(|figures| figures.refunded, test_returns.refunded),
        manual_payment_total: total(|figures| figures.manual_payment),
        manual_refund_total: without_tests(|figures| figures.manual_refund, test_returns.manual_refund),
        manually_refunded_total: without_tests(|figures| figures.manually_refunded, test_returns.manually_refunded),
        owed_total: without_tests(|figures| figures.owed, test_returns.owed),
        disputed_total: without_tests(|figures| figures.disputed, test_returns.disputed),
        tickets_issued: types.iter().map(|(summary, _)| summary.sold).sum::<i64>() + cancelled_tickets,
        tickets_checked_in: types.iter().map(|(summary, _)| summary.checked_in).sum(),
        tickets_cancelled: cancelled_tickets,
        ticket_types: Vec::new(),
    };
    let (ticket_types, figures) = types.into_iter().unzip();
    Ok((EventSummary { ticket_types, ..summary }, figures))
}

/// What the tests of an event have paid, and their discounts, in minor units.
fn test_sales(tx: &Transaction<'_>, event: EventId) -> Result<HashMap<TicketTypeId, (i64, i64)>> {
    let sales = tx.query_all(TEST_SALES, &[event.into()], |row| {
        Ok((row.get("ticket_type_id")?, (row.get("revenue")?, row.get("discount")?)))
    })?;
    Ok(sales.into_iter().collect())
}

/// What went back of the payments of tests in this currency, and what has to.
fn test_returns(tx: &Transaction<'_>, event: EventId, currency: &str) -> Result<MoneyFigures> {
    let found = tx.query_opt(TEST_RETURNS, &[event.into(), currency.into()], MoneyFigures::read)?;
    Ok(found.unwrap_or_default())
}

/// Counts the orders whose hold has expired, and which are not marked as expired yet.
fn expired_orders(tx: &Transaction<'_>, event: EventId) -> Result<i64> {
    let number = tx.query_opt(EXPIRED_ORDERS, &[event.into(), tx.now().into()], |row| row.get("number"))?;
    Ok(number.unwrap_or_default())
}

/// Counts the seats that orders with an expired hold still reserve, by ticket type.
pub(in crate::store) fn expired_seats(tx: &Transaction<'_>, event: EventId) -> Result<HashMap<TicketTypeId, i64>> {
    let seats = tx.query_all(EXPIRED_SEATS, &[event.into(), tx.now().into()], |row| {
        Ok((row.get("ticket_type_id")?, row.get("seats")?))
    })?;
    Ok(seats.into_iter().collect())
}
