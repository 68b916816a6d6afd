//! The arrivals at an event, summed by five minutes and gate from the log of its scans. Tickets that were checked in
//! without a log count with their last check-in, as in the export of check-ins.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::enums::text_enum::TextEnum;
use crate::error::{Error, Reason, ResourceKind, Result};
use crate::model::tickets::arrivals::{ArrivalsItem, EventArrivals, GetEventArrivals, MAX_ITEMS, RefusedScans};
#[cfg(feature = "server")]
use crate::model::tickets::arrivals::{REPORTED_SLOTS, ReportedArrivals};
use crate::model::tickets::scan::{LoggedKind, ScanOutcome};
use crate::model::values::id::{EventId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::{Checked, sales_intervals};
use crate::store::{Row, Transaction};

/// Five minutes, in milliseconds. The statements below have the same number.
const SLOT: i64 = 300_000;

const EVENT: &str = "SELECT id, start_at, over_at,
        (SELECT CAST(COALESCE(SUM(y.sold), 0) AS BIGINT) FROM ticket_types y WHERE y.event_id = events.id) AS expected,
        (SELECT CAST(COALESCE(SUM(y.checked_in_tickets), 0) AS BIGINT) FROM ticket_types y
            WHERE y.event_id = events.id) AS inside
    FROM events WHERE id = ?1 AND organization_id = ?2";
pub(in crate::store) const LOGGED: &str = "SELECT g.slot, g.kind, g.outcome, g.reason, g.number, k.name AS gate
    FROM (SELECT s.scanned_at / 300000 AS slot, s.api_key_id, s.kind, s.outcome, s.reason, COUNT(*) AS number
            FROM scans s WHERE s.event_id = ?1 AND s.scanned_at >= ?2 AND s.scanned_at < ?3 AND s.kind <> 'CANCELLED'
            GROUP BY s.scanned_at / 300000, s.api_key_id, s.kind, s.outcome, s.reason) g
        LEFT JOIN api_keys k ON k.id = g.api_key_id";
pub(in crate::store) const WITHOUT_LOG: &str = "SELECT g.slot, g.number, k.name AS gate
    FROM (SELECT t.check_in_at / 300000 AS slot, t.checked_in_by, COUNT(*) AS number
            FROM ticket_types y CROSS JOIN tickets t
            WHERE y.event_id = ?1 AND t.event_id = ?1 AND t.ticket_type_id = y.id AND t.status = 'CHECKED_IN'
                AND t.check_in_at >= ?2 AND t.check_in_at < ?3
                AND NOT EXISTS (SELECT 1 FROM scans s WHERE s.ticket_id = t.id)
            GROUP BY t.check_in_at / 300000, t.checked_in_by) g
        LEFT JOIN api_keys k ON k.id = g.checked_in_by";
pub(in crate::store) const MISSING: &str = "SELECT COUNT(*) AS number FROM ticket_types y CROSS JOIN tickets t
    WHERE y.event_id = ?1 AND t.event_id = ?1 AND t.ticket_type_id = y.id AND t.status = 'NOT_CHECKED_IN'
        AND t.first_scan_at IS NULL";

/// The sums of five minutes at a gate.
#[derive(Default)]
struct Sums {
    admitted: i64,
    left: i64,
    /// By the text of the reason.
    refused: BTreeMap<&'static str, RefusedScans>,
}

impl Sums {
    /// The sums of a row of the log. What an attempt to leave is refused for does not count.
    fn of_log(row: &Row<'_>) -> Result<Self> {
        let mut sums = Self::default();
        let number = row.get("number")?;
        let (kind, outcome): (LoggedKind, Option<ScanOutcome>) = (row.get("kind")?, row.get("outcome")?);
        match (kind, outcome) {
            (LoggedKind::Base, _) | (LoggedKind::In, Some(ScanOutcome::Admitted)) => sums.admitted = number,
            (LoggedKind::Out, Some(ScanOutcome::Left)) => sums.left = number,
            (LoggedKind::In, _) => {
                let reason: Option<Reason> = row.get("reason")?;
                let name = reason.map_or("", |reason| TextEnum::as_str(reason));
                sums.refused.insert(name, RefusedScans { reason, count: number });
            }
            (LoggedKind::Out | LoggedKind::Cancelled, _) => {}
        }
        Ok(sums)
    }

    fn add(&mut self, other: &Self) {
        self.admitted += other.admitted;
        self.left += other.left;
        for (name, refused) in &other.refused {
            let none = RefusedScans { reason: refused.reason, count: 0 };
            self.refused.entry(name).or_insert(none).count += refused.count;
        }
    }

    fn is_empty(&self) -> bool {
        self.admitted == 0 && self.left == 0 && self.refused.is_empty()
    }

    fn into_item(self, times: Range<Timestamp>, gate: Option<String>) -> ArrivalsItem {
        ArrivalsItem {
            from: times.start,
            until: times.end,
            gate,
            admitted: self.admitted,
            left: self.left,
            refused: self.refused.into_values().collect(),
        }
    }
}

/// By the number of five minutes, and the gate.
type Slots = BTreeMap<(i64, Option<String>), Sums>;

/// The event, without its items, and the times at which arrivals are reported.
fn without_items(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
) -> Result<(EventArrivals, Range<Timestamp>)> {
    let decode = |row: &Row<'_>| {
        let times = sales_intervals::arrival_times(row.get("start_at")?, row.get("over_at")?);
        Ok((times, row.get("expected")?, row.get("inside")?))
    };
    let found = tx.query_opt(EVENT, &[event.into(), organization.into()], decode)?;
    let (times, expected, inside) = found.ok_or(Error::NotFound(ResourceKind::Event))?;
    let missing = tx.query_opt(MISSING, &[event.into()], |row| row.get("number"))?.unwrap_or_default();
    Ok((EventArrivals { as_of: tx.now(), inside, expected, missing, items: Vec::new() }, times))
}

/// Reads sums of five minutes at a gate, in any order and several of each.
fn read_sums(
    tx: &Transaction<'_>,
    event: EventId,
    times: &Range<Timestamp>,
    mut add: impl FnMut(i64, Option<String>, Sums),
) -> Result<()> {
    let binds = [event.into(), times.start.into(), times.end.into()];
    tx.query_each(LOGGED, &binds, |row| {
        let sums = Sums::of_log(row)?;
        // Scans for leaving that were refused leave nothing to report.
        if !sums.is_empty() {
            add(row.get("slot")?, row.get("gate")?, sums);
        }
        Ok(())
    })?;
    tx.query_each(WITHOUT_LOG, &binds, |row| {
        add(row.get("slot")?, row.get("gate")?, Sums { admitted: row.get("number")?, ..Sums::default() });
        Ok(())
    })
}

fn items(slots: Slots) -> Vec<ArrivalsItem> {
    let start = |slot: i64| Timestamp::from_millis(slot.saturating_mul(SLOT)).unwrap_or(Timestamp::MAX);
    slots.into_iter().map(|((slot, gate), sums)| sums.into_item(start(slot)..start(slot + 1), gate)).collect()
}

/// Reads the arrivals at an event.
pub(crate) fn of_event(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    request: &Checked<GetEventArrivals>,
) -> Result<EventArrivals> {
    let (arrivals, times) = without_items(tx, organization, event)?;
    let times = request.from.unwrap_or(times.start)..request.before.unwrap_or(times.end);
    let mut slots = Slots::new();
    read_sums(tx, event, &times, |slot, gate, sums| slots.entry((slot, gate)).or_default().add(&sums))?;
    if slots.len() > MAX_ITEMS {
        return Err(sales_intervals::too_many(slots.len(), MAX_ITEMS));
    }
    Ok(EventArrivals { items: items(slots), ..arrivals })
}

/// Reads the arrivals that a report shows.
#[cfg(feature = "server")]
pub(crate) fn of_report(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
) -> Result<ReportedArrivals> {
    let (arrivals, times) = without_items(tx, organization, event)?;
    let mut gates: BTreeMap<Option<String>, Sums> = BTreeMap::new();
    let mut slots = Slots::new();
    let mut last = i64::MIN;
    read_sums(tx, event, &times, |slot, gate, sums| {
        gates.entry(gate.clone()).or_default().add(&sums);
        if slot > last {
            last = slot;
            slots = slots.split_off(&(last - REPORTED_SLOTS + 1, None));
        }
        if slot > last - REPORTED_SLOTS {
            slots.entry((slot, gate)).or_default().add(&sums);
        }
    })?;
    let gates = gates.into_iter().map(|(gate, sums)| sums.into_item(times.clone(), gate)).collect();
    Ok(ReportedArrivals { arrivals: EventArrivals { items: items(slots), ..arrivals }, gates })
}
