//! What a document says can be read: by people, scanners and programs.

use base64::Engine;
use ticketing::documents::{Paper, TicketDocuments};
use ticketing::event::{CreateEvent, EventSettings};
use ticketing::order::NewOrderItem;
use ticketing::organization::UpdateOrganization;
use ticketing::payment::ManualMethod;
use ticketing::ticket::IssueTickets;
use ticketing::ticket_type::UpdateTicketType;

use crate::common::*;
use crate::documents::tools::*;

#[test]
fn an_address_keeps_its_lines() {
    let address = |event: &mut CreateEvent| event.location = Some("Hall 3\n1 Main Street\n12345 Town".to_owned());
    let printed = printed(TicketDocuments::default(), "Ada", address, |_| {});
    let Some(text) = printed.file.text() else { return };
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let first = lines.iter().position(|line| *line == "Hall 3").unwrap_or_else(|| panic!("{text}"));
    assert_eq!(lines[first..first + 3], ["Hall 3", "1 Main Street", "12345 Town"], "{text}");
}

fn concert() -> Printed {
    printed(
        TicketDocuments::default(),
        "María Müller-Østergård",
        |event| {
            event.title = "Summer Night Concert of the Philharmonic Orchestra".to_owned();
            event.location = Some("Open-air stage in the Botanical Garden, Königin-Luise-Straße 6, Berlin".to_owned());
            event.timezone = Some("Europe/Berlin".to_owned());
            event.start_date = at("2027-06-12T17:30:00Z");
            event.end_date = Some(at("2027-06-12T21:00:00Z"));
        },
        |ticket_type| {
            ticket_type.name = "Parterre, row 1 to 10".to_owned();
            ticket_type.access_areas = Some(["Parterre", "Garden", "Lounge"].map(str::to_owned).to_vec());
            ticket_type.valid_from = Some(at("2027-06-12T16:00:00Z"));
            ticket_type.validity_days = Some(1);
            let text = "Doors open at 18:00. Please have this ticket ready, printed or on your phone.\n\nEach code admits one \
                        person once: whoever shows it first is let in. Bags larger than A4 stay in the cloakroom.";
            ticket_type.ticket_text = Some(text.to_owned());
        },
    )
}

#[test]
fn scanners_read_exactly_the_code() {
    let Printed { file, ticket, .. } = concert();
    let Some(pages) = file.pages() else { return };
    assert_eq!(pages.len(), 1);
    // Version 2 and error correction level H, which the format information of a QR code encodes as 2.
    assert_eq!(Gray::read(&pages[0]).qr_codes(), [(ticket.code.clone(), 2, 2)]);
    let Some(codes) = scan(&pages[0]) else { return };
    assert_eq!(codes, [ticket.code]);
}

#[test]
fn the_text_says_what_the_ticket_says() {
    let Printed { file, ticket, .. } = concert();
    assert!(file.document.missing_glyphs.is_empty());
    let Some(text) = file.text() else { return };
    let code: Vec<&str> = (0..4).map(|group| &ticket.code[group * 5..group * 5 + 5]).collect();
    for expected in [
        "Summer Night Concert of the\nPhilharmonic Orchestra",
        "Saturday, 12 June 2027, 19:30 – 23:00",
        "Berlin, UTC+2",
        "Königin-Luise-Straße 6, Berlin",
        "Parterre, row 1 to 10",
        "María Müller-Østergård",
        "from Saturday, 12 June 2027, 18:00",
        "on the day of first entry",
        "Parterre · Garden · Lounge",
        "Doors open at 18:00.",
        "Bags larger than A4",
        &code.join(" "),
    ] {
        assert!(text.contains(expected), "{expected} is not in:\n{text}");
    }
}

/// In Berlin, the night begins at 22:00 of 12 June, and the second date is 00:30 of 13 June.
#[test]
fn the_only_day_of_a_night_event_is_that_of_its_evening() {
    let fixture = with_documents(TicketDocuments::default());
    let event = fixture.event_with(|event| event.timezone = Some("Europe/Berlin".to_owned()));
    let night = Some(vec![at("2027-06-12T20:00:00Z"), at("2027-06-12T22:30:00Z")]);
    let ticket_type = fixture.ticket_type_with(&event, |new| new.allowed_dates = night);
    let ticket = issue_to(&fixture, &ticket_type, "Ada");
    for (settings, expected) in [
        (EventSettings::default(), "only on 12 June 2027, 13 June 2027\n"),
        (EventSettings::default().day_starts_at("06:00"), "only on 12 June 2027\n"),
    ] {
        fixture.service.update_event_settings(&fixture.caller, event.id, settings).expect("settings");
        let document = fixture.service.get_ticket_document(&fixture.caller, ticket.id).expect("a document");
        let Some(text) = File::new(document).text() else { return };
        assert!(text.contains(expected), "{expected} is not in:\n{text}");
    }
}

#[test]
fn the_file_is_sound_and_tagged_and_has_no_dates() {
    let Printed { file, .. } = concert();
    assert!(file.document.bytes.len() <= 60 * 1024, "{} bytes", file.document.bytes.len());
    run("qpdf", &["--check", utf8(&file.path())]);
    let Some(info) = file.info(&[]) else { return };
    let line = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    assert_eq!(line("Title:"), Some("Summer Night Concert of the Philharmonic Orchestra"));
    assert_eq!(line("Tagged:"), Some("yes"));
    assert_eq!(line("JavaScript:"), Some("no"));
    assert_eq!(line("Page size:"), Some("595.276 x 841.89 pts (A4)"));
    assert_eq!((line("CreationDate:"), line("ModDate:")), (None, None));
    // Viewers show the title, and not the name of the file.
    let catalog = String::from_utf8_lossy(&file.document.bytes).into_owned();
    assert!(catalog.contains("/DisplayDocTitle true") && catalog.contains("/Outlines"));
    assert!(file.is_accessible());
    let structure = file.structure().expect("pdfinfo");
    for expected in [
        "H1 \"Summer Night Concert of the Philharmonic Orchestra\"",
        "H2 \"Parterre, row 1 to 10\"",
        "Figure",
        "\"María Müller-Østergård\"",
    ] {
        assert!(structure.contains(expected), "{expected} is not in:\n{structure}");
    }
}

#[test]
fn the_same_ticket_gives_the_same_bytes_until_something_on_it_changes() {
    let Printed { fixture, ticket, ticket_type, file, .. } = concert();
    let again = || fixture.service.get_ticket_document(&fixture.caller, ticket.id).expect("a document");
    assert_eq!(again(), file.document);
    let other = fixture.second_service_with(|builder| builder.ticket_documents(TicketDocuments::default()));
    assert_eq!(other.get_ticket_document(&fixture.caller, ticket.id).expect("a document"), file.document);
    let change = UpdateTicketType::default().access_areas(vec!["Garden".to_owned()]);
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, change).expect("changed");
    assert_ne!(again().bytes, file.document.bytes);
}

#[test]
fn letter_paper_has_its_size() {
    let documents = TicketDocuments::default().paper(Paper::Letter);
    let Printed { file, ticket, .. } = printed(documents, "Ada", |_| {}, |_| {});
    let Some(info) = file.info(&[]) else { return };
    assert!(info.contains("612 x 792 pts (letter)"), "{info}");
    let pages = file.pages().expect("pages");
    assert_eq!(Gray::read(&pages[0]).qr_codes(), [(ticket.code, 2, 2)]);
}

#[test]
fn a_damaged_picture_of_the_page_still_scans() {
    let Printed { file, ticket, .. } = concert();
    let Some(pages) = file.pages() else { return };
    let (page, damaged) = (utf8(&pages[0]), file.folder().join("damaged.jpg"));
    for damage in [&["-quality", "40"][..], &["-blur", "0x1"], &["-background", "white", "-rotate", "7"]] {
        let arguments = [&[page][..], damage, &[utf8(&damaged)]].concat();
        if run("/usr/bin/convert", &arguments).is_none() {
            return;
        }
        let Some(codes) = scan(&damaged) else { return };
        assert_eq!(codes, [ticket.code.as_str()], "{damage:?}");
    }
}

#[test]
fn a_title_of_four_lines_is_whole() {
    let title = "Klangkunst im alten Wasserspeicher: eine lange Nacht der elektronischen Musik mit Werken aus sechs \
                 Jahrzehnten, gespielt auf vierundzwanzig Lautsprechern im Dunkeln";
    assert_eq!(title.chars().count(), 164);
    let Printed { file, ticket, .. } =
        printed(TicketDocuments::default(), "Ada", |event| event.title = title.to_owned(), |_| {});
    let Some(text) = file.text() else { return };
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let shown = (3..=4).map(|count| lines[..count].join(" ")).find(|shown| shown == title);
    assert!(shown.is_some(), "{text}");
    let pages = file.pages().expect("pages");
    assert_eq!((pages.len(), Gray::read(&pages[0]).qr_codes()), (1, vec![(ticket.code, 2, 2)]));
}

#[test]
fn a_longer_title_ends_after_a_word_with_an_ellipsis_on_its_fourth_line() {
    let title = "The most remarkable evening of chamber music of this and every other season ".repeat(4);
    let title = title[..255].trim_end().to_owned();
    let Printed { file, ticket, .. } =
        printed(TicketDocuments::default(), "Ada", |event| event.title.clone_from(&title), |_| {});
    let Some(text) = file.text() else { return };
    let shown: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    let (start, ellipsis) = shown[3].split_at(shown[3].len() - "…".len());
    assert_eq!(ellipsis, "…", "{text}");
    // A whole word: a space follows in the title.
    assert!(title.starts_with(&format!("{} {start} ", shown[..3].join(" "))), "{text}");
    let info = file.info(&[]).expect("pdfinfo");
    assert!(info.contains(&title), "the title of the file is whole: {info}");
    let pages = file.pages().expect("pages");
    assert_eq!(Gray::read(&pages[0]).qr_codes(), [(ticket.code, 2, 2)]);
}

#[test]
fn a_long_text_continues_on_further_pages_and_none_of_it_is_lost() {
    let words: Vec<String> = (0..250).map(|number| format!("w{number}\n")).collect();
    let Printed { file, ticket, .. } = printed(
        TicketDocuments::default(),
        "Ada",
        |_| {},
        |ticket_type| {
            ticket_type.ticket_text = Some(words.concat());
            ticket_type.access_areas =
                Some((0..50).map(|area| format!("{area} {}", "area ".repeat(18).trim())).collect());
        },
    );
    let Some(text) = file.text() else { return };
    let found: Vec<_> = text.split_whitespace().filter(|word| word.starts_with('w')).collect();
    assert_eq!(found, words.iter().map(|word| word.trim()).collect::<Vec<_>>());
    let pages = file.pages().expect("pages");
    // The title is at the head of each page.
    assert_eq!(text.matches("Summer Night").count(), pages.len(), "{text}");
    assert!(pages.len() > 3, "{} pages", pages.len());
    assert!(text.contains(&format!("Page {0} of {0}", pages.len())), "{text}");
    assert_eq!(Gray::read(&pages[0]).qr_codes(), [(ticket.code, 2, 2)]);
    assert_eq!(Gray::read(&pages[1]).qr_codes(), []);
    run("qpdf", &["--check", utf8(&file.path())]);
}

#[test]
fn a_ticket_says_who_sells_it_what_it_cost_and_which_of_its_order_it_is() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = fixture.event();
    let [paid, free] = [1250, 0].map(|price| fixture.ticket_type(&event, price, 10));
    let text_of = |ticket| File::new(service.get_ticket_document(caller, ticket).expect("a document")).text();
    // An organization that was given no name.
    let Some(text) = text_of(fixture.issue(&free, 1)[0].id) else { return };
    for none in ["My organization", "Price", "Ticket 1", "Order"] {
        assert!(!text.contains(none), "{none} is in:\n{text}");
    }
    let name = UpdateOrganization::default().name("Berlin Philharmonic Society");
    service.update_organization(caller.organization(), name).expect("renamed");
    let mut request = new_order(event.id, paid.id, 2);
    request.items.push(NewOrderItem::new(free.id, 1));
    request.language = Some("de".to_owned());
    let order = service.create_order(caller, request).expect("an order").order;
    let order = service.mark_order_paid(caller, order.id, ManualMethod::Cash).expect("paid");
    let dearer = UpdateTicketType::default().price("99".parse().expect("an amount"));
    service.update_ticket_type(caller, paid.id, dearer).expect("changed");
    let number = order.id.to_string().replace("order_", "Bestellung ");
    let tickets: Vec<_> = order.items.iter().flat_map(|item| &item.issued_tickets).collect();
    let whole = File::new(service.get_order_document(caller, order.id).expect("a document")).text().expect("pdftotext");
    let pages: Vec<_> = whole.split('\u{C}').collect();
    for (index, ticket) in tickets.iter().enumerate() {
        let text = text_of(ticket.id).expect("pdftotext");
        for text in [text.as_str(), pages[index]] {
            let position = format!("{number} · Ticket {} von 3", index + 1);
            for expected in ["Berlin Philharmonic Society", &position] {
                assert!(text.contains(expected), "{expected} is not in:\n{text}");
            }
            let is_free = ticket.ticket_type_id == free.id;
            assert_eq!((text.contains("Preis"), text.contains("12,50 €")), (!is_free, !is_free), "{text}");
        }
    }
    // A cancelled ticket does not change the numbers of the others.
    service.cancel_ticket(caller, tickets[0].id).expect("cancelled");
    let file = File::new(service.get_order_document(caller, order.id).expect("a document"));
    let rest = file.text().expect("pdftotext");
    assert!(!rest.contains("Ticket 1 von 3") && rest.contains("Ticket 2 von 3"), "{rest}");
    assert!(file.is_accessible());
}

#[test]
fn each_language_has_its_words_and_others_are_english() {
    for (language, locale, expected) in [
        (Some("de-AT"), None, "Samstag, 12. Juni 2027, 19:30 – 23:00 Uhr"),
        (Some("fr"), Some("de"), "Samedi 12 juin 2027, 19 h 30 – 23 h"),
        (None, Some("es_MX"), "Sábado, 12 de junio de 2027, 19:30 – 23:00"),
        (None, Some("it-IT"), "Sabato 12 giugno 2027, 19:30 – 23:00"),
        (Some("NL"), None, "Zaterdag 12 juni 2027, 19:30 – 23:00 uur"),
        (Some("en-US"), None, "Saturday, June 12, 2027, 7:30 PM – 11:00 PM"),
        (Some("pl"), None, "Saturday, 12 June 2027, 19:30 – 23:00"),
        (None, None, "Saturday, 12 June 2027, 19:30 – 23:00"),
    ] {
        let Printed { fixture, ticket_type, .. } = concert();
        let mut order = new_order(ticket_type.event_id, ticket_type.id, 1);
        order.language = language.map(str::to_owned);
        order.customer.locale = locale.map(str::to_owned);
        let order = fixture.service.create_order(&fixture.caller, order).expect("an order").order;
        fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("paid");
        let file = File::new(fixture.service.get_order_document(&fixture.caller, order.id).expect("a document"));
        let Some(text) = file.text() else { return };
        assert!(text.contains(expected), "{language:?} {locale:?}: {text}");
    }
}

#[test]
fn a_period_of_two_lines_breaks_after_the_dash() {
    for (language, first, second) in [
        ("en", "Wednesday, 22 September 2027, 19:30 –", "Thursday, 23 September 2027, 23:00"),
        ("en-US", "Wednesday, September 22, 2027, 7:30 PM –", "Thursday, September 23, 2027, 11:00 PM"),
        ("de", "Mittwoch, 22. September 2027, 19:30 Uhr –", "Donnerstag, 23. September 2027, 23:00 Uhr"),
        ("es", "Miércoles, 22 de septiembre de 2027, 19:30 –", "jueves, 23 de septiembre de 2027, 23:00"),
    ] {
        let fixture = with_documents(TicketDocuments::default());
        let event = fixture.event_with(|event| {
            event.timezone = Some("Europe/Berlin".to_owned());
            event.start_date = at("2027-09-22T17:30:00Z");
            event.end_date = Some(at("2027-09-23T21:00:00Z"));
        });
        let ticket_type = fixture.ticket_type(&event, 0, 10);
        let mut holder = new_customer();
        holder.locale = Some(language.to_owned());
        let issued = fixture.service.issue_tickets(&fixture.caller, IssueTickets::new(ticket_type.id, holder, 1));
        let ticket = issued.expect("a ticket").issued_tickets[0].id;
        let file = File::new(fixture.service.get_ticket_document(&fixture.caller, ticket).expect("a document"));
        let Some(text) = file.text() else { return };
        let lines: Vec<_> = text.lines().map(|line| line.trim().replace('\u{A0}', " ")).collect();
        assert_eq!(lines[1..3], [first, second], "{text}");
    }
}

#[test]
fn a_ticket_without_an_order_has_the_language_of_its_holder() {
    let Printed { fixture, ticket_type, .. } = concert();
    let (service, caller) = (&fixture.service, &fixture.caller);
    for (locale, expected) in [
        (Some("de-AT"), "Samstag, 12. Juni 2027, 19:30 – 23:00 Uhr"),
        (Some("fr"), "Samedi 12 juin 2027, 19 h 30 – 23 h"),
        (Some("de;q=0.5, fr;q=0.8"), "Samedi 12 juin 2027, 19 h 30 – 23 h"),
        (Some("pl"), "Saturday, 12 June 2027, 19:30 – 23:00"),
        (None, "Saturday, 12 June 2027, 19:30 – 23:00"),
    ] {
        let mut holder = new_customer();
        holder.locale = locale.map(str::to_owned);
        let issued = service.issue_tickets(caller, IssueTickets::new(ticket_type.id, holder, 1)).expect("a ticket");
        let ticket = service.get_ticket(caller, issued.issued_tickets[0].id).expect("the ticket");
        let token = ticket_token(ticket.download_ticket_url.as_deref());
        let tag = locale.map(|locale| if locale.contains(',') { "fr" } else { locale });
        assert_eq!(service.get_ticket_by_link(&token).expect("the ticket").language.as_deref(), tag);
        let file = File::new(service.get_ticket_document(caller, ticket.id).expect("a document"));
        let Some(text) = file.text() else { return };
        assert!(text.contains(expected), "{locale:?}: {text}");
    }
}

#[test]
fn a_logo_that_is_accepted_is_drawn_and_what_was_stored_before_may_be_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = |name: &str, arguments: &[&str]| {
        let path = folder.path().join(name);
        run("/usr/bin/convert", &[&["-seed", "1"], arguments, &[utf8(&path)]].concat())?;
        Some(std::fs::read(path).expect("a picture"))
    };
    let Some(png) = picture("logo.png", &["-size", "300x90", "xc:#1f4b99"]) else { return };
    let mut files: Vec<(String, Vec<u8>, bool)> = Vec::new();
    for (options, end, is_drawn) in [
        ("-size 90x300 plasma:", "jpg", true),
        ("-size 90x300 plasma: -interlace JPEG", "jpg", true),
        ("-size 90x300 plasma: -sampling-factor 4:1:1", "jpg", true),
        ("-size 90x300 plasma: -colorspace gray", "jpg", true),
        ("-size 90x300 plasma: -colorspace CMYK", "jpg", true),
        ("-size 90x30 plasma: -interlace PNG", "png", true),
        ("-size 90x30 plasma: -depth 16 -define png:color-type=6", "png", true),
        ("-size 90x30 plasma: -alpha on -transparent red -colors 8 -define png:color-type=3", "png", true),
        ("-size 90x30 plasma: -monochrome -define png:bit-depth=1", "png", true),
        ("-size 90x30 plasma: -colorspace gray -alpha on -define png:color-type=4", "png", true),
        ("-size 2001x10 xc:red", "png", false),
        ("-size 2400x800 xc:red", "png", false),
        ("-size 90x30 plasma:", "gif", false),
        ("-size 90x30 plasma:", "bmp", false),
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        let file = picture(&format!("logo.{end}"), &options).expect("a picture");
        files.push((format!("{options:?} as {end}"), file, is_drawn));
    }
    files.push(("a PNG".to_owned(), png.clone(), true));
    files.push(("a PNG with more after its end".to_owned(), [&png[..], b"\0\0\0\x01more"].concat(), true));
    // Its head is whole, its pixels are missing.
    files.push(("a part of a PNG".to_owned(), png[..60].to_vec(), false));
    for (what, file, is_drawn) in files {
        // What the file is decides, and not what it is called.
        let logo = format!("data:image/jpeg;base64,{}", base64(&file));
        let fixture = with_documents(TicketDocuments::default());
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        let change = UpdateTicketType::default().ticket_logo(logo.clone());
        let is_accepted = fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, change).is_ok();
        assert_eq!(is_accepted, is_drawn, "{what}");
        if !is_accepted {
            store_logo(&fixture, &ticket_type, &logo);
        }
        let ticket = issue_to(&fixture, &ticket_type, "Ada");
        let file = File::new(fixture.service.get_ticket_document(&fixture.caller, ticket.id).expect("a document"));
        let Some(images) = run("pdfimages", &["-list", utf8(&file.path())]) else { return };
        assert_eq!(images.lines().count() > 2, is_drawn, "{what}: {images}");
        let Some(pages) = file.pages() else { return };
        assert_eq!(Gray::read(&pages[0]).qr_codes(), [(ticket.code, 2, 2)], "{what}");
    }
}

fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
