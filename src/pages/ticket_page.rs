//! The page of a ticket.

use askama::Template;

use super::card::{Card, is_cancelled};
use super::document::render;
use super::heading::Heading;
use super::order_page::event_notice;
use super::page_notice::Notice;
use crate::documents::{Content, TicketToPrint};
use crate::error::Result;
use crate::model::tickets::linked::LinkedTicket;
use crate::words::{self, Words};

#[derive(Template)]
#[template(path = "ticket.html")]
struct TicketPage<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    notice: Option<Notice>,
    card: Card,
    has_documents: bool,
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
        heading: Heading::of(&event.into(), words, language)?,
        notice: event_notice(event, words),
        card: Card::of(&content, ticket, event, 1)?,
        has_documents: !is_cancelled(ticket, event),
        token,
        order: content.order,
        organizer: content.organizer,
    })
}
