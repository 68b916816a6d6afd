//! Lists of issued tickets.

use super::issued_tickets::{ALL, PAGE, decode};
use crate::enums::text_enum::TextEnum;
use crate::error::Result;
use crate::model::sale::ticket::{IssuedTicket, ListTickets, TicketStatus};
use crate::model::values::id::{CustomerId, EventId, OrganizationId, TicketId, TicketTypeId};
use crate::model::values::page::Page;
use crate::rules::Checked;
use crate::store::lists::list_query::{can_sort, cursor_bound, limit_plus_one};
use crate::store::lists::page_ids::{PageIds, ranges};
use crate::store::lists::pages::{read_page, read_page_of};
use crate::store::sale::{customers, ticket_types};
use crate::store::{RowLength, Transaction};

ranges! {
    from "tickets" as "t" where
        "t.organization_id = ?4
            AND (CAST(?5 AS TEXT) IS NULL OR t.status = ?5)
            AND (CAST(?6 AS BIGINT) IS NULL OR t.event_id = ?6)
            AND (CAST(?7 AS BIGINT) IS NULL OR t.ticket_type_id = ?7)
            AND (CAST(?8 AS BIGINT) IS NULL OR t.order_id = ?8)
            AND (CAST(?9 AS BIGINT) IS NULL OR t.customer_id = ?9)
            AND (CAST(?10 AS BIGINT) IS NULL OR t.first_scan_at >= ?10)
            AND (CAST(?11 AS BIGINT) IS NULL OR t.first_scan_at < ?11)
            AND (CAST(?12 AS BIGINT) IS NULL OR t.allocation_id = ?12)";
    OF_ORDER = "k.order_id = ?8";
    OF_CUSTOMER = "k.customer_id = ?9";
    OF_ALLOCATION = "k.allocation_id = ?12 AND k.status = ?13";
    OF_STATUS = "k.event_id = ?13 AND k.ticket_type_id = ?14 AND k.status = ?15";
    CANCELLED = "k.organization_id = ?4 AND k.status = 'CANCELLED'";
    BY_FIRST_SCAN = "k.organization_id = ?4 AND k.first_scan_at >= COALESCE(CAST(?10 AS BIGINT), 0)
        AND k.first_scan_at < COALESCE(CAST(?11 AS BIGINT), 9223372036854775807)", "+";
}

pub(in crate::store) const NTH_FIRST_SCAN: &str = "SELECT 1 FROM tickets
    WHERE organization_id = ?1 AND first_scan_at >= ?2 AND first_scan_at < ?3 LIMIT 1 OFFSET ?4";
const EXISTS: &str = "SELECT 1 FROM tickets WHERE id = ?1 AND organization_id = ?2";

/// Lists tickets, newest first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListTickets>,
) -> Result<Page<IssuedTicket, TicketId>> {
    let cursor = cursor_bound(tx, &request.page, EXISTS, organization.into())?;
    if **request == (ListTickets { page: request.page.clone(), ..ListTickets::default() }) {
        let binds = [organization.into(), cursor, limit_plus_one(&request.page)];
        return read_page(tx, RowLength::Short, ALL, &binds, &request.page, |row| decode(tx, row), |ticket| ticket.id);
    }
    let customer = match &request.customer_email {
        None => None,
        Some(email) => match customers::find(tx, organization, email)? {
            None => return Ok(Page { data: Vec::new(), next_cursor: None }),
            found => found,
        },
    };
    let filters = vec![
        organization.into(),
        request.status.map(TextEnum::as_str).into(),
        request.event_id.into(),
        request.ticket_type_id.into(),
        request.order_id.into(),
        customer.into(),
        request.first_scan_from.into(),
        request.first_scan_before.into(),
        request.allocation_id.into(),
    ];
    let mut ids = PageIds::new(&request.page, filters);
    add_ranges(tx, &mut ids, organization, request, customer)?;
    read_page_of(tx, &PAGE, &[], ids, |row| decode(tx, row), |ticket| ticket.id)
}

/// Looks for the tickets in the ranges of the filter that finds the fewest as a rule.
fn add_ranges<'r>(
    tx: &Transaction<'_>,
    ids: &mut PageIds<'r, TicketId>,
    organization: OrganizationId,
    request: &'r ListTickets,
    customer: Option<CustomerId>,
) -> Result<()> {
    if request.order_id.is_some() {
        return ids.add(tx, OF_ORDER, &[]);
    }
    if customer.is_some() {
        return ids.add(tx, OF_CUSTOMER, &[]);
    }
    if request.allocation_id.is_some() {
        for status in TicketStatus::ALL.iter().filter(|status| request.status.is_none_or(|only| only == **status)) {
            ids.add(tx, OF_ALLOCATION, &[status.as_str().into()])?;
        }
        return Ok(());
    }
    let (from, before) = (request.first_scan_from, request.first_scan_before);
    if can_sort(tx, NTH_FIRST_SCAN, organization.into(), from, before)? {
        return ids.add(tx, BY_FIRST_SCAN, &[]);
    }
    let statuses = match request.status {
        Some(status) => vec![status],
        // A ticket that was not scanned is not looked for by the time of its first scan.
        None if from.is_some() || before.is_some() => vec![TicketStatus::CheckedIn, TicketStatus::Cancelled],
        None => TicketStatus::ALL.to_vec(),
    };
    if request.event_id.is_none() && request.ticket_type_id.is_none() && statuses == [TicketStatus::Cancelled] {
        return ids.add(tx, CANCELLED, &[]);
    }
    for (event, ticket_type) in ticket_types_of(tx, organization, request)? {
        for status in &statuses {
            ids.add(tx, OF_STATUS, &[event.into(), ticket_type.into(), status.as_str().into()])?;
        }
    }
    Ok(())
}

/// The ticket types whose tickets are requested, each with its event.
fn ticket_types_of(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &ListTickets,
) -> Result<Vec<(EventId, TicketTypeId)>> {
    match (request.ticket_type_id, request.event_id) {
        (Some(ticket_type), event) => {
            let found = ticket_types::find_name(tx, organization, ticket_type)?;
            let found = found.filter(|found| event.is_none_or(|event| event == found.event_id));
            Ok(found.map(|found| (found.event_id, ticket_type)).into_iter().collect())
        }
        (None, Some(event)) => ticket_types::ids_of_event(tx, organization, event),
        (None, None) => ticket_types::ids(tx, organization),
    }
}
