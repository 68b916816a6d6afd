//! Files of pictures, for logos.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The largest file of a logo, in bytes.
pub const LARGEST_FILE: usize = 512 * 1024;

/// A PNG file of this size, which is one gray pixel, and otherwise filled with this byte. The compressed pixel and the
/// checksums are those of `zlib.compress(bytes(2))` and `zlib.crc32` in Python.
pub fn pixel_png(bytes: usize, fill: u8) -> Vec<u8> {
    const START: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3A\x7E\x9B\x55";
    const END: &[u8] =
        b"\0\0\0\x0AIDAT\x78\x9C\x63\x60\x00\x00\x00\x02\x00\x01\x48\xAF\xA4\x71\0\0\0\0IEND\xAE\x42\x60\x82";
    let filling = vec![fill; bytes - START.len() - END.len() - 12];
    [START, &chunk(b"teSt", &filling), END].concat()
}

/// A logo of this many bytes: see [`pixel_png`].
pub fn pixel_logo(bytes: usize, fill: u8) -> String {
    data_uri(&pixel_png(bytes, fill))
}

/// A `data:` URI of a picture. Its media type does not matter, as long as it is that of a picture.
pub fn data_uri(file: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(file))
}

/// Gray pixels of one byte.
pub const GRAY: [u8; 2] = [8, 0];
/// Pixels of one byte for each of red, green and blue.
pub const RGB: [u8; 2] = [8, 2];
/// Pixels of two bytes for each of red, green, blue and opacity.
pub const RGBA16: [u8; 2] = [16, 6];

/// A PNG file of this size in one color, with as many bytes of no meaning before its pixels.
pub fn png(width: u32, height: u32, padding: usize) -> Vec<u8> {
    let row = [&[0][..], &[0x1F, 0x4B, 0x99].repeat(width as usize)].concat();
    png_of(width, height, RGB, padding, &compressed(&row, height as usize))
}

/// Rows, compressed as in a PNG file.
pub fn compressed(row: &[u8], rows: usize) -> Vec<u8> {
    let mut pixels = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..rows {
        pixels.write_all(row).expect("written");
    }
    pixels.finish().expect("written")
}

/// A PNG file with these compressed pixels.
pub fn png_of(width: u32, height: u32, [depth, color]: [u8; 2], padding: usize, pixels: &[u8]) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[depth, color, 0, 0, 0]].concat();
    let ends = [chunk(b"IDAT", pixels), chunk(b"IEND", &[])].concat();
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &header), chunk(b"teSt", &vec![7; padding]), ends].concat()
}

/// A chunk of a PNG file.
pub fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).expect("a short chunk").to_be_bytes();
    let sum = crc32fast::hash(&[kind, data].concat()).to_be_bytes();
    [&length, &kind[..], data, &sum].concat()
}

/// A gray JPEG file of this size, with as many bytes of no meaning.
pub fn jpeg(width: u16, height: u16, padding: usize) -> Vec<u8> {
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

/// A progressive JPEG file of this width and height with this many scans, in the four colors of printers. Nothing but the
/// first scan says anything about its pixels.
pub fn progressive_jpeg(side: u16, scans: usize) -> Vec<u8> {
    let colors = [1, 2, 3, 4];
    let [high, low] = side.to_be_bytes();
    let mut frame = vec![8, high, low, high, low, 4];
    frame.extend(colors.iter().flat_map(|color| [*color, 0x11, 0]));
    // A table with one code: the bit 0.
    let table = |kind: u8, stands_for: u8| [&[kind, 1][..], &[0; 15], &[stands_for]].concat();
    let mut file = vec![0xFF, 0xD8];
    file.extend(segment(0xDB, &[&[0][..], &[1; 64]].concat()));
    file.extend(segment(0xC2, &frame));
    // In the first scan, it stands for the value before; in others, with 14 bits more, for 16,384 blocks of nothing.
    file.extend(segment(0xC4, &[table(0x00, 0x00), table(0x10, 0xE0)].concat()));
    let blocks = usize::from(side).div_ceil(8).pow(2);
    let start = colors.iter().flat_map(|color| [*color, 0]);
    file.extend(segment(0xDA, &[&[4][..], &start.collect::<Vec<_>>(), &[0, 0, 0]].concat()));
    file.extend(vec![0; (4 * blocks).div_ceil(8)]);
    for (number, color) in (1..scans).zip(colors.iter().cycle()) {
        // The first for a color has all bits but 13, each further one a bit more.
        let bit = 13 - u8::try_from((number - 1) / 4).expect("few scans").min(12);
        let approximation = if bit == 13 { bit } else { (bit + 1) << 4 | bit };
        file.extend(segment(0xDA, &[1, *color, 0, 1, 63, approximation]));
        file.extend(vec![0; (15 * blocks.div_ceil(1 << 14)).div_ceil(8)]);
    }
    file.extend([0xFF, 0xD9]);
    file
}

/// A segment of a JPEG file.
pub fn segment(marker: u8, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len() + 2).expect("a short segment").to_be_bytes();
    [&[0xFF, marker], &length[..], data].concat()
}
