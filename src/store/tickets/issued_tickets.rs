//! Issued tickets. Lists are in `ticket_lists`.

use std::sync::LazyLock;

use super::allocations::StoredAllocation;
use super::ticket_codes;
use crate::error::{Error, ResourceKind, Result, Unavailable};
use crate::model::sale::customer::Customer;
use crate::model::sale::order::OrderTicket;
use crate::model::sale::ticket::{FindTicket, IssuedTicket, NewTicket, TicketStatus, TicketTypeOfTicket};
use crate::model::values::id::{
    AllocationId, ApiKeyId, CustomerId, EventId, OrderId, OrderItemId, OrganizationId, TicketId, TicketTypeId,
};
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::ticket::{code_from_random, is_code};
use crate::store::columns::row_struct;
use crate::store::link_urls;
use crate::store::lists::list_query::ListQuery;
use crate::store::sale::order_items::StoredItem;
use crate::store::{LockedEvent, Query, Row, Transaction};

/// The columns that [`decode`] reads, in the order in which it reads them, which saves searches for their names. Others
/// may follow.
macro_rules! ticket_columns {
    () => {
        "t.order_item_id, t.ticket_type_id, t.customer_id, t.id, t.code, t.imported_code, t.status, t.check_in_at, t.check_out_at,
        t.checked_in_by, t.first_scan_at, t.expires_at, t.last_scan_at, t.scan_count, t.created_at, t.updated_at,
        tt.name AS ticket_type_name, t.event_id, t.allocation_id, t.label, t.customer_name, c.email, c.metadata AS customer_metadata,
        t.link_version"
    };
}
pub(in crate::store) use ticket_columns;

macro_rules! select {
    ($rest:expr) => {
        concat!(
            "SELECT ",
            ticket_columns!(),
            " FROM tickets t JOIN ticket_types tt ON tt.id = t.ticket_type_id LEFT JOIN customers c ON c.id = t.customer_id
            WHERE ",
            $rest
        )
    };
}

pub(in crate::store) const INSERT: &str =
    "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, order_id, order_item_id, customer_id,
        customer_name, locale, code, status, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'NOT_CHECKED_IN', ?11, ?11) ON CONFLICT DO NOTHING";
const INSERT_SET_ASIDE: &str =
    "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, code, status, created_at,
        updated_at, allocation_id, label)
    VALUES (?1, ?2, ?3, ?4, ?5, 'NOT_CHECKED_IN', ?6, ?6, ?7, ?8) ON CONFLICT DO NOTHING";
pub(in crate::store) const ALL: &str = select!("t.organization_id = ?1 AND t.id < ?2 ORDER BY t.id DESC LIMIT ?3");
pub(in crate::store) static PAGE: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::new(select!("t.id"), "ORDER BY t.id DESC"));
const BY_ID: &str = select!("t.id = ?1 AND t.organization_id = ?2");
#[cfg(feature = "documents")]
pub(in crate::store) const WHOLE_OF_ORDER: &str = select!("t.order_id = ?1 AND t.organization_id = ?2 ORDER BY t.id");
pub(in crate::store) const BY_CODE: &str = select!("t.code = ?1 AND t.organization_id = ?2");
pub(in crate::store) const OF_ORDER: &str =
    "SELECT id, order_item_id, code, status, ticket_type_id FROM tickets WHERE order_id = ?1 ORDER BY id";
// RETURNING has only new values, so the old status is kept in a column.
const CANCEL: &str = "UPDATE tickets SET status = 'CANCELLED', cancelled_at = ?3, updated_at = ?3,
        was_checked_in = CASE WHEN status = 'CHECKED_IN' THEN 1 ELSE 0 END
    WHERE id = ?1 AND organization_id = ?2 AND status <> 'CANCELLED'
    RETURNING id, ticket_type_id, order_id, customer_id, imported_code, was_checked_in, check_in_at, checked_in_by,
        (SELECT e.has_scan_log FROM events e WHERE e.id = tickets.event_id) AS has_scan_log";
// A ticket that was scanned in the meantime stays.
pub(in crate::store) const CANCEL_UNSEEN: &str =
    "UPDATE tickets SET status = 'CANCELLED', cancelled_at = ?5, updated_at = ?5, was_checked_in = 0
    WHERE id IN (SELECT s.id FROM tickets s WHERE s.allocation_id = ?1 AND s.status = 'NOT_CHECKED_IN' AND s.id > ?2
            AND s.id <= ?3)
        AND allocation_id = ?1 AND organization_id = ?4 AND status = 'NOT_CHECKED_IN' AND first_scan_at IS NULL
    RETURNING id, ticket_type_id, order_id, customer_id, imported_code, was_checked_in, check_in_at, checked_in_by,
        (SELECT e.has_scan_log FROM events e WHERE e.id = tickets.event_id) AS has_scan_log";
/// The ids of the next tickets of an allocation that are outside.
pub(in crate::store) const OUTSIDE: &str = "SELECT id FROM tickets
    WHERE allocation_id = ?1 AND status = 'NOT_CHECKED_IN' AND id > ?2 ORDER BY id LIMIT ?3";
#[cfg(feature = "documents")]
pub(in crate::store) const IDS_OF_ALLOCATION: &str =
    "SELECT id FROM tickets WHERE allocation_id = ?1 ORDER BY id LIMIT ?2 OFFSET ?3";
const ASSIGN: &str = "UPDATE tickets SET customer_id = ?3, customer_name = ?4, locale = ?5, updated_at = ?6
    WHERE id = ?1 AND organization_id = ?2 AND first_scan_at IS NULL";
pub(in crate::store) const CANCEL_OF_ORDER: &str =
    "UPDATE tickets SET status = 'CANCELLED', cancelled_at = ?2, updated_at = ?2,
        was_checked_in = CASE WHEN status = 'CHECKED_IN' THEN 1 ELSE 0 END
    WHERE order_id = ?1 AND status <> 'CANCELLED'
    RETURNING id, ticket_type_id, order_id, customer_id, imported_code, was_checked_in, check_in_at, checked_in_by,
        (SELECT e.has_scan_log FROM events e WHERE e.id = tickets.event_id) AS has_scan_log";

pub(in crate::store) fn decode(tx: &Transaction<'_>, row: &Row<'_>) -> Result<IssuedTicket> {
    let order_item_id: Option<OrderItemId> = row.get("order_item_id")?;
    let ticket_type_id = row.get("ticket_type_id")?;
    let customer_id: Option<CustomerId> = row.get("customer_id")?;
    let id = row.get("id")?;
    let (code, is_imported) = code(row)?;
    Ok(IssuedTicket {
        id,
        ticket_type_id,
        order_item_id,
        customer_id,
        code,
        status: row.get("status")?,
        check_in_date: row.get("check_in_at")?,
        check_out_date: row.get("check_out_at")?,
        checked_in_by_id: row.get("checked_in_by")?,
        is_internal: order_item_id.is_none(),
        internal_allocation_id: row.get("allocation_id")?,
        ticket_label: row.get("label")?,
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
        customer: match customer_id {
            None => None,
            Some(id) => Some(Customer {
                id,
                name: row.get("customer_name")?,
                email: row.get("email")?,
                metadata: row.get("customer_metadata")?,
            }),
        },
        download_ticket_url: if is_imported { None } else { link_urls::of_ticket(tx, row, id)? },
    })
}

/// Reads the code of a ticket, and whether it is that of another seller.
pub(in crate::store) fn code(row: &Row<'_>) -> Result<(String, bool)> {
    // Most tickets have a code of ours.
    match row.get("code")? {
        Some(own) => Ok((own, false)),
        None => Ok((row.get("imported_code")?, true)),
    }
}

pub(crate) struct TicketHolder<'a> {
    pub(crate) organization: OrganizationId,
    pub(crate) event: EventId,
    pub(crate) customer: CustomerId,
    pub(crate) customer_name: &'a str,
    /// Only of tickets without an order: the others have the language of their order.
    pub(crate) locale: Option<&'a str>,
}

/// Issues one ticket under a new id and a new random code. If either is taken, others are drawn. The seat of the ticket
/// must be sold already.
pub(crate) fn issue(
    tx: &LockedEvent<'_>,
    holder: &TicketHolder<'_>,
    ticket_type: TicketTypeId,
    item: Option<&StoredItem>,
) -> Result<NewTicket> {
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
            holder.locale.into(),
            (&code).into(),
            tx.now().into(),
        ];
        if tx.insert_row(INSERT, &binds)? {
            return Ok(NewTicket { id, code });
        }
    }
    Err(Error::Unavailable(Unavailable::NoFreeId))
}

/// Issues the next ticket of an allocation, without a customer. The seat of the ticket must be sold already.
pub(crate) fn issue_set_aside(tx: &LockedEvent<'_>, allocation: &StoredAllocation, label: &str) -> Result<TicketId> {
    for _ in 0..16 {
        let code = code_from_random(tx.environment().random());
        let id = tx.new_id();
        let binds = [
            id.into(),
            allocation.organization.into(),
            allocation.event.into(),
            allocation.ticket_type.into(),
            (&code).into(),
            tx.now().into(),
            allocation.id.into(),
            label.into(),
        ];
        if tx.insert_row(INSERT_SET_ASIDE, &binds)? {
            return Ok(id);
        }
    }
    Err(Error::Unavailable(Unavailable::NoFreeId))
}

/// Issues the tickets of an item of a completed order.
pub(crate) fn issue_for_item(
    tx: &LockedEvent<'_>,
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

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: TicketId) -> Result<IssuedTicket> {
    tx.query_opt(BY_ID, &[id.into(), organization.into()], |row| decode(tx, row))?
        .ok_or(Error::NotFound(ResourceKind::Ticket))
}

pub(crate) fn get_by_code(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<FindTicket>,
) -> Result<IssuedTicket> {
    let found = match is_code(&request.code) {
        true => tx.query_opt(BY_CODE, &[(&request.code).into(), organization.into()], |row| decode(tx, row))?,
        false => ticket_codes::find(tx, organization, &request.code, request.event_id)?
            .map(|id| get(tx, organization, id))
            .transpose()?,
    };
    let is_of_event = |ticket: &IssuedTicket| request.event_id.is_none_or(|event| ticket.ticket_type.event_id == event);
    found.filter(is_of_event).ok_or(Error::NotFound(ResourceKind::Ticket))
}

/// Returns all tickets of an order with their holders, in the order in which they were issued.
#[cfg(feature = "documents")]
pub(crate) fn of_order_with_holders(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
) -> Result<Vec<IssuedTicket>> {
    tx.query_all(WHOLE_OF_ORDER, &[order.into(), organization.into()], |row| decode(tx, row))
}

/// Returns some tickets with their holders, in the order of the ids.
#[cfg(feature = "documents")]
pub(crate) fn of_ids(tx: &Transaction<'_>, ids: &[TicketId]) -> Result<Vec<IssuedTicket>> {
    let mut found = crate::store::lists::list_query::children(tx, &PAGE, ids, ids.len(), |row| decode(tx, row))?;
    found.sort_by_key(|ticket| ids.iter().position(|id| *id == ticket.id));
    Ok(found)
}

/// Returns the tickets of an order, each with the id of its item, in the order in which they were issued.
pub(crate) fn of_order(tx: &Transaction<'_>, order: OrderId) -> Result<Vec<(OrderItemId, OrderTicket)>> {
    tx.query_all(OF_ORDER, &[order.into()], |row| {
        let ticket = OrderTicket {
            id: row.get("id")?,
            code: row.get("code")?,
            status: row.get("status")?,
            ticket_type_id: row.get("ticket_type_id")?,
        };
        Ok((row.get("order_item_id")?, ticket))
    })
}

/// Cancels a ticket, and returns it. Returns `None` if it was cancelled already.
pub(crate) fn cancel(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: TicketId,
) -> Result<Option<CancelledTicket>> {
    tx.query_opt(Query::changing(CANCEL), &[id.into(), organization.into(), tx.now().into()], CancelledTicket::read)
}

/// The ids of tickets of an allocation from a number on, from 0, in the order in which they were issued.
#[cfg(feature = "documents")]
pub(crate) fn ids_of_allocation(
    tx: &Transaction<'_>,
    allocation: AllocationId,
    first: i64,
    limit: i64,
) -> Result<Vec<TicketId>> {
    tx.query_all(IDS_OF_ALLOCATION, &[allocation.into(), limit.into(), first.into()], |row| row.get("id"))
}

/// The next tickets of an allocation after `after` that are outside, by id.
pub(crate) fn outside(
    tx: &Transaction<'_>,
    allocation: AllocationId,
    after: TicketId,
    limit: i64,
) -> Result<Vec<TicketId>> {
    tx.query_all(OUTSIDE, &[allocation.into(), after.into(), limit.into()], |row| row.get("id"))
}

/// Cancels the tickets of an allocation after `after`, up to `last`, whose holders are not and were not inside.
pub(crate) fn cancel_unseen(
    tx: &LockedEvent<'_>,
    allocation: &StoredAllocation,
    after: TicketId,
    last: TicketId,
) -> Result<Vec<CancelledTicket>> {
    let binds = [allocation.id.into(), after.into(), last.into(), allocation.organization.into(), tx.now().into()];
    tx.query_all(Query::changing(CANCEL_UNSEEN), &binds, CancelledTicket::read)
}

/// Gives a ticket to a customer. Returns `false` if its holder is or was inside.
pub(crate) fn assign(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: TicketId,
    customer: &Customer,
    locale: Option<&str>,
) -> Result<bool> {
    let binds =
        [id.into(), organization.into(), customer.id.into(), (&customer.name).into(), locale.into(), tx.now().into()];
    Ok(tx.execute_counted(ASSIGN, &binds)? > 0)
}

row_struct! {
    pub(crate) struct CancelledTicket(row) {
        pub(crate) id: TicketId,
        pub(crate) ticket_type: TicketTypeId => ticket_type_id,
        pub(crate) order: Option<OrderId> => order_id,
        /// Whether somebody holds it.
        pub(crate) has_holder: bool = !row.is_null("customer_id")?,
        /// Whether another seller has sold it.
        pub(crate) is_imported: bool = !row.is_null("imported_code")?,
        /// Whether it was checked in until then.
        pub(crate) was_checked_in: bool,
        pub(crate) check_in_date: Option<Timestamp> => check_in_at,
        pub(crate) checked_in_by: Option<ApiKeyId>,
        /// Whether scans of the event are logged.
        pub(crate) has_log: bool => has_scan_log,
    }
}

/// Cancels the order's remaining valid tickets, and returns them.
pub(crate) fn cancel_of_order(tx: &LockedEvent<'_>, order: OrderId) -> Result<Vec<CancelledTicket>> {
    tx.query_all(Query::changing(CANCEL_OF_ORDER), &[order.into(), tx.now().into()], CancelledTicket::read)
}
