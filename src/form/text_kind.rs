//! Kinds of text: which characters a text may contain, and its normal form.

use super::limits::TextLimit;
use super::text::CONTAINS_NUL;

/// The kind of a text. It follows from the limits of its field, so that a new field is one line unless they say
/// otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// A text of one line, such as a name. White space at its ends is cut off.
    Line,
    /// A text of several lines, such as a description: `\n` ends a line. White space at its ends is cut off.
    Lines,
    /// A text with a format, such as a URL. It is one line, from which nothing is cut off.
    Formatted,
    /// A code whose reader drops what does not belong to it.
    TicketCode,
}

impl TextKind {
    pub(crate) fn of(limits: &[TextLimit]) -> Self {
        let mut kinds = limits.iter().filter_map(|limit| match limit {
            TextLimit::MinLength(_)
            | TextLimit::MaxLength(_)
            | TextLimit::ExactLength(_)
            | TextLimit::Email
            | TextLimit::ForeignCode
            | TextLimit::Picture => None,
            TextLimit::Lines(_) => Some(Self::Lines),
            TextLimit::CountryCode
            | TextLimit::Slug
            | TextLimit::TimeOfDay
            | TextLimit::Uuid
            | TextLimit::Uri
            | TextLimit::SafeLink
            | TextLimit::HttpsUrl
            | TextLimit::Logo
            | TextLimit::WebhookUrl => Some(Self::Formatted),
            TextLimit::TicketCode => Some(Self::TicketCode),
        });
        kinds.next().unwrap_or(Self::Line)
    }

    /// Brings a text into its normal form.
    pub(crate) fn normalize(self, text: &mut String) {
        if matches!(self, Self::Formatted | Self::TicketCode) {
            return;
        }
        if self == Self::Lines && text.contains(|c| c != '\n' && breaks_line(c)) {
            *text = text.replace("\r\n", "\n").replace(breaks_line, "\n");
        }
        let trimmed = trimmed(text);
        if trimmed.len() < text.len() {
            *text = trimmed.to_owned();
        }
    }

    /// What is wrong with the characters of a text.
    pub(crate) fn refusal(self, text: &str) -> Option<&'static str> {
        let is_allowed = |c: char| match self {
            Self::Line | Self::Formatted => !c.is_control() && !breaks_line(c),
            Self::Lines => !c.is_control() || c == '\n',
            Self::TicketCode => true,
        };
        match self {
            _ if text.contains('\0') => Some(CONTAINS_NUL),
            _ if text.chars().all(is_allowed) => None,
            Self::Lines => Some("must not contain control characters other than line breaks"),
            _ => Some("must be one line, without control characters"),
        }
    }
}

/// A text without white space and invisible spaces at its ends.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{200B}' | '\u{FEFF}'))
}

/// Whether a character ends a line: a line break, or a separator of lines or paragraphs.
pub(crate) fn breaks_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
