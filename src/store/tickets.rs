//! Issued tickets.

use super::lists::{can_sort, cursor_bound, limit_plus_one};
use super::order_items::StoredItem;
use super::pages::read_page;
use super::{Row, Transaction, columns, customers};
use crate::error::{Error, ResourceKind, Result};
use crate::model::customer::Customer;
use crate::model::id::{CustomerId, EventId, OrderId, OrderItemId, OrganizationId, TicketId, TicketTypeId};
use crate::model::notification::{NotificationData, TicketIssued};
use crate::model::order::OrderTicket;
use crate::model::page::Page;
use crate::model::ticket::{IssuedTicket, ListTickets, NewTicket, TicketStatus, TicketTypeOfTicket};
use crate::rules::Checked;
use crate::rules::ticket::code_from_random;
use crate::text_enum::TextEnum;

/// The columns that [`decode`] reads, in the order in which it reads them, which saves searches for their names. Others
/// may follow.
macro_rules! ticket_columns {
    () => {
        "t.order_item_id, t.ticket_type_id, t.customer_id, t.id, t.code, t.status, t.check_in_at, t.check_out_at,
        t.checked_in_by, t.first_scan_at, t.expires_at, t.last_scan_at, t.scan_count, t.created_at, t.updated_at,
        tt.name AS ticket_type_name, t.event_id, t.customer_name, c.email, c.metadata AS customer_metadata"
    };
}
pub(super) use ticket_columns;

macro_rules! select {
    ($rest:expr) => {
        concat!(
            "SELECT ",
            ticket_columns!(),
            " FROM tickets t JOIN ticket_types tt ON tt.id = t.ticket_type_id JOIN customers c ON c.id = t.customer_id WHERE ",
            $rest
        )
    };
}

/// A list that uses one index. The unary plus keeps the planner from choosing another one.
macro_rules! list {
    ($anchor:literal) => {
        list!($anchor, "t.id")
    };
    ($anchor:literal, $id:literal) => {
        select!(concat!(
            $anchor,
            " AND ",
            $id,
            " < ?2
                AND (CAST(?4 AS TEXT) IS NULL OR t.status = ?4)
                AND (CAST(?5 AS BIGINT) IS NULL OR +t.event_id = ?5)
                AND (CAST(?6 AS BIGINT) IS NULL OR +t.ticket_type_id = ?6)
                AND (CAST(?7 AS BIGINT) IS NULL OR +t.order_id = ?7)
                AND (CAST(?8 AS BIGINT) IS NULL OR +t.customer_id = ?8)
                AND (CAST(?9 AS BIGINT) IS NULL OR +t.first_scan_at >= ?9)
                AND (CAST(?10 AS BIGINT) IS NULL OR +t.first_scan_at < ?10)
            ORDER BY ",
            $id,
            " DESC LIMIT ?3"
        ))
    };
}

const INSERT: &str =
    "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, order_id, order_item_id, customer_id,
        customer_name, code, status, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'NOT_CHECKED_IN', ?10, ?10) ON CONFLICT DO NOTHING";
const BY_ID: &str = select!("t.id = ?1 AND t.organization_id = ?2");
pub(super) const BY_CODE: &str = select!("t.code = ?1 AND t.organization_id = ?2");
pub(super) const LIST: &str = list!("t.organization_id = ?1");
pub(super) const LIST_OF_EVENT: &str = list!("t.event_id = ?5 AND +t.organization_id = ?1");
pub(super) const LIST_OF_ORDER: &str = list!("t.order_id = ?7 AND +t.organization_id = ?1");
pub(super) const LIST_OF_CUSTOMER: &str = list!("t.customer_id = ?8 AND +t.organization_id = ?1");
pub(super) const LIST_CANCELLED: &str = list!("t.organization_id = ?1 AND t.status = 'CANCELLED'");
pub(super) const LIST_CANCELLED_OF_EVENT: &str =
    list!("t.event_id = ?5 AND t.status = 'CANCELLED' AND +t.organization_id = ?1");
pub(super) const LIST_CHECKED_IN_OF_EVENT: &str =
    list!("t.event_id = ?5 AND t.status = 'CHECKED_IN' AND +t.organization_id = ?1");
/// Sorts the tickets of the requested time by id.
pub(super) const LIST_BY_FIRST_SCAN: &str = list!(
    "t.organization_id = ?1 AND t.first_scan_at >= COALESCE(CAST(?9 AS BIGINT), 0)
        AND t.first_scan_at < COALESCE(CAST(?10 AS BIGINT), 9223372036854775807)",
    "+t.id"
);
pub(super) const NTH_FIRST_SCAN: &str = "SELECT 1 FROM tickets
    WHERE organization_id = ?1 AND first_scan_at >= ?2 AND first_scan_at < ?3 LIMIT 1 OFFSET ?4";
const EXISTS: &str = "SELECT 1 FROM tickets WHERE id = ?1 AND organization_id = ?2";
pub(super) const OF_ORDER: &str =
    "SELECT id, order_item_id, code, status, ticket_type_id FROM tickets WHERE order_id = ?1 ORDER BY id";
// RETURNING has only new values, so the old status is kept in a column.
const CANCEL: &str = "UPDATE tickets SET status = 'CANCELLED', updated_at = ?3,
        was_checked_in = CASE WHEN status = 'CHECKED_IN' THEN 1 ELSE 0 END
    WHERE id = ?1 AND organization_id = ?2 AND status <> 'CANCELLED'
    RETURNING id, ticket_type_id, order_id, was_checked_in";
pub(super) const CANCEL_OF_ORDER: &str = "UPDATE tickets SET status = 'CANCELLED', updated_at = ?2,
        was_checked_in = CASE WHEN status = 'CHECKED_IN' THEN 1 ELSE 0 END
    WHERE order_id = ?1 AND status <> 'CANCELLED' RETURNING id, ticket_type_id, order_id, was_checked_in";

pub(super) fn decode(row: &Row<'_>) -> Result<IssuedTicket> {
    let order_item_id: Option<OrderItemId> = row.get("order_item_id")?;
    let ticket_type_id = row.get("ticket_type_id")?;
    let customer_id = row.get("customer_id")?;
    Ok(IssuedTicket {
        id: row.get("id")?,
        ticket_type_id,
        order_item_id,
        customer_id: Some(customer_id),
        code: row.get("code")?,
        download_ticket_url: None,
        status: row.text_enum("status")?,
        check_in_date: row.get("check_in_at")?,
        check_out_date: row.get("check_out_at")?,
        checked_in_by_id: row.get("checked_in_by")?,
        is_internal: order_item_id.is_none(),
        internal_allocation_id: None,
        ticket_label: None,
        first_scan_date: row.get("first_scan_at")?,
        expires_at: row.get("expires_at")?,
        last_scan_date: row.get("last_scan_at")?,
        scan_count: row.get("scan_count")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        ticket_type: TicketTypeOfTicket {
            id: ticket_type_id,
            name: row.get("ticket_type_name")?,
            event_id: row.get("event_id")?,
        },
        customer: Some(Customer {
            id: customer_id,
            name: row.get("customer_name")?,
            email: row.get("email")?,
            metadata: columns::read(row, "customer_metadata")?,
        }),
    })
}

/// The holder of new tickets.
pub(crate) struct TicketHolder<'a> {
    pub(crate) organization: OrganizationId,
    pub(crate) event: EventId,
    pub(crate) customer: CustomerId,
    pub(crate) customer_name: &'a str,
}

/// Issues one ticket under a new id and a new random code. If either is taken, others are drawn. The seat of the ticket
/// must be sold already.
pub(crate) fn issue(
    tx: &Transaction<'_>,
    holder: &TicketHolder<'_>,
    ticket_type: TicketTypeId,
    item: Option<&StoredItem>,
) -> Result<NewTicket> {
    tx.debug_assert_event_locked();
    for _ in 0..16 {
        let code = code_from_random(tx.environment().random());
        let id = tx.new_id();
        let binds = [
            id.into(),
            holder.organization.into(),
            holder.event.into(),
            ticket_type.into(),
            item.map(|item| item.order_id).into(),
            item.map(|item| item.id).into(),
            holder.customer.into(),
            holder.customer_name.into(),
            (&code).into(),
            tx.now().into(),
        ];
        if tx.execute(INSERT, &binds)? == 1 {
            return Ok(NewTicket { id, code });
        }
    }
    Err(Error::Unavailable("no free ticket code was found"))
}

/// Issues the tickets of an item of a completed order.
pub(crate) fn issue_for_item(
    tx: &Transaction<'_>,
    holder: &TicketHolder<'_>,
    item: StoredItem,
) -> Result<Vec<OrderTicket>> {
    let mut issued = Vec::new();
    for _ in 0..item.price.quantity {
        let NewTicket { id, code } = issue(tx, holder, item.ticket_type_id, Some(&item))?;
        let status = TicketStatus::NotCheckedIn;
        issued.push(OrderTicket { id, code, status, ticket_type_id: item.ticket_type_id });
    }
    Ok(issued)
}

/// Returns the notification about a ticket that was issued for an order.
pub(crate) fn issued_notification(ticket: &OrderTicket, event: EventId, order: OrderId) -> NotificationData {
    NotificationData::TicketIssued(TicketIssued {
        issued_ticket_id: ticket.id,
        ticket_type_id: ticket.ticket_type_id,
        event_id: event,
        order_id: Some(order),
    })
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: TicketId) -> Result<IssuedTicket> {
    tx.query_opt(BY_ID, &[id.into(), organization.into()], decode)?.ok_or(Error::NotFound(ResourceKind::Ticket))
}

pub(crate) fn get_by_code(tx: &Transaction<'_>, organization: OrganizationId, code: &str) -> Result<IssuedTicket> {
    tx.query_opt(BY_CODE, &[code.into(), organization.into()], decode)?.ok_or(Error::NotFound(ResourceKind::Ticket))
}

/// Returns the tickets of an order, each with the id of its item.
pub(super) fn of_order(tx: &Transaction<'_>, order: OrderId) -> Result<Vec<(OrderItemId, OrderTicket)>> {
    tx.query_all(OF_ORDER, &[order.into()], |row| {
        let ticket = OrderTicket {
            id: row.get("id")?,
            code: row.get("code")?,
            status: row.text_enum("status")?,
            ticket_type_id: row.get("ticket_type_id")?,
        };
        Ok((row.get("order_item_id")?, ticket))
    })
}

pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListTickets>,
) -> Result<Page<IssuedTicket, TicketId>> {
    let cursor = cursor_bound(tx, &request.page, EXISTS, organization.into())?;
    let customer = match &request.customer_email {
        None => None,
        Some(email) => match customers::find(tx, organization, email)? {
            None => return Ok(Page { data: Vec::new(), next_cursor: None }),
            found => found,
        },
    };
    // The tickets of a type are listed by the index of its event. If the type does not exist, there are no tickets.
    let event = match (request.event_id, request.ticket_type_id) {
        (None, Some(ticket_type)) => match super::ticket_types::find_name(tx, organization, ticket_type)? {
            None => return Ok(Page { data: Vec::new(), next_cursor: None }),
            Some(ticket_type) => Some(ticket_type.event_id),
        },
        (event, _) => event,
    };
    let (from, before) = (request.first_scan_from, request.first_scan_before);
    let sql = match (request.order_id, customer, event, request.status) {
        (Some(_), ..) => LIST_OF_ORDER,
        (None, Some(_), ..) => LIST_OF_CUSTOMER,
        (None, None, Some(_), Some(TicketStatus::Cancelled)) => LIST_CANCELLED_OF_EVENT,
        (None, None, None, Some(TicketStatus::Cancelled)) => LIST_CANCELLED,
        _ if can_sort(tx, NTH_FIRST_SCAN, organization.into(), from, before)? => LIST_BY_FIRST_SCAN,
        (None, None, Some(_), Some(TicketStatus::CheckedIn)) => LIST_CHECKED_IN_OF_EVENT,
        (None, None, Some(_), _) => LIST_OF_EVENT,
        (None, None, None, _) => LIST,
    };
    let binds = [
        organization.into(),
        cursor,
        limit_plus_one(&request.page),
        request.status.map(TextEnum::as_str).into(),
        event.into(),
        request.ticket_type_id.into(),
        request.order_id.into(),
        customer.into(),
        request.first_scan_from.into(),
        request.first_scan_before.into(),
    ];
    read_page(tx, sql, &binds, &request.page, decode, |ticket| ticket.id)
}

/// Cancels a ticket, and returns it. Returns `None` if it was cancelled already.
pub(crate) fn cancel(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: TicketId,
) -> Result<Option<CancelledTicket>> {
    tx.debug_assert_event_locked();
    tx.query_opt(CANCEL, &[id.into(), organization.into(), tx.now().into()], decode_cancelled)
}

/// A ticket that was cancelled.
pub(crate) struct CancelledTicket {
    pub(crate) id: TicketId,
    pub(crate) ticket_type: TicketTypeId,
    pub(crate) order: Option<OrderId>,
    /// Whether it was checked in until then.
    pub(crate) was_checked_in: bool,
}

fn decode_cancelled(row: &Row<'_>) -> Result<CancelledTicket> {
    Ok(CancelledTicket {
        id: row.get("id")?,
        ticket_type: row.get("ticket_type_id")?,
        order: row.get("order_id")?,
        was_checked_in: row.get("was_checked_in")?,
    })
}

/// Cancels the order's remaining valid tickets, and returns them.
pub(crate) fn cancel_of_order(tx: &Transaction<'_>, order: OrderId) -> Result<Vec<CancelledTicket>> {
    tx.debug_assert_event_locked();
    tx.query_all(CANCEL_OF_ORDER, &[order.into(), tx.now().into()], decode_cancelled)
}
