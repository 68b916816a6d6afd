//! The page of an order with its tickets.

use askama::Template;

use super::bill::Bill;
use super::card::Card;
use super::document::render;
use super::heading::Heading;
use super::page_notice::Notice;
use crate::documents::{Content, TicketToPrint};
use crate::error::Result;
use crate::model::sale::event::EventStatus;
use crate::model::sale::order::OrderStatus;
use crate::model::sale::ticket::IssuedTicket;
use crate::model::tickets::linked::{LinkedOrder, OrderPart};
use crate::rules::printed_text;
use crate::words::{self, Words};

#[derive(Template)]
#[template(path = "order.html")]
struct OrderPage<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    notice: Option<Notice>,
    /// How many tickets the order has.
    count: usize,
    /// The cards of this part.
    cards: Vec<Card>,
    /// The parts of the page, if there are several.
    parts: Vec<Part>,
    has_documents: bool,
    has_valid_tickets: bool,
    bill: Bill,
    /// The last part of the path of the page: its links are relative.
    token: &'a str,
    /// The token of a ticket whose calendar entry is that of all.
    calendar_of: Option<&'a str>,
    order: Option<String>,
    organizer: Option<String>,
}

/// The cards that a page has at most. Each adds about 270 bytes to a compressed page, so that it has less than 10 KB.
pub(crate) const MAX_CARDS: usize = 20;

/// A part of a long page.
struct Part {
    /// Its number, from 1.
    number: usize,
    /// The positions of its first and its last card.
    first: usize,
    last: usize,
    is_current: bool,
}

impl OrderPage<'_> {
    fn title(&self) -> String {
        let state = self.notice.as_ref().filter(|_| !self.has_valid_tickets).map(|notice| notice.title.as_str());
        format!("{}: {}", state.unwrap_or(self.words.tickets.your_tickets), self.heading.title)
    }
}

/// A part of the page of an order. `token` is the last part of its path, and `accepted` are the languages of the browser.
pub(crate) fn order_page(shown: &OrderPart, token: &str, accepted: &[String]) -> Result<String> {
    let OrderPart { linked, receipt, part, parts, tickets_of_order: of, .. } = shown;
    let LinkedOrder { order, event, language, .. } = linked;
    let language = language.as_deref();
    let words = words::for_reader(language, accepted);
    let is_order_cancelled = order.status == OrderStatus::Cancelled;
    let first_valid = shown.first_valid.as_ref();
    let notice = Notice::of_order(order, event.status, receipt, None, words);
    let cards = shown.numbers.iter().zip(linked.tickets_with_types()).map(|(number, (ticket, ticket_type))| {
        let printed = TicketToPrint::with_number(linked, (*number, *of), ticket, ticket_type);
        let card = Card::of(&Content::of(printed, words)?, ticket, event, *number)?;
        // That the order is cancelled is said once.
        Ok(if is_order_cancelled { Card { notice: None, ..card } } else { card })
    });
    render(&OrderPage {
        words,
        heading: Heading::of(event, words, language)?,
        // That all is well is said by the tickets.
        notice: notice.filter(|notice| notice.tone != "good"),
        has_valid_tickets: !is_order_cancelled && event.status != EventStatus::Cancelled,
        bill: Bill::of(order, event, receipt, words)?,
        count: *of,
        cards: cards.collect::<Result<_>>()?,
        parts: if *parts > 1 { (1..=*parts).map(|number| Part::new(number, *part, *of)).collect() } else { Vec::new() },
        has_documents: first_valid.is_some(),
        token,
        calendar_of: first_valid.filter(|_| event.status != EventStatus::Expired).and_then(link_token),
        order: Some(order.id.number()),
        organizer: printed_text::organizer(&linked.organizer),
    })
}

impl Part {
    fn new(number: usize, current: usize, cards: usize) -> Self {
        let first = (number - 1) * MAX_CARDS + 1;
        Self { number, first, last: (number * MAX_CARDS).min(cards), is_current: number == current }
    }
}

/// The token in the link of a ticket's document.
fn link_token(ticket: &IssuedTicket) -> Option<&str> {
    ticket.download_ticket_url.as_deref()?.rsplit('/').nth(1)
}
