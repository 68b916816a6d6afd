//! The sales of an event over time, summed by quarters of an hour: in every time zone, a day and an hour begin with one.
//!
//! Completed orders are read by the event's index, and their tickets are counted in an index.

use std::collections::BTreeMap;

use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::event_sales::{
    EventSales, GetEventSales, MAX_ITEMS, SalesByMode, SalesInterval, SalesItem, SalesSums,
};
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{EventId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::calendar::Zone;
use crate::rules::{Checked, sales_intervals};
use crate::store::sale::event_figures::HAS_MODE;
use crate::store::{Bind, Row, Transaction};

/// A quarter of an hour, in milliseconds. The statements below have the same number.
const QUARTER: i64 = 900_000;

const EVENT: &str = "SELECT id, currency, timezone FROM events WHERE id = ?1 AND organization_id = ?2";
pub(in crate::store) const SOLD: &str = "SELECT o.completed_at / 900000 AS quarter, COUNT(*) AS orders,
        CAST(SUM(o.total) AS BIGINT) AS revenue,
        CAST(SUM((SELECT COUNT(*) FROM tickets t WHERE t.order_id = o.id)) AS BIGINT) AS tickets
    FROM orders o WHERE o.event_id = ?1 AND o.completed_at >= ?2 AND o.completed_at < ?3
    GROUP BY o.completed_at / 900000";
/// What was sold in tests. Without a test, it is not read.
pub(in crate::store) const SOLD_IN_TESTS: &str = "SELECT o.completed_at / 900000 AS quarter, COUNT(*) AS orders,
        CAST(SUM(o.total) AS BIGINT) AS revenue,
        CAST(SUM((SELECT COUNT(*) FROM tickets t WHERE t.order_id = o.id)) AS BIGINT) AS tickets
    FROM payments p CROSS JOIN orders o
    WHERE p.event_id = ?1 AND p.mode = 'TEST' AND p.purpose = 'ORDER' AND o.id = p.order_id
        AND o.completed_at >= ?2 AND o.completed_at < ?3
    GROUP BY o.completed_at / 900000";
pub(in crate::store) const REFUNDED: &str = "SELECT e.happened_at / 900000 AS quarter, p.mode,
        CAST(-SUM(e.amount) AS BIGINT) AS refunded
    FROM ledger_entries e CROSS JOIN payments p
    WHERE e.event_id = ?1 AND (e.kind = 'REFUND' OR e.kind = 'REFUND_FAILED') AND p.id = e.payment_id
        AND p.purpose = 'ORDER' AND e.happened_at >= ?2 AND e.happened_at < ?3
    GROUP BY e.happened_at / 900000, p.mode";
pub(in crate::store) const ISSUED: &str = "SELECT t.created_at / 900000 AS quarter, COUNT(*) AS issued FROM tickets t
    WHERE t.event_id = ?1 AND t.order_id IS NULL AND t.created_at >= ?2 AND t.created_at < ?3
    GROUP BY t.created_at / 900000";

/// The sales of an event, in the order of time.
#[derive(Debug)]
pub(crate) struct SalesByQuarter {
    pub(crate) currency: String,
    pub(crate) decimals: Decimals,
    pub(crate) zone: Zone,
    /// By the first instant of each quarter of an hour in which something happened.
    pub(crate) quarters: Vec<(Timestamp, SalesByMode)>,
}

/// Reads the sales of an event from `from` on and before `before`.
pub(crate) fn by_quarter(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    from: Option<Timestamp>,
    before: Option<Timestamp>,
) -> Result<SalesByQuarter> {
    let decode = |row: &Row<'_>| {
        let zone = row.parsed("timezone", Zone::of, "is not a known time zone")?;
        Ok((row.get("currency")?, row.get("currency")?, zone))
    };
    let found = tx.query_opt(EVENT, &[event.into(), organization.into()], decode)?;
    let (currency, decimals, zone) = found.ok_or(Error::NotFound(ResourceKind::Event))?;

    let mut quarters: BTreeMap<i64, SalesByMode> = BTreeMap::new();
    let before = before.map_or(i64::MAX, Timestamp::millis);
    let binds: [Bind<'_>; 3] = [event.into(), from.unwrap_or_default().into(), before.into()];
    tx.query_each(SOLD, &binds, |row| {
        quarters.entry(row.get("quarter")?).or_default().live = decode_sold(row)?;
        Ok(())
    })?;
    if tx.exists(HAS_MODE, &[event.into(), PaymentMode::Test.as_str().into()])? {
        tx.query_each(SOLD_IN_TESTS, &binds, |row| {
            let sums = quarters.entry(row.get("quarter")?).or_default();
            sums.test = decode_sold(row)?;
            sums.live.orders -= sums.test.orders;
            sums.live.tickets -= sums.test.tickets;
            sums.live.revenue = sums.live.revenue.saturating_sub(sums.test.revenue);
            Ok(())
        })?;
    }
    tx.query_each(REFUNDED, &binds, |row| {
        let sums = quarters.entry(row.get("quarter")?).or_default();
        let of_mode = match row.get("mode")? {
            PaymentMode::Live => &mut sums.live,
            PaymentMode::Test => &mut sums.test,
        };
        of_mode.refunded = row.get("refunded")?;
        Ok(())
    })?;
    tx.query_each(ISSUED, &binds, |row| {
        quarters.entry(row.get("quarter")?).or_default().live.issued = row.get("issued")?;
        Ok(())
    })?;
    let start = |quarter: i64| Timestamp::from_millis(quarter.saturating_mul(QUARTER)).unwrap_or(Timestamp::MAX);
    let quarters = quarters.into_iter().map(|(quarter, sums)| (start(quarter), sums)).collect();
    Ok(SalesByQuarter { currency, decimals, zone, quarters })
}

fn decode_sold(row: &Row<'_>) -> Result<SalesSums> {
    Ok(SalesSums {
        orders: row.get("orders")?,
        tickets: row.get("tickets")?,
        revenue: row.get("revenue")?,
        ..SalesSums::default()
    })
}

/// Reads the sales of an event, summed into days or hours.
pub(crate) fn of_event(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    request: &Checked<GetEventSales>,
) -> Result<EventSales> {
    let interval = request.interval.unwrap_or(SalesInterval::Day);
    let SalesByQuarter { currency, decimals, zone, quarters } =
        by_quarter(tx, organization, event, request.from, request.before)?;
    let mut items = Vec::new();
    for (range, sums) in sales_intervals::sum_into(zone, interval, quarters, SalesByMode::add) {
        for (mode, sums) in [(PaymentMode::Live, sums.live), (PaymentMode::Test, sums.test)] {
            if sums != SalesSums::default() {
                items.push(SalesItem {
                    from: range.start,
                    until: range.end,
                    mode,
                    orders: sums.orders,
                    tickets: sums.tickets,
                    revenue: Amount::in_currency(sums.revenue, decimals),
                    refunded: Amount::in_currency(sums.refunded, decimals),
                    issued: sums.issued,
                });
            }
        }
    }
    if items.len() > MAX_ITEMS {
        return Err(sales_intervals::too_many(items.len(), MAX_ITEMS));
    }
    Ok(EventSales { as_of: tx.now(), currency, interval, items })
}
