//! Signs that are not letters: the built-in fonts have those that the guide lists. What no font has is a replacement
//! character, unless Unicode presents it as an emoji.

use ticketing::documents::TicketDocuments;
use ticketing::event::CreateEvent;
use ticketing::ticket_type::CreateTicketType;

use crate::documents::tools::*;

/// The document of a ticket with this title.
fn titled(title: &str) -> File {
    printed(TicketDocuments::default(), "Ada", |event: &mut CreateEvent| event.title = title.to_owned(), |_| {}).file
}

/// The title in the document.
fn title_in(file: &File) -> Option<String> {
    Some(file.text()?.lines().next()?.trim().to_owned())
}

#[test]
fn the_signs_of_a_title_a_type_and_a_text_are_drawn() {
    let title = "★★★★☆ Kino: 5 ♥ → Berlin, −10 °C";
    let (name, text) = ("Parkett ♦ Reihe ①", "✓ Garderobe ✗ Tiere ♪ ♫ ♡ ♠ ☎ ☀ ❄ ✈ ∞ ► ■ ● ← ↑ ↓");
    let edit = |ticket_type: &mut CreateTicketType| {
        ticket_type.name = name.to_owned();
        ticket_type.ticket_text = Some(text.to_owned());
    };
    let printed = printed(TicketDocuments::default(), "Ada", |event| event.title = title.to_owned(), edit);
    assert!(printed.file.document.missing_glyphs.is_empty());
    assert!(printed.file.is_accessible());
    let Some(found) = printed.file.text() else { return };
    let lines: Vec<&str> = found.lines().map(str::trim).collect();
    // It has two lines.
    assert_eq!(lines[..2].join(" "), title);
    assert!(lines.iter().any(|line| line.starts_with(name)) && lines.contains(&text), "{found}");
    run("qpdf", &["--check", utf8(&printed.file.path())]);
}

#[test]
fn every_sign_that_the_guide_lists_is_drawn_with_ink() {
    let guide = include_str!("../../../src/guide/documents.md");
    let rows = guide.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let rows: Vec<(&str, String)> = rows.map(|(kind, signs)| (kind, signs.replace([' ', '|', '\n'], ""))).collect();
    assert!(rows.len() > 5 && rows.iter().all(|(_, signs)| !signs.is_empty()), "{rows:?}");
    for (kind, signs) in rows {
        for part in signs.chars().collect::<Vec<_>>().chunks(60) {
            // Each in a line of its own, and between them an empty one.
            let part: Vec<String> = part.iter().map(char::to_string).collect();
            let edit = |ticket_type: &mut CreateTicketType| ticket_type.ticket_text = Some(part.join("\n"));
            let file = printed(TicketDocuments::default(), "Ada", |_| {}, edit).file;
            assert!(file.document.missing_glyphs.is_empty(), "{kind}");
            let (Some(words), Some(pages)) = (file.words(), file.pages()) else { return };
            let pages: Vec<Gray> = pages.iter().map(|page| Gray::read(page)).collect();
            for sign in &part {
                assert!(words.iter().any(|word| word.text == *sign && has_ink(&pages, word)), "{kind}: {sign}");
            }
        }
    }
}

/// Whether a word of a document leaves ink in one of the pages with 100 dots per inch.
fn has_ink(pages: &[Gray], word: &Word) -> bool {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place on the page")]
    let dots = |points: f64| (points * 100.0 / 72.0) as usize;
    let (columns, rows) = (dots(word.left)..=dots(word.right), dots(word.top)..=dots(word.bottom));
    pages.iter().any(|page| rows.clone().any(|y| columns.clone().any(|x| page.at(x, y) < 200)))
}

#[test]
fn lines_with_signs_are_as_high_as_those_without() {
    let text = "Acht\nAcht ★\nAcht → Acht\nAcht ① ♪\nAcht";
    let edit = |ticket_type: &mut CreateTicketType| ticket_type.ticket_text = Some(text.to_owned());
    let Some(words) = printed(TicketDocuments::default(), "Ada", |_| {}, edit).file.words() else { return };
    let mut tops: Vec<f64> = words.iter().filter(|word| word.text == "Acht").map(|word| word.top).collect();
    tops.dedup();
    assert_eq!(tops.len(), 5, "{tops:?}");
    // 10 points, and 1.45 times as much from line to line.
    assert!(tops.windows(2).all(|pair| (pair[1] - pair[0] - 14.5).abs() < 0.01), "{tops:?}");
}

#[test]
fn signs_that_no_font_has_are_replacement_characters() {
    for sign in ["王", "𝐀", "░", "㊗", "🌶", "🖧", "🌶\u{FE0E}", "😀\u{FE0E}", "\u{1FBC5}", "王\u{FE0F}", "\u{E000}"]
    {
        let file = titled(&format!("Kino {sign} heute"));
        let first = sign.chars().next().expect("a sign");
        assert!(file.document.missing_glyphs.contains(&first), "{sign}");
        let Some(title) = title_in(&file) else { return };
        assert_eq!(title, "Kino \u{FFFD} heute", "{sign}");
    }
}

#[test]
fn only_what_unicode_presents_as_emoji_is_left_out() {
    for emoji in [
        // By default, also from U+1F900 on.
        "🎉",
        "✅",
        "❌",
        "🤖",
        "🥳",
        "🦄",
        "🧡",
        "🪩",
        "🫶",
        // Flags: of two letters, and of tags.
        "🇩🇪",
        "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
        // Keycaps, with a selector and without.
        "1\u{FE0F}\u{20E3}",
        "#\u{FE0F}\u{20E3}",
        "7\u{20E3}",
        // By a selector.
        "🌶\u{FE0F}",
        "🕶\u{FE0F}",
        // Sequences: with a color of skin, and joined.
        "👋🏽",
        "🧑\u{200D}🎤",
        "👩🏽\u{200D}❤\u{FE0F}\u{200D}👨🏻",
        "🏳\u{FE0F}\u{200D}🌈",
        "🐻\u{200D}❄\u{FE0F}",
    ] {
        let file = titled(&format!("Kino {emoji} heute"));
        assert!(!file.document.missing_glyphs.is_empty(), "{emoji}");
        let Some(title) = title_in(&file) else { return };
        assert_eq!(title, "Kino heute", "{emoji:?}");
    }
}

#[test]
fn signs_with_an_emoji_selector_are_drawn_if_a_font_has_them() {
    for sign in ["☀", "❤", "☎", "✈", "⭐", "⚡", "♻", "✔"] {
        let file = titled(&format!("Kino {sign}\u{FE0F} heute"));
        assert!(file.document.missing_glyphs.is_empty(), "{sign}");
        let Some(title) = title_in(&file) else { return };
        assert_eq!(title.replace('\u{FE0F}', ""), format!("Kino {sign} heute"));
    }
}

#[test]
fn signs_of_a_font_of_the_program_are_before_the_built_in_ones() {
    let Ok(font) = std::fs::read("/usr/share/fonts/truetype/noto/NotoSansSymbols2-Regular.ttf") else {
        return crate::common::unavailable("NotoSansSymbols2-Regular.ttf is not installed");
    };
    for (documents, expected) in [
        (TicketDocuments::default(), "NotoSansSigns-Regular"),
        (TicketDocuments::default().font(font), "NotoSansSymbols2-Regular"),
    ] {
        let file = printed(documents, "Ada", |event: &mut CreateEvent| event.title = "★★★".to_owned(), |_| {}).file;
        let Some(fonts) = run("pdffonts", &[utf8(&file.path())]) else { return };
        assert_eq!(fonts.matches("Sans").count(), 3, "{fonts}");
        assert!(fonts.contains(expected), "{fonts}");
    }
}
