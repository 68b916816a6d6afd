//! Notices: what a customer has to know first.

use crate::words::Message;

/// A title and a sentence in a colored box.
pub(super) struct Notice {
    /// A class in the style sheet: `good`, `bad` or `calm`.
    pub(super) tone: &'static str,
    pub(super) title: String,
    pub(super) text: String,
}

impl Notice {
    pub(super) fn new(tone: &'static str, title: &str, text: &str) -> Self {
        Self { tone, title: title.to_owned(), text: text.to_owned() }
    }

    pub(super) fn of(tone: &'static str, message: Message) -> Self {
        Self::new(tone, message.title, message.text)
    }
}
