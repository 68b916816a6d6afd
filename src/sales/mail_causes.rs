//! What causes mails: a row for each, in the transaction of the change that it tells of. Nothing is written if the service
//! sends no mails, if the organization has switched them off, or if the address is one that reaches nobody.

use std::time::Duration;

use crate::error::Result;
use crate::model::sale::customer::mailbox;
use crate::model::sale::mail::MailKind;
use crate::model::sale::order::Order;
use crate::model::values::id::{EventId, OrderId, OrganizationId, PaymentId, RefundId, TicketId};
use crate::store::LockedEvent;
use crate::store::order::mails::{self, NewMail};
use crate::store::order::order_status::OrderState;
use crate::store::tenants::change_context::{MailTerms, mail_terms};

/// How long a mail about a cancelled ticket waits for further cancellations in the same order.
const FURTHER_CANCELLATIONS: Duration = Duration::from_mins(1);

/// An order, as far as its mails depend on it.
#[derive(Clone, Copy)]
pub(in crate::sales) struct MailedOrder<'a> {
    pub(in crate::sales) organization: OrganizationId,
    pub(in crate::sales) event: EventId,
    pub(in crate::sales) id: OrderId,
    pub(in crate::sales) customer_email: &'a str,
    /// Whether the organizer gets no mails of the orders of the event.
    pub(in crate::sales) disable_notifications: bool,
}

impl<'a> From<&'a OrderState> for MailedOrder<'a> {
    fn from(state: &'a OrderState) -> Self {
        Self {
            organization: state.organization,
            event: state.event,
            id: state.id,
            customer_email: &state.customer_email,
            disable_notifications: state.disable_notifications,
        }
    }
}

impl<'a> MailedOrder<'a> {
    pub(in crate::sales) fn of_new(order: &'a Order, disable_notifications: bool) -> Self {
        Self {
            organization: order.organizer_id,
            event: order.event_id,
            id: order.id,
            customer_email: &order.customer.email,
            disable_notifications,
        }
    }

    fn mail(self, kind: MailKind, cause: &'a str) -> NewMail<'a> {
        NewMail {
            organization: self.organization,
            event: self.event,
            kind,
            order: Some(self.id),
            tickets: &[],
            recipient: self.customer_email,
            cause,
            delay: Duration::ZERO,
        }
    }
}

/// Which mails of the organization are sent. `None` if none are.
fn terms(tx: &LockedEvent<'_>, organization: OrganizationId) -> Result<Option<MailTerms>> {
    Ok(Some(mail_terms(tx, organization)?).filter(|terms| terms.is_enabled))
}

/// Inserts a mail, if its address can be reached.
fn insert(tx: &LockedEvent<'_>, new: &NewMail<'_>) -> Result<()> {
    if mailbox(new.recipient).is_some() {
        mails::insert(tx, new)?;
    }
    Ok(())
}

/// An order is completed: the customer gets the tickets, and the organizer a mail about the order.
pub(in crate::sales) fn order_completed(tx: &LockedEvent<'_>, order: MailedOrder<'_>) -> Result<()> {
    let Some(terms) = terms(tx, order.organization)? else { return Ok(()) };
    insert(tx, &order.mail(MailKind::Tickets, &format!("tickets:{}", order.id)))?;
    if let Some(address) = terms.notify_address.as_deref().filter(|_| !order.disable_notifications) {
        let cause = format!("organizer:{}", order.id);
        insert(tx, &NewMail { recipient: address, ..order.mail(MailKind::OrganizerOrder, &cause) })?;
    }
    Ok(())
}

/// An order was created that waits for its payment: the customer is reminded some time before the end of its hold.
pub(in crate::sales) fn order_pending(tx: &LockedEvent<'_>, order: MailedOrder<'_>, hold: Duration) -> Result<()> {
    let Some(reminder) = terms(tx, order.organization)?.and_then(|terms| terms.reminder) else { return Ok(()) };
    if hold <= reminder * 2 || mailbox(order.customer_email).is_none() {
        return Ok(());
    }
    mails::remind_at(
        tx,
        order.organization,
        order.event,
        order.id,
        tx.now().saturating_add(hold.saturating_sub(reminder)),
    )
}

/// The customer is to be reminded of an unpaid order now. Returns whether a mail is sent.
#[cfg(feature = "mail")]
pub(in crate::sales) fn payment_reminder(tx: &LockedEvent<'_>, order: MailedOrder<'_>) -> Result<bool> {
    if terms(tx, order.organization)?.is_none_or(|terms| terms.reminder.is_none()) {
        return Ok(false);
    }
    insert(tx, &order.mail(MailKind::PaymentReminder, &format!("reminder:{}", order.id)))?;
    Ok(true)
}

/// A completed order is cancelled. A mail about single tickets that still waits tells it too.
pub(in crate::sales) fn order_cancelled(tx: &LockedEvent<'_>, order: MailedOrder<'_>) -> Result<()> {
    cancelled(tx, order, Duration::ZERO)
}

/// Tickets of an order are cancelled, and others are left. Further ones within a minute are told in the same mail.
pub(in crate::sales) fn order_tickets_cancelled(tx: &LockedEvent<'_>, order: MailedOrder<'_>) -> Result<()> {
    cancelled(tx, order, FURTHER_CANCELLATIONS)
}

fn cancelled(tx: &LockedEvent<'_>, order: MailedOrder<'_>, delay: Duration) -> Result<()> {
    if terms(tx, order.organization)?.is_none() {
        return Ok(());
    }
    let beginning = format!("cancelled:{}:", order.id);
    let earlier = mails::of_causes(tx, order.organization, &beginning)?;
    for mail in earlier.iter().filter(|mail| mail.is_waiting) {
        let is_told = match delay {
            Duration::ZERO => mails::reschedule(tx, order.organization, order.event, mail.id, delay)?,
            _ => !mails::is_being_sent(tx, mail.id)?,
        };
        if is_told {
            return Ok(());
        }
    }
    let cause = mails::next_cause(&beginning, &earlier);
    insert(tx, &NewMail { delay, ..order.mail(MailKind::OrderCancelled, &cause) })
}

/// An amount of an order is refunded, and nothing is cancelled.
pub(in crate::sales) fn refunded(tx: &LockedEvent<'_>, order: MailedOrder<'_>, refund: RefundId) -> Result<()> {
    if terms(tx, order.organization)?.is_none() {
        return Ok(());
    }
    insert(tx, &order.mail(MailKind::Refund, &format!("refund:{refund}")))
}

/// A payment completes no order, and goes back.
pub(in crate::sales) fn payment_returned(
    tx: &LockedEvent<'_>,
    order: MailedOrder<'_>,
    payment: PaymentId,
) -> Result<()> {
    if terms(tx, order.organization)?.is_none() {
        return Ok(());
    }
    insert(tx, &order.mail(MailKind::PaymentReturned, &format!("returned:{payment}")))
}

/// Tickets without an order, and the address of their holder.
pub(in crate::sales) struct MailedTickets<'a> {
    pub(in crate::sales) organization: OrganizationId,
    pub(in crate::sales) event: EventId,
    pub(in crate::sales) tickets: &'a [TicketId],
    pub(in crate::sales) customer_email: &'a str,
}

/// Tickets were issued without an order.
pub(in crate::sales) fn tickets_issued(tx: &LockedEvent<'_>, issued: &MailedTickets<'_>) -> Result<()> {
    about_tickets(tx, issued, MailKind::Tickets, "issued")
}

/// A ticket without an order is cancelled.
pub(in crate::sales) fn issued_ticket_cancelled(tx: &LockedEvent<'_>, issued: &MailedTickets<'_>) -> Result<()> {
    about_tickets(tx, issued, MailKind::OrderCancelled, "cancelled")
}

fn about_tickets(tx: &LockedEvent<'_>, issued: &MailedTickets<'_>, kind: MailKind, what: &str) -> Result<()> {
    let Some(first) = issued.tickets.first() else { return Ok(()) };
    if terms(tx, issued.organization)?.is_none() {
        return Ok(());
    }
    let mail = NewMail {
        organization: issued.organization,
        event: issued.event,
        kind,
        order: None,
        tickets: issued.tickets,
        recipient: issued.customer_email,
        cause: &format!("{what}:{first}"),
        delay: Duration::ZERO,
    };
    insert(tx, &mail)
}
