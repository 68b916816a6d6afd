//! Names in the scripts of the world, with fonts that the program adds.

use std::path::Path;

use ticketing::documents::TicketDocuments;

use crate::tools::*;

const NOTO: &str = "/usr/share/fonts/truetype/noto";
const NOTO_CJK: &str = "/usr/share/fonts/opentype/noto";

/// The settings with a font of Debian. `None` if the font is not installed.
fn with_font(folder: &str, file: &str) -> Option<TicketDocuments> {
    match std::fs::read(Path::new(folder).join(file)) {
        Ok(font) => Some(TicketDocuments::default().font(font)),
        Err(error) => {
            eprintln!("skipped: {folder}/{file}: {error}");
            None
        }
    }
}

/// Letters without the spaces between them and the marks that readers of text put around what is written from right to
/// left.
fn letters(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}'))
        .collect()
}

/// Prints a ticket for a person with a name, and checks that the name can be read and the code scanned.
fn check_name(documents: TicketDocuments, name: &str) {
    let Printed { file, ticket, .. } = printed(documents, name, |_| {}, |_| {});
    assert!(file.document.missing_glyphs.is_empty(), "{name}");
    let Some(text) = file.text() else { return };
    assert!(letters(&text).contains(&letters(name)), "{name} is not in:\n{text}");
    run("qpdf", &["--check", utf8(&file.path())]);
    let pages = file.pages().expect("pages");
    assert_eq!(Gray::read(&pages[0]).qr_codes(), [(ticket.code, 2, 2)]);
}

#[test]
fn latin_greek_and_cyrillic_names_need_no_further_font() {
    for name in
        ["Łukasz Żółć", "Nguyễn Thị Ánh", "Γιώργος Παπαδόπουλος", "Александр Щукин", "Þórbjörg Æsa", "Ĳsbrand ẞ"]
    {
        check_name(TicketDocuments::default(), name);
    }
}

#[test]
fn names_in_other_scripts_take_the_font_that_has_them() {
    for (folder, file, name) in [
        (NOTO, "NotoSansArabic-Regular.ttf", "محمد"),
        (NOTO, "NotoSansHebrew-Regular.ttf", "דוד"),
        (NOTO, "NotoSansThai-Regular.ttf", "สมชาย"),
        (NOTO, "NotoSansArmenian-Regular.ttf", "Արամ"),
        (NOTO, "NotoSansGeorgian-Regular.ttf", "ნინო"),
        (NOTO_CJK, "NotoSansCJK-Regular.ttc", "王小明"),
        (NOTO_CJK, "NotoSansCJK-Regular.ttc", "山田たろう"),
        (NOTO_CJK, "NotoSansCJK-Regular.ttc", "김민수"),
    ] {
        if let Some(documents) = with_font(folder, file) {
            check_name(documents, name);
        }
    }
}

#[test]
fn a_name_of_two_scripts_takes_two_fonts() {
    let Some(documents) = with_font(NOTO, "NotoSansHebrew-Regular.ttf") else { return };
    check_name(documents.clone(), "Cohen כהן");
    let Some(devanagari) = with_font(NOTO, "NotoSansDevanagari-Regular.ttf") else { return };
    // Readers of text do not all bring the vowel signs of Devanagari back in their order.
    let Printed { file, .. } = printed(devanagari, "Anita अनिता", |_| {}, |_| {});
    assert!(file.document.missing_glyphs.is_empty());
}

#[test]
fn emoji_take_a_font_with_colors() {
    let Some(documents) = with_font(NOTO, "NotoColorEmoji.ttf") else { return };
    let Printed { file, .. } = printed(documents, "Ada 🎉👩🏽\u{200D}🚀", |_| {}, |_| {});
    assert!(file.document.missing_glyphs.is_empty());
    run("qpdf", &["--check", utf8(&file.path())]);
}

#[test]
fn what_no_font_has_is_listed_and_replaced() {
    let name = "Ada 王明 🎉";
    let Printed { file, .. } = printed(TicketDocuments::default(), name, |_| {}, |_| {});
    assert_eq!(file.document.missing_glyphs, ['明', '王', '🎉']);
    let Some(text) = file.text() else { return };
    assert!(text.contains("Ada \u{FFFD}\u{FFFD} \u{FFFD}"), "{text}");
}

#[test]
fn characters_that_override_the_direction_change_nothing() {
    let name = "\u{202E}eroM samohT\u{202C} More";
    let Printed { file, .. } = printed(TicketDocuments::default(), name, |_| {}, |_| {});
    let Some(text) = file.text() else { return };
    assert!(text.contains("eroM samohT More"), "{text}");
}

#[test]
fn combining_marks_stay_with_their_letters() {
    // As the letters of one glyph, and as a letter with marks for which there is no such glyph.
    check_name(TicketDocuments::default(), "Zoë");
    let Printed { file, .. } = printed(TicketDocuments::default(), "Zoe\u{308} Q\u{30C}\u{323}", |_| {}, |_| {});
    assert!(file.document.missing_glyphs.is_empty());
}

#[test]
fn a_name_of_two_hundred_letters_takes_several_lines() {
    let name = "Wolfeschlegelsteinhausenbergerdorff".repeat(6);
    check_name(TicketDocuments::default(), &name[..200]);
}
