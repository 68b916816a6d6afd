//! The card of a ticket, with its code.

use std::fmt::Write;

use super::page_notice::Notice;
use crate::documents::qr::{self, DarkRun};
use crate::documents::{Content, Field, code_in_groups};
use crate::error::Result;
use crate::model::sale::event::{Event, EventStatus};
use crate::model::sale::ticket::{IssuedTicket, TicketStatus};
use crate::rules::calendar::Zone;
use crate::words::{self, Words};

/// The light modules that a QR code needs on all sides.
const QUIET_ZONE: usize = 4;

/// What a page shows of a ticket.
pub(super) struct Card {
    /// Its number on the page, from 1.
    pub(super) number: usize,
    /// "Ticket 3 of 30", if there are several.
    pub(super) position: Option<String>,
    pub(super) notice: Option<Notice>,
    /// Whether the ticket can be used for the first time.
    pub(super) is_fresh: bool,
    pub(super) ticket_type: String,
    pub(super) fields: Vec<Field>,
    pub(super) text: Option<String>,
    /// `None` if the ticket admits nobody any more.
    pub(super) code: Option<Code>,
}

/// A QR code as SVG, and what stands around it.
pub(super) struct Code {
    /// How many modules it is wide and high, with its quiet zone.
    pub(super) side: usize,
    /// The path of the dark modules: horizontal lines through the middle of each row, one module high.
    pub(super) dark: String,
    pub(super) label: String,
    pub(super) letters: String,
}

impl Card {
    /// `number` is that of the card on its page, from 1.
    pub(super) fn of(content: &Content, ticket: &IssuedTicket, event: &Event, number: usize) -> Result<Self> {
        let words = content.words;
        let is_live = !is_cancelled(ticket, event);
        let position = content.position.clone();
        let code = is_live.then(|| Code::of(&content.code, words, position.as_deref())).transpose()?;
        let has_text = is_live && content.text.iter().any(|line| !line.is_empty());
        Ok(Self {
            number,
            notice: notice(ticket, event, words)?,
            is_fresh: is_live && ticket.status != TicketStatus::CheckedIn && event.status != EventStatus::Expired,
            ticket_type: content.ticket_type.clone(),
            fields: if is_live { content.fields.clone() } else { Vec::new() },
            text: has_text.then(|| content.text.join("\n")),
            code,
            position,
        })
    }
}

pub(super) fn is_cancelled(ticket: &IssuedTicket, event: &Event) -> bool {
    ticket.status == TicketStatus::Cancelled || event.status == EventStatus::Cancelled
}

/// What the holder of the ticket has to know. The page says by itself what concerns the event.
fn notice(ticket: &IssuedTicket, event: &Event, words: &Words) -> Result<Option<Notice>> {
    if event.status == EventStatus::Cancelled {
        return Ok(None);
    }
    Ok(match (ticket.status, ticket.check_in_date) {
        (TicketStatus::Cancelled, _) => {
            Some(Notice::new("bad", words.tickets.ticket_cancelled, words.tickets.no_entry))
        }
        (TicketStatus::CheckedIn, Some(at)) => {
            // In large letters, a date is wider than the notice.
            let at = words::moment(words, Zone::stored(&event.timezone)?, at).replace('\u{A0}', " ");
            Some(Notice::new("calm", words.tickets.checked_in, &at))
        }
        _ => None,
    })
}

impl Code {
    fn of(code: &str, words: &Words, position: Option<&str>) -> Result<Self> {
        let mut dark = String::new();
        // The row of the last line, and the column in which it ends.
        let mut end = None;
        for DarkRun { row, column, length } in qr::dark_runs(code)? {
            // Writing to a string cannot fail.
            let _ = match end {
                Some((last, end)) if last == row => write!(dark, "m{} 0h{length}", column - end),
                _ => write!(dark, "M{} {}h{length}", column + QUIET_ZONE, row + QUIET_ZONE),
            };
            end = Some((row, column + length));
        }
        let label = words.ticket.qr_code;
        Ok(Self {
            side: qr::SIDE + 2 * QUIET_ZONE,
            dark,
            label: position.map_or_else(|| label.to_owned(), |position| format!("{label}, {position}")),
            letters: code_in_groups(code),
        })
    }
}
