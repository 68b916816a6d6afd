//! The text of a ticket, for its document and its page.

use super::pictures::picture::PictureFile;
use crate::error::Result;
use crate::model::sale::event::Event;
use crate::model::sale::order::OrderItem;
use crate::model::sale::ticket::{IssuedTicket, TicketStatus};
use crate::model::sale::ticket_type::TicketType;
use crate::model::tickets::linked::{LinkedAllocation, LinkedOrder, LinkedTicket};
use crate::model::values::amount::Amount;
use crate::model::values::id::OrderId;
use crate::rules::calendar::EventDays;
use crate::rules::money::pricing::ItemPrice;
use crate::rules::{file_name, printed_text};
use crate::words::{self, Words};

/// The tickets of a document, and the name of its file.
#[derive(Debug)]
pub(crate) struct DocumentToPrint<'a> {
    pub(crate) file_name: String,
    pub(crate) tickets: Vec<TicketToPrint<'a>>,
}

impl<'a> DocumentToPrint<'a> {
    pub(crate) fn of_ticket(linked: &'a LinkedTicket) -> Self {
        let ticket = TicketToPrint::of(linked);
        Self { file_name: ticket.file_name("pdf"), tickets: vec![ticket] }
    }

    /// Tickets that were issued together.
    #[cfg(feature = "mail")]
    pub(crate) fn of_tickets(tickets: &'a [LinkedTicket]) -> Self {
        let slug = tickets.first().map_or("", |linked| linked.event.slug.as_str());
        let file_name = file_name::of_event(slug, "tickets.pdf");
        Self { file_name, tickets: tickets.iter().map(TicketToPrint::of).collect() }
    }

    /// Tickets of an allocation.
    pub(crate) fn of_allocation(linked: &'a LinkedAllocation) -> Self {
        let ticket = |ticket| TicketToPrint {
            event: &linked.event,
            ticket_type: &linked.ticket_type,
            ticket,
            order: None,
            language: None,
            organizer: &linked.organizer,
            price: None,
            number: 1,
            tickets_of_order: 1,
        };
        let file_name = file_name::of_event(&linked.event.slug, "tickets.pdf");
        Self { file_name, tickets: linked.tickets.iter().map(ticket).collect() }
    }

    /// The tickets of an order that are not cancelled.
    pub(crate) fn of_order(linked: &'a LinkedOrder) -> Self {
        let tickets = (1..).zip(linked.tickets_with_types());
        let valid = tickets.filter(|(_, (ticket, _))| ticket.status != TicketStatus::Cancelled);
        let count = linked.tickets.len();
        let tickets = valid.map(|(number, (ticket, ticket_type))| {
            TicketToPrint::with_number(linked, (number, count), ticket, ticket_type)
        });
        Self { file_name: file_name::of_event(&linked.event.slug, "tickets.pdf"), tickets: tickets.collect() }
    }
}

/// A ticket with everything that is printed on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TicketToPrint<'a> {
    pub(crate) event: &'a Event,
    pub(crate) ticket_type: &'a TicketType,
    pub(crate) ticket: &'a IssuedTicket,
    pub(crate) order: Option<OrderId>,
    /// The language tag of the buyer, such as `de-AT`.
    pub(crate) language: Option<&'a str>,
    /// The name of the organization.
    organizer: &'a str,
    /// What was paid for the ticket. `None` without an order, and if the tickets of its item did not cost the same.
    price: Option<Amount>,
    /// The number of the ticket in its order, from 1.
    number: usize,
    /// How many tickets the order has, including cancelled ones.
    tickets_of_order: usize,
}

impl<'a> TicketToPrint<'a> {
    /// A single ticket, with or without an order.
    pub(crate) fn of(linked: &'a LinkedTicket) -> Self {
        Self {
            event: &linked.event,
            ticket_type: &linked.ticket_type,
            ticket: &linked.ticket,
            order: linked.order_id,
            language: linked.language.as_deref(),
            organizer: &linked.organizer,
            price: linked.price,
            number: linked.number,
            tickets_of_order: linked.tickets_of_order,
        }
    }

    /// A ticket of an order: its number in the order, from 1, and how many tickets the order has.
    pub(crate) fn with_number(
        linked: &'a LinkedOrder,
        (number, tickets_of_order): (usize, usize),
        ticket: &'a IssuedTicket,
        ticket_type: &'a TicketType,
    ) -> Self {
        let item = linked.order.items.iter().find(|item| Some(item.id) == ticket.order_item_id);
        Self {
            event: &linked.event,
            ticket_type,
            ticket,
            order: Some(linked.order.id),
            language: linked.language.as_deref(),
            organizer: &linked.organizer,
            price: item.and_then(paid_for_each),
            number,
            tickets_of_order,
        }
    }

    /// The name of a file about the ticket.
    pub(crate) fn file_name(&self, ending: &str) -> String {
        file_name::of_ticket(&self.event.slug, self.number, self.tickets_of_order, ending)
    }
}

/// A field of the ticket: its label, and the lines below the label.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) label: &'static str,
    pub(crate) lines: Vec<String>,
    /// Whether the organizer wrote the lines.
    pub(crate) is_organizers: bool,
}

/// The text of a ticket, in its language.
#[derive(Debug)]
pub(crate) struct Content {
    /// The fixed texts of the document in its language.
    pub(crate) words: &'static Words,
    /// The language tag of the buyer, such as `de-AT`.
    pub(super) language: Option<String>,
    pub(crate) title: String,
    /// When the event takes place.
    pub(crate) period: String,
    /// The time zone, such as `New York, UTC-5`.
    pub(crate) zone: String,
    /// The lines of the location.
    pub(crate) location: Vec<String>,
    pub(crate) ticket_type: String,
    pub(crate) fields: Vec<Field>,
    /// The lines of the ticket type's ticket text.
    pub(crate) text: Vec<String>,
    pub(crate) code: String,
    pub(crate) order: Option<String>,
    /// The position in the order, such as "Ticket 3 of 30". `None` for the only ticket.
    pub(crate) position: Option<String>,
    /// The name of the organization that sells the ticket.
    pub(crate) organizer: Option<String>,
    /// The logo of the ticket type. Its file may be damaged.
    pub(super) logo: Option<PictureFile>,
}

impl Content {
    /// Composes the text of a ticket in the language of `words`. Sets no logo.
    pub(crate) fn of(ticket: TicketToPrint<'_>, words: &'static Words) -> Result<Self> {
        let TicketToPrint { event, ticket_type, ticket, order, language, organizer, price, number, tickets_of_order } =
            ticket;
        let days = EventDays::stored(event)?;
        let zone = days.zone;
        let name = ticket.customer.iter().map(|customer| printed_text::line(&customer.name)).collect();
        let details = ticket.ticket_label.iter().map(|label| printed_text::line(label)).collect();
        let areas: Vec<_> = ticket_type.access_areas.iter().map(|area| printed_text::line(area)).collect();
        let price = price.filter(|price| price.minor_units() > 0);
        let price = price.map(|price| words::money(words, price, &event.currency));
        let labels = &words.ticket;
        let mut fields = vec![
            Field { label: labels.name, lines: name, is_organizers: false },
            Field { label: labels.label, lines: details, is_organizers: true },
            Field { label: labels.valid, lines: words::validity(words, days, ticket_type), is_organizers: false },
            Field { label: labels.access_areas, lines: vec![areas.join(" · ")], is_organizers: true },
            Field { label: labels.price, lines: price.into_iter().collect(), is_organizers: false },
        ];
        fields.retain(|field| field.lines.iter().any(|line| !line.is_empty()));
        Ok(Self {
            words,
            language: language.map(str::to_owned),
            title: printed_text::line(&event.title),
            period: words::period(words, zone, event.start_date, event.end_date),
            zone: words::zone_of(zone, &event.timezone, event.start_date, event.end_date),
            location: event.location.as_deref().map(printed_text::address).unwrap_or_default(),
            ticket_type: printed_text::line(&ticket_type.name),
            fields,
            text: ticket_type.ticket_text.iter().flat_map(|text| printed_text::lines(text)).collect(),
            code: ticket.code.clone(),
            order: order.map(OrderId::number),
            position: (tickets_of_order > 1).then(|| (words.ticket.position)(number, tickets_of_order)),
            organizer: printed_text::organizer(organizer),
            logo: None,
        })
    }

    /// Iterates over the texts of the organizer and the customer, from which the language of the document is detected.
    /// Fields with texts of the document itself are included.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().flat_map(|field| &field.lines);
        let texts = [&self.title, &self.ticket_type].into_iter().chain(&self.location).chain(fields).chain(&self.text);
        texts.map(String::as_str)
    }
}

fn paid_for_each(item: &OrderItem) -> Option<Amount> {
    let (price, discount) = (item.price.minor_units(), item.item_discount.minor_units());
    let paid = ItemPrice { price, quantity: item.quantity, discount }.paid_for_each()?;
    Amount::new(paid, item.price.decimals()).ok()
}

/// Formats a ticket code in groups of five characters, so that it is easy to read out.
pub(crate) fn code_in_groups(code: &str) -> String {
    let characters: Vec<char> = code.chars().collect();
    characters.chunks(5).map(String::from_iter).collect::<Vec<_>>().join(" ")
}
