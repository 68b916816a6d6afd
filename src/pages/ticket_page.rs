//! The page of a ticket.

use askama::Template;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::card::{Card, is_cancelled};
use super::document::render;
use super::heading::Heading;
use super::page_notice::Notice;
use crate::documents::{Content, TicketToPrint};
use crate::error::Result;
use crate::form::picture::{MAX_SIDE, file_in_data_uri, is_data_uri, png_size, size};
use crate::model::sale::event::EventStatus;
use crate::model::sale::ticket::TicketStatus;
use crate::model::tickets::linked::LinkedTicket;
use crate::words::{self, Words};

#[derive(Template)]
#[template(path = "ticket.html")]
struct TicketPage<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    notice: Option<Notice>,
    /// The logo as a `data:` URI.
    logo: Option<String>,
    card: Card,
    has_documents: bool,
    has_calendar_entry: bool,
    /// The last part of the path of the page: its links are relative.
    token: &'a str,
    order: Option<String>,
    organizer: Option<String>,
}

impl TicketPage<'_> {
    fn title(&self) -> &str {
        &self.heading.title
    }
}

/// The page of a ticket. `token` is the last part of its path, and `accepted` are the languages of the browser.
pub(crate) fn ticket_page(linked: &LinkedTicket, token: &str, accepted: &[String]) -> Result<String> {
    let LinkedTicket { ticket, event, language, .. } = linked;
    let language = language.as_deref();
    let words = words::for_reader(language, accepted);
    let content = Content::of(TicketToPrint::of(linked), words)?;
    render(&TicketPage {
        words,
        heading: Heading::of(event, words, language)?,
        notice: event_notice(linked, words),
        logo: linked.ticket_type.ticket_logo.as_deref().and_then(logo),
        card: Card::of(&content, ticket, event, 1)?,
        has_documents: !is_cancelled(ticket, event),
        has_calendar_entry: event.status != EventStatus::Expired,
        token,
        order: content.order,
        organizer: content.organizer,
    })
}

/// A logo for the page, which loads nothing from elsewhere: only the picture of a `data:` URI.
fn logo(uri: &str) -> Option<String> {
    let file = file_in_data_uri(uri).filter(|_| is_data_uri(uri))?;
    size(&file, MAX_SIDE)?;
    let kind = if png_size(&file).is_some() { "png" } else { "jpeg" };
    Some(format!("data:image/{kind};base64,{}", BASE64_STANDARD.encode(file)))
}

/// What a holder has to know of the event. A ticket that is cancelled too was refunded, or is to be.
fn event_notice(LinkedTicket { event, ticket, price, .. }: &LinkedTicket, words: &Words) -> Option<Notice> {
    let tickets = &words.tickets;
    match event.status {
        EventStatus::Cancelled
            if ticket.status != TicketStatus::Cancelled && price.is_some_and(|paid| !paid.is_zero()) =>
        {
            let text = format!("{} {}", tickets.no_entry, tickets.contact_about_refund);
            Some(Notice::new("bad", tickets.event_cancelled, &text))
        }
        EventStatus::Cancelled => Some(Notice::new("bad", tickets.event_cancelled, tickets.no_entry)),
        EventStatus::Expired => Some(Notice::new("calm", tickets.event_over, "")),
        _ => None,
    }
}
