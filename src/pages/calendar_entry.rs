//! The calendar entry of an event (RFC 5545), or of a ticket of it. Its times are in UTC, which every calendar shows in the time zone
//! of its user.
//!
//! The crate `icalendar` is not used: it writes the time of the system's clock into components.

use std::time::Duration;

use time::OffsetDateTime;

use crate::model::sale::event::Event;
use crate::model::sale::event::EventStatus;
#[cfg(feature = "event-pages")]
use crate::model::sale::event_page::EventPage;
use crate::model::sale::ticket::{IssuedTicket, TicketStatus};
#[cfg(feature = "server")]
use crate::model::tickets::linked::LinkedTicket;
use crate::model::values::timestamp::Timestamp;
use crate::rules::printed_text;

/// How long an event without an end is in a calendar. Without an end, it would take no time there.
const DEFAULT_DURATION: Duration = Duration::from_hours(2);

/// How many bytes a line may have, without its end.
const LINE: usize = 75;

/// Returns the calendar entry of a ticket. It does not contain the code of the ticket, but the link of the page that has
/// it. Each ticket has an entry of its own, because one may be cancelled while another of the same event is valid.
#[cfg(feature = "server")]
pub(crate) fn calendar_entry(linked: &LinkedTicket) -> String {
    calendar_entry_of_ticket(&linked.event, &linked.ticket, &linked.organizer)
}

/// Like [`calendar_entry`], of a ticket of this event.
pub(crate) fn calendar_entry_of_ticket(event: &Event, ticket: &IssuedTicket, organizer: &str) -> String {
    entry(&Entry {
        id: &ticket.id.to_string(),
        changed_at: event.updated_at.max(ticket.updated_at),
        // Of the changes of a ticket, only its cancellation changes the entry. It is final, so the number never falls.
        sequence: event.revision + i64::from(ticket.status == TicketStatus::Cancelled),
        event,
        organizer,
        page: ticket.download_ticket_url.as_deref().and_then(|document| document.strip_suffix("/ticket.pdf")),
        is_cancelled: ticket.status == TicketStatus::Cancelled || event.status == EventStatus::Cancelled,
    })
}

/// Returns the calendar entry of an event, with the link of its page.
#[cfg(feature = "event-pages")]
pub(crate) fn calendar_entry_of_event(page: &EventPage, url: &str) -> String {
    let event = &page.event;
    entry(&Entry {
        id: &event.id.to_string(),
        changed_at: event.updated_at,
        sequence: event.revision,
        event,
        organizer: &page.organization.name,
        page: Some(url),
        is_cancelled: event.status == EventStatus::Cancelled,
    })
}

/// What an entry says.
struct Entry<'a> {
    id: &'a str,
    changed_at: Timestamp,
    sequence: i64,
    event: &'a Event,
    organizer: &'a str,
    page: Option<&'a str>,
    is_cancelled: bool,
}

/// It is published without a `METHOD`: `PUBLISH` would need an `ORGANIZER` with an e-mail address (RFC 5546, 3.2.1).
/// Without one, `DTSTAMP` is when the entry was last changed (RFC 5545, 3.8.7.2).
fn entry(Entry { id, changed_at, sequence, event, organizer, page, is_cancelled }: &Entry<'_>) -> String {
    let mut lines = vec!["BEGIN:VCALENDAR".to_owned(), "VERSION:2.0".to_owned(), "PRODID:-//ticketing//EN".to_owned()];
    lines.push("BEGIN:VEVENT".to_owned());
    lines.push(format!("UID:{id}@ticketing"));
    lines.push(format!("DTSTAMP:{}", utc(*changed_at)));
    lines.push(format!("SEQUENCE:{sequence}"));
    lines.push(format!("DTSTART:{}", utc(event.start_date)));
    let end = event.end_date.filter(|end| *end > event.start_date);
    lines.push(format!("DTEND:{}", utc(end.unwrap_or_else(|| event.start_date.saturating_add(DEFAULT_DURATION)))));
    lines.push(format!("SUMMARY:{}", escaped(&printed_text::line(&event.title))));
    if let Some(location) = &event.location {
        lines.push(format!("LOCATION:{}", escaped(&printed_text::address(location).join(", "))));
    }
    // Some calendars show the URL, and others only the description.
    let description = [printed_text::organizer(organizer).as_deref().map(escaped), page.map(escaped)];
    let description: Vec<_> = description.into_iter().flatten().collect();
    if !description.is_empty() {
        lines.push(format!("DESCRIPTION:{}", description.join("\\n")));
    }
    lines.extend(page.map(|page| format!("URL:{page}")));
    lines.push(format!("STATUS:{}", if *is_cancelled { "CANCELLED" } else { "CONFIRMED" }));
    lines.push("END:VEVENT".to_owned());
    lines.push("END:VCALENDAR".to_owned());
    lines.iter().map(|line| folded(line)).collect()
}

/// An instant in UTC: `20270612T173000Z`.
fn utc(at: Timestamp) -> String {
    let seconds = at.millis().div_euclid(1000);
    let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (date, time) = (at.date(), at.time());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", time.hour(), time.minute(), time.second())
}

/// A text with the special characters of calendars escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace(';', "\\;").replace(',', "\\,")
}

/// A line with its end. A long one is continued on lines that begin with a space.
fn folded(line: &str) -> String {
    let mut folded = String::with_capacity(line.len() + 8);
    let mut length = 0;
    for character in line.chars() {
        if length + character.len_utf8() > LINE {
            folded.push_str("\r\n ");
            length = 1;
        }
        folded.push(character);
        length += character.len_utf8();
    }
    folded.push_str("\r\n");
    folded
}
