//! The rows that the server itself adds to the log of an event: scans over the routes of check-in and check-out, and
//! cancellations.

use crate::error::{Reason, Result};
use crate::model::tickets::scan::{LoggedKind, ScanOutcome, Verdict};
use crate::model::tickets::ticket::TicketStatus;
use crate::model::values::id::{ApiKeyId, EventId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::store::Transaction;
use crate::store::tickets::issued_tickets::CancelledTicket;
use crate::store::tickets::scan_log::{self, LoggedTicket, StoredScan};
use crate::store::tickets::scans::ScannedTicket;

/// A scan that the server has decided on.
pub(super) struct ServerScan {
    kind: LoggedKind,
    at: Timestamp,
    api_key: Option<ApiKeyId>,
    refusal: Option<Reason>,
}

impl ServerScan {
    pub(super) fn accepted(kind: LoggedKind, at: Timestamp, api_key: Option<ApiKeyId>) -> Self {
        Self { kind, at, api_key, refusal: None }
    }

    /// A scan for check-in that was refused.
    pub(super) fn refused(at: Timestamp, api_key: Option<ApiKeyId>, reason: Reason) -> Self {
        Self { kind: LoggedKind::In, at, api_key, refusal: Some(reason) }
    }
}

/// Adds a scan of a locked ticket to the log of its event, if it has one.
pub(super) fn log(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    scanned: &ScannedTicket,
    scan: &ServerScan,
) -> Result<()> {
    if !scanned.has_log {
        return Ok(());
    }
    if let Some(base) = base(tx, scanned) {
        insert_base(tx, organization, &base)?;
    }
    let ServerScan { kind, at, api_key, refusal } = *scan;
    let ticket = LoggedTicket { id: scanned.ticket.id, event: scanned.state.event_id, api_key };
    let mut row = StoredScan::of_server(tx, &ticket, kind, at);
    let (verdict, outcome) = match (refusal, kind) {
        (Some(_), _) => (Verdict::Refused, ScanOutcome::Refused),
        (None, LoggedKind::Out) => (Verdict::Admitted, ScanOutcome::Left),
        (None, _) => (Verdict::Admitted, ScanOutcome::Admitted),
    };
    row.set_decision(at, verdict);
    row.logged.outcome = Some(outcome);
    row.logged.reason = refusal;
    row.is_reported = outcome == ScanOutcome::Admitted;
    scan_log::insert(tx, organization, &row)
}

/// The row with which the log of a ticket begins that is checked in.
pub(super) fn base(tx: &Transaction<'_>, ticket: &ScannedTicket) -> Option<StoredScan> {
    let at = ticket.state.check_in_date.filter(|_| ticket.state.status == TicketStatus::CheckedIn)?;
    let api_key = ticket.ticket.checked_in_by_id;
    let ticket = LoggedTicket { id: ticket.ticket.id, event: ticket.state.event_id, api_key };
    Some(StoredScan::of_server(tx, &ticket, LoggedKind::Base, at))
}

/// Begins the log of a ticket, unless it has one.
fn insert_base(tx: &Transaction<'_>, organization: OrganizationId, base: &StoredScan) -> Result<()> {
    let Some(ticket) = base.logged.ticket_id else { return Ok(()) };
    if scan_log::exists(tx, ticket)? { Ok(()) } else { scan_log::insert(tx, organization, base) }
}

/// Adds the cancellation of a ticket to the log of its event, if it has one.
pub(crate) fn log_cancellation(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    cancelled: &CancelledTicket,
) -> Result<()> {
    if !cancelled.has_log {
        return Ok(());
    }
    if let Some(at) = cancelled.check_in_date.filter(|_| cancelled.was_checked_in) {
        let ticket = LoggedTicket { id: cancelled.id, event, api_key: cancelled.checked_in_by };
        insert_base(tx, organization, &StoredScan::of_server(tx, &ticket, LoggedKind::Base, at))?;
    }
    let ticket = LoggedTicket { id: cancelled.id, event, api_key: None };
    scan_log::insert(tx, organization, &StoredScan::of_server(tx, &ticket, LoggedKind::Cancelled, tx.now()))
}
