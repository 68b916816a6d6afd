//! Logos that are made to cost memory or time: the ticket comes without them.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use ticketing::documents::{TicketDocument, TicketDocuments};
use ticketing::order::{CreateOrder, NewCustomer, NewOrderItem};
use ticketing::ticket_type::CreateTicketType;

use crate::tools::*;

/// Gray pixels of one byte.
const GRAY: [u8; 2] = [8, 0];
/// Pixels of one byte for each of red, green and blue.
const RGB: [u8; 2] = [8, 2];
/// Pixels of two bytes for each of red, green, blue and opacity.
const RGBA16: [u8; 2] = [16, 6];

/// A PNG file of this size in one color, with as many bytes of no meaning before its pixels.
pub fn png(width: u32, height: u32, padding: usize) -> Vec<u8> {
    let row = [&[0][..], &[0x1F, 0x4B, 0x99].repeat(width as usize)].concat();
    png_of(width, height, RGB, padding, &compressed(&row, height as usize))
}

/// Rows, compressed as in a PNG file.
fn compressed(row: &[u8], rows: usize) -> Vec<u8> {
    let mut pixels = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..rows {
        pixels.write_all(row).expect("written");
    }
    pixels.finish().expect("written")
}

/// A PNG file with these compressed pixels.
fn png_of(width: u32, height: u32, [depth, color]: [u8; 2], padding: usize, pixels: &[u8]) -> Vec<u8> {
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let length = u32::try_from(data.len()).expect("a short chunk").to_be_bytes();
        let sum = crc32fast::hash(&[kind, data].concat()).to_be_bytes();
        [&length, &kind[..], data, &sum].concat()
    };
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[depth, color, 0, 0, 0]].concat();
    let ends = [chunk(b"IDAT", pixels), chunk(b"IEND", &[])].concat();
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &header), chunk(b"teSt", &vec![7; padding]), ends].concat()
}

/// A gray JPEG file of this size, with as many bytes of no meaning.
fn jpeg(width: u16, height: u16, padding: usize) -> Vec<u8> {
    let segment = |marker: u8, data: &[u8]| {
        let length = u16::try_from(data.len() + 2).expect("a short segment").to_be_bytes();
        [&[0xFF, marker], &length[..], data].concat()
    };
    let frame = [&[8][..], &height.to_be_bytes(), &width.to_be_bytes(), &[1, 1, 0x11, 0]].concat();
    // A table with one code: the bit 0, which stands for 0.
    let table = |kind: u8| [&[kind, 1][..], &[0; 15], &[0]].concat();
    let mut file = vec![0xFF, 0xD8];
    // Comments.
    for part in vec![7; padding].chunks(60_000) {
        file.extend(segment(0xFE, part));
    }
    file.extend(segment(0xDB, &[&[0][..], &[1; 64]].concat()));
    file.extend(segment(0xC0, &frame));
    file.extend(segment(0xC4, &[table(0x00), table(0x10)].concat()));
    file.extend(segment(0xDA, &[1, 1, 0, 0, 63, 0]));
    // Two bits for each block of 8 by 8 pixels: as gray as the last one, and all of it.
    let blocks = usize::from(width).div_ceil(8) * usize::from(height).div_ceil(8);
    file.extend(vec![0; blocks.div_ceil(4)]);
    file.extend([0xFF, 0xD9]);
    file
}

fn data_uri(file: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(file))
}

pub fn has_picture(document: &TicketDocument) -> bool {
    pictures(document) > 0
}

/// How many pictures a document has. One that several tickets have is there once.
fn pictures(document: &TicketDocument) -> usize {
    // The dictionaries of a PDF file are not compressed.
    document.bytes.windows(14).filter(|part| *part == b"/Subtype/Image" || *part == b"/Subtype /Imag").count()
}

/// The document of a ticket with a logo in this file.
fn with_logo(file: &[u8]) -> TicketDocument {
    let edit = |ticket_type: &mut CreateTicketType| ticket_type.ticket_logo = Some(data_uri(file));
    printed(TicketDocuments::default(), "Ada", |_| (), edit).file.document
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
        assert_eq!(has_picture(&with_logo(&file)), is_drawn, "{what}");
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

/// The document of an order with a ticket for each of these logos.
fn of_order(logos: impl Iterator<Item = Vec<u8>>) -> TicketDocument {
    let fixture = with_documents(TicketDocuments::default());
    let event = fixture.event();
    let items = logos.map(|file| {
        let ticket_type = fixture.ticket_type_with(&event, |ticket_type| {
            ticket_type.ticket_logo = Some(data_uri(&file));
            ticket_type.price = "0".parse().expect("an amount");
        });
        NewOrderItem::new(ticket_type.id, 1)
    });
    let items: Vec<_> = items.collect();
    let buyer = NewCustomer::new("Ada", "ada@example.com");
    let mut request = CreateOrder::new(event.id, buyer, items[0].ticket_type_id, 1);
    request.items = items;
    let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
    fixture.service.get_order_document(&fixture.caller, order.id).expect("a document")
}
