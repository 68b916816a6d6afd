//! Text as it may be drawn: without characters that would change what stands around it.

use crate::form::text_kind::breaks_line;
use crate::model::tenants::organization::DEFAULT_NAME;

/// Within a text it is not seen, and accessible documents must not have it.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// Returns a text on one line: control characters and line breaks become spaces. See [`lines`].
pub(crate) fn line(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|c| !reorders(*c) && *c != BYTE_ORDER_MARK)
        .map(|c| if breaks_line(c) || c.is_control() { ' ' } else { c });
    kept.collect::<String>().trim().to_owned()
}

/// Returns the lines of a text. Characters that embed or override a direction are dropped: with them, a name could
/// change the order of what a reader sees. The marks that only hint at a direction stay.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<String> = text.split(breaks_line).map(line).collect();
    lines.into_iter()
}

/// Returns the lines of an address that are not empty.
pub(crate) fn address(text: &str) -> Vec<String> {
    lines(text).filter(|line| !line.is_empty()).collect()
}

/// Returns the name of an organization as it is printed. `None` for the default name, which is not printed.
pub(crate) fn organizer(name: &str) -> Option<String> {
    (name != DEFAULT_NAME).then(|| line(name))
}

/// The controls of the bidirectional algorithm (Unicode Standard Annex #9) that open or close an embedding, an override
/// or an isolate.
fn reorders(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_order_of_letters_is_dropped_and_hints_stay() {
        assert_eq!(line("\u{202E}adA\u{202C} \u{2067}x\u{2069}"), "adA x");
        assert_eq!(line("\u{200F}שלום\u{200E}"), "\u{200F}שלום\u{200E}");
    }

    #[test]
    fn a_name_is_one_line_and_a_text_keeps_its_lines() {
        assert_eq!(line("\u{FEFF}Ada\u{FEFF}"), "Ada");
        assert_eq!(line(" Ada\tKing\r\nLovelace\u{0}"), "Ada King  Lovelace");
        assert_eq!(lines("a\r\nb\n\nc\u{2028}d").collect::<Vec<_>>(), ["a", "b", "", "c", "d"]);
    }
}
