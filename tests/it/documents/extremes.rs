//! The longest and strangest texts that a ticket may have.

use ticketing::documents::TicketDocuments;

use crate::documents::tools::*;

/// A text of this many characters that repeats a pattern.
fn repeated(pattern: &str, length: usize) -> String {
    pattern.chars().cycle().take(length).collect()
}

#[test]
fn a_ticket_with_the_longest_texts_of_one_kind_is_rendered_and_scans() {
    for pattern in [
        "a",
        "W",
        "a ",
        "\u{301}",
        "a\u{301}\u{302}",
        "\u{200D}",
        "a\u{200D}",
        "\u{FE0F}",
        "\u{202E}a",
        "\u{2067}א",
        "א1(a)",
        "\u{200F}",
        "\u{AD}",
        "\u{A0}",
        "\u{FFFE}\u{FFFF}",
        "\u{FEFF}",
        "\u{FFFD}",
        "\u{E000}",
        "\u{10FFFF}",
        "👩🏽\u{200D}🚀",
        "🇩🇪",
        "ก",
        "漢",
        "ﷺ",
        "क्षि",
        "\u{1160}",
        "-",
        "/",
    ] {
        // Each needs a letter that is seen.
        let text = |length: usize| format!("abc{}", repeated(pattern, length - 3));
        let Printed { file, ticket, .. } = printed(
            TicketDocuments::default(),
            &text(200),
            |event| {
                event.title = text(255);
                event.location = Some(text(255));
            },
            |ticket_type| {
                ticket_type.name = text(255);
                ticket_type.ticket_text = Some(text(2000));
                ticket_type.access_areas = Some((10..60).map(|area| format!("{area}{}", text(98))).collect());
            },
        );
        assert!(file.is_accessible(), "{pattern:?}");
        let Some(pages) = file.corners() else { return };
        let codes: Vec<_> = Gray::read(&pages[0]).qr_codes().into_iter().map(|(code, ..)| code).collect();
        assert_eq!(codes, [ticket.code], "{pattern:?}");
    }
}
