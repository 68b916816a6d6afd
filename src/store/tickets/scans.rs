//! The statements of check-in and check-out.

use super::issued_tickets::{decode, ticket_columns};
use super::ticket_codes;
use crate::error::{Error, ResourceKind, Result};
use crate::model::notifications::notification_data::TicketCheckedIn;
use crate::model::notifications::notification_types::NotificationData;
use crate::model::sale::ticket::{CheckInTicket, IssuedTicket};
use crate::model::values::id::{ApiKeyId, OrderId, OrganizationId, TicketId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::entrance::admission::Scanned;
use crate::rules::entrance::scan_log::TicketState;
use crate::rules::ticket::is_code;
use crate::store::sale::events;
use crate::store::{Query, Row, RowLock, Transaction};

// The keys of the joined rows are selected so that an error about one of their values can name the row.
macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT ",
            ticket_columns!(),
            ", e.status AS event_status, e.timezone, e.day_starts_at, e.has_scan_log, e.cancelled_at, tt.valid_from, tt.valid_until,
            tt.allowed_dates, tt.validity_days, tt.validity_hours, t.order_id, tt.id AS key_of_ticket_type,
            e.id AS key_of_event
            FROM tickets t JOIN ticket_types tt ON tt.id = t.ticket_type_id LEFT JOIN customers c ON c.id = t.customer_id
                JOIN events e ON e.id = t.event_id
            WHERE ",
            $condition,
            " AND t.organization_id = ?2"
        )
    };
}

pub(in crate::store) const BY_CODE: &str = select!("t.code = ?1");
const BY_ID: &str = select!("t.id = ?1");
const REFUSED: &str =
    "UPDATE tickets SET scan_count = scan_count + 1, last_scan_at = ?2, updated_at = ?3 WHERE id = ?1";
const CHECK_IN: &str = "UPDATE tickets SET status = 'CHECKED_IN', check_in_at = ?2, checked_in_by = ?3,
        first_scan_at = COALESCE(first_scan_at, ?2), expires_at = ?4, last_scan_at = ?2, scan_count = scan_count + 1,
        updated_at = ?5 WHERE id = ?1";
const CHECK_OUT: &str =
    "UPDATE tickets SET status = 'NOT_CHECKED_IN', check_out_at = ?2, updated_at = ?3 WHERE id = ?1";

/// A ticket that is locked, its order, and everything that decides whether it admits its holder.
pub(crate) struct LockedTicket {
    pub(crate) ticket: IssuedTicket,
    pub(crate) order_id: Option<OrderId>,
    pub(crate) state: Scanned,
    /// Whether a scan is logged: the event has a log, and that of the ticket is not known to be full.
    pub(crate) is_logged: bool,
    event_cancelled_at: Option<Timestamp>,
}

impl LockedTicket {
    /// What scans have changed of the ticket, for its log.
    pub(crate) fn present(&self) -> TicketState {
        TicketState {
            ticket: self.state.clone(),
            checked_in_by: self.ticket.checked_in_by_id,
            check_out_date: self.ticket.check_out_date,
            event_status: self.state.event_status,
            event_cancelled_at: self.event_cancelled_at,
            stored_expiry: None,
        }
    }

    /// What is reported when it is checked in.
    pub(crate) fn checked_in(&self, at: Timestamp) -> NotificationData {
        NotificationData::TicketCheckedIn(TicketCheckedIn {
            issued_ticket_id: self.ticket.id,
            ticket_type_id: self.ticket.ticket_type_id,
            event_id: self.state.event_id,
            order_id: self.order_id,
            check_in_date: at,
        })
    }
}

fn decode_scanned(tx: &Transaction<'_>, row: &Row<'_>) -> Result<LockedTicket> {
    let ticket = decode(tx, row)?;
    let days = events::days(row)?;
    let state = Scanned {
        event_id: ticket.ticket_type.event_id,
        event_status: row.get("event_status")?,
        days,
        status: ticket.status,
        check_in_date: ticket.check_in_date,
        first_scan_date: ticket.first_scan_date,
        expires_at: ticket.expires_at,
        valid_from: row.get("valid_from")?,
        valid_until: row.get("valid_until")?,
        allowed_days: row.get::<Vec<Timestamp>>("allowed_dates")?.into_iter().map(|at| days.day(at)).collect(),
        validity_days: row.get("validity_days")?,
        validity_hours: row.get("validity_hours")?,
    };
    Ok(LockedTicket {
        ticket,
        order_id: row.get("order_id")?,
        state,
        is_logged: row.get("has_scan_log")?,
        event_cancelled_at: row.get("cancelled_at")?,
    })
}

/// Loads the ticket with the scanned code, and locks it.
pub(crate) fn find(tx: &Transaction<'_>, organization: OrganizationId, scan: &CheckInTicket) -> Result<LockedTicket> {
    if !is_code(&scan.code) {
        let ticket = ticket_codes::find(tx, organization, &scan.code, scan.event_id)?;
        let found = ticket.map(|id| find_by_id(tx, organization, id)).transpose()?.flatten();
        return found.ok_or(Error::NotFound(ResourceKind::Ticket));
    }
    let binds = [(&scan.code).into(), organization.into()];
    let found = tx.query_opt(Query::locking(RowLock::Change("t"), BY_CODE), &binds, |row| decode_scanned(tx, row))?;
    found.ok_or(Error::NotFound(ResourceKind::Ticket))
}

/// Loads the ticket with this id, and locks it.
pub(crate) fn find_by_id(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    ticket: TicketId,
) -> Result<Option<LockedTicket>> {
    let binds = [ticket.into(), organization.into()];
    tx.query_opt(Query::locking(RowLock::Change("t"), BY_ID), &binds, |row| decode_scanned(tx, row))
}

pub(crate) fn record_refusal(tx: &Transaction<'_>, ticket: TicketId, at: Timestamp) -> Result<()> {
    tx.execute(REFUSED, &[ticket.into(), at.into(), tx.now().into()])
}

/// Checks a locked ticket in.
pub(crate) fn check_in(
    tx: &Transaction<'_>,
    ticket: TicketId,
    at: Timestamp,
    checked_in_by: Option<ApiKeyId>,
    expires_at: Option<Timestamp>,
) -> Result<()> {
    let binds = [ticket.into(), at.into(), checked_in_by.into(), expires_at.into(), tx.now().into()];
    tx.execute(CHECK_IN, &binds)
}

/// Checks a locked ticket out.
pub(crate) fn check_out(tx: &Transaction<'_>, ticket: TicketId, at: Timestamp) -> Result<()> {
    tx.execute(CHECK_OUT, &[ticket.into(), at.into(), tx.now().into()])
}
