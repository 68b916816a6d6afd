//! Check-in and check-out: a ticket is scanned at the entrance.
//!
//! A scan changes only its ticket, and the number of checked-in tickets of its ticket type, so it locks the ticket and
//! not the event. It decides after that, so that exactly one of several simultaneous scans succeeds.

use super::server_scans;
use crate::error::{Conflict, Error, Reason, Result};
use crate::form::request::Request;
use crate::model::sale::ticket::{CheckInTicket, IssuedTicket, TicketStatus};
use crate::model::tenants::caller::Identity;
use crate::model::tenants::idempotency::Replayable;
use crate::model::tickets::scan::LoggedKind;
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::ticket as rules;
use crate::sales::idempotent_operation::{IdempotentOperation, PriorOutcome};
use crate::store::sale::sales_figures;
use crate::store::tickets::scans::{self, LockedTicket};
use crate::store::webhooks::{outbox, subscribed_endpoints};
use crate::store::{CommitEvent, Transaction};

/// The result of a scan. A refusal is not an error: the transaction commits, because refused scans are counted too.
pub(crate) enum Scan {
    Accepted(Replayable<Box<IssuedTicket>>),
    Refused(Conflict),
}

pub(crate) fn check_in(
    tx: &Transaction<'_>,
    operation: &IdempotentOperation,
    caller: Identity,
    request: &Checked<CheckInTicket>,
) -> Result<Scan> {
    let organization = caller.organization;
    operation.lock(tx)?;
    tx.read_ahead(|| subscribed_endpoints::enabled(tx, organization));
    // With a key, it is locked after the outcome is known.
    if !operation.has_key() {
        tx.read_ahead(|| scans::find(tx, organization, request));
    }
    if let PriorOutcome::Result(ticket) = operation.prior_outcome(tx)? {
        return Ok(Scan::Accepted(Replayable::replayed(Box::new(ticket))));
    }
    let mut scanned = scans::find(tx, organization, request)?;
    let at = server_scans::time_of_scan(tx, organization, &mut scanned)?;
    let scan = match scanned.state.check_in(request.event_id, at) {
        Ok(()) => accept(tx, caller, scanned, at)?,
        Err(refusal) => refuse(tx, caller, &scanned, at, refusal)?,
    };
    if let Scan::Accepted(ticket) = &scan {
        operation.store_result(tx, &*ticket.value)?;
    }
    Ok(scan)
}

fn accept(tx: &Transaction<'_>, caller: Identity, scanned: LockedTicket, at: Timestamp) -> Result<Scan> {
    server_scans::log(tx, caller, &scanned, LoggedKind::In, at, None)?;
    let notification = scanned.checked_in(at);
    let LockedTicket { mut ticket, state, .. } = scanned;
    let expires_at = match state.first_scan_date {
        None => state.expiry_after_first_scan(at),
        Some(_) => state.expires_at,
    };
    scans::check_in(tx, ticket.id, at, caller.key, expires_at)?;
    tx.record(CommitEvent::ScanAccepted);
    outbox::enqueue(tx, caller.organization, [notification])?;
    // A ticket that admits its holder again on another day is checked in already.
    if state.status != TicketStatus::CheckedIn {
        // Last, because all scans of the ticket type wait for each other from here to the commit.
        sales_figures::inside_changed(tx, ticket.ticket_type_id, 1)?;
    }

    ticket.status = TicketStatus::CheckedIn;
    ticket.check_in_date = Some(at);
    ticket.checked_in_by_id = caller.key;
    ticket.first_scan_date = ticket.first_scan_date.or(Some(at));
    ticket.expires_at = expires_at;
    ticket.last_scan_date = Some(at);
    ticket.scan_count += 1;
    ticket.updated_at = tx.now();
    Ok(Scan::Accepted(Replayable::executed(Box::new(ticket))))
}

fn refuse(
    tx: &Transaction<'_>,
    caller: Identity,
    scanned: &LockedTicket,
    at: Timestamp,
    refusal: Conflict,
) -> Result<Scan> {
    // The log is that of the entrance of the event, and other entrances are not logged there.
    if refusal.reason != Reason::WrongEvent {
        server_scans::log(tx, caller, scanned, LoggedKind::In, at, Some(refusal.reason))?;
    }
    scans::record_refusal(tx, scanned.ticket.id, at)?;
    tx.record(CommitEvent::ScanRefused(refusal.reason));
    Ok(Scan::Refused(refusal))
}

/// Checks a ticket out, so that it can be checked in again.
pub(crate) fn check_out(
    tx: &Transaction<'_>,
    caller: Identity,
    request: &Request<CheckInTicket>,
) -> Result<IssuedTicket> {
    let organization = caller.organization;
    let request = rules::check_scan(request.body.clone(), request.errors.clone())?;
    let mut scanned = scans::find(tx, organization, &request)?;
    scanned.state.check_out(request.event_id).map_err(Error::Conflict)?;
    let at = server_scans::time_of_scan(tx, organization, &mut scanned)?;
    server_scans::log(tx, caller, &scanned, LoggedKind::Out, at, None)?;
    let mut ticket = scanned.ticket;
    scans::check_out(tx, ticket.id, at)?;
    sales_figures::inside_changed(tx, ticket.ticket_type_id, -1)?;
    ticket.status = TicketStatus::NotCheckedIn;
    ticket.check_out_date = Some(at);
    ticket.updated_at = tx.now();
    Ok(ticket)
}
