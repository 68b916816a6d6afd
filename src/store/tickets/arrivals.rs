//! The arrivals at an event, summed by five minutes and gate from the log of its scans. Tickets that were checked in
//! without a log count with their last check-in, as in the export of check-ins.

use std::collections::BTreeMap;

use crate::enums::text_enum::TextEnum;
use crate::error::{Error, Reason, ResourceKind, Result};
use crate::model::tickets::arrivals::{ArrivalsItem, EventArrivals, GetEventArrivals, MAX_ITEMS, RefusedScans};
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
    /// Counts rows of the log. What an attempt to leave is refused for does not count.
    fn count(&mut self, row: &Row<'_>, number: i64) -> Result<()> {
        let (kind, outcome): (LoggedKind, Option<ScanOutcome>) = (row.get("kind")?, row.get("outcome")?);
        match (kind, outcome) {
            (LoggedKind::Base, _) | (LoggedKind::In, Some(ScanOutcome::Admitted)) => self.admitted += number,
            (LoggedKind::Out, Some(ScanOutcome::Left)) => self.left += number,
            (LoggedKind::In, _) => {
                let reason: Option<Reason> = row.get("reason")?;
                let name = reason.map_or("", |reason| TextEnum::as_str(reason));
                self.refused.entry(name).or_insert(RefusedScans { reason, count: 0 }).count += number;
            }
            (LoggedKind::Out | LoggedKind::Cancelled, _) => {}
        }
        Ok(())
    }
}

/// Reads the arrivals at an event.
pub(crate) fn of_event(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    request: &Checked<GetEventArrivals>,
) -> Result<EventArrivals> {
    let decode = |row: &Row<'_>| {
        let times: (Timestamp, Timestamp) = (row.get("start_at")?, row.get("over_at")?);
        Ok((times, row.get("expected")?, row.get("inside")?))
    };
    let found = tx.query_opt(EVENT, &[event.into(), organization.into()], decode)?;
    let ((start, over), expected, inside) = found.ok_or(Error::NotFound(ResourceKind::Event))?;
    let times = sales_intervals::arrival_times(start, over);
    let (from, before) = (request.from.unwrap_or(times.start), request.before.unwrap_or(times.end));

    let mut slots: BTreeMap<(i64, Option<String>), Sums> = BTreeMap::new();
    let binds = [event.into(), from.into(), before.into()];
    tx.query_each(LOGGED, &binds, |row| {
        let number = row.get("number")?;
        slots.entry((row.get("slot")?, row.get("gate")?)).or_default().count(row, number)
    })?;
    tx.query_each(WITHOUT_LOG, &binds, |row| {
        let number: i64 = row.get("number")?;
        slots.entry((row.get("slot")?, row.get("gate")?)).or_default().admitted += number;
        Ok(())
    })?;
    let missing = tx.query_opt(MISSING, &[event.into()], |row| row.get("number"))?.unwrap_or_default();
    let start_of = |slot: i64| Timestamp::from_millis(slot.saturating_mul(SLOT)).unwrap_or(Timestamp::MAX);
    // Scans for leaving that were refused leave nothing to report.
    let has_any = |sums: &Sums| sums.admitted != 0 || sums.left != 0 || !sums.refused.is_empty();
    let items: Vec<_> = slots
        .into_iter()
        .filter(|(_, sums)| has_any(sums))
        .map(|((slot, gate), sums)| ArrivalsItem {
            from: start_of(slot),
            until: start_of(slot + 1),
            gate,
            admitted: sums.admitted,
            left: sums.left,
            refused: sums.refused.into_values().collect(),
        })
        .collect();
    if items.len() > MAX_ITEMS {
        return Err(sales_intervals::too_many(items.len(), MAX_ITEMS));
    }
    Ok(EventArrivals { as_of: tx.now(), inside, expected, missing, items })
}
