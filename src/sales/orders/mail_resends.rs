//! Mails that are sent again because somebody did not get them, and what is shown of a mail before it is sent.

use std::time::Duration;

use super::mail_facts;
use crate::error::{Error, Reason, Result};
use crate::form::request::Request;
use crate::model::sale::customer::mailbox;
use crate::model::sale::mail::{Mail, MailKind, MailState, ResendTickets};
use crate::model::sale::order::OrderStatus;
use crate::model::sale::received_payment::PaymentPurpose;
use crate::model::sale::ticket::TicketStatus;
use crate::model::tickets::mail_facts::{MailFacts, MailSubject};
use crate::model::values::id::{EventId, MailId, OrderId, OrganizationId, TicketId};
use crate::rules::checked_request;
use crate::rules::ticket::check_own;
use crate::store::order::mails::{self, NewMail};
use crate::store::order::order_status;
use crate::store::tenants::mail_settings;
use crate::store::tickets::issued_tickets;
use crate::store::{LockedEvent, Transaction};

/// How many times the tickets of an order are sent again in a day.
const MAX_RESENDS: usize = 5;

const DAY: Duration = Duration::from_hours(24);

/// Fails if the service sends no mails for the organization.
pub(crate) fn require_enabled(tx: &Transaction<'_>, organization: OrganizationId) -> Result<()> {
    if tx.environment().sends_mails && mail_settings::get(tx, organization)?.mail_enabled {
        return Ok(());
    }
    Err(Error::conflict(Reason::MailDisabled, "mail is switched off for the organization"))
}

/// What is sent again.
struct Resend<'a> {
    organization: OrganizationId,
    event: EventId,
    order: Option<OrderId>,
    tickets: &'a [TicketId],
    /// Names it in the cause of the mail.
    name: String,
    customer_email: &'a str,
}

/// Sends the tickets of a completed order again.
pub(crate) fn of_order(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: OrderId,
    request: &Request<ResendTickets>,
) -> Result<Mail> {
    let request = checked_request(request.clone())?;
    let state = order_status::load(tx, organization, id)?;
    require_enabled(tx, organization)?;
    if state.status != OrderStatus::Completed {
        let detail = format!("the order is {}, and has no valid tickets", state.status);
        return Err(Error::conflict(Reason::OrderNotCompleted, detail));
    }
    if state.is_event_cancelled() {
        return Err(Error::conflict(Reason::EventCancelled, "the event is CANCELLED"));
    }
    let name = id.to_string();
    let (event, customer_email) = (state.event, state.customer_email.as_str());
    send(tx, &Resend { organization, event, order: Some(id), tickets: &[], name, customer_email }, &request)
}

/// Sends one ticket again.
pub(crate) fn of_ticket(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: TicketId,
    request: &Request<ResendTickets>,
) -> Result<Mail> {
    let request = checked_request(request.clone())?;
    let ticket = issued_tickets::get(tx, organization, id)?;
    require_enabled(tx, organization)?;
    check_own(&ticket)?;
    if ticket.status == TicketStatus::Cancelled {
        return Err(Error::conflict(Reason::TicketCancelled, "the ticket is CANCELLED"));
    }
    let customer_email = ticket.customer.as_ref().map_or("", |customer| customer.email.as_str());
    let (event, name) = (ticket.ticket_type.event_id, id.to_string());
    send(tx, &Resend { organization, event, order: None, tickets: &[id], name, customer_email }, &request)
}

fn send(tx: &LockedEvent<'_>, resend: &Resend<'_>, request: &ResendTickets) -> Result<Mail> {
    let recipient = request.to.as_deref().unwrap_or(resend.customer_email);
    if mailbox(recipient).is_none() {
        let problem = match request.to {
            Some(_) => "must not be an address under .invalid, which reaches nobody",
            None => "is required, because the customer has no e-mail address",
        };
        return Err(Error::field("to", problem));
    }
    let beginning = format!("resend:{}:", resend.name);
    let earlier = mails::of_causes(tx, resend.organization, &beginning)?;
    let is_recent = |created_at| tx.now().duration_since(created_at).is_none_or(|age| age < DAY);
    if earlier.iter().filter(|mail| is_recent(mail.created_at)).count() >= MAX_RESENDS {
        let detail = format!("it was sent again {MAX_RESENDS} times within 24 hours");
        return Err(Error::conflict(Reason::LimitReached, detail));
    }
    let new = NewMail {
        organization: resend.organization,
        event: resend.event,
        kind: MailKind::Tickets,
        order: resend.order,
        tickets: resend.tickets,
        recipient,
        cause: &mails::next_cause(&beginning, &earlier),
        delay: Duration::ZERO,
    };
    let id = mails::insert(tx, &new)?;
    mails::get(tx, resend.organization, id)
}

/// Returns what a mail about an order would say now.
pub(crate) fn preview(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    order: OrderId,
    kind: MailKind,
) -> Result<MailFacts> {
    let mail = Mail {
        id: MailId::UNKNOWN,
        kind,
        state: MailState::Waiting,
        order_id: Some(order),
        ticket_ids: Vec::new(),
        recipient: String::new(),
        created_at: tx.now(),
        sent_at: None,
        last_answer: None,
    };
    let facts = mail_facts::read(tx, organization, mail)?;
    if let MailSubject::Order(mailed) = &facts.subject {
        let (status, receipt) = (mailed.page.order.status, &mailed.page.receipt);
        let was_completed = receipt.details.completed_at.is_some();
        let returns = receipt.payments.iter().any(|payment| payment.purpose != PaymentPurpose::Order);
        let (has_it, reason) = match kind {
            MailKind::PaymentReminder => (status == OrderStatus::Pending, Reason::OrderNotPending),
            MailKind::Tickets => (status == OrderStatus::Completed, Reason::OrderNotCompleted),
            MailKind::PaymentReturned => (was_completed || returns, Reason::OrderNotCompleted),
            MailKind::OrderCancelled | MailKind::Refund | MailKind::OrganizerOrder => {
                (was_completed, Reason::OrderNotCompleted)
            }
        };
        if !has_it {
            return Err(Error::conflict(reason, format!("an order that is {status} has no mail {kind}")));
        }
    }
    Ok(facts)
}
