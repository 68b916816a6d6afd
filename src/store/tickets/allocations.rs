//! Allocations, and the labels of their tickets that are not issued. What is still to be issued or cancelled is
//! [work](crate::store::work), and the row says how far it is.

use std::sync::LazyLock;

use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::allocation::{Allocation, AllocationState, ListAllocations};
use crate::model::values::id::{AllocationId, EventId, OrganizationId, TicketId, TicketTypeId};
use crate::model::values::metadata::Metadata;
use crate::model::values::page::Page;
use crate::rules::Checked;
use crate::store::columns::{Column, json, row_struct};
use crate::store::lists::list_query::{ListQuery, cursor_bound};
use crate::store::lists::page_ids::{PageIds, ranges};
use crate::store::lists::pages::read_page_of;
use crate::store::sale::ticket_types;
use crate::store::{LockedEvent, Row, Transaction};

/// The kind of work that issues or cancels the tickets of an allocation. Its key is the id of the allocation.
pub(crate) const KIND: &str = "change allocation";

/// How many labels are stored in a row.
pub(crate) const LABELS_IN_ROW: u16 = 200;

const INSERT: &str =
    "INSERT INTO allocations (id, organization_id, event_id, ticket_type_id, is_import, name, quantity, issued,
        state, reference, metadata, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12) ON CONFLICT (id) DO NOTHING";
const INSERT_LABELS: &str = "INSERT INTO allocation_labels (allocation_id, first_ticket, labels) VALUES (?1, ?2, ?3)";
const LABELS: &str = "SELECT labels FROM allocation_labels WHERE allocation_id = ?1 AND first_ticket = ?2";
const DROP_LABELS: &str = "DELETE FROM allocation_labels WHERE allocation_id = ?1";
const STORED: &str =
    "SELECT id, organization_id, event_id, ticket_type_id, is_import, name, quantity, issued, state, last_ticket
    FROM allocations WHERE id = ?1";
const SET_ISSUED: &str = "UPDATE allocations SET issued = ?2, state = ?3, updated_at = ?4 WHERE id = ?1";
const SET_STATE: &str = "UPDATE allocations SET state = ?2, updated_at = ?3 WHERE id = ?1";
const SET_LAST_TICKET: &str = "UPDATE allocations SET last_ticket = ?2 WHERE id = ?1";
const ADD_IMPORTED: &str =
    "UPDATE allocations SET quantity = quantity + ?2, issued = issued + ?2, updated_at = ?3 WHERE id = ?1";
const EXISTS: &str = "SELECT 1 FROM allocations WHERE id = ?1 AND organization_id = ?2";

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT a.id, a.event_id, a.ticket_type_id, a.is_import, a.name, a.quantity, a.issued, a.state, a.reference,
                a.metadata, a.created_at, a.updated_at,
                (SELECT COUNT(*) FROM tickets t WHERE t.allocation_id = a.id AND t.status = 'CANCELLED') AS cancelled,
                (SELECT COUNT(*) FROM tickets t WHERE t.allocation_id = a.id AND t.status = 'CHECKED_IN') AS checked_in
            FROM allocations a WHERE ",
            $rest
        )
    };
}

pub(in crate::store) const BY_ID: &str = select!("a.id = ?1 AND a.organization_id = ?2");
pub(in crate::store) static PAGE: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::new(select!("a.id"), "ORDER BY a.id DESC"));

ranges! {
    from "allocations" as "a" where
        "a.organization_id = ?4
            AND (CAST(?5 AS TEXT) IS NULL OR a.state = ?5)
            AND (CAST(?6 AS BIGINT) IS NULL OR a.event_id = ?6)
            AND (CAST(?7 AS BIGINT) IS NULL OR a.ticket_type_id = ?7)";
    OF_TICKET_TYPE = "k.event_id = ?8 AND k.ticket_type_id = ?9";
    IN_STATE = "k.organization_id = ?4 AND k.state = ?8";
}

row_struct! {
    /// An allocation, as it is changed.
    #[derive(Debug, Clone)]
    pub(crate) struct StoredAllocation(row) {
        pub(crate) id: AllocationId,
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) event: EventId => event_id,
        pub(crate) ticket_type: TicketTypeId => ticket_type_id,
        pub(crate) is_import: bool,
        pub(crate) name: String,
        pub(crate) quantity: i64,
        pub(crate) issued: i64,
        pub(crate) state: AllocationState,
        /// The last ticket that its cancellation has looked at.
        pub(crate) last_ticket: TicketId,
    }
}

/// An allocation that is created now.
pub(crate) struct NewAllocation<'a> {
    pub(crate) organization: OrganizationId,
    pub(crate) event: EventId,
    pub(crate) ticket_type: TicketTypeId,
    pub(crate) is_import: bool,
    pub(crate) name: &'a str,
    pub(crate) quantity: i64,
    pub(crate) issued: i64,
    pub(crate) reference: Option<&'a str>,
    pub(crate) metadata: &'a Metadata,
}

fn decode(row: &Row<'_>) -> Result<Allocation> {
    let state = row.get("state")?;
    let (issued, cancelled): (i64, i64) = (row.get("issued")?, row.get("cancelled")?);
    Ok(Allocation {
        id: row.get("id")?,
        event_id: row.get("event_id")?,
        ticket_type_id: row.get("ticket_type_id")?,
        name: row.get("name")?,
        imported: row.get("is_import")?,
        state,
        quantity: row.get("quantity")?,
        issued,
        cancelled,
        checked_in: row.get("checked_in")?,
        kept: (state == AllocationState::Cancelled).then(|| issued - cancelled),
        reference: row.get("reference")?,
        metadata: row.get("metadata")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

pub(crate) fn insert(tx: &LockedEvent<'_>, new: &NewAllocation<'_>) -> Result<AllocationId> {
    let state = if new.is_import { AllocationState::Complete } else { AllocationState::Issuing };
    let binds = [
        new.organization.into(),
        new.event.into(),
        new.ticket_type.into(),
        new.is_import.into(),
        new.name.into(),
        new.quantity.into(),
        new.issued.into(),
        state.as_str().into(),
        new.reference.into(),
        new.metadata.bind()?,
        tx.now().into(),
    ];
    tx.insert(INSERT, &binds)
}

/// Stores the labels of the tickets, many in a row.
pub(crate) fn insert_labels(tx: &LockedEvent<'_>, id: AllocationId, labels: &[String]) -> Result<()> {
    let mut first: i64 = 0;
    for labels in labels.chunks(usize::from(LABELS_IN_ROW)) {
        tx.execute(INSERT_LABELS, &[id.into(), first.into(), json(labels)?.into()])?;
        first += i64::from(LABELS_IN_ROW);
    }
    Ok(())
}

/// Returns the labels of the row whose first ticket has this number, from 0. There may be fewer than tickets.
pub(crate) fn labels(tx: &Transaction<'_>, id: AllocationId, first: i64) -> Result<Vec<String>> {
    Ok(tx.query_opt(LABELS, &[id.into(), first.into()], |row| row.get("labels"))?.unwrap_or_default())
}

/// Returns an allocation of any organization, to change it.
pub(crate) fn stored(tx: &Transaction<'_>, id: AllocationId) -> Result<Option<StoredAllocation>> {
    tx.query_opt(STORED, &[id.into()], StoredAllocation::read)
}

/// Records how many tickets were issued. If no more follow, their labels are dropped.
pub(crate) fn set_issued(tx: &LockedEvent<'_>, id: AllocationId, issued: i64, state: AllocationState) -> Result<()> {
    if state != AllocationState::Issuing {
        tx.execute(DROP_LABELS, &[id.into()])?;
    }
    tx.execute(SET_ISSUED, &[id.into(), issued.into(), state.as_str().into(), tx.now().into()])
}

pub(crate) fn set_state(tx: &LockedEvent<'_>, id: AllocationId, state: AllocationState) -> Result<()> {
    tx.execute(SET_STATE, &[id.into(), state.as_str().into(), tx.now().into()])
}

/// Records the last ticket that a cancellation has looked at.
pub(crate) fn set_last_ticket(tx: &LockedEvent<'_>, id: AllocationId, last: TicketId) -> Result<()> {
    tx.execute(SET_LAST_TICKET, &[id.into(), last.into()])
}

/// Counts tickets that were imported.
pub(crate) fn add_imported(tx: &LockedEvent<'_>, id: AllocationId, tickets: i64) -> Result<()> {
    tx.execute(ADD_IMPORTED, &[id.into(), tickets.into(), tx.now().into()])
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: AllocationId) -> Result<Allocation> {
    tx.query_opt(BY_ID, &[id.into(), organization.into()], decode)?.ok_or(Error::NotFound(ResourceKind::Allocation))
}

/// Lists allocations, newest first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListAllocations>,
) -> Result<Page<Allocation, AllocationId>> {
    cursor_bound(tx, &request.page, EXISTS, organization.into())?;
    let filters = vec![
        organization.into(),
        request.state.map(AllocationState::as_str).into(),
        request.event_id.into(),
        request.ticket_type_id.into(),
    ];
    let mut ids = PageIds::new(&request.page, filters);
    let types = match (request.ticket_type_id, request.event_id) {
        (Some(ticket_type), _) => {
            let found = ticket_types::find_name(tx, organization, ticket_type)?;
            Some(found.map(|found| (found.event_id, ticket_type)).into_iter().collect())
        }
        (None, Some(event)) => Some(ticket_types::ids_of_event(tx, organization, event)?),
        (None, None) => None,
    };
    match types {
        Some(types) => {
            for (event, ticket_type) in types {
                ids.add(tx, OF_TICKET_TYPE, &[event.into(), ticket_type.into()])?;
            }
        }
        None => {
            let is_wanted = |state: &&AllocationState| request.state.is_none_or(|only| only == **state);
            for state in AllocationState::ALL.iter().filter(is_wanted) {
                ids.add(tx, IN_STATE, &[state.as_str().into()])?;
            }
        }
    }
    read_page_of(tx, &PAGE, &[], ids, decode, |allocation| allocation.id)
}
