//! Imports tickets that were sold elsewhere: with their codes, and without an order or money.

use std::collections::{BTreeMap, HashSet};

use super::ticket_issuing::issued;
use crate::error::{Conflict, Error, FieldErrors, Reason, ResourceKind, Result};
use crate::form::request::Request;
use crate::model::sale::allocation::AllocationState;
use crate::model::sale::customer::is_new_walk_in;
use crate::model::sale::ticket_import::{ImportTickets, ImportedTicket, TicketImport};
use crate::model::values::id::{CustomerId, EventId, OrganizationId, TicketTypeId};
use crate::rules::text::email_key;
use crate::rules::{Checked, ticket as rules};
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::catalog::inventory;
use crate::store::LockedEvent;
use crate::store::sale::customers;
use crate::store::sale::seat_counts::Seats;
use crate::store::sale::{events, ticket_types};
use crate::store::tickets::allocations::{self, NewAllocation, StoredAllocation};
use crate::store::tickets::imported_tickets::{self, NewImportedTicket};
use crate::store::webhooks::outbox;

/// Imports all tickets of a request, or none. The event is locked, so that of two imports of a code one fails.
pub(crate) fn import(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: TicketTypeId,
    request: &Request<ImportTickets>,
    release_limit: &ReleaseLimit,
) -> Result<TicketImport> {
    let ticket_type =
        ticket_types::find_name(tx, organization, id)?.ok_or(Error::NotFound(ResourceKind::TicketType))?;
    let known = request.body.allocation_id.map(|id| allocations::stored(tx, id)).transpose()?.flatten();
    let known = known.filter(|known| known.organization == organization && known.ticket_type == id && known.is_import);
    let mut request = request.clone();
    let is_known = request.body.allocation_id.is_none() || known.is_some();
    request.errors.check(is_known, "allocationId", "must be an import of this ticket type");
    let request = rules::check_import(request)?;
    let event = ticket_type.event_id;
    let sale = events::sale(tx, organization, event)?.ok_or(Error::NotFound(ResourceKind::Event))?;
    rules::check_issuable(sale.status, sale.over_at, tx.now())?;
    if known.as_ref().is_some_and(|known| known.state != AllocationState::Complete) {
        return Err(Error::conflict(Reason::AllocationNotComplete, "the allocation is cancelled"));
    }
    require_free_codes(tx, organization, event, &request)?;

    let count = i64::try_from(request.tickets.len()).unwrap_or(i64::MAX);
    inventory::sell_without_order(tx, Seats::of_import(event, id, count), release_limit)?;
    let allocation = match known {
        Some(known) => {
            allocations::add_imported(tx, known.id, count)?;
            known
        }
        None => insert(tx, organization, event, id, &request)?,
    };
    let customers = holders(tx, organization, &request)?;
    let tickets = request.tickets.iter().enumerate();
    let tickets: Vec<_> = tickets.map(|(index, ticket)| new_ticket(index, ticket, &customers)).collect();
    let tickets = imported_tickets::insert(tx, &allocation, &tickets)?;
    if request.notify == Some(true) {
        outbox::enqueue(tx, organization, tickets.iter().map(|ticket| issued(*ticket, id, event, None)))?;
    }
    Ok(TicketImport { imported: count, allocation: allocations::get(tx, organization, allocation.id)? })
}

/// Fails with the conflict `code-taken` if valid tickets of the event have some of the codes. It names them.
fn require_free_codes(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    event: EventId,
    request: &Checked<ImportTickets>,
) -> Result<()> {
    let codes: Vec<_> = request.tickets.iter().map(|ticket| ticket.code.as_str()).collect();
    let taken: HashSet<String> = imported_tickets::taken(tx, organization, event, &codes)?.into_iter().collect();
    if taken.is_empty() {
        return Ok(());
    }
    let mut errors = FieldErrors::default();
    for (index, _) in codes.iter().enumerate().filter(|(_, code)| taken.contains(**code)) {
        errors.add(format!("tickets[{index}].code"), "is that of a ticket of the event");
    }
    let detail = format!("tickets of the event have {} of the codes: {errors}", taken.len());
    Err(Error::Conflict(Conflict { reason: Reason::CodeTaken, detail, errors: errors.as_slice().to_vec() }))
}

fn insert(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    event: EventId,
    ticket_type: TicketTypeId,
    request: &Checked<ImportTickets>,
) -> Result<StoredAllocation> {
    let count = i64::try_from(request.tickets.len()).unwrap_or(i64::MAX);
    let new = NewAllocation {
        organization,
        event,
        ticket_type,
        is_import: true,
        name: request.name.as_deref().unwrap_or_default(),
        quantity: count,
        issued: count,
        reference: None,
        metadata: &BTreeMap::new(),
    };
    let id = allocations::insert(tx, &new)?;
    allocations::stored(tx, id)?.ok_or(Error::NotFound(ResourceKind::Allocation))
}

/// What identifies the holder of a ticket. A walk-in is a customer of its own.
fn key(index: usize, ticket: &ImportedTicket) -> Option<String> {
    let email = &ticket.holder.as_ref()?.email;
    Some(if is_new_walk_in(email) { format!("{email}\n{index}") } else { email_key(email) })
}

/// The customers that hold the tickets, by what identifies them.
fn holders(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    request: &Checked<ImportTickets>,
) -> Result<BTreeMap<String, CustomerId>> {
    let given = request.tickets.iter().enumerate();
    let given = given.filter_map(|(index, ticket)| Some((key(index, ticket)?, ticket.holder.as_ref()?.email.as_str())));
    customers::find_or_insert_all(tx, organization, &given.collect())
}

fn new_ticket<'r>(
    index: usize,
    ticket: &'r ImportedTicket,
    customers: &BTreeMap<String, CustomerId>,
) -> NewImportedTicket<'r> {
    let customer = key(index, ticket).and_then(|key| customers.get(&key).copied());
    let customer = customer.zip(ticket.holder.as_ref().map(|holder| holder.name.as_str()));
    NewImportedTicket { code: &ticket.code, label: ticket.label.as_deref(), customer }
}
