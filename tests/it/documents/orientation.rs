//! Pictures whose files lie on their side or are mirrored, as phones store them: the tag `Orientation` of EXIF says how.

use ticketing::documents::TicketDocuments;
use ticketing::ticket_type::CreateTicketType;

use crate::common::pictures::*;
use crate::documents::tools::*;

type Rgb = [u8; 3];

const WIDTH: u32 = 600;
const HEIGHT: u32 = 200;

/// The color of the upright picture at a place: red, green and blue from left to right, darker in the lower half.
fn upright(x: u32, y: u32) -> Rgb {
    let light = if y < HEIGHT / 2 { 250 } else { 120 };
    let mut color = [10; 3];
    color[(x / 200) as usize] = light;
    color
}

/// The color at a place of the file of this orientation. As EXIF defines them, the first row and the first column of the
/// file are: 1 the top and the left, 2 the top and the right, 3 the bottom and the right, 4 the bottom and the left, 5 the
/// left and the top, 6 the right and the top, 7 the right and the bottom, 8 the left and the bottom of the picture.
fn stored(orientation: u8, x: u32, y: u32) -> Rgb {
    let (right, bottom) = (WIDTH - 1, HEIGHT - 1);
    match orientation {
        2 => upright(right - x, y),
        3 => upright(right - x, bottom - y),
        4 => upright(x, bottom - y),
        5 => upright(y, x),
        6 => upright(right - y, x),
        7 => upright(right - y, bottom - x),
        8 => upright(y, bottom - x),
        _ => upright(x, y),
    }
}

/// EXIF data with this orientation, between two other tags.
fn exif(orientation: u8, is_big_endian: bool) -> Vec<u8> {
    let number = |bytes: &[u8]| -> Vec<u8> {
        if is_big_endian { bytes.to_vec() } else { bytes.iter().rev().copied().collect() }
    };
    let short = |value: u16| number(&value.to_be_bytes());
    let entry =
        |tag: u16, value: u16| [short(tag), short(3), number(&1_u32.to_be_bytes()), short(value), short(0)].concat();
    let start = if is_big_endian { b"MM" } else { b"II" };
    let entries = [entry(0x0100, 7), entry(0x0112, orientation.into()), entry(0x0128, 2)].concat();
    [&start[..], &short(42), &number(&8_u32.to_be_bytes()), &short(3), &entries, &[0; 4]].concat()
}

/// The file of this orientation as PNG, with EXIF data before its pixels or after them.
fn png_file(orientation: u8, exif: &[u8], is_exif_first: bool) -> Vec<u8> {
    let (width, height) = if orientation < 5 { (WIDTH, HEIGHT) } else { (HEIGHT, WIDTH) };
    let row = |y: u32| std::iter::once(0).chain((0..width).flat_map(move |x| stored(orientation, x, y)));
    let pixels = compressed(&(0..height).flat_map(row).collect::<Vec<u8>>(), 1);
    let file = png_of(width, height, RGB, 0, &pixels);
    // Behind the header, or before the end.
    let (start, end) = file.split_at(if is_exif_first { 33 } else { file.len() - 12 });
    [start, &chunk(b"eXIf", exif), end].concat()
}

/// The file of this orientation as JPEG, with EXIF data. `None` if ImageMagick is not installed.
fn jpeg_file(orientation: u8, exif: &[u8], options: &[&str]) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let (png, jpeg) = (folder.path().join("a.png"), folder.path().join("a.jpg"));
    std::fs::write(&png, png_file(orientation, b"", true)).expect("written");
    run("/usr/bin/convert", &[&[utf8(&png), "-strip"], options, &[utf8(&jpeg)]].concat())?;
    let file = std::fs::read(jpeg).expect("a picture");
    // Behind the marker of the start.
    Some([&file[..2], &segment(0xE1, &[b"Exif\0\0", exif].concat()), &file[2..]].concat())
}

/// Asserts that the logo in this file is upright in a document: 60 mm wide and 20 mm high would be more than there is
/// room for, so 54 by 18 mm, in the upper left corner of what is printed.
fn assert_upright(file: &[u8], what: &str) {
    let edit = |ticket_type: &mut CreateTicketType| ticket_type.ticket_logo = Some(data_uri(file));
    let document = printed(TicketDocuments::default(), "Ada", |_| (), edit).file;
    let Some(page) = document.colors() else { return };
    let at = |x: f64, y: f64| page.at(millimeters(20.0 + x), millimeters(20.0 + y));
    for (row, light) in [(4.5, 250), (13.5, 120)] {
        for (column, name) in ["red", "green", "blue"].into_iter().enumerate() {
            let color = at(9.0 + 18.0 * f64::from(u8::try_from(column).expect("small")), row);
            let mut expected = [10; 3];
            expected[column] = light;
            let is_near = color.iter().zip(expected).all(|(a, b)| a.abs_diff(b) < 40);
            assert!(is_near, "{what}: {name} at {row} mm is {color:?}");
        }
    }
    for (x, y) in [(-1.0, 9.0), (55.5, 9.0), (27.0, -1.0), (27.0, 19.0)] {
        assert_eq!(at(x, y), [255; 3], "{what}: {x}, {y}");
    }
}

#[test]
fn a_png_of_each_orientation_is_upright() {
    for orientation in 1..=8 {
        let exif = exif(orientation, orientation % 2 == 0);
        assert_upright(&png_file(orientation, &exif, orientation < 7), &format!("orientation {orientation}"));
    }
}

#[test]
fn a_jpeg_of_each_orientation_is_upright() {
    for orientation in 1..=8 {
        for is_big_endian in [true, false] {
            let options: &[&str] = if is_big_endian { &[] } else { &["-interlace", "JPEG"] };
            let Some(file) = jpeg_file(orientation, &exif(orientation, is_big_endian), options) else { return };
            assert_upright(&file, &format!("orientation {orientation}, {options:?}"));
        }
    }
}

#[test]
fn exif_data_without_a_known_orientation_change_nothing() {
    let six = exif(6, true);
    let without_tag = [&six[..22], &[0x01, 0x13], &six[24..]].concat();
    let endless = [b"MM\0*\xFF\xFF\xFF\xFF".to_vec(), vec![0xFF; 40]].concat();
    let many = [b"MM\0*\0\0\0\x08\xFF\xFF".to_vec(), vec![0; 30]].concat();
    let cut = &six[..28];
    for exif in
        [&exif(0, true)[..], &exif(9, false), &without_tag, &endless, &many, cut, b"", b"MM\0*", b"no EXIF data"]
    {
        assert_upright(&png_file(1, exif, true), &format!("{exif:?}"));
    }
}
