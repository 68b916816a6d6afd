//! Names in the scripts of the world, with fonts that the program adds.

use std::path::Path;

use ticketing::documents::TicketDocuments;
use ticketing::event::CreateEvent;
use ticketing::ticket_type::CreateTicketType;

use crate::common::long_runs::repetitions;
use crate::common::random::Random;
use crate::common::unavailable;
use crate::documents::tools::*;

const NOTO: &str = "/usr/share/fonts/truetype/noto";
const NOTO_CJK: &str = "/usr/share/fonts/opentype/noto";

/// The settings with a font of Debian. `None` if the font is not installed.
fn with_font(folder: &str, file: &str) -> Option<TicketDocuments> {
    match std::fs::read(Path::new(folder).join(file)) {
        Ok(font) => Some(TicketDocuments::default().font(font)),
        Err(error) => {
            unavailable(format_args!("{folder}/{file}: {error}"));
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

/// Where the lowest line with letters of a text begins and ends. Codes have no I, L, O and U.
fn extent_of(words: &[Word], text: &str) -> (f64, f64) {
    let of_text = |word: &&Word| letters(&word.text).chars().all(|letter| text.contains(letter));
    let lowest = words.iter().filter(of_text).map(|word| word.top).fold(0.0, f64::max);
    let line = words.iter().filter(of_text).filter(|word| (word.top - lowest).abs() < 1.0);
    line.fold((f64::INFINITY, 0.0), |(left, right), word| (word.left.min(left), word.right.max(right)))
}

#[test]
fn a_ticket_stands_at_the_side_at_which_its_title_begins() {
    let Some(documents) = with_font(NOTO, "NotoSansHebrew-Regular.ttf") else { return };
    let (left, right) = (millimeters(20.0), millimeters(210.0 - 20.0));
    for (title, name, is_right) in [
        ("Summer Night", "Ada Lovelace", false),
        // A name does not stand apart from its label.
        ("Summer Night", "דוד כהן", false),
        ("Summer Night כהן", "כהן Cohen", false),
        ("ערב קיץ", "דוד כהן", true),
        ("ערב קיץ", "Ada Lovelace", true),
    ] {
        let edit = |event: &mut CreateEvent| {
            event.title = title.to_owned();
            event.location = Some("LLLL".to_owned());
        };
        let text = |ticket_type: &mut CreateTicketType| ticket_type.ticket_text = Some("OOOO\nגגגג".to_owned());
        let Printed { file, ticket, .. } = printed(documents.clone(), name, edit, text);
        let Some(words) = file.words() else { return };
        for part in [name, "Name", "LLLL", "UTC"] {
            let (start, end) = extent_of(&words, part);
            let is_at = |edge: f64, expected: f64| (edge - expected).abs() < 1.5;
            assert_eq!((is_at(start, left), is_at(end, right)), (!is_right, is_right), "{title}: {part}: {words:?}");
        }
        // The text of the ticket has its own direction.
        assert!((extent_of(&words, "O").0 - left).abs() < 1.5, "{words:?}");
        assert!((extent_of(&words, "ג").1 - right).abs() < 1.5, "{words:?}");
        // The code stands opposite.
        let (start, end) = extent_of(&words, &ticket.code);
        assert_eq!(start > millimeters(105.0), !is_right, "{words:?}");
        assert_eq!(end < millimeters(105.0), is_right, "{words:?}");
        let pages = file.pages().expect("pages");
        assert_eq!(Gray::read(&pages[0]).qr_codes(), [(ticket.code, 2, 2)]);
    }
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
    assert!(text.contains("Ada \u{FFFD}\u{FFFD}\n"), "{text}");
}

#[test]
fn emoji_without_a_font_are_left_out_with_a_space_and_listed() {
    for (title, expected) in [
        ("🎉 Emoji Party 🎈🎈 — bring your 👩🏽\u{200D}🚀!", "Emoji Party — bring your !"),
        ("Party 🎉", "Party"),
        ("Rock 🎸 & Roll", "Rock & Roll"),
        ("Rock🎸Roll 王", "RockRoll \u{FFFD}"),
        // Nothing else would be seen.
        ("🎉🎉🎉", "\u{FFFD}\u{FFFD}\u{FFFD}"),
    ] {
        let edit = |event: &mut CreateEvent| event.title = title.to_owned();
        let Printed { file, .. } = printed(TicketDocuments::default(), "Ada", edit, |_| {});
        assert!(!file.document.missing_glyphs.is_empty(), "{title}");
        assert!(file.is_accessible(), "{title}");
        let Some(text) = file.text() else { return };
        assert_eq!(text.lines().next(), Some(expected), "{title}");
    }
    let edit = |event: &mut CreateEvent| event.title = "🎉🎈 #1 ☎ ©".to_owned();
    let Printed { file, .. } = printed(TicketDocuments::default(), "Ada", edit, |_| {});
    assert_eq!(file.document.missing_glyphs, ['🎈', '🎉']);
}

#[test]
fn a_document_has_only_fonts_of_the_program_and_contains_them() {
    // Fonts of the system have these letters, if any are installed.
    let name = "Ada Щукин 王明 محمد";
    let Printed { file, .. } = printed(TicketDocuments::default(), name, |_| {}, |_| {});
    let Some(listed) = run("pdffonts", &[utf8(&file.path())]) else { return };
    let fonts: Vec<Vec<&str>> = listed.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(fonts.len(), 2, "{listed}");
    for font in fonts {
        // The name begins with the six letters and the plus sign of a subset.
        assert!(matches!(&font[0][7..], "NotoSans-Regular" | "NotoSans-Bold"), "{listed}");
        // Embedded, a subset, and with the characters of its glyphs.
        assert_eq!(font[font.len() - 5..font.len() - 2], ["yes", "yes", "yes"], "{listed}");
    }
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

#[test]
fn texts_from_right_to_left_are_read_in_their_order() {
    for (font, title, name) in [
        ("NotoSansArabic-Regular.ttf", "ليلة صيفية في حديقة الأزهر 2027 (Cairo)", "عبد الله محمد"),
        ("NotoSansHebrew-Regular.ttf", "ערב קיץ 2027, היכל התרבות (Tel Aviv)", "דוד Cohen כהן"),
    ] {
        let Some(documents) = with_font(NOTO, font) else { return };
        let edit = |event: &mut CreateEvent| event.title = title.to_owned();
        let Printed { file, .. } = printed(documents, name, edit, |_| {});
        let Some(structure) = file.structure() else { return };
        let lines: Vec<&str> = structure.lines().map(str::trim).collect();
        // The title has two lines at most.
        assert!(letters(&lines.concat()).replace('"', "").contains(&letters(title)), "{structure}");
        assert!(lines.contains(&format!("\"{name}\"").as_str()), "{structure}");
        // Words of one script are also found by position.
        let text = file.text().expect("text");
        assert!(name.split(' ').all(|word| text.contains(word)), "{name}: {text}");
        assert!(file.is_accessible());
        run("qpdf", &["--check", utf8(&file.path())]);
    }
}

/// Characters of all kinds: of scripts with and without a font, that combine, that are not seen, that are none.
pub fn random_text(random: &mut Random, length: usize) -> String {
    const KINDS: [(u32, u32); 21] = [
        (0x20, 0x7E),
        (0x20, 0x20),
        (0xA0, 0x24F),
        (0x300, 0x36F),
        (0x370, 0x52F),
        (0x590, 0x5FF),
        (0x600, 0x6FF),
        (0x900, 0x97F),
        (0xE00, 0xE7F),
        (0x1100, 0x11FF),
        (0x200B, 0x200F),
        (0x202A, 0x202E),
        (0x2066, 0x206F),
        (0x3040, 0x30FF),
        (0x4E00, 0x4FFF),
        (0xE000, 0xE0FF),
        (0xFE00, 0xFE0F),
        (0xFFF0, 0xFFFF),
        (0x1F1E6, 0x1F3FF),
        (0x1F600, 0x1F64F),
        (0xE0000, 0xE007F),
    ];
    let character = |random: &mut Random| {
        let (first, last) = random.pick(&KINDS);
        let below = usize::try_from(last - first + 1).expect("a number");
        char::from_u32(first + u32::try_from(random.below(below)).expect("a number"))
    };
    (0..length).filter_map(|_| character(random)).collect()
}

#[test]
fn whatever_a_ticket_says_there_is_a_document_that_scans() {
    let mut random = Random::new(3);
    let documents = with_font(NOTO, "NotoSansArabic-Regular.ttf").unwrap_or_default();
    let fixture = with_documents(documents);
    let rounds = usize::try_from(repetitions("TICKETING_RANDOM_DOCUMENTS", 20)).expect("a number");
    for round in 0..rounds {
        // The longest texts have the length of 60 rounds.
        let length = round * 60 / rounds;
        let event = fixture.event_with(|event| {
            event.title = format!("abc{}", random_text(&mut random, 1 + length * 4));
            event.location = Some(format!("abc{}", random_text(&mut random, 20)));
        });
        let ticket_type = fixture.ticket_type_with(&event, |ticket_type| {
            ticket_type.ticket_text = Some(random_text(&mut random, length * 30));
        });
        let name = format!("a{}", random_text(&mut random, 1 + length * 4));
        let ticket = issue_to(&fixture, &ticket_type, &name);
        let document = fixture.service.get_ticket_document(&fixture.caller, ticket.id).expect(&name);
        let file = File::new(document);
        assert!(file.is_accessible(), "{name:?}");
        if round % 10 == 9 {
            run("qpdf", &["--check", utf8(&file.path())]);
            let Some(pages) = file.pages() else { return };
            assert_eq!(Gray::read(&pages[0]).qr_codes(), [(ticket.code, 2, 2)], "{name:?}");
        }
    }
}
