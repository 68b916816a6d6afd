//! Messages (RFC 5322): headers and MIME parts. What people have written goes through the types of lettre, so that it
//! adds no header.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lettre::Message;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, MultiPart, SinglePart};

use super::addresses::mailbox_of;
use super::content::Content;
use super::options::MailOptions;
use super::picture::png_of;
use super::transport::OutgoingMail;
use crate::documents::TicketDocument;
use crate::error::{Error, Result};
use crate::model::sale::mail::MailKind;
use crate::model::tickets::mail_facts::{MailFacts, MailSubject};
use crate::model::values::id::{MailId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::pages::calendar_entry_of_ticket;
use crate::rules::printed_text;

/// The parts that a mail has besides its text.
pub(super) struct Attachments<'a> {
    pub(super) document: Option<&'a TicketDocument>,
    pub(super) calendar_entry: Option<String>,
}

/// The calendar entry of the first valid ticket.
pub(super) fn calendar_entry(facts: &MailFacts) -> Option<String> {
    use crate::model::sale::ticket::TicketStatus::Cancelled;

    match &facts.subject {
        MailSubject::Order(order) => {
            let ticket = order.tickets.iter().find(|ticket| ticket.status != Cancelled)?;
            Some(calendar_entry_of_ticket(&order.page.event, ticket, &order.page.organizer))
        }
        MailSubject::Tickets(tickets) => {
            let linked = tickets.iter().find(|linked| linked.ticket.status != Cancelled)?;
            Some(calendar_entry_of_ticket(&linked.event, &linked.ticket, &linked.organizer))
        }
    }
}

/// Builds the message of a mail.
pub(super) fn build(
    facts: &MailFacts,
    content: &Content<'_>,
    attachments: &Attachments<'_>,
    options: &MailOptions,
    now: Timestamp,
) -> Result<Arc<[u8]>> {
    let mail = &facts.mail;
    let not_an_address = |what: &str| {
        Error::Internal(format!("the address of the {what} of a mail is not one that mail programs accept"))
    };
    let mailbox =
        |what: &str, name: Option<&str>, address: &str| mailbox_of(name, address).map_err(|_| not_an_address(what));
    let (customer, organizer) = people(facts);
    let organizer = printed_text::organizer(organizer);
    let from = mailbox("sender", facts.settings.sender_name.as_deref().or(organizer.as_deref()), &options.from)?;
    let is_customer = customer.is_some_and(|(_, address)| address == mail.recipient);
    let to_name = customer.filter(|_| is_customer).map(|(name, _)| name);
    let domain = from.email.domain().to_owned();
    let mut builder = Message::builder()
        .message_id(Some(format!("<{}@{domain}>", mail.id)))
        .date(system_time(now))
        .from(from)
        .to(mailbox("recipient", to_name, &mail.recipient)?)
        .subject(content.subject.as_str());
    let reply_to = facts.settings.reply_to.as_deref().filter(|_| mail.kind != MailKind::OrganizerOrder);
    if let Some(address) = reply_to.or(options.reply_to.as_deref()) {
        builder = builder.reply_to(mailbox("reply", None, address)?);
    }
    let body = body(mail.id, content, attachments)?;
    let cannot_build = |error| Error::Internal(format!("a mail could not be built: {error}"));
    let mut message = builder.multipart(body).map_err(cannot_build)?;
    // No program answers that the customer is on holiday (RFC 3834).
    let name = HeaderName::new_from_ascii_str("Auto-Submitted");
    message.headers_mut().insert_raw(HeaderValue::new(name, "auto-generated".to_owned()));
    Ok(message.formatted().into())
}

/// The name and the address of the customer, and the name of the organizer.
fn people(facts: &MailFacts) -> (Option<(&str, &str)>, &str) {
    match &facts.subject {
        MailSubject::Order(order) => {
            let customer = &order.page.order.customer;
            (Some((&customer.name, &customer.email)), &order.page.organizer)
        }
        MailSubject::Tickets(tickets) => {
            let first = tickets.first();
            let customer = first.and_then(|linked| linked.ticket.customer.as_ref());
            let organizer = first.map_or("", |linked| linked.organizer.as_str());
            (customer.map(|customer| (customer.name.as_str(), customer.email.as_str())), organizer)
        }
    }
}

fn system_time(at: Timestamp) -> SystemTime {
    let millis = u64::try_from(at.millis()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

/// The text as plain text and as HTML with its pictures, and what is attached.
fn body(id: MailId, content: &Content<'_>, attachments: &Attachments<'_>) -> Result<MultiPart> {
    // No text has such a line. The same mail has the same boundaries in each attempt.
    let boundary = |part: &str| format!("=_{part}_{id}_=");
    let mut related = MultiPart::related().boundary(boundary("related")).singlepart(SinglePart::html(content.html()?));
    let png = content_type("image/png")?;
    for ticket in &content.tickets {
        if let (Some(picture), Some(code)) = (&ticket.picture, &ticket.code) {
            let file = png_of(code)?;
            let name = format!("{picture}.png");
            related =
                related.singlepart(Attachment::new_inline_with_name(picture.clone(), name).body(file, png.clone()));
        }
    }
    let alternative = MultiPart::alternative()
        .boundary(boundary("alternative"))
        .singlepart(SinglePart::plain(content.text()?))
        .multipart(related);
    let mut mixed = MultiPart::mixed().boundary(boundary("mixed")).multipart(alternative);
    if let Some(document) = attachments.document {
        let part = Attachment::new("tickets.pdf".to_owned());
        mixed = mixed.singlepart(part.body(document.bytes.to_vec(), content_type("application/pdf")?));
    }
    if let Some(entry) = &attachments.calendar_entry {
        let part = Attachment::new("event.ics".to_owned());
        mixed = mixed.singlepart(part.body(entry.clone(), content_type("text/calendar; charset=utf-8")?));
    }
    Ok(mixed)
}

fn content_type(text: &str) -> Result<ContentType> {
    ContentType::parse(text).map_err(|error| Error::Internal(format!("{text} is not a content type: {error}")))
}

/// Makes a mail that says nothing but that it has arrived, to try a [transport](super::MailTransport) out.
///
/// # Errors
/// - [`Error::Validation`] if `from` or `to` is not an e-mail address.
pub fn test_mail(from: &str, to: &str) -> Result<OutgoingMail> {
    let mailbox = |path: &str, address: &str| {
        mailbox_of(None, address).map_err(|_| Error::field(path, "must be an e-mail address"))
    };
    let id = MailId::UNKNOWN;
    let from = mailbox("from", from)?;
    let to = mailbox("to", to)?;
    let (sender, recipient) = (from.email.to_string(), to.email.to_string());
    let text = "This mail was sent by `ticketing mail-test`. The relay accepts mails of this server.\n";
    let message = Message::builder().message_id(None).from(from).to(to).subject("Test of ticketing");
    let message = message.header(ContentType::TEXT_PLAIN).body(text.to_owned());
    let message = message.map_err(|error| Error::Internal(format!("a mail could not be built: {error}")))?;
    Ok(OutgoingMail::new(OrganizationId::UNKNOWN, id, sender, recipient, message.formatted()))
}
