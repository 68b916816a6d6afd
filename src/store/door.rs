//! Scans at the door.

use super::tickets::{decode, ticket_columns};
use super::{Counted, Row, Transaction, outbox, ticket_types};
use crate::error::{Conflict, Error, Reason, Result};
use crate::model::id::{ApiKeyId, OrderId, OrganizationId, TicketId};
use crate::model::notification::{NotificationData, TicketCheckedIn};
use crate::model::ticket::{CheckInTicket, IssuedTicket, TicketStatus};
use crate::rules::Checked;
use crate::rules::admission::Scanned;
use crate::rules::calendar::Zone;

pub(super) const BY_CODE: &str = concat!(
    "SELECT ",
    ticket_columns!(),
    ", e.status, e.timezone, tt.valid_from, tt.valid_until, tt.allowed_dates, tt.validity_days, tt.validity_hours,
    tt.id, e.id, t.order_id
    FROM tickets t JOIN ticket_types tt ON tt.id = t.ticket_type_id JOIN customers c ON c.id = t.customer_id
        JOIN events e ON e.id = t.event_id
    WHERE t.code = ?1 AND t.organization_id = ?2"
);
const REFUSED: &str =
    "UPDATE tickets SET scan_count = scan_count + 1, last_scan_at = ?2, updated_at = ?2 WHERE id = ?1";
// The condition is what keeps a second scan out: the ticket must stand as the decision saw it.
const CHECK_IN: &str = "UPDATE tickets SET status = 'CHECKED_IN', check_in_at = ?2, checked_in_by = ?3,
        first_scan_at = COALESCE(first_scan_at, ?2), expires_at = ?4, last_scan_at = ?2, scan_count = scan_count + 1,
        updated_at = ?2
    WHERE id = ?1 AND (status = 'NOT_CHECKED_IN' OR status = 'CHECKED_IN' AND check_in_at = ?5)";
const CHECK_OUT: &str = "UPDATE tickets SET status = 'NOT_CHECKED_IN', check_out_at = ?2, updated_at = ?2
    WHERE id = ?1 AND status = 'CHECKED_IN'";

/// A ticket, what decides about it, and its order.
type Found = (IssuedTicket, Scanned, Option<OrderId>);

fn decode_scanned(row: &Row<'_>) -> Result<Found> {
    let ticket = decode(row)?;
    let zone = Zone::stored(&row.get::<String>(20)?).map_err(|_| row.corrupt(20, "is no known time zone"))?;
    let scanned = Scanned {
        event_id: ticket.ticket.event_id,
        event_status: row.text_enum(19)?,
        zone,
        status: ticket.status,
        check_in_date: ticket.check_in_date,
        first_scan_date: ticket.first_scan_date,
        expires_at: ticket.expires_at,
        valid_from: row.get(21)?,
        valid_until: row.get(22)?,
        allowed_dates: ticket_types::instants(row, 23)?,
        validity_days: row.get(24)?,
        validity_hours: row.get(25)?,
    };
    Ok((ticket, scanned, row.get(28)?))
}

fn find(tx: &Transaction<'_>, organization: OrganizationId, scan: &CheckInTicket) -> Result<Found> {
    let found = tx.one(BY_CODE, &[(&scan.code).into(), organization.into()], decode_scanned)?;
    found.ok_or(Error::NotFound("ticket"))
}

/// Decides a scan and counts it. A refusal is a result like any other: its count must stay.
pub(crate) fn check_in(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    scan: &Checked<CheckInTicket>,
    key: Option<ApiKeyId>,
) -> Result<Result<IssuedTicket, Conflict>> {
    let now = tx.now();
    let (mut ticket, scanned, order_id) = find(tx, organization, scan)?;
    if let Err(refusal) = scanned.check_in(scan.event_id, now) {
        return refuse(tx, ticket.id, refusal).map(Err);
    }
    let expires_at = match scanned.first_scan_date {
        None => scanned.expiry_after_first_scan(now),
        Some(_) => scanned.expires_at,
    };
    let binds = [ticket.id.into(), now.into(), key.into(), expires_at.into(), scanned.check_in_date.into()];
    if tx.execute(CHECK_IN, &binds)? == 0 {
        let detail = "the ticket is checked in already".to_owned();
        return refuse(tx, ticket.id, Conflict { reason: Reason::AlreadyCheckedIn, detail }).map(Err);
    }
    tx.count(Counted::ScanAccepted);
    let admitted = NotificationData::TicketCheckedIn(TicketCheckedIn {
        issued_ticket_id: ticket.id,
        ticket_type_id: ticket.ticket_type_id,
        event_id: scanned.event_id,
        order_id,
        check_in_date: now,
    });
    outbox::report(tx, organization, [admitted])?;
    let record = &mut ticket.record;
    record.status = TicketStatus::CheckedIn;
    record.check_in_date = Some(now);
    record.checked_in_by_id = key;
    record.first_scan_date = record.first_scan_date.or(Some(now));
    record.expires_at = expires_at;
    record.last_scan_date = Some(now);
    record.scan_count += 1;
    record.updated_at = now;
    Ok(Ok(ticket))
}

/// Counts a scan that lets nobody in.
fn refuse(tx: &Transaction<'_>, ticket: TicketId, refusal: Conflict) -> Result<Conflict> {
    tx.execute(REFUSED, &[ticket.into(), tx.now().into()])?;
    tx.count(Counted::ScanRefused(refusal.reason));
    Ok(refusal)
}

/// Lets a ticket's holder out.
pub(crate) fn check_out(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    scan: &Checked<CheckInTicket>,
) -> Result<IssuedTicket> {
    let now = tx.now();
    let (mut ticket, scanned, _) = find(tx, organization, scan)?;
    scanned.check_out(scan.event_id).map_err(Error::Conflict)?;
    if tx.execute(CHECK_OUT, &[ticket.id.into(), now.into()])? == 0 {
        return Err(Error::conflict(Reason::NotCheckedIn, "the ticket is not checked in"));
    }
    ticket.record.status = TicketStatus::NotCheckedIn;
    ticket.record.check_out_date = Some(now);
    ticket.record.updated_at = now;
    Ok(ticket)
}
