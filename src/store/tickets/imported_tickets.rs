//! Tickets with the codes of another seller. Several are looked for and inserted with one statement.

use std::sync::LazyLock;

use crate::error::{Error, Result, Unavailable};
use crate::model::values::id::{CustomerId, EventId, OrganizationId, TicketId};
use crate::store::columns::{parameters, values_of_rows};
use crate::store::tickets::allocations::StoredAllocation;
use crate::store::{Bind, LockedEvent};

/// How many codes one statement looks for.
const CODES: usize = 100;
/// How many tickets one statement inserts at most.
const MAX_ROWS: usize = 50;
/// How many parameters each of them has. Those of all follow.
const PARAMETERS: usize = 5;
/// How often ids are drawn for the tickets of a statement.
const ID_ATTEMPTS: usize = 16;

static STATEMENTS: LazyLock<[String; MAX_ROWS]> = LazyLock::new(|| std::array::from_fn(|index| insert_sql(index + 1)));
pub(in crate::store) static TAKEN: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT imported_code FROM tickets WHERE organization_id = ?1 AND event_id = ?2 AND status <> 'CANCELLED'
            AND imported_code IN ({})",
        parameters(3, CODES)
    )
});
const DELETE_NEW: &str = "DELETE FROM tickets WHERE id = ?1 AND allocation_id = ?2 AND imported_code = ?3";

/// A ticket that is imported now.
pub(crate) struct NewImportedTicket<'a> {
    pub(crate) code: &'a str,
    pub(crate) label: Option<&'a str>,
    pub(crate) customer: Option<(CustomerId, &'a str)>,
}

/// Returns those of the codes that valid tickets of the event have.
pub(crate) fn taken(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    event: EventId,
    codes: &[&str],
) -> Result<Vec<String>> {
    let mut taken = Vec::new();
    for codes in codes.chunks(CODES) {
        let mut binds: Vec<Bind<'_>> = vec![organization.into(), event.into()];
        // The statement is prepared for one length of its list.
        let filled = codes.iter().chain(std::iter::repeat_n(&codes[0], CODES - codes.len()));
        binds.extend(filled.map(|code| Bind::from(*code)));
        tx.query_each(TAKEN.as_str(), &binds, |row| {
            taken.push(row.get("imported_code")?);
            Ok(())
        })?;
    }
    Ok(taken)
}

/// Inserts tickets whose codes are not taken, and returns their ids. Their seats must be sold already.
pub(crate) fn insert(
    tx: &LockedEvent<'_>,
    allocation: &StoredAllocation,
    tickets: &[NewImportedTicket<'_>],
) -> Result<Vec<TicketId>> {
    let mut ids = Vec::with_capacity(tickets.len());
    for tickets in tickets.chunks(MAX_ROWS) {
        ids.extend(insert_chunk(tx, allocation, tickets)?);
    }
    Ok(ids)
}

/// Inserts tickets with one statement. If an id is taken, those that were inserted are deleted, and all of them are
/// inserted under new ids.
fn insert_chunk(
    tx: &LockedEvent<'_>,
    allocation: &StoredAllocation,
    tickets: &[NewImportedTicket<'_>],
) -> Result<Vec<TicketId>> {
    for _ in 0..ID_ATTEMPTS {
        let ids: Vec<TicketId> = tickets.iter().map(|_| tx.new_id()).collect();
        let mut binds: Vec<Bind<'_>> = Vec::with_capacity(PARAMETERS * tickets.len() + 5);
        for (id, ticket) in ids.iter().zip(tickets) {
            let (customer, name) = ticket.customer.unzip();
            binds.extend([(*id).into(), ticket.code.into(), ticket.label.into(), customer.into(), name.into()]);
        }
        binds.extend([
            allocation.organization.into(),
            allocation.event.into(),
            allocation.ticket_type.into(),
            allocation.id.into(),
            tx.now().into(),
        ]);
        if tx.execute_counted(&STATEMENTS[tickets.len() - 1], &binds)? == tickets.len() {
            return Ok(ids);
        }
        for (id, ticket) in ids.iter().zip(tickets) {
            tx.execute(DELETE_NEW, &[(*id).into(), allocation.id.into(), ticket.code.into()])?;
        }
    }
    Err(Error::Unavailable(Unavailable::NoFreeId))
}

pub(in crate::store) fn insert_sql(rows: usize) -> String {
    let all = |place: usize| format!("?{}", PARAMETERS * rows + place);
    let rest =
        format!(", {}, {}, {}, {}, 'NOT_CHECKED_IN', {now}, {now}", all(1), all(2), all(3), all(4), now = all(5));
    format!(
        "INSERT INTO tickets (id, imported_code, label, customer_id, customer_name, organization_id, event_id, ticket_type_id,
            allocation_id, status, created_at, updated_at)
        VALUES {} ON CONFLICT (id) DO NOTHING",
        values_of_rows(rows, PARAMETERS, &rest)
    )
}
