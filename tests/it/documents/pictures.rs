//! Logos that are made to cost memory or time: the ticket comes without them.

use ticketing::documents::{TicketDocument, TicketDocuments};
use ticketing::order::{CreateOrder, NewCustomer, NewOrderItem};

use crate::common::pictures::*;
use crate::common::store_logo;
use crate::documents::tools::*;

pub fn has_picture(document: &TicketDocument) -> bool {
    pictures(document) > 0
}

/// How many pictures a document has. One that several tickets have is there once.
fn pictures(document: &TicketDocument) -> usize {
    // The dictionaries of a PDF file are not compressed.
    document.bytes.windows(14).filter(|part| *part == b"/Subtype/Image" || *part == b"/Subtype /Imag").count()
}

#[test]
fn a_ticket_comes_without_a_logo_whose_header_says_that_it_is_huge() {
    for (what, file, is_drawn) in [
        ("a picture", png(300, 90, 0), true),
        // 10^17 bytes.
        ("8 million by 2 billion pixels", png_of(8_000_000, i32::MAX.unsigned_abs(), RGBA16, 0, b""), false),
        ("510 million gray pixels", png_of(30_000, 17_000, GRAY, 0, b""), false),
        ("a JPEG", jpeg(2000, 2000, 0), true),
        ("a wider JPEG", jpeg(2001, 1, 0), false),
        ("the largest JPEG", jpeg(u16::MAX, u16::MAX, 0)[..400_000].to_vec(), false),
    ] {
        assert!(file.len() <= 512 * 1024, "{what}: {} bytes", file.len());
        assert_eq!(has_picture(&of_order([file].into_iter())), is_drawn, "{what}");
    }
}

#[test]
fn a_document_has_the_logos_of_an_order_that_are_not_damaged() {
    let sound = png(300, 90, 0);
    let damaged = |number: usize| png_of(300, 90, RGB, number, b"no compressed pixels");
    let document = of_order((0..100).map(|number| if number == 50 { sound.clone() } else { damaged(number) }));
    assert_eq!(pictures(&document), 1);
}

#[test]
fn the_logos_of_a_document_have_at_most_4_mebibytes_in_all() {
    // Eight have 4 MiB with what else is in a document.
    let document = of_order((0..100).map(|number| jpeg(10 + number, 10, 500 * 1024)));
    assert_eq!(pictures(&document), 8);
    assert!(document.bytes.len() < 5 * 1024 * 1024, "{} bytes", document.bytes.len());
}

#[test]
fn a_jpeg_that_ends_early_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, options) in [
        ("baseline.jpg", &["-sampling-factor", "4:2:0"][..]),
        ("progressive.jpg", &["-interlace", "JPEG"]),
        ("gray.jpg", &["-colorspace", "gray"]),
        ("cmyk.jpg", &["-colorspace", "CMYK"]),
    ] {
        let path = folder.path().join(name);
        let arguments = [&["-size", "80x60", "-seed", "1", "plasma:"], options, &[utf8(&path)]].concat();
        if run("/usr/bin/convert", &arguments).is_none() {
            return;
        }
        let file = std::fs::read(path).expect("a picture");
        let end = file.len();
        let lengths = [end / 10, end / 2, end * 9 / 10, end - 100].into_iter().chain(end - 12..end);
        let logos = lengths.map(|length| file[..length].to_vec());
        assert_eq!(pictures(&of_order(logos)), 0, "{name}");
        let with = File::new(of_order([file.clone(), [&file[..], b"\0\n"].concat()].into_iter()));
        assert_eq!(pictures(&with.document), 2, "{name}");
        run("qpdf", &["--check", utf8(&with.path())]);
    }
}

#[test]
fn a_jpeg_with_wrong_bytes_is_left_out_or_harmless() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("logo.jpg");
    if run("/usr/bin/convert", &["-size", "80x60", "-seed", "1", "plasma:", utf8(&path)]).is_none() {
        return;
    }
    let file = std::fs::read(path).expect("a picture");
    let damaged = |at: usize| {
        let mut damaged = file.clone();
        damaged[at] ^= 0x5A;
        damaged
    };
    // The header has some 600 bytes.
    let document = File::new(of_order((2..file.len()).step_by(file.len() / 90).take(90).map(damaged)));
    assert!((1..90).contains(&pictures(&document.document)), "{}", pictures(&document.document));
    run("qpdf", &["--check", utf8(&document.path())]);
}

#[test]
fn the_pixels_that_are_decoded_for_a_document_are_at_most_16_million() {
    // Each has four million, in a color of its own.
    let png = |gray: u8| png_of(2000, 2000, GRAY, 0, &compressed(&[&[0][..], &[gray; 2000]].concat(), 2000));
    let document = of_order((0..6).map(png));
    assert_eq!(pictures(&document), 4);
    let document = of_order((0..6).map(|number| jpeg(2000, 2000, number)));
    assert_eq!(pictures(&document), 4);
}

/// The document of an order with a ticket for each of these logos, which were stored earlier.
pub fn of_order(logos: impl Iterator<Item = Vec<u8>>) -> TicketDocument {
    let fixture = with_documents(TicketDocuments::default());
    let event = fixture.event();
    let items = logos.map(|file| {
        let ticket_type = fixture.ticket_type(&event, 0, 10);
        store_logo(&fixture, &ticket_type, &data_uri(&file));
        NewOrderItem::new(ticket_type.id, 1)
    });
    let items: Vec<_> = items.collect();
    let buyer = NewCustomer::new("Ada", "ada@example.com");
    let mut request = CreateOrder::new(event.id, buyer, items[0].ticket_type_id, 1);
    request.items = items;
    let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
    fixture.service.get_order_document(&fixture.caller, order.id).expect("a document")
}
