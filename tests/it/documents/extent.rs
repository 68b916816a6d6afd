//! Nothing on a ticket leaves its page.

use std::path::Path;

use ticketing::documents::{Paper, TicketDocuments};

use crate::common::unavailable;
use crate::documents::tools::*;

/// Words of 200 letters and 200 letters in words, with the folder and file of the font that has them.
const LONG_NAMES: [(&str, &str, &str); 9] = [
    ("", "", "Wolfeschlegelsteinhausen"),
    ("", "", "Ада Лавлейс "),
    ("truetype/noto", "NotoSansArabic-Regular.ttf", "محمد عبدالرحمن "),
    ("truetype/noto", "NotoSansHebrew-Regular.ttf", "כהן Cohen "),
    ("truetype/noto", "NotoSansThai-Regular.ttf", "สมชายใจดี"),
    ("truetype/noto", "NotoSansDevanagari-Regular.ttf", "अनिताशर्मा"),
    ("opentype/noto", "NotoSansCJK-Regular.ttc", "王小明山田たろう"),
    ("opentype/noto", "NotoSansCJK-Regular.ttc", "김민수 "),
    ("truetype/noto", "NotoColorEmoji.ttf", "👩🏽\u{200D}🚀🎉"),
];

#[test]
fn names_of_two_hundred_letters_stay_in_their_column_in_each_script() {
    for (folder, file, name) in LONG_NAMES {
        let mut documents = TicketDocuments::default().paper(Paper::Letter);
        if !folder.is_empty() {
            let Ok(font) = std::fs::read(Path::new("/usr/share/fonts").join(folder).join(file)) else {
                unavailable(format_args!("{file} is not installed"));
                continue;
            };
            documents = documents.font(font);
        }
        let is_emoji = file == "NotoColorEmoji.ttf";
        let name: String = name.chars().cycle().take(200).collect();
        let Printed { file, ticket, .. } = printed(
            documents,
            name.trim(),
            |event| {
                event.title.clone_from(&name.trim().to_owned());
                event.location = Some(name.trim().to_owned());
            },
            |_| {},
        );
        let Some(words) = file.words() else { return };
        assert!(words.len() > 8, "{words:?}");
        let frame_end =
            |letters: f64| if letters < 306.0 { millimeters(20.0 + 60.0) } else { 612.0 - millimeters(20.0) };
        let letters = words.iter().find(|word| word.text == ticket.code[..5]).expect("the code");
        let (frame_top, frame_end) = (letters.top, frame_end(letters.left));
        for word in &words {
            let (width, height) = word.page;
            let margin = millimeters(20.0) - 1.0;
            assert!(word.left >= margin && word.right <= width - margin, "{word:?}");
            // pdftotext takes emoji for several times as high as they are.
            assert!(is_emoji || word.top >= 0.0 && word.bottom <= height, "{word:?}");
            // Beside the QR code, which ends above the code in letters.
            let is_beside = word.bottom > frame_top - millimeters(40.0) && word.top < frame_top - 1.0;
            let gap = millimeters(10.0) - 1.0;
            let is_apart = word.right <= frame_end - millimeters(60.0) - gap || word.left >= frame_end + gap;
            assert!(!is_beside || is_apart, "{word:?}");
        }
        let pages = file.pages().expect("pages");
        assert_eq!(Gray::read(&pages[0]).qr_codes(), [(ticket.code, 2, 2)], "{name}");
    }
}

#[test]
fn the_code_is_forty_millimeters_wide_with_four_light_modules_around() {
    let Printed { file, .. } = printed(TicketDocuments::default(), "Ada", |_| {}, |_| {});
    // A dot is a tenth of a millimeter.
    let Some(pages) = file.pages_at("254") else { return };
    let page = Gray::read(&pages[0]);
    // The right half of the page has nothing but the QR code, its frame and the code in letters.
    let is_dark = |x: usize, y: usize| page.at(x, y) < 0x80;
    let rows: Vec<usize> = (0..page.height).filter(|y| (1300..page.width).any(|x| is_dark(x, *y))).collect();
    let first = rows[0];
    let last = first + 399;
    let columns: Vec<usize> = (1300..page.width).filter(|x| (first..=last).any(|y| is_dark(*x, y))).collect();
    let (left, right) = (columns[0], columns[columns.len() - 1]);
    assert!((right - left + 1).abs_diff(400) <= 2, "{left} to {right}");
    // The finder patterns: seven modules of 1.6 mm, dark, and the next module light.
    for x in [left + 56, right - 56] {
        assert!(is_dark(x, first + 8) && !is_dark(x, first + 24) && is_dark(x, first + 56), "{x}");
    }
    // Nothing at all in the quiet zone, not even the frame.
    let quiet = 62;
    for y in first - quiet..=last + quiet {
        for x in left - quiet..=right + quiet {
            let is_inside = (left - 2..=right + 2).contains(&x) && (first - 2..=last + 2).contains(&y);
            assert!(is_inside || page.at(x, y) == 0xFF, "{x}, {y}");
        }
    }
}
