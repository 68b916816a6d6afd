//! What a ticket says.

use super::clean;
use super::picture::Logo;
use crate::error::Result;
use crate::model::event::Event;
use crate::model::id::OrderId;
use crate::model::ticket::IssuedTicket;
use crate::model::ticket_type::TicketType;
use crate::rules::calendar::Zone;
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
pub(super) struct Content {
    pub(super) words: &'static Words,
    pub(super) title: String,
    /// When the event takes place.
    pub(super) period: String,
    pub(super) zone: String,
    pub(super) location: Option<String>,
    pub(super) ticket_type: String,
    /// Labels, each with its lines.
    pub(super) fields: Vec<(&'static str, Vec<String>)>,
    /// The lines of the text of the ticket type.
    pub(super) text: Vec<String>,
    pub(super) code: String,
    pub(super) order: Option<String>,
    /// It may be damaged.
    pub(super) logo: Option<Logo>,
}

impl Content {
    /// Returns what a ticket says, without its logo.
    pub(super) fn of(ticket: TicketToPrint<'_>) -> Result<Self> {
        let TicketToPrint { event, ticket_type, ticket, order, language } = ticket;
        let words = words::of(language);
        let zone = Zone::stored(&event.timezone)?;
        let mut fields = Vec::new();
        if let Some(customer) = &ticket.customer {
            fields.push((words.ticket.name, vec![clean::line(&customer.name)]));
        }
        fields.push((words.ticket.valid, words::validity(words, zone, ticket_type)));
        let areas: Vec<_> = ticket_type.access_areas.iter().map(|area| clean::line(area)).collect();
        fields.push((words.ticket.access_areas, vec![areas.join(" · ")]));
        fields.retain(|(_, lines)| lines.iter().any(|line| !line.is_empty()));
        Ok(Self {
            words,
            title: clean::line(&event.title),
            period: words::period(words, zone, event.start_date, event.end_date),
            zone: words::zone_at(zone, &event.timezone, event.start_date),
            location: event.location.as_deref().map(clean::line),
            ticket_type: clean::line(&ticket_type.name),
            fields,
            text: ticket_type.ticket_text.iter().flat_map(|text| clean::lines(text)).collect(),
            code: ticket.code.clone(),
            order: order.map(|order| order.to_string()),
            logo: None,
        })
    }
}

/// A code in groups of five characters, as people read it out.
pub(super) fn in_groups(code: &str) -> String {
    let characters: Vec<char> = code.chars().collect();
    characters.chunks(5).map(String::from_iter).collect::<Vec<_>>().join(" ")
}
