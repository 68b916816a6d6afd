//! What a ticket says.

use super::picture::Logo;
use crate::error::Result;
use crate::model::event::Event;
use crate::model::id::OrderId;
use crate::model::ticket::IssuedTicket;
use crate::model::ticket_type::TicketType;
use crate::rules::calendar::Zone;
use crate::rules::printed_text;
use crate::words::{self, Words};

/// A ticket with everything that is printed on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TicketToPrint<'a> {
    pub(crate) event: &'a Event,
    pub(crate) ticket_type: &'a TicketType,
    pub(crate) ticket: &'a IssuedTicket,
    pub(crate) order: Option<OrderId>,
    /// The language tag of the buyer, such as `de-AT`.
    pub(crate) language: Option<&'a str>,
}

/// What a ticket says, in the words of its language.
#[derive(Debug, Hash)]
pub(crate) struct Content {
    pub(crate) words: &'static Words,
    /// The language tag of the buyer, such as `de-AT`.
    pub(super) language: Option<String>,
    pub(crate) title: String,
    /// When the event takes place.
    pub(crate) period: String,
    pub(crate) zone: String,
    pub(crate) location: Option<String>,
    pub(crate) ticket_type: String,
    /// Labels, each with its lines.
    pub(crate) fields: Vec<(&'static str, Vec<String>)>,
    /// The lines of the text of the ticket type.
    pub(crate) text: Vec<String>,
    pub(crate) code: String,
    pub(crate) order: Option<String>,
    /// It may be damaged.
    pub(super) logo: Option<Logo>,
}

impl Content {
    /// Returns what a ticket says in these words, without its logo.
    pub(crate) fn of(ticket: TicketToPrint<'_>, words: &'static Words) -> Result<Self> {
        let TicketToPrint { event, ticket_type, ticket, order, language } = ticket;
        let zone = Zone::stored(&event.timezone)?;
        let mut fields = Vec::new();
        if let Some(customer) = &ticket.customer {
            fields.push((words.ticket.name, vec![printed_text::line(&customer.name)]));
        }
        fields.push((words.ticket.valid, words::validity(words, zone, ticket_type)));
        let areas: Vec<_> = ticket_type.access_areas.iter().map(|area| printed_text::line(area)).collect();
        fields.push((words.ticket.access_areas, vec![areas.join(" · ")]));
        fields.retain(|(_, lines)| lines.iter().any(|line| !line.is_empty()));
        Ok(Self {
            words,
            language: language.map(str::to_owned),
            title: printed_text::line(&event.title),
            period: words::period(words, zone, event.start_date, event.end_date),
            zone: words::zone_at(zone, &event.timezone, event.start_date),
            location: event.location.as_deref().map(printed_text::line),
            ticket_type: printed_text::line(&ticket_type.name),
            fields,
            text: ticket_type.ticket_text.iter().flat_map(|text| printed_text::lines(text)).collect(),
            code: ticket.code.clone(),
            order: order.map(OrderId::number),
            logo: None,
        })
    }

    /// What the organizer and the customer have written.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().flat_map(|(_, lines)| lines);
        let texts = [&self.title, &self.ticket_type].into_iter().chain(&self.location).chain(fields).chain(&self.text);
        texts.map(String::as_str)
    }
}

/// A code in groups of five characters, as people read it out.
pub(crate) fn code_in_groups(code: &str) -> String {
    let characters: Vec<char> = code.chars().collect();
    characters.chunks(5).map(String::from_iter).collect::<Vec<_>>().join(" ")
}
