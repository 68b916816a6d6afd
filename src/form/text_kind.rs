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
    /// A text with a format, such as a URL, or a code whose reader drops what does not belong to it. It stays as it is.
    Formatted,
}

impl TextKind {
    pub(crate) fn of(limits: &[TextLimit]) -> Self {
        let kinds = limits.iter().filter_map(|limit| match limit {
            TextLimit::MinLength(_)
            | TextLimit::MaxLength(_)
            | TextLimit::ExactLength(_)
            | TextLimit::CountryCode
            | TextLimit::Email => None,
            TextLimit::Lines(_) => Some(Self::Lines),
            TextLimit::Slug
            | TextLimit::Uuid
            | TextLimit::Uri
            | TextLimit::SafeLink
            | TextLimit::Logo
            | TextLimit::WebhookUrl
            | TextLimit::TicketCode => Some(Self::Formatted),
        });
        kinds.last().unwrap_or(Self::Line)
    }

    /// Brings a text into its normal form.
    pub(crate) fn normalize(self, text: &mut String) {
        if self == Self::Formatted {
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
            Self::Line => !c.is_control() && !breaks_line(c),
            Self::Lines => !c.is_control() || c == '\n',
            Self::Formatted => true,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(limits: &[TextLimit], text: &str) -> Result<String, &'static str> {
        let kind = TextKind::of(limits);
        let mut text = text.to_owned();
        kind.normalize(&mut text);
        kind.refusal(&text).map_or(Ok(text), Err)
    }

    #[test]
    fn white_space_at_the_ends_of_a_line_is_cut_off_and_a_control_character_refused() {
        let limits = [TextLimit::MinLength(1), TextLimit::MaxLength(255)];
        let spaces = " \t\r\n\u{0B}\u{0C}\u{85}\u{A0}\u{1680}\u{2003}\u{200B}\u{2028}\u{2029}\u{202F}\u{3000}\u{FEFF}";
        assert_eq!(normal(&limits, &format!("{spaces}A {spaces}", spaces = spaces)), Ok("A".to_owned()));
        assert_eq!(normal(&limits, spaces), Ok(String::new()));
        assert_eq!(normal(&limits, "A  \u{A0}\u{200B}B"), Ok("A  \u{A0}\u{200B}B".to_owned()), "inside, it stays");
        let refused = ["\n", "\r\n", "\t", "\u{1}", "\u{1B}", "\u{7F}", "\u{85}", "\u{9F}", "\u{2028}", "\u{2029}"];
        for character in refused {
            assert!(normal(&limits, &format!("A{character}B")).is_err(), "{character:?}");
        }
        assert_eq!(normal(&limits, "A\0B"), Err(CONTAINS_NUL));
    }

    #[test]
    fn the_lines_of_a_text_end_in_the_same_way_and_another_control_character_is_refused() {
        let limits = [TextLimit::MaxLength(2000), TextLimit::Lines(usize::MAX)];
        let text = " a\r\nb\rc\n\nd\u{0B}e\u{0C}f\u{85}g\u{2028}h\u{2029}i \n";
        assert_eq!(normal(&limits, text), Ok("a\nb\nc\n\nd\ne\nf\ng\nh\ni".to_owned()));
        for character in ["\t", "\u{1}", "\u{1B}", "\u{7F}", "\u{9F}"] {
            assert!(normal(&limits, &format!("A{character}B")).is_err(), "{character:?}");
        }
    }

    #[test]
    fn a_text_with_a_format_stays_as_it_is() {
        for limit in [TextLimit::Slug, TextLimit::Uri, TextLimit::TicketCode] {
            assert_eq!(normal(&[TextLimit::MaxLength(255), limit], " A\tB\n"), Ok(" A\tB\n".to_owned()));
        }
    }
}
