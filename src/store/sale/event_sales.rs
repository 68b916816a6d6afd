//! The sales of an event over time, summed by quarters of an hour: in every time zone, a day and an hour begin with one.
//!
//! Completed orders are read by the event's index, and their tickets are counted in an index.

use std::collections::BTreeMap;
#[cfg(feature = "server")]
use std::ops::Range;
#[cfg(feature = "server")]
use std::time::Duration;

use crate::error::{Error, ResourceKind, Result};
#[cfg(feature = "server")]
use crate::model::sale::event_report::{CodeSums, ReportedSales};
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

/// The tickets of an order. Cancelled ones count: they were sold.
macro_rules! tickets {
    () => {
        "CAST(COALESCE(SUM(COALESCE(o.ordered_seats, (SELECT COUNT(*) FROM tickets t WHERE t.order_id = o.id))), 0) AS BIGINT)
            AS tickets"
    };
}

/// Completed orders, grouped by quarters of an hour and further columns.
macro_rules! sold {
    ($column:literal, $from:literal, $group:literal) => {
        concat!(
            "SELECT o.completed_at / 900000 AS quarter, COUNT(*) AS orders, CAST(SUM(o.total) AS BIGINT) AS revenue, ",
            tickets!(),
            $column,
            " FROM ",
            $from,
            " AND o.completed_at >= ?2 AND o.completed_at < ?3 GROUP BY o.completed_at / 900000",
            $group
        )
    };
}

pub(in crate::store) const SOLD: &str = sold!("", "orders o WHERE o.event_id = ?1", "");
#[cfg(feature = "server")]
pub(in crate::store) const SOLD_BY_AFFILIATE: &str =
    sold!(", o.affiliate_code AS affiliate", "orders o WHERE o.event_id = ?1", ", o.affiliate_code");
/// What was sold in tests. Without a test, it is not read.
pub(in crate::store) const SOLD_IN_TESTS: &str = sold!(
    ", o.affiliate_code AS affiliate, o.discount_code AS discount",
    "payments p CROSS JOIN orders o
        WHERE p.event_id = ?1 AND p.mode = 'TEST' AND p.purpose = 'ORDER' AND o.id = p.order_id",
    ", o.affiliate_code, o.discount_code"
);
#[cfg(feature = "server")]
/// What was sold with discount codes.
pub(in crate::store) const DISCOUNTED: &str = concat!(
    "SELECT o.discount_code AS discount, COUNT(*) AS orders, CAST(SUM(o.total) AS BIGINT) AS revenue, ",
    tickets!(),
    " FROM discounts d CROSS JOIN orders o
    WHERE d.event_id = ?1 AND o.discount_id = d.id AND o.event_id = ?1 AND o.completed_at IS NOT NULL
    GROUP BY o.discount_code"
);
#[cfg(feature = "server")]
/// The tickets of the orders that were completed in a short time.
pub(in crate::store) const SOLD_BETWEEN: &str = concat!(
    "SELECT ",
    tickets!(),
    " FROM orders o
    WHERE o.organization_id = ?1 AND o.completed_at >= ?2 AND o.completed_at < ?3 AND o.event_id = ?4
        AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.purpose = 'ORDER' AND p.mode = ?5)"
);
pub(in crate::store) const REFUNDED: &str = "SELECT e.happened_at / 900000 AS quarter, p.mode,
        CAST(-SUM(e.amount) AS BIGINT) AS refunded
    FROM ledger_entries e CROSS JOIN payments p
    WHERE e.event_id = ?1 AND (e.kind = 'REFUND' OR e.kind = 'REFUND_FAILED') AND p.id = e.payment_id
        AND p.purpose = 'ORDER' AND e.happened_at >= ?2 AND e.happened_at < ?3
    GROUP BY e.happened_at / 900000, p.mode";
pub(in crate::store) const ISSUED: &str = "SELECT t.created_at / 900000 AS quarter,
        CAST(SUM(CASE WHEN t.imported_code IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS issued,
        CAST(SUM(CASE WHEN t.imported_code IS NULL THEN 0 ELSE 1 END) AS BIGINT) AS imported
    FROM tickets t
    WHERE t.event_id = ?1 AND t.order_id IS NULL AND t.created_at >= ?2 AND t.created_at < ?3
    GROUP BY t.created_at / 900000";
/// An earlier version has not recorded when it has cancelled a ticket. The last change of the ticket, or the cancellation of
/// its order, is then the best that is known.
pub(in crate::store) const CANCELLED: &str = "SELECT c.at / 900000 AS quarter, c.mode, COUNT(*) AS cancelled
    FROM (SELECT COALESCE(t.cancelled_at, o.cancelled_at, t.updated_at) AS at, COALESCE(p.mode, 'LIVE') AS mode
            FROM ticket_types y CROSS JOIN tickets t LEFT JOIN orders o ON o.id = t.order_id
                LEFT JOIN payments p ON p.order_id = t.order_id AND p.purpose = 'ORDER'
            WHERE y.event_id = ?1 AND t.event_id = ?1 AND t.ticket_type_id = y.id AND t.status = 'CANCELLED') c
    WHERE c.at >= ?2 AND c.at < ?3
    GROUP BY c.at / 900000, c.mode";

/// The sales of an event, in the order of time.
#[derive(Debug)]
struct SalesByQuarter {
    currency: String,
    decimals: Decimals,
    zone: Zone,
    /// By the first instant of each quarter of an hour in which something happened.
    quarters: Vec<(Timestamp, SalesByMode)>,
}

/// Which orders are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Period {
    event: EventId,
    from: Option<Timestamp>,
    before: Option<Timestamp>,
}

impl Period {
    fn binds(&self) -> [Bind<'static>; 3] {
        let before = self.before.map_or(i64::MAX, Timestamp::millis);
        [self.event.into(), self.from.unwrap_or_default().into(), before.into()]
    }
}

/// Reads the sales of an event. `sold` selects the completed orders, and `each` gets the sums of each of its rows, and
/// before whether they were paid in tests.
fn by_quarter(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    period: Period,
    sold: &str,
    mut each: impl FnMut(&Row<'_>, bool, SalesSums) -> Result<()>,
) -> Result<SalesByQuarter> {
    let event = period.event;
    let decode = |row: &Row<'_>| {
        let zone = row.parsed("timezone", Zone::of, "is not a known time zone")?;
        Ok((row.get("currency")?, row.get("currency")?, zone))
    };
    let found = tx.query_opt(EVENT, &[event.into(), organization.into()], decode)?;
    let (currency, decimals, zone) = found.ok_or(Error::NotFound(ResourceKind::Event))?;

    let mut quarters: BTreeMap<i64, SalesByMode> = BTreeMap::new();
    let binds = period.binds();
    tx.query_each(sold, &binds, |row| {
        let sums = decode_sold(row)?;
        quarters.entry(row.get("quarter")?).or_default().live.add(sums);
        each(row, false, sums)
    })?;
    if tx.exists(HAS_MODE, &[event.into(), PaymentMode::Test.as_str().into()])? {
        tx.query_each(SOLD_IN_TESTS, &binds, |row| {
            let sums = decode_sold(row)?;
            let quarter = quarters.entry(row.get("quarter")?).or_default();
            quarter.live.subtract_sold(sums);
            quarter.test.add(sums);
            each(row, true, sums)
        })?;
    }
    tx.query_each(REFUNDED, &binds, |row| {
        let sums = quarters.entry(row.get("quarter")?).or_default();
        sums.of_mut(row.get("mode")?).refunded = row.get("refunded")?;
        Ok(())
    })?;
    tx.query_each(CANCELLED, &binds, |row| {
        let sums = quarters.entry(row.get("quarter")?).or_default();
        sums.of_mut(row.get("mode")?).cancelled = row.get("cancelled")?;
        Ok(())
    })?;
    tx.query_each(ISSUED, &binds, |row| {
        let sums = &mut quarters.entry(row.get("quarter")?).or_default().live;
        sums.issued = row.get("issued")?;
        sums.imported = row.get("imported")?;
        Ok(())
    })?;
    let start = |quarter: i64| Timestamp::from_millis(quarter.saturating_mul(QUARTER)).unwrap_or(Timestamp::MAX);
    let quarters = quarters.into_iter().map(|(quarter, sums)| (start(quarter), sums)).collect();
    Ok(SalesByQuarter { currency, decimals, zone, quarters })
}

/// Reads everything that a report shows of the sales of an event. `mode` is that of the money in its charts.
#[cfg(feature = "server")]
pub(crate) fn of_report(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    mode: PaymentMode,
) -> Result<ReportedSales> {
    let mut affiliates = ByCode::default();
    let mut discounts = ByCode::default();
    tx.query_each(DISCOUNTED, &[event.into()], |row| {
        discounts.add(row.get("discount")?, false, decode_sold(row)?);
        Ok(())
    })?;
    let all = Period { event, from: None, before: None };
    let SalesByQuarter { zone, quarters, .. } =
        by_quarter(tx, organization, all, SOLD_BY_AFFILIATE, |row, is_test, sums| {
            if is_test {
                discounts.add(row.get("discount")?, true, sums);
            }
            affiliates.add(row.get("affiliate")?, is_test, sums);
            Ok(())
        })?;
    let other_mode = if mode == PaymentMode::Live { PaymentMode::Test } else { PaymentMode::Live };
    let now = tx.now();
    let today = sales_intervals::interval_at(zone, SalesInterval::Day, now).start..now;
    let tickets_in = |range: &Range<Timestamp>| {
        // The quarters of an hour that lie in it, and the beginning of the one in which it ends.
        let rest = Timestamp::from_millis(range.end.millis() - range.end.millis() % QUARTER).unwrap_or_default();
        let whole = quarters.iter().filter(|(at, _)| *at >= range.start && *at < rest);
        let whole: i64 = whole.map(|(_, sums)| sums.of(mode).tickets).sum();
        let binds = [
            organization.into(),
            rest.max(range.start).into(),
            range.end.into(),
            event.into(),
            other_mode.as_str().into(),
        ];
        let partial: Option<i64> = tx.query_opt(SOLD_BETWEEN, &binds, |row| row.get("tickets"))?;
        Ok::<_, Error>(whole + partial.unwrap_or_default())
    };
    // What was sold in this millisecond counts as well.
    let end = now.saturating_add(Duration::from_millis(1));
    Ok(ReportedSales {
        today: tickets_in(&(today.start..end))?,
        week_before: tickets_in(&sales_intervals::week_before(zone, now))?,
        discounts: discounts.sorted(mode),
        affiliates: affiliates.sorted(mode),
        quarters,
    })
}

/// Sums by code.
#[cfg(feature = "server")]
#[derive(Default)]
struct ByCode(BTreeMap<String, SalesByMode>);

#[cfg(feature = "server")]
impl ByCode {
    /// Adds sums of all orders with a code, or the part of them that was sold in tests.
    fn add(&mut self, code: Option<String>, is_test: bool, sums: SalesSums) {
        let Some(code) = code else { return };
        let by_mode = self.0.entry(code).or_default();
        if is_test {
            by_mode.live.subtract_sold(sums);
            by_mode.test.add(sums);
        } else {
            by_mode.live.add(sums);
        }
    }

    fn sorted(self, mode: PaymentMode) -> Vec<CodeSums> {
        CodeSums::sorted(self.0.into_iter().map(|(code, sums)| (code, sums.of(mode))))
    }
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
    let period = Period { event, from: request.from, before: request.before };
    let SalesByQuarter { currency, decimals, zone, quarters } =
        by_quarter(tx, organization, period, SOLD, |_, _, _| Ok(()))?;
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
                    imported: sums.imported,
                    cancelled: sums.cancelled,
                });
            }
        }
    }
    if items.len() > MAX_ITEMS {
        return Err(sales_intervals::too_many(items.len(), MAX_ITEMS));
    }
    Ok(EventSales { as_of: tx.now(), currency, interval, items })
}
