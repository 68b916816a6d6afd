//! The head of a page: which event it is about.

use crate::error::Result;
use crate::model::values::timestamp::Timestamp;
use crate::rules::calendar::Zone;
use crate::rules::printed_text;
use crate::words::{self, Words};

/// A title longer than this is written in smaller letters.
const LONG_TITLE: usize = 80;

/// Title, time and place of an event.
pub(super) struct Heading<'a> {
    pub(super) title: String,
    pub(super) period: String,
    pub(super) zone: String,
    /// The lines of the location.
    pub(super) location: Vec<String>,
    /// The language of what the organizer has written, if it is another one than that of the page.
    pub(super) foreign: Option<&'a str>,
}

/// What a heading says of an event.
pub(super) struct EventFacts<'a> {
    pub(super) title: &'a str,
    pub(super) start: Timestamp,
    pub(super) end: Option<Timestamp>,
    pub(super) timezone: &'a str,
    pub(super) location: Option<&'a str>,
}

impl<'a> Heading<'a> {
    /// `language` is the language tag of the order.
    pub(super) fn of(event: &EventFacts<'_>, words: &Words, language: Option<&'a str>) -> Result<Self> {
        let zone = Zone::stored(event.timezone)?;
        Ok(Self {
            title: printed_text::line(event.title),
            period: words::period(words, zone, event.start, event.end),
            zone: words::zone_of(zone, event.timezone, event.start, event.end),
            location: event.location.map(printed_text::address).unwrap_or_default(),
            foreign: words::foreign(words, language),
        })
    }

    pub(super) fn is_long(&self) -> bool {
        self.title.chars().count() > LONG_TITLE
    }
}
