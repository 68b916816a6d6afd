//! The rows that the server itself adds to the log of an event: scans over the routes of check-in and check-out, and
//! cancellations. They come after all other rows of the ticket, because they are decided on now.

use std::time::Duration;

use crate::error::{Reason, Result};
use crate::model::sale::ticket::TicketStatus;
use crate::model::tenants::caller::Identity;
use crate::model::tickets::scan::{LoggedKind, LoggedScan, ScanOutcome, Verdict};
use crate::model::values::id::{EventId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::store::Transaction;
use crate::store::tickets::issued_tickets::CancelledTicket;
use crate::store::tickets::scan_log::{self, StoredScan};
use crate::store::tickets::scans::LockedTicket;

/// The time of a scan of a locked ticket that is decided on now. Begins the log of the ticket, if its event has one.
pub(super) fn time_of_scan(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    scanned: &mut LockedTicket,
) -> Result<Timestamp> {
    if !scanned.is_logged {
        return Ok(tx.now());
    }
    let end = scan_log::end(tx, scanned.ticket.id)?;
    scanned.is_logged = !end.is_full;
    begin(tx, organization, end.last, base(tx, scanned))
}

/// Begins the log of a ticket with this row, if it has none. `last` is the time of its last row. Returns the time of the
/// next.
fn begin(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    last: Option<Timestamp>,
    base: Option<StoredScan>,
) -> Result<Timestamp> {
    let last = match (last, base) {
        (None, Some(base)) => {
            scan_log::insert(tx, organization, &base)?;
            Some(base.logged.scanned_at)
        }
        (last, _) => last,
    };
    Ok(next_after(tx, last))
}

/// The time of a row that is made now, after the last one.
pub(super) fn next_after(tx: &Transaction<'_>, last: Option<Timestamp>) -> Timestamp {
    last.map_or(tx.now(), |last| tx.now().max(last.saturating_add(Duration::from_millis(1))))
}

/// Adds a scan to the log of its event, if it is logged. `refusal` is why it was refused.
pub(super) fn log(
    tx: &Transaction<'_>,
    caller: Identity,
    scanned: &LockedTicket,
    kind: LoggedKind,
    at: Timestamp,
    refusal: Option<Reason>,
) -> Result<()> {
    if !scanned.is_logged {
        return Ok(());
    }
    let (verdict, outcome) = match (refusal, kind) {
        (Some(_), _) => (Verdict::Refused, ScanOutcome::Refused),
        (None, LoggedKind::Out) => (Verdict::Admitted, ScanOutcome::Left),
        (None, _) => (Verdict::Admitted, ScanOutcome::Admitted),
    };
    let row = LoggedScan::new(scanned.state.event_id, Some(scanned.ticket.id), kind, at, tx.now());
    let decision = LoggedScan { verdict: Some(verdict), outcome: Some(outcome), reason: refusal, ..row };
    let logged = LoggedScan { api_key_id: caller.key, ..decision };
    let is_reported = outcome == ScanOutcome::Admitted;
    scan_log::insert(tx, caller.organization, &StoredScan { is_reported, ..logged.into() })
}

/// The row with which the log of a ticket begins that is checked in.
pub(super) fn base(tx: &Transaction<'_>, ticket: &LockedTicket) -> Option<StoredScan> {
    let at = ticket.state.check_in_date.filter(|_| ticket.state.status == TicketStatus::CheckedIn)?;
    let row = LoggedScan::new(ticket.state.event_id, Some(ticket.ticket.id), LoggedKind::Base, at, tx.now());
    Some(LoggedScan { api_key_id: ticket.ticket.checked_in_by_id, ..row }.into())
}

/// Adds the cancellation of a ticket to the log of its event, if it has one.
pub(super) fn log_cancellation(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    cancelled: &CancelledTicket,
) -> Result<()> {
    if !cancelled.has_log {
        return Ok(());
    }
    let row = |kind, at, api_key_id| {
        StoredScan::from(LoggedScan { api_key_id, ..LoggedScan::new(event, Some(cancelled.id), kind, at, tx.now()) })
    };
    let check_in = cancelled.check_in_date.filter(|_| cancelled.was_checked_in);
    let base = check_in.map(|at| row(LoggedKind::Base, at, cancelled.checked_in_by));
    let at = begin(tx, organization, scan_log::end(tx, cancelled.id)?.last, base)?;
    scan_log::insert(tx, organization, &row(LoggedKind::Cancelled, at, None))
}
