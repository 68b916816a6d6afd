//! What mails say, in all languages and with hostile texts. Python's `email` reads them back.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use ticketing::documents::TicketDocuments;
use ticketing::event::{CreateEvent, DeliveryMethod};
use ticketing::id::OrderId;
use ticketing::mail::{FolderTransport, MailKind, MailPreview, PreviewMail, UpdateMailSettings};
use ticketing::order::{CreateOrder, NewCustomer, ShippingAddress};
use ticketing::ticket::IssueTickets;
use ticketing::ticket_type::CreateTicketType;

use super::tools::*;
use crate::common::python::python;
use crate::common::*;

const LANGUAGES: [&str; 6] = ["en", "de", "fr", "es", "it", "nl"];

const ORDINARY: &str = "Summer Night with the Philharmonic";

/// An ordinary text, and names and titles that have broken mails of other systems.
fn texts() -> Vec<String> {
    vec![
        ORDINARY.to_owned(),
        "عمر الخيام".to_owned(),
        "王小明".to_owned(),
        "דוד King".to_owned(),
        "🎟️ Ada 🎉".to_owned(),
        "\"Ada\" <x@example.org>, Bob".to_owned(),
        "<script>alert(1)</script> & Co".to_owned(),
        "\u{202E}gnirts\u{202C} =?utf-8?q?=0D=0ABcc:_x=40y?=".to_owned(),
        "x".repeat(255),
        "ö".repeat(255),
    ]
}

/// The words of a text, without links.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split_whitespace().filter(|word| !word.starts_with("https://"));
    words.map(|word| word.trim_end_matches(':').to_owned()).filter(|word| !word.is_empty()).collect()
}

/// The words of a page, as a reader sees them.
fn words_of_html(html: &str) -> BTreeSet<String> {
    let body = html.split_once("<body").expect("a body").1;
    let mut text = String::new();
    let mut rest = body.split_once('>').expect("its end").1;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        rest = after.split_once('>').expect("the end of a tag").1;
    }
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#60;", "<")
        .replace("&#62;", ">")
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&#38;", "&")
        .replace("&amp;", "&");
    words(&text)
}

fn preview(mails: &Mails, order: OrderId, kind: MailKind) -> MailPreview {
    let request = PreviewMail::default().kind(kind);
    mails.fixture.service.preview_mail(&mails.fixture.caller, order, request).expect("a preview")
}

/// With the variable `KEEP_MAILS`, the page of a mail stays in that folder, to be looked at, with a picture of a code.
fn keep(name: &str, html: &str, picture: &[u8]) {
    if let Some(folder) = std::env::var_os("KEEP_MAILS").map(PathBuf::from) {
        if !picture.is_empty() {
            std::fs::write(folder.join("code.png"), picture).expect("written");
        }
        let html = (1..=3).fold(html.to_owned(), |html, code| html.replace(&format!("cid:code-{code}"), "code.png"));
        std::fs::write(folder.join(format!("{name}.html")), html).expect("written");
    }
}

/// The picture of the first code in a message.
fn picture_of(message: &[u8]) -> Vec<u8> {
    let message = String::from_utf8_lossy(message);
    let (_, part) = message.split_once("filename=\"code-1.png\"").expect("a picture");
    let (_, encoded) = part.split_once("\r\n\r\n").expect("its headers");
    let (encoded, _) = encoded.split_once("\r\n--").expect("its end");
    BASE64_STANDARD.decode(encoded.replace("\r\n", "")).expect("base64")
}

#[test]
fn plain_text_and_html_say_the_same_in_every_language_with_every_text() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let (service, caller) = (&fixture.service, &fixture.caller);
    mails.set(UpdateMailSettings::default().mail_intro("Hello\n<b>you</b>").mail_footer("Jazz Cellar\nCellar Road 1"));
    let mut picture = Vec::new();
    for (number, text) in texts().into_iter().enumerate() {
        let event = fixture.event_with(|new: &mut CreateEvent| {
            new.title = text.clone();
            let line: String = text.chars().take(200).collect();
            new.location = Some(format!("{line}\nCellar Road 1"));
        });
        let ticket_type = fixture.ticket_type_with(&event, |new: &mut CreateTicketType| new.name = text.clone());
        for (of_language, language) in LANGUAGES.into_iter().enumerate() {
            let order = || {
                let mut order =
                    CreateOrder::new(event.id, NewCustomer::new(text.clone(), "ada@example.com"), ticket_type.id, 2);
                order.language = Some(language.to_owned());
                service.create_order(caller, order).expect("an order").order
            };
            let (pending, paid, cancelled) = (order().id, order(), order().id);
            for order in [paid.id, cancelled] {
                service.payment_completed(caller, order).expect("paid");
            }
            if picture.is_empty() {
                mails.deliver();
                picture = picture_of(&mails.transport.sent()[0].message);
            }
            fixture.refund_amount(paid.id, eur(100)).expect("refunded");
            let ticket = fixture.read_order(paid.id).items[0].issued_tickets[0].id;
            service.cancel_ticket(caller, ticket).expect("cancelled");
            service.cancel_order(caller, cancelled).expect("cancelled");
            for (order, kind) in [
                (paid.id, MailKind::Tickets),
                (paid.id, MailKind::OrderCancelled),
                (cancelled, MailKind::OrderCancelled),
                (paid.id, MailKind::Refund),
                (paid.id, MailKind::PaymentReturned),
                (pending, MailKind::PaymentReminder),
                (paid.id, MailKind::OrganizerOrder),
            ] {
                let MailPreview { subject, text: plain, html, .. } = preview(&mails, order, kind);
                // An ordinary text in each language, and each other text in one.
                if text == ORDINARY || of_language == number % LANGUAGES.len() {
                    let all = if order == cancelled { "-all" } else { "" };
                    keep(&format!("{number}-{kind}{all}-{language}"), &html, &picture);
                }
                assert_eq!(words(&plain), words_of_html(&html), "{kind} {language}\n{plain}");
                assert!(subject.chars().count() <= 150, "{subject}");
                assert!(!subject.chars().any(char::is_control), "{subject}");
                assert!(html.len() <= 30 * 1024, "{kind}: {} bytes", html.len());
                assert!(
                    html.starts_with(&format!("<!DOCTYPE html>\n<html lang=\"{language}\" dir=\"ltr\">")),
                    "{html}"
                );
                assert!(!html.contains("<script") && !html.contains("<b>") && !plain.contains('\u{202E}'));
                assert!(!html.contains("http-equiv") && !html.contains("src=\"http") && !html.contains("data:"));
                let number = order.to_string().replace("order_", "");
                assert!(subject.ends_with(&format!("({number})")), "{subject}");
            }
        }
    }
}

#[test]
fn a_mail_in_each_language_names_the_tickets_the_total_and_how_it_was_paid() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let event = fixture.event_with(|new| new.title = "Summer Night".to_owned());
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    for (language, subject, total, paid) in [
        ("en", "Your tickets: Summer Night (", "€25.00", "Paid online"),
        ("de", "Ihre Tickets: Summer Night (", "25,00 €", "Online bezahlt"),
        ("fr", "Vos billets\u{A0}: Summer Night (", "25,00 €", "Payé en ligne"),
        ("es", "Tus entradas: Summer Night (", "25,00 €", "Pagado en línea"),
        ("it", "I tuoi biglietti: Summer Night (", "25,00 €", "Pagato online"),
        ("nl", "Uw tickets: Summer Night (", "€ 25,00", "Online betaald"),
    ] {
        let mut order = CreateOrder::new(event.id, new_customer(), ticket_type.id, 2);
        order.language = Some(language.to_owned());
        let order = fixture.service.create_order(&fixture.caller, order).expect("an order").order.id;
        fixture.service.payment_completed(&fixture.caller, order).expect("paid");
        let mail = preview(&mails, order, MailKind::Tickets);
        assert!(mail.subject.starts_with(subject), "{}", mail.subject);
        let text = mail.text.replace('\u{A0}', " ");
        assert!(text.contains(total) && text.contains(paid), "{text}");
    }
}

#[test]
fn tickets_that_are_sent_by_post_have_no_codes_and_no_links_in_the_mail() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let event = fixture.event_with(|new| new.delivery_method = DeliveryMethod::Physical);
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let mut order = CreateOrder::new(event.id, new_customer(), ticket_type.id, 2);
    order.shipping_address = Some(ShippingAddress::new("Road 1", "12345", "Berlin", "DE"));
    let order = fixture.service.create_order(&fixture.caller, order).expect("an order").order.id;
    let reminder = preview(&mails, order, MailKind::PaymentReminder);
    assert!(reminder.text.contains("Back to payment:\nhttps://"), "{}", reminder.text);
    fixture.service.payment_completed(&fixture.caller, order).expect("paid");
    let mail = preview(&mails, order, MailKind::Tickets);
    assert!(mail.text.contains("Your tickets are sent to the delivery address."), "{}", mail.text);
    assert!(mail.text.contains("Road 1\n12345 Berlin\nDE\n"), "{}", mail.text);
    assert!(!mail.text.contains("https://") && !mail.html.contains("cid:") && !mail.html.contains("href"));
    mails.deliver();
    let message = String::from_utf8_lossy(&mails.transport.sent()[0].message).into_owned();
    assert!(!message.contains("application/pdf") && !message.contains("text/calendar"));
}

#[test]
fn a_long_order_shows_twenty_items_and_tickets_and_how_many_more_there_are() {
    let mails = Mails::new();
    let fixture = &mails.fixture;
    let event = fixture.event();
    let types: Vec<_> = (0..25).map(|_| fixture.ticket_type(&event, 1250, 100).id).collect();
    let items = types.into_iter().map(|ticket_type| ticketing::order::NewOrderItem::new(ticket_type, 4));
    let order = CreateOrder::with_items(event.id, new_customer(), items);
    let order = fixture.service.create_order(&fixture.caller, order).expect("an order").order.id;
    fixture.service.payment_completed(&fixture.caller, order).expect("paid");
    let mail = preview(&mails, order, MailKind::Tickets);
    assert!(mail.text.contains("\nand 80 more\n") && mail.text.contains("\nand 5 more\n"), "{}", mail.text);
    assert_eq!(mail.text.matches("Ticket ").count(), 20, "{}", mail.text);
    assert_eq!(mail.html.matches("cid:").count(), 3);
    assert!(mail.html.len() <= 30 * 1024, "{}", mail.html.len());
}

/// Reads the messages of a folder. `None` without Python's packages.
fn read_back(folder: &std::path::Path) -> Option<Value> {
    let python = python("email, icalendar")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mail/read.py");
    let output = Command::new(python).arg(script).arg(folder).output().expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn python_reads_every_message_and_finds_the_document_the_codes_and_the_event() {
    let folder = tempfile::tempdir().expect("a folder");
    let transport = FolderTransport::new(folder.path());
    let fixture = Fixture::with_gateway(|builder| {
        let options = options(transport).reply_to("help@example.com").per_address_and_hour(1000);
        builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default()).mail(options)
    });
    let (service, caller) = (&fixture.service, &fixture.caller);
    let mut expected = Vec::new();
    for (text, language) in texts().into_iter().zip(LANGUAGES.into_iter().cycle()) {
        let event = fixture.event_with(|new| new.title.clone_from(&text));
        let ticket_type = fixture.ticket_type_with(&event, |new| new.name.clone_from(&text));
        let settings = UpdateMailSettings::default().sender_name(text.clone());
        service.update_mail_settings(caller, settings).expect("the settings");
        let order = CreateOrder::new(event.id, NewCustomer::new(text.clone(), "ada@exämple.com"), ticket_type.id, 4);
        let order = service.create_order(caller, order).expect("an order").order.id;
        service.payment_completed(caller, order).expect("paid");
        let mut guest = NewCustomer::new(text.clone(), "guest@example.com");
        guest.locale = Some(language.to_owned());
        let issued = service.issue_tickets(caller, IssueTickets::new(ticket_type.id, guest, 4)).expect("issued");
        service.deliver_due_mails().expect("the database");
        service.cancel_ticket(caller, issued.issued_tickets[1].id).expect("cancelled");
        service.deliver_due_mails().expect("the database");
        let document = service.get_order_document(caller, order).expect("a document");
        let order = fixture.read_order(order);
        let codes: Vec<_> = order.tickets().map(|ticket| ticket.code.clone()).collect();
        expected.push((text, order.id, document, codes));
    }
    let Some(read) = read_back(folder.path()) else { return };
    let list = ticketing::mail::ListMails::new().page(ticketing::page::PageRequest::first(100));
    let mails = service.list_mails(caller, list).expect("the mails").data;
    for (text, order, document, codes) in expected {
        let mail = mails.iter().find(|mail| mail.order_id == Some(order)).expect("a mail");
        let message = &read[mail.id.to_string()];
        let visible: String = text.chars().filter(|c| !matches!(c, '\u{202A}'..='\u{202E}')).collect();
        let in_header = visible.replace("=?", "= ?");
        // Python 3.11 keeps the spaces between the encoded words of a name.
        let name_of = |address: &Value| {
            let name = address[0].as_str().expect("a name");
            if text.contains(' ') { name.to_owned() } else { name.replace(' ', "") }
        };
        let (to, from) = (&message["to"][0], &message["from"]);
        assert_eq!((name_of(to), &to[1]), (in_header.clone(), &"ada@xn--exmple-cua.com".into()));
        assert_eq!((name_of(from), &from[1]), (in_header, &FROM.into()));
        assert_eq!(
            (&message["replyTo"], &message["date"]),
            (&"help@example.com".into(), &"2026-06-01T12:00:00+00:00".into())
        );
        assert_eq!(message["messageId"], format!("<{}@example.com>", mail.id));
        let decode = |value: &Value| BASE64_STANDARD.decode(value.as_str().expect("base64")).expect("base64");
        assert_eq!(decode(&message["attachments"]["tickets.pdf"]), &*document.bytes);
        assert_eq!(message["event"], serde_json::json!([visible.trim(), "2026-07-01T18:00:00+00:00"]));
        let shown = preview_of(&fixture, order);
        assert_eq!(message["subject"], shown.subject);
        assert_eq!(message["text"].as_str().map(|text| text.replace("\r\n", "\n")), Some(shown.text));
        assert_eq!(message["html"].as_str().map(|html| html.replace("\r\n", "\n")), Some(shown.html));
        for (number, code) in (1..=3).zip(&codes) {
            let png = decode(&message["pictures"][format!("code-{number}")]);
            assert_eq!(&decoded(&png), code);
        }
        assert_eq!(message["pictures"].as_object().map(serde_json::Map::len), Some(3));
    }
    let of_guests: Vec<_> = mails.iter().filter(|mail| mail.order_id.is_none()).collect();
    assert_eq!(of_guests.len(), 2 * texts().len());
    for mail in of_guests {
        let message = &read[mail.id.to_string()];
        let [plain, html] = ["text", "html"].map(|part| message[part].as_str().expect("a text"));
        assert_eq!(words(plain), words_of_html(html), "{plain}");
        let picture = message["pictures"]["code-1"].as_str().unwrap_or_default();
        keep(&format!("guest-{}-{}", mail.kind, mail.id), html, &BASE64_STANDARD.decode(picture).expect("base64"));
    }
}

fn preview_of(fixture: &Fixture, order: OrderId) -> MailPreview {
    fixture.service.preview_mail(&fixture.caller, order, PreviewMail::default()).expect("a preview")
}

/// The text of a QR code.
fn decoded(png: &[u8]) -> String {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().expect("a picture");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("a picture");
    let (width, height) = (info.width as usize, info.height as usize);
    let mut picture = rqrr::PreparedImage::prepare_from_greyscale(width, height, |x, y| pixels[y * width + x]);
    let grids = picture.detect_grids();
    assert_eq!(grids.len(), 1);
    grids[0].decode().expect("a code").1
}

#[test]
#[cfg(feature = "smtp")]
fn aiosmtpd_receives_a_mail_with_starttls_and_credentials() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    use ticketing::mail::SmtpTransport;

    let Some(python) = python("aiosmtpd") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let issuer = issuer::Issuer::new("The relay's");
    let (certificate, key) = issuer.certificate("localhost");
    let [certificate_path, key_path] = ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&certificate_path, certificate).expect("written");
    std::fs::write(&key_path, key).expect("written");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mail/aiosmtpd_relay.py");
    let mut command = Command::new(python);
    command.arg(script).arg(certificate_path).arg(key_path).stdout(Stdio::piped());
    let mut relay = command.spawn().expect("Python");
    let mut lines = BufReader::new(relay.stdout.take().expect("its output")).lines();
    let port: u16 = lines.next().expect("a line").expect("a line").parse().expect("a port");
    let url = format!("smtp://ticketing@localhost:{port}");
    let with = |password: &str| {
        let builder = SmtpTransport::builder(url.clone()).password(password).root_certificates(issuer.pem());
        builder.build().expect("built")
    };
    let fixture = Fixture::with_gateway(|builder| {
        let options = options(with("s e c r e t"));
        builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default()).mail(options)
    });
    fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 100), 2);
    fixture.service.deliver_due_mails().expect("the database");
    let list = ticketing::mail::ListMails::new();
    let mail = fixture.service.list_mails(&fixture.caller, list).expect("the mails").data.remove(0);
    assert_eq!(mail.last_answer.as_deref(), Some("250 taken by aiosmtpd"));
    let received: Value = serde_json::from_str(&lines.next().expect("a line").expect("a line")).expect("JSON");
    relay.kill().expect("ended");
    let _ = relay.wait();
    assert_eq!((&received["from"], &received["to"]), (&FROM.into(), &serde_json::json!(["ada@example.com"])));
    assert_eq!((&received["user"], &received["encrypted"]), (&"ticketing".into(), &true.into()));
    std::fs::write(folder.path().join("received.eml"), received["message"].as_str().expect("a message"))
        .expect("written");
    let Some(read) = read_back(folder.path()) else { return };
    assert!(read["received"]["attachments"]["tickets.pdf"].is_string());
}
