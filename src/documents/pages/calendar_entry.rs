//! The calendar entry of a ticket's event (RFC 5545).
//!
//! The crate `icalendar` is not used: it has no `VTIMEZONE`, and writes the time of the system's clock into components.

use super::super::clean;
use super::time_zone;
use crate::error::Result;
use crate::model::event::Event;
use crate::model::linked::LinkedTicket;
use crate::model::ticket::TicketStatus;
use crate::model::timestamp::Timestamp;
use crate::rules::calendar::Zone;

/// How many bytes a line may have, without its end.
const LINE: usize = 75;

/// An event that lasts longer has its times in UTC.
const LONGEST_LOCAL: i64 = 366 * 86_400;

/// Returns the calendar entry of a ticket. It does not contain the code of the ticket. Each ticket has an entry of its own,
/// because one may be cancelled while another of the same event is valid.
///
/// It is published without a `METHOD`: `PUBLISH` would need an `ORGANIZER` with an e-mail address (RFC 5546, 3.2.1). Without
/// one, `DTSTAMP` is when the entry was last changed (RFC 5545, 3.8.7.2).
pub(crate) fn calendar_entry(linked: &LinkedTicket) -> Result<String> {
    let LinkedTicket { event, ticket, .. } = linked;
    let mut lines = vec!["BEGIN:VCALENDAR".to_owned(), "VERSION:2.0".to_owned(), "PRODID:-//ticketing//EN".to_owned()];
    let times = times(event)?;
    lines.extend(times.zone);
    lines.push("BEGIN:VEVENT".to_owned());
    lines.push(format!("UID:{}@ticketing", ticket.id));
    lines.push(format!("DTSTAMP:{}", utc(seconds(event.updated_at.max(ticket.updated_at)))));
    // Of the changes of a ticket, only its cancellation changes the entry. It is final, so the number never falls.
    let sequence = event.revision + i64::from(ticket.status == TicketStatus::Cancelled);
    lines.push(format!("SEQUENCE:{sequence}"));
    lines.extend(times.event);
    lines.push(format!("SUMMARY:{}", escaped(&clean::line(&event.title))));
    if let Some(location) = &event.location {
        lines.push(format!("LOCATION:{}", escaped(&clean::line(location))));
    }
    lines.push(format!("STATUS:{}", if linked.is_cancelled() { "CANCELLED" } else { "CONFIRMED" }));
    lines.push("END:VEVENT".to_owned());
    lines.push("END:VCALENDAR".to_owned());
    Ok(lines.iter().map(|line| folded(line)).collect())
}

/// The lines about the times of an event.
struct Times {
    /// The `VTIMEZONE`, if a time needs it.
    zone: Vec<String>,
    event: Vec<String>,
}

fn times(event: &Event) -> Result<Times> {
    let zone = Zone::stored(&event.timezone)?;
    let start = seconds(event.start_date);
    let end = event.end_date.filter(|end| *end > event.start_date).map(seconds);
    let last = end.unwrap_or(start);
    // An hour that occurs twice cannot be told by a local time.
    let is_local =
        |at: i64| event.timezone != "UTC" && last - start <= LONGEST_LOCAL && !time_zone::occurs_twice(zone, at);
    let line = |name: &str, at: i64| match is_local(at) {
        true => format!("{name};TZID={}:{}", event.timezone, time_zone::date_time(at, zone.offset(at))),
        false => format!("{name}:{}", utc(at)),
    };
    let mut lines = vec![line("DTSTART", start)];
    lines.extend(end.map(|end| line("DTEND", end)));
    let needs_zone = is_local(start) || end.is_some_and(is_local);
    let zone = if needs_zone { time_zone::component(zone, &event.timezone, start, last) } else { Vec::new() };
    Ok(Times { zone, event: lines })
}

fn seconds(at: Timestamp) -> i64 {
    at.millis().div_euclid(1000)
}

fn utc(at: i64) -> String {
    format!("{}Z", time_zone::date_time(at, 0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_folded_between_characters() {
        let line = format!("SUMMARY:{}", "ä".repeat(100));
        let folded = folded(&line);
        assert!(folded.split("\r\n").all(|part| part.len() <= 75), "{folded}");
        assert_eq!(folded.replace("\r\n ", "").trim_end(), line);
        assert_eq!(super::folded("END:VEVENT"), "END:VEVENT\r\n");
    }

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(escaped("A; B, C\\D"), "A\\; B\\, C\\\\D");
    }
}
