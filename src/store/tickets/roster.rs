//! The roster of an event: its tickets for devices at the entrance, first all of them, then what has changed.
//!
//! The tickets of an event are read in the order of an index, type by type. Meanwhile a ticket may move in that order, and
//! new ones may come: a device gets those with the changes since the first part. Changes are new tickets, by their ids,
//! and rows of the log of scans, by receipt. With several servers, rows become visible in another order than that of their
//! ids, so what was received in the 30 seconds before is read again.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use super::issued_tickets::code;
use crate::enums::text_enum::TextEnum;
use crate::environment::first_of;
use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::ticket::TicketStatus;
use crate::model::tickets::roster::{
    Roster, RosterCounts, RosterEvent, RosterOrder, RosterOrderTicket, RosterTicket, RosterTicketType, ScanConflict,
};
use crate::model::tickets::scan::OtherScan;
use crate::model::values::id::{EventId, OrderId, OrganizationId, ScanId, TicketId, TicketTypeId};
use crate::model::values::page::UNKNOWN_CURSOR;
use crate::model::values::timestamp::Timestamp;
use crate::rules::entrance::door::{proof, roster_hash};
use crate::store::columns::columns;
use crate::store::sale::events;
use crate::store::{Row, Transaction};

/// Changes since more than this are not looked for.
const LONGEST_GAP: Duration = Duration::from_hours(24);

/// How long a row takes at most to become visible.
const OVERLAP: Duration = Duration::from_secs(30);

macro_rules! select {
    ($from:literal) => {
        concat!(
            "SELECT t.id, t.ticket_type_id, t.code, t.imported_code, t.status, t.check_in_at, t.first_scan_at,
            t.expires_at, CASE WHEN t.imported_code IS NULL OR t.status <> 'CANCELLED' THEN 0
                WHEN EXISTS (SELECT 1 FROM tickets n WHERE n.organization_id = t.organization_id
                    AND n.imported_code = t.imported_code AND n.event_id = t.event_id AND n.status <> 'CANCELLED') THEN 1
                WHEN EXISTS (SELECT 1 FROM tickets n WHERE n.organization_id = t.organization_id
                    AND n.imported_code = t.imported_code AND n.event_id = t.event_id AND n.status = 'CANCELLED'
                    AND n.id > t.id) THEN 1
                ELSE 0 END AS is_replaced",
            $from
        )
    };
}

columns! {
    select selected_columns!("") {
        name, valid_from, valid_until, allowed_dates, validity_days, validity_hours, access_areas
    }

    read decode_type(row: &Row<'_>) -> RosterTicketType {} and {
        id: row.get("id")?,
    }
}

const EVENT: &str = "SELECT id, title, timezone, day_starts_at, status, cancelled_at, has_scan_log FROM events
    WHERE id = ?1 AND organization_id = ?2";
pub(in crate::store) const TYPES: &str = concat!(
    "SELECT id, sold, cancelled_tickets, checked_in_tickets, imported_tickets",
    selected_columns!(),
    " FROM ticket_types WHERE event_id = ?1 ORDER BY sort_order, id"
);
pub(in crate::store) const ALL: &str = select!(
    " FROM tickets t WHERE t.event_id = ?1 AND (t.ticket_type_id, t.status, t.id) > (?2, ?3, ?4)
    ORDER BY t.ticket_type_id, t.status, t.id LIMIT ?5"
);
pub(in crate::store) const NEW: &str = select!(
    " FROM ticket_types y CROSS JOIN tickets t WHERE y.event_id = ?1 AND t.event_id = ?1 AND t.ticket_type_id = y.id
        AND t.status IN ('CHECKED_IN', 'NOT_CHECKED_IN', 'CANCELLED') AND t.id > ?2
    ORDER BY t.id LIMIT ?3"
);
pub(in crate::store) const CHANGED: &str = select!(
    ", s.id AS scan_id FROM scans s CROSS JOIN tickets t WHERE s.event_id = ?1 AND s.id > ?2 AND t.id = s.ticket_id
    ORDER BY s.id LIMIT ?3"
);

/// What the log says of the tickets of these rows: see [`Roster::conflicts`]. The earlier admission is the last one
/// before. A ticket has at most 200 rows.
pub(in crate::store) const CONFLICTS: &str =
    "SELECT c.id, c.client_id, c.ticket_id, c.outcome, c.reason, c.scanned_at, c.device,
        o.scanned_at AS other_at, o.device AS other_device
    FROM (
        SELECT r.id, r.client_id, r.ticket_id, r.outcome, r.reason, r.scanned_at, r.device
        FROM (SELECT DISTINCT s.ticket_id FROM scans s WHERE s.event_id = ?1 AND s.id > ?2 AND s.id <= ?3) AS changed
            CROSS JOIN scans r
        WHERE r.ticket_id = changed.ticket_id AND r.kind = 'IN' AND r.is_override = 0
            AND r.outcome IN ('ADMITTED_TWICE', 'WOULD_BE_REFUSED')
        ORDER BY r.id DESC LIMIT ?4
    ) AS c LEFT JOIN scans o ON c.outcome = 'ADMITTED_TWICE' AND o.id = (
        SELECT p.id FROM scans p
        WHERE p.ticket_id = c.ticket_id AND p.scanned_at <= c.scanned_at AND p.id <> c.id
            AND (p.outcome = 'ADMITTED' OR p.kind = 'BASE')
        ORDER BY p.scanned_at DESC LIMIT 1
    )
    ORDER BY c.id DESC";
pub(in crate::store) const OF_ORDER: &str =
    "SELECT t.id, t.ticket_type_id, t.code, t.status, y.name FROM tickets t JOIN ticket_types y ON y.id = t.ticket_type_id
    WHERE t.order_id = ?1 AND t.event_id = ?2 ORDER BY t.id";

/// The greatest number of conflicts in an answer.
const MAX_CONFLICTS: usize = 1000;

/// Where the next part begins, as devices send it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    event: EventId,
    /// When the first part was read: the next changes are those since then.
    started: Timestamp,
    position: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Nothing follows at present.
    End,
    /// After this ticket, among all.
    All(TicketTypeId, TicketStatus, TicketId),
    /// After this ticket, among the new ones. The changes since this time follow.
    New(TicketId, Timestamp),
    /// After this row of the log.
    Changed(ScanId),
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.event, self.started.millis())?;
        match self.position {
            Position::End => Ok(()),
            Position::All(ticket_type, status, ticket) => write!(f, ".all.{ticket_type}.{status}.{ticket}"),
            Position::New(ticket, since) => write!(f, ".new.{ticket}.{}", since.millis()),
            Position::Changed(scan) => write!(f, ".changed.{scan}"),
        }
    }
}

impl Cursor {
    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<_> = text.split('.').collect();
        let instant = |text: &str| Timestamp::from_millis(text.parse().ok()?).ok();
        let (event, started, position) = match *parts {
            [event, started] => (event, started, Position::End),
            [event, started, "all", ticket_type, status, ticket] => {
                let position = Position::All(ticket_type.parse().ok()?, status.parse().ok()?, ticket.parse().ok()?);
                (event, started, position)
            }
            [event, started, "new", ticket, since] => {
                (event, started, Position::New(ticket.parse().ok()?, instant(since)?))
            }
            [event, started, "changed", scan] => (event, started, Position::Changed(scan.parse().ok()?)),
            _ => return None,
        };
        Some(Self { event: event.parse().ok()?, started: instant(started)?, position })
    }

    /// Whether what has changed since is little. If not, a device gets the whole roster again.
    fn is_recent(&self, now: Timestamp) -> bool {
        let since = match self.position {
            Position::New(_, since) => since.min(self.started),
            _ => self.started,
        };
        now.duration_since(since).is_none_or(|age| age < LONGEST_GAP)
    }
}

/// Reads a part of the roster: up to `limit` tickets. Fails if the event has no log of scans.
pub(crate) fn read(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    since: Option<&str>,
    limit: i64,
) -> Result<Roster> {
    let cursor = since.map(|text| Cursor::parse(text).filter(|cursor| cursor.event == event));
    if cursor == Some(None) {
        return Err(Error::field("since", UNKNOWN_CURSOR));
    }
    let roster_event = get_event(tx, organization, event)?;
    let (types, counts) = types(tx, event)?;
    let positions: HashMap<_, _> = types.iter().map(|ticket_type| ticket_type.id).zip(0..).collect();
    let mut part = Part { tx, event, positions, limit, tickets: Vec::new(), conflicts: Vec::new() };
    let cursor = match cursor.flatten().filter(|cursor| cursor.is_recent(tx.now())) {
        Some(cursor) if cursor.position != Position::End => part.read_from(cursor)?,
        Some(complete) => part.read_changes(complete.started)?,
        None => {
            let first = Position::All(TicketTypeId::UNKNOWN, TicketStatus::Cancelled, TicketId::UNKNOWN);
            part.read_from(Cursor { event, started: tx.now(), position: first })?
        }
    };
    Ok(Roster {
        event: roster_event,
        gate: None,
        types,
        tickets: part.tickets,
        conflicts: part.conflicts,
        counts,
        now: tx.now(),
        cursor: cursor.to_string(),
        complete: cursor.position == Position::End,
    })
}

/// Returns the tickets of an order. Fails if the event has no log of scans, or no such order with tickets.
pub(crate) fn of_order(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    order: OrderId,
) -> Result<RosterOrder> {
    get_event(tx, organization, event)?;
    let tickets = tx.query_all(OF_ORDER, &[order.into(), event.into()], |row| {
        let code: String = row.get("code")?;
        Ok(RosterOrderTicket {
            ticket_id: row.get("id")?,
            ticket_type_id: row.get("ticket_type_id")?,
            ticket_type_name: row.get("name")?,
            status: row.get("status")?,
            proof: proof(event, &code),
        })
    })?;
    match tickets.is_empty() {
        true => Err(Error::NotFound(ResourceKind::Order)),
        false => Ok(RosterOrder { tickets, now: tx.now() }),
    }
}

fn get_event(tx: &Transaction<'_>, organization: OrganizationId, event: EventId) -> Result<RosterEvent> {
    let found = tx.query_opt(EVENT, &[event.into(), organization.into()], |row| {
        events::days(row)?;
        let event = RosterEvent {
            id: row.get("id")?,
            title: row.get("title")?,
            timezone: row.get("timezone")?,
            day_starts_at: row.get("day_starts_at")?,
            status: row.get("status")?,
            cancelled_at: row.get("cancelled_at")?,
        };
        Ok((event, row.get::<bool>("has_scan_log")?))
    })?;
    match found {
        None => Err(Error::NotFound(ResourceKind::Event)),
        Some((_, false)) => Err(crate::rules::entrance::door::no_door_link()),
        Some((event, true)) => Ok(event),
    }
}

fn types(tx: &Transaction<'_>, event: EventId) -> Result<(Vec<RosterTicketType>, RosterCounts)> {
    let mut counts = RosterCounts::default();
    let types = tx.query_all(TYPES, &[event.into()], |row| {
        let cancelled: i64 = row.get("cancelled_tickets")?;
        counts.cancelled += cancelled;
        counts.tickets += row.get::<i64>("sold")? + cancelled;
        counts.inside += row.get::<i64>("checked_in_tickets")?;
        counts.imported += row.get::<i64>("imported_tickets")?;
        decode_type(row)
    })?;
    Ok((types, counts))
}

/// A part of a roster, while it is read.
struct Part<'t, 'c> {
    tx: &'t Transaction<'c>,
    event: EventId,
    positions: HashMap<TicketTypeId, u32>,
    limit: i64,
    tickets: Vec<RosterTicket>,
    conflicts: Vec<ScanConflict>,
}

impl Part<'_, '_> {
    /// How many more tickets the part can have.
    fn room(&self) -> i64 {
        self.limit.saturating_sub_unsigned(self.tickets.len() as u64)
    }

    fn push(&mut self, row: &Row<'_>) -> Result<()> {
        let id: TicketId = row.get("id")?;
        let (mut code, _) = code(row)?;
        if row.get("is_replaced")? {
            // A look-up of the code finds another ticket. No code has a line break.
            code = format!("{code}\n{id}");
        }
        let ticket_type = self.positions.get(&row.get("ticket_type_id")?);
        self.tickets.push(RosterTicket {
            hash: roster_hash(self.event, &code),
            ticket_id: id,
            ticket_type: *ticket_type.ok_or_else(|| row.corrupt("ticket_type_id", "is not one of the event"))?,
            status: row.get("status")?,
            check_in_date: row.get("check_in_at")?,
            first_scan_date: row.get("first_scan_at")?,
            expires_at: row.get("expires_at")?,
        });
        Ok(())
    }

    /// Adds those of the tickets in the log after one row, up to another.
    fn add_conflicts(&mut self, after: ScanId, last: ScanId) -> Result<()> {
        let binds = [self.event.into(), after.into(), last.into(), MAX_CONFLICTS.into()];
        self.conflicts = self.tx.query_all(CONFLICTS, &binds, |row| {
            let at: Option<Timestamp> = row.get("other_at")?;
            let device = row.get("other_device")?;
            Ok(ScanConflict {
                id: row.get("id")?,
                uuid: row.get("client_id")?,
                ticket_id: row.get("ticket_id")?,
                outcome: row.get("outcome")?,
                reason: row.get("reason")?,
                scanned_at: row.get("scanned_at")?,
                device: row.get("device")?,
                other: at.map(|at| OtherScan { at, device }),
            })
        })?;
        Ok(())
    }

    fn read_changes(&mut self, since: Timestamp) -> Result<Cursor> {
        let since = since.checked_sub(OVERLAP).unwrap_or(Timestamp::UNIX_EPOCH);
        let position = Position::New(TicketId::from_raw(first_of(since)), since);
        self.read_from(Cursor { event: self.event, started: self.tx.now(), position })
    }

    /// Reads from a position on, and returns where the next part begins.
    fn read_from(&mut self, cursor: Cursor) -> Result<Cursor> {
        let tx = self.tx;
        let mut position = cursor.position;
        while self.room() > 0 && position != Position::End {
            let room = self.room();
            let before = self.tickets.len();
            let mut last = position;
            match position {
                Position::End => {}
                Position::All(ticket_type, status, ticket) => {
                    let binds = [
                        self.event.into(),
                        ticket_type.into(),
                        TextEnum::as_str(status).into(),
                        ticket.into(),
                        room.into(),
                    ];
                    tx.query_each(ALL, &binds, |row| {
                        last = Position::All(row.get("ticket_type_id")?, row.get("status")?, row.get("id")?);
                        self.push(row)
                    })?;
                }
                Position::New(ticket, since) => {
                    let after = ticket.raw().max(first_of(since));
                    tx.query_each(NEW, &[self.event.into(), after.into(), room.into()], |row| {
                        last = Position::New(row.get("id")?, since);
                        self.push(row)
                    })?;
                }
                Position::Changed(scan) => {
                    tx.query_each(CHANGED, &[self.event.into(), scan.into(), room.into()], |row| {
                        last = Position::Changed(row.get("scan_id")?);
                        self.push(row)
                    })?;
                    if let Position::Changed(last) = last
                        && last != scan
                    {
                        self.add_conflicts(scan, last)?;
                    }
                }
            }
            let is_full = (self.tickets.len() - before) as u64 >= room.unsigned_abs();
            position = match (is_full, last) {
                (true, last) => last,
                (false, Position::New(_, since)) => Position::Changed(ScanId::from_raw(first_of(since))),
                (false, _) => Position::End,
            };
        }
        Ok(Cursor { position, ..cursor })
    }
}
