//! Issues tickets without an order, and cancels single tickets.

use super::server_scans;
use crate::error::{Error, Reason, ResourceKind, Result};
use crate::form::request::Request;
use crate::model::notifications::handler_notification::TicketCancelled;
use crate::model::notifications::notification_data::{OrderCompleted, TicketIssued};
use crate::model::notifications::notification_types::{NotificationData, NotificationDetails};
use crate::model::sale::order::OrderTicket;
use crate::model::sale::ticket::{CancelledIssuedTicket, IssueTickets, IssueTicketsResponse, IssuedTicket, NewTicket};
use crate::model::values::id::{EventId, OrderId, OrganizationId, TicketId, TicketTypeId};
use crate::rules::{checked, ticket as rules};
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::catalog::inventory;
use crate::sales::mail_causes::{self, MailedOrder, MailedTickets};
use crate::store::sale::seat_counts::Seats;
use crate::store::sale::{customers, events, ticket_types};
use crate::store::tickets::issued_tickets::{self, CancelledTicket, TicketHolder};
use crate::store::webhooks::{handlers, outbox};
use crate::store::{CommitEvent, LockedEvent};

/// Issues tickets without an order. Fails with the conflict `sold-out` if too few seats are available.
pub(crate) fn issue(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    request: &Request<IssueTickets>,
    release_limit: &ReleaseLimit,
) -> Result<IssueTicketsResponse> {
    let ticket_type = ticket_types::find_name(tx, organization, request.body.ticket_type_id)?;
    let mut errors = request.errors.clone();
    errors.check(ticket_type.is_some(), "ticketId", "must be a ticket type of this organization");
    let request = checked(request.body.clone(), errors)?;
    let ticket_type = ticket_type.ok_or(Error::NotFound(ResourceKind::TicketType))?;
    let sale = events::sale(tx, organization, ticket_type.event_id)?.ok_or(Error::NotFound(ResourceKind::Event))?;
    rules::check_issuable(sale.status, sale.over_at, tx.now())?;

    // Before anything changes: to find the customer may need the job to start again.
    let known = customers::find_or_lock(tx, organization, &request.customer.email)?;
    let seats = Seats::without_order(ticket_type.event_id, request.ticket_type_id, request.quantity);
    inventory::sell(tx, seats, release_limit)?;
    let customer = customers::update_or_insert(tx, organization, known, &request.customer)?;
    let holder = TicketHolder {
        organization,
        event: seats.event,
        customer: customer.id,
        customer_name: &customer.name,
        locale: request.customer.locale.as_deref(),
    };
    let issued_tickets = insert_tickets(tx, &holder, seats)?;
    let ids: Vec<_> = issued_tickets.iter().map(|ticket| ticket.id).collect();
    let mailed = MailedTickets { organization, event: seats.event, tickets: &ids, customer_email: &customer.email };
    mail_causes::tickets_issued(tx, &mailed)?;
    let message = match issued_tickets.len() {
        1 => format!("1 ticket of {} was issued", ticket_type.name),
        count => format!("{count} tickets of {} were issued", ticket_type.name),
    };
    Ok(IssueTicketsResponse { success: true, message, issued_tickets })
}

/// Inserts a ticket for each seat, and queues a notification for each ticket.
fn insert_tickets(tx: &LockedEvent<'_>, holder: &TicketHolder<'_>, seats: Seats) -> Result<Vec<NewTicket>> {
    let issue = |_| issued_tickets::issue(tx, holder, seats.ticket_type, None);
    let tickets: Vec<_> = (0..seats.count).map(issue).collect::<Result<_>>()?;
    let notifications = tickets.iter().map(|ticket| issued(ticket.id, seats.ticket_type, seats.event, None));
    outbox::enqueue(tx, holder.organization, notifications)?;
    Ok(tickets)
}

/// Counts and reports a completed order, and reports its tickets.
pub(in crate::sales) fn report_completed<'t>(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    completed: OrderCompleted,
    tickets: impl IntoIterator<Item = &'t OrderTicket>,
) -> Result<()> {
    tx.record(CommitEvent::OrderCompleted);
    let (event, order) = (completed.event_id, Some(completed.order_id));
    let of_tickets = tickets.into_iter().map(|ticket| issued(ticket.id, ticket.ticket_type_id, event, order));
    let notifications = std::iter::once(NotificationData::OrderCompleted(completed)).chain(of_tickets);
    outbox::enqueue(tx, organization, notifications)
}

pub(super) fn issued(
    ticket: TicketId,
    ticket_type: TicketTypeId,
    event: EventId,
    order: Option<OrderId>,
) -> NotificationData {
    NotificationData::TicketIssued(TicketIssued {
        issued_ticket_id: ticket,
        ticket_type_id: ticket_type,
        event_id: event,
        order_id: order,
    })
}

/// Cancels a ticket, and makes its seat available again.
pub(crate) fn cancel(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: TicketId,
) -> Result<CancelledIssuedTicket> {
    let cancelled = issued_tickets::cancel(tx, organization, id)?;
    // Fails if there is no such ticket.
    let ticket = issued_tickets::get(tx, organization, id)?;
    let Some(cancelled) = cancelled else {
        return Err(Error::conflict(Reason::TicketCancelled, "the ticket is already cancelled"));
    };
    let (event, order) = (ticket.ticket_type.event_id, cancelled.order);
    restock(tx, organization, event, vec![cancelled])?;
    tell_holder(tx, organization, event, order, &ticket)?;
    Ok(CancelledIssuedTicket::with_fields_of(ticket))
}

/// Causes the mail that tells the customer of a cancelled ticket. Customers of another seller get none.
pub(super) fn tell_holder(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    event: EventId,
    order: Option<OrderId>,
    ticket: &IssuedTicket,
) -> Result<()> {
    let Some(customer) = ticket.customer.as_ref().filter(|_| rules::is_code(&ticket.code)) else { return Ok(()) };
    let customer_email = customer.email.as_str();
    match order {
        Some(id) => {
            let order = MailedOrder { organization, event, id, customer_email, disable_notifications: true };
            mail_causes::order_tickets_cancelled(tx, order)
        }
        None => {
            let tickets = &[ticket.id];
            mail_causes::issued_ticket_cancelled(tx, &MailedTickets { organization, event, tickets, customer_email })
        }
    }
}

/// Releases the seats of cancelled tickets of an event, and reports the tickets.
pub(in crate::sales) fn restock(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    event: EventId,
    mut cancelled: Vec<CancelledTicket>,
) -> Result<()> {
    for ticket in &cancelled {
        server_scans::log_cancellation(tx, organization, event, ticket)?;
    }
    cancelled.sort_by_key(|ticket| ticket.ticket_type);
    for same_type in cancelled.chunk_by(|one, other| one.ticket_type == other.ticket_type) {
        let count = i64::try_from(same_type.len()).unwrap_or(i64::MAX);
        let checked_in = same_type.iter().map(|ticket| i64::from(ticket.was_checked_in)).sum();
        let imported = same_type.iter().map(|ticket| i64::from(ticket.is_imported)).sum();
        let issued = same_type.iter().map(|ticket| i64::from(ticket.order.is_none() && !ticket.is_imported)).sum();
        let seats = Seats { issued, imported, ..Seats::uncounted(event, same_type[0].ticket_type, count) };
        inventory::restock(tx, seats, checked_in)?;
    }
    let notifications = cancelled.iter().map(|ticket| {
        NotificationDetails::TicketCancelled(TicketCancelled {
            issued_ticket_id: ticket.id,
            ticket_type_id: ticket.ticket_type,
            event_id: event,
            order_id: ticket.order,
        })
    });
    handlers::enqueue(tx, organization, notifications)
}
