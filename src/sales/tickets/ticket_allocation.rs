//! Sets tickets aside, issues them in batches, cancels them in batches, and gives single ones to customers.
//!
//! All seats are reserved when an allocation is created, and become sold as its tickets are issued. The row says how many
//! are issued, in the transaction that issues them: an allocation that was interrupted goes on where it was.

use super::ticket_issuing::{issued, restock, tell_holder};
use crate::error::{Error, Reason, ResourceKind, Result};
use crate::form::request::Request;
use crate::model::sale::allocation::{Allocation, AllocationState, CreateAllocation};
use crate::model::sale::event::EventStatus;
use crate::model::sale::ticket::{AssignTicket, IssuedTicket};
use crate::model::values::id::{AllocationId, EventId, OrganizationId, TicketId, TicketTypeId};
use crate::rules::{checked, ticket as rules};
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::catalog::inventory;
use crate::sales::mail_causes::{self, MailedTickets};
use crate::store::LockedEvent;
use crate::store::sale::seat_counts::{PaidThrough, Seats};
use crate::store::sale::{customers, events, ticket_types};
use crate::store::tickets::allocations::{self, LABELS_IN_ROW, NewAllocation, StoredAllocation};
use crate::store::tickets::issued_tickets;
use crate::store::webhooks::outbox;
use crate::store::work::{self, KeyedWork};

/// How many tickets are issued or cancelled in one transaction: so few that its commit does not delay others for long.
const BATCH: i64 = 50;

/// Reserves the seats of an allocation. Its tickets are issued later. Fails with the conflict `sold-out` if too few seats
/// are available.
pub(crate) fn create(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: TicketTypeId,
    request: &Request<CreateAllocation>,
    release_limit: &ReleaseLimit,
) -> Result<Allocation> {
    let ticket_type =
        ticket_types::find_name(tx, organization, id)?.ok_or(Error::NotFound(ResourceKind::TicketType))?;
    let request = rules::check_allocation(request.clone())?;
    let event = ticket_type.event_id;
    let sale = events::sale(tx, organization, event)?.ok_or(Error::NotFound(ResourceKind::Event))?;
    rules::check_issuable(sale.status, sale.over_at, tx.now())?;
    inventory::set_aside(tx, Seats::uncounted(event, id, request.quantity), release_limit)?;
    let new = NewAllocation {
        organization,
        event,
        ticket_type: id,
        is_import: false,
        name: &request.name,
        quantity: request.quantity,
        issued: 0,
        reference: request.reference.as_deref(),
        metadata: &request.metadata.clone().unwrap_or_default(),
    };
    let allocation = allocations::insert(tx, &new)?;
    if let Some(labels) = &request.labels {
        allocations::insert_labels(tx, allocation, labels)?;
    }
    set_work(tx, organization, allocation, new.event)?;
    allocations::get(tx, organization, allocation)
}

fn set_work(tx: &LockedEvent<'_>, organization: OrganizationId, id: AllocationId, event: EventId) -> Result<()> {
    let change = KeyedWork {
        kind: allocations::KIND,
        key: id.raw(),
        organization,
        event: Some(event),
        body: "",
        due_at: tx.now(),
    };
    work::set(tx, &change)
}

/// What a batch has done.
pub(crate) struct Changed {
    /// How many tickets were issued or cancelled.
    pub(crate) tickets: usize,
    /// Whether nothing is left to do.
    pub(crate) is_finished: bool,
}

/// Issues or cancels the next tickets of an allocation. Another process may have done so meanwhile.
pub(crate) fn change_batch(tx: &LockedEvent<'_>, id: AllocationId) -> Result<Changed> {
    let finished = Changed { tickets: 0, is_finished: true };
    let Some(allocation) = allocations::stored(tx, id)? else { return Ok(finished) };
    match allocation.state {
        AllocationState::Issuing => issue_batch(tx, &allocation),
        AllocationState::Cancelling => cancel_batch(tx, &allocation),
        AllocationState::Complete | AllocationState::Cancelled => Ok(finished),
    }
}

fn issue_batch(tx: &LockedEvent<'_>, allocation: &StoredAllocation) -> Result<Changed> {
    let left = allocation.quantity - allocation.issued;
    let sale = events::sale(tx, allocation.organization, allocation.event)?;
    if sale.is_none_or(|sale| sale.status == EventStatus::Cancelled) {
        return_seats(tx, allocation)?;
        allocations::set_issued(tx, allocation.id, allocation.issued, AllocationState::Complete)?;
        return Ok(Changed { tickets: 0, is_finished: true });
    }
    // The number of the next ticket among those whose labels are in one row.
    let first = allocation.issued % i64::from(LABELS_IN_ROW);
    let labels = allocations::labels(tx, allocation.id, allocation.issued - first)?;
    let mut tickets = Vec::new();
    for number in first..i64::from(LABELS_IN_ROW).min(first + left.min(BATCH)) {
        if !tickets.is_empty() && tx.should_end() {
            break;
        }
        let label = usize::try_from(number).ok().and_then(|number| labels.get(number));
        tickets.push(issued_tickets::issue_set_aside(tx, allocation, label.unwrap_or(&allocation.name))?);
    }
    let count = i64::try_from(tickets.len()).unwrap_or(i64::MAX);
    let seats = Seats::without_order(allocation.event, allocation.ticket_type, count);
    inventory::sell_reserved(tx, seats, PaidThrough::Gateway)?;
    let state = if count == left { AllocationState::Complete } else { AllocationState::Issuing };
    allocations::set_issued(tx, allocation.id, allocation.issued + count, state)?;
    let notifications = tickets.iter().map(|ticket| issued(*ticket, allocation.ticket_type, allocation.event, None));
    outbox::enqueue(tx, allocation.organization, notifications)?;
    Ok(Changed { tickets: tickets.len(), is_finished: state == AllocationState::Complete })
}

/// Makes the seats available again whose tickets are not issued.
fn return_seats(tx: &LockedEvent<'_>, allocation: &StoredAllocation) -> Result<()> {
    let left = allocation.quantity - allocation.issued;
    if allocation.state != AllocationState::Issuing || left == 0 {
        return Ok(());
    }
    inventory::return_set_aside(tx, Seats::uncounted(allocation.event, allocation.ticket_type, left))
}

/// Begins to cancel the tickets of an allocation. Those that are not issued will not be. An allocation that is cancelled, or
/// is being, stays as it is.
pub(crate) fn cancel(tx: &LockedEvent<'_>, organization: OrganizationId, id: AllocationId) -> Result<Allocation> {
    // Fails if there is no such allocation.
    allocations::get(tx, organization, id)?;
    let stored = allocations::stored(tx, id)?.ok_or(Error::NotFound(ResourceKind::Allocation))?;
    if matches!(stored.state, AllocationState::Issuing | AllocationState::Complete) {
        return_seats(tx, &stored)?;
        allocations::set_issued(tx, id, stored.issued, AllocationState::Cancelling)?;
        set_work(tx, organization, id, stored.event)?;
    }
    allocations::get(tx, organization, id)
}

fn cancel_batch(tx: &LockedEvent<'_>, allocation: &StoredAllocation) -> Result<Changed> {
    let outside = issued_tickets::outside(tx, allocation.id, allocation.last_ticket, BATCH)?;
    let Some(last) = outside.last() else {
        allocations::set_state(tx, allocation.id, AllocationState::Cancelled)?;
        return Ok(Changed { tickets: 0, is_finished: true });
    };
    let cancelled = issued_tickets::cancel_unseen(tx, allocation, allocation.last_ticket, *last)?;
    let tickets = cancelled.len();
    let held = cancelled.iter().filter(|ticket| ticket.has_holder && !ticket.is_imported);
    let held: Vec<_> = held.map(|ticket| ticket.id).collect();
    restock(tx, allocation.organization, allocation.event, cancelled)?;
    for id in held {
        let ticket = issued_tickets::get(tx, allocation.organization, id)?;
        tell_holder(tx, allocation.organization, allocation.event, None, &ticket)?;
    }
    allocations::set_last_ticket(tx, allocation.id, *last)?;
    Ok(Changed { tickets, is_finished: false })
}

/// Gives a ticket of an allocation to a customer, who gets a mail with it.
pub(crate) fn assign(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: TicketId,
    request: &Request<AssignTicket>,
) -> Result<IssuedTicket> {
    let ticket = issued_tickets::get(tx, organization, id)?;
    let AssignTicket { customer: new, .. } = &*checked(request.body.clone(), request.errors.clone())?;
    rules::check_assignable(&ticket)?;
    let known = customers::find_or_lock(tx, organization, &new.email)?;
    let customer = customers::update_or_insert(tx, organization, known, new)?;
    if !issued_tickets::assign(tx, organization, id, &customer, new.locale.as_deref())? {
        return Err(Error::conflict(Reason::AlreadyCheckedIn, "its holder is or was inside"));
    }
    let event = ticket.ticket_type.event_id;
    let mailed = MailedTickets { organization, event, tickets: &[id], customer_email: &customer.email };
    mail_causes::tickets_issued(tx, &mailed)?;
    issued_tickets::get(tx, organization, id)
}
