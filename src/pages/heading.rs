//! The head of a page: which event it is about.

use crate::error::Result;
use crate::form::limits::LINE_LENGTH;
use crate::model::sale::event::Event;
use crate::rules::calendar::Zone;
use crate::rules::printed_text;
use crate::words::{self, Words};

/// A title longer than this is written in smaller letters.
#[cfg(feature = "server")]
const LONG_TITLE: usize = 80;

/// Title, time and place of an event.
pub(crate) struct Heading<'a> {
    pub(crate) title: String,
    pub(crate) period: String,
    pub(crate) zone: String,
    /// The lines of the location.
    pub(crate) location: Vec<String>,
    /// The language of what the organizer has written, if it is another one than that of the page.
    pub(crate) foreign: Option<&'a str>,
}

impl<'a> Heading<'a> {
    /// `language` is the language tag of the order.
    pub(crate) fn of(event: &Event, words: &Words, language: Option<&'a str>) -> Result<Self> {
        let Event { title, start_date, end_date, timezone, location, .. } = event;
        let zone = Zone::stored(timezone)?;
        Ok(Self {
            title: printed_text::line(shortened(title)),
            period: words::period(words, zone, *start_date, *end_date),
            zone: words::zone_of(zone, timezone, *start_date, *end_date),
            location: location.as_deref().map(shortened).map(printed_text::address).unwrap_or_default(),
            foreign: words::foreign(words, language),
        })
    }

    #[cfg(feature = "server")]
    pub(crate) fn is_long(&self) -> bool {
        self.title.chars().count() > LONG_TITLE
    }
}

/// The beginning of a text. Texts of early versions may have any length.
fn shortened(text: &str) -> &str {
    text.char_indices().nth(LINE_LENGTH).map_or(text, |(end, _)| &text[..end])
}
