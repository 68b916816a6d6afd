//! The log of the scans of events with devices at the entrance.

use crate::enums::text_enum::TextEnum;
use crate::environment::first_of;
use crate::error::{Error, Reason, Result, Unavailable};
use crate::model::tickets::scan::{ListScans, LoggedScan, ScanOutcome};
use crate::model::values::id::{EventId, OrganizationId, ScanId, TicketId};
use crate::model::values::page::Page;
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::entrance::scan_log::{MOST_REPLAYED, TicketState};
use crate::store::columns::columns;
use crate::store::lists::list_query::{cursor_bound, limit_plus_one};
use crate::store::lists::pages::read_page;
use crate::store::{LockedEvent, Row, RowLength, Transaction};

columns! {
    select selected_columns!("s.") {
        uuid => client_id, event_id, ticket_id, api_key_id, device, kind, scanned_at, received_at, verdict, outcome,
        reason, is_override
    }

    read decode_logged(row: &Row<'_>) -> LoggedScan {} and {
        id: row.get("id")?,
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT s.id, s.is_reported", selected_columns!(), " FROM scans s WHERE ", $rest)
    };
}

pub(in crate::store) const BY_CLIENT_ID: &str = select!("s.organization_id = ?1 AND s.client_id = ?2");
pub(in crate::store) const OF_TICKET: &str = select!("s.ticket_id = ?1 ORDER BY s.scanned_at, s.id LIMIT ?2");
pub(in crate::store) const END: &str = "SELECT MAX(scanned_at) AS last, COUNT(*) AS number
    FROM (SELECT scanned_at FROM scans WHERE ticket_id = ?1 ORDER BY scanned_at DESC LIMIT ?2) AS newest";
pub(in crate::store) const LIST: &str = select!(
    "s.event_id = ?1 AND s.id < ?2 AND s.id >= ?4 AND s.received_at >= ?5 AND s.organization_id = ?6
        AND (CAST(?7 AS TEXT) IS NULL OR s.outcome = ?7) AND (CAST(?8 AS TEXT) IS NULL OR s.device = ?8)
    ORDER BY s.id DESC LIMIT ?3"
);
const EXISTS: &str = "SELECT 1 FROM scans WHERE id = ?1 AND event_id = ?2";
const INSERT: &str = "INSERT INTO scans (id, organization_id, event_id, ticket_id, client_id, api_key_id, device, kind,
        scanned_at, received_at, verdict, outcome, reason, is_override, is_reported)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) ON CONFLICT DO NOTHING";
const JUDGE: &str = "UPDATE scans SET outcome = ?2, reason = ?3, is_reported = ?4 WHERE id = ?1";
const SET_TICKET: &str = "UPDATE tickets SET status = ?2, check_in_at = ?3, checked_in_by = ?4, check_out_at = ?5,
        first_scan_at = ?6, expires_at = ?7, scan_count = scan_count + ?8, updated_at = ?10,
        last_scan_at = CASE WHEN last_scan_at IS NULL OR last_scan_at < ?9 THEN ?9 ELSE last_scan_at END
    WHERE id = ?1";
const IS_KEPT: &str = "SELECT id, has_scan_log FROM events WHERE id = ?1 AND organization_id = ?2";
pub(in crate::store) const DELETE_OF_EVENT: &str =
    "DELETE FROM scans WHERE id IN (SELECT id FROM scans WHERE event_id = ?1 LIMIT ?2)";
const START: &str = "UPDATE events SET has_scan_log = 1 WHERE id = ?1 AND organization_id = ?2";

/// How many rows of a log one transaction deletes. Other writers wait for as long as this takes.
const BATCH: usize = 1000;

/// A row of the log. A new one has the id 0.
#[derive(Debug, Clone)]
pub(crate) struct StoredScan {
    pub(crate) logged: LoggedScan,
    /// Whether `ticket.checked_in` was sent.
    pub(crate) is_reported: bool,
    /// Whether a new row is not stored, because there are as many as there may be.
    pub(crate) log_is_full: bool,
}

/// Where the log of a ticket ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogEnd {
    /// The time of the last row. `None` if there is none.
    pub(crate) last: Option<Timestamp>,
    /// Whether it has as many rows as it may.
    pub(crate) is_full: bool,
}

impl From<LoggedScan> for StoredScan {
    fn from(logged: LoggedScan) -> Self {
        Self { logged, is_reported: false, log_is_full: false }
    }
}

impl StoredScan {
    pub(crate) fn is_new(&self) -> bool {
        self.logged.id == ScanId::UNKNOWN
    }
}

fn decode(row: &Row<'_>) -> Result<StoredScan> {
    Ok(StoredScan { is_reported: row.get("is_reported")?, ..decode_logged(row)?.into() })
}

pub(crate) fn start(tx: &Transaction<'_>, organization: OrganizationId, event: EventId) -> Result<()> {
    tx.execute(START, &[event.into(), organization.into()])
}

/// Whether the scans of an event are logged. `None` if the organization has no such event.
pub(crate) fn is_kept(tx: &Transaction<'_>, organization: OrganizationId, event: EventId) -> Result<Option<bool>> {
    tx.query_opt(IS_KEPT, &[event.into(), organization.into()], |row| row.get("has_scan_log"))
}

/// The scan to which a device gave this id.
pub(crate) fn find(tx: &Transaction<'_>, organization: OrganizationId, uuid: &str) -> Result<Option<StoredScan>> {
    tx.query_opt(BY_CLIENT_ID, &[organization.into(), uuid.into()], decode)
}

/// The log of a ticket, in the order of the times: one row more than it may have, if it has so many.
pub(crate) fn of_ticket(tx: &Transaction<'_>, ticket: TicketId) -> Result<Vec<StoredScan>> {
    tx.query_all(OF_TICKET, &[ticket.into(), (MOST_REPLAYED + 1).into()], decode)
}

/// The end of the log of a ticket.
pub(crate) fn end(tx: &Transaction<'_>, ticket: TicketId) -> Result<LogEnd> {
    let end = tx.query_opt(END, &[ticket.into(), MOST_REPLAYED.into()], |row| {
        Ok(LogEnd { last: row.get("last")?, is_full: row.count("number")? >= MOST_REPLAYED as u64 })
    })?;
    Ok(end.unwrap_or(LogEnd { last: None, is_full: false }))
}

/// Deletes a batch of the log of an event without tickets. Returns whether this was all.
pub(crate) fn delete_batch_of_event(tx: &LockedEvent<'_>, event: EventId) -> Result<bool> {
    Ok(tx.execute_counted(DELETE_OF_EVENT, &[event.into(), BATCH.into()])? < BATCH)
}

/// Inserts a row under a new id.
pub(crate) fn insert(tx: &Transaction<'_>, organization: OrganizationId, scan: &StoredScan) -> Result<()> {
    let StoredScan { logged, is_reported, .. } = scan;
    for _ in 0..16 {
        let id: ScanId = tx.new_id();
        let binds = [
            id.into(),
            organization.into(),
            logged.event_id.into(),
            logged.ticket_id.into(),
            logged.uuid.as_ref().into(),
            logged.api_key_id.into(),
            logged.device.as_ref().into(),
            logged.kind.as_str().into(),
            logged.scanned_at.into(),
            logged.received_at.into(),
            logged.verdict.map(TextEnum::as_str).into(),
            logged.outcome.map(TextEnum::as_str).into(),
            logged.reason.map(Reason::as_str).into(),
            logged.is_override.into(),
            (*is_reported).into(),
        ];
        if tx.insert_row(INSERT, &binds)? {
            return Ok(());
        }
    }
    Err(Error::Unavailable(Unavailable::NoFreeId))
}

/// Stores another judgement of a row.
pub(crate) fn judge(tx: &Transaction<'_>, scan: &StoredScan) -> Result<()> {
    let LoggedScan { id, outcome, reason, .. } = &scan.logged;
    let (outcome, reason) = (outcome.map(ScanOutcome::as_str), reason.map(Reason::as_str));
    tx.execute(JUDGE, &[(*id).into(), outcome.into(), reason.into(), scan.is_reported.into()])
}

/// Writes what follows from its log to a locked ticket. `new` is the number of scans for check-in that were added to the
/// log, and `last` the time of the last one.
pub(crate) fn set_ticket(
    tx: &Transaction<'_>,
    ticket: TicketId,
    state: &TicketState,
    new: usize,
    last: Option<Timestamp>,
) -> Result<()> {
    let binds = [
        ticket.into(),
        TextEnum::as_str(state.ticket.status).into(),
        state.ticket.check_in_date.into(),
        state.checked_in_by.into(),
        state.check_out_date.into(),
        state.ticket.first_scan_date.into(),
        state.ticket.expires_at.into(),
        new.into(),
        last.into(),
        tx.now().into(),
    ];
    tx.execute(SET_TICKET, &binds)
}

/// Lists the log of an event, newest first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    request: &Checked<ListScans>,
) -> Result<Page<LoggedScan, ScanId>> {
    let since = request.since.unwrap_or(Timestamp::UNIX_EPOCH);
    let binds = [
        event.into(),
        cursor_bound(tx, &request.page, EXISTS, event.into())?,
        limit_plus_one(&request.page),
        first_of(since).into(),
        since.into(),
        organization.into(),
        request.outcome.map(TextEnum::as_str).into(),
        request.device.as_ref().into(),
    ];
    read_page(tx, RowLength::Short, LIST, &binds, &request.page, decode_logged, |scan| scan.id)
}
