//! The picture of a logo: an untrusted file.

use std::sync::Arc;

use data_url::DataUrl;
use krilla::Document;
use krilla::geom::Size;
use krilla::image::Image;
use krilla::page::PageSettings;
use sha2::{Digest, Sha256};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

/// The largest file of a logo.
pub(super) const MAX_LOGO_BYTES: usize = 512 * 1024;
const MAX_SIDE: u32 = 2000;

/// The file of a logo.
#[derive(Debug, Clone)]
pub(super) struct Logo {
    pub(super) file: Arc<[u8]>,
    pub(super) digest: [u8; 32],
}

impl Logo {
    /// A logo in this file, which may be damaged.
    pub(super) fn new(file: Vec<u8>) -> Self {
        Self { digest: Sha256::digest(&file).into(), file: file.into() }
    }

    /// The logo in a `data:` URI, unless its file is larger than 512 KiB.
    pub(super) fn from_data_uri(uri: &str) -> Option<Self> {
        let (file, _) = DataUrl::process(uri).ok()?.decode_to_vec().ok()?;
        (file.len() <= MAX_LOGO_BYTES).then(|| Self::new(file))
    }
}

/// A picture that can be drawn.
#[derive(Debug, Clone)]
pub(super) struct Picture {
    pub(super) image: Image,
    /// How many bytes it has in a document.
    pub(super) bytes: usize,
}

/// Returns the picture in a PNG or JPEG file, unless it is larger than 2,000 pixels in width or height, or damaged. Its
/// pixels are decoded at once, so its size is read before.
pub(super) fn picture(file: &[u8]) -> Option<Picture> {
    let (width, height) = size(file)?;
    if !(is_fair(width) && is_fair(height)) {
        return None;
    }
    let image = if png_size(file).is_some() {
        Image::from_png(only_pixels(file)?.into(), true)
    } else if is_whole_jpeg(file) {
        Image::from_jpeg(file.to_vec().into(), true)
    } else {
        return None;
    };
    let image = image.ok()?;
    Some(Picture { bytes: bytes_in_document(&image)?, image })
}

/// `None` if the pixels of a PNG are damaged: this is only told when a document is finished.
fn bytes_in_document(image: &Image) -> Option<usize> {
    let mut document = Document::new();
    let mut page = document.start_page_with(PageSettings::from_wh(1.0, 1.0)?);
    let mut surface = page.surface();
    surface.draw_image(image.clone(), Size::from_wh(1.0, 1.0)?);
    surface.finish();
    page.finish();
    document.finish().ok().map(|file| file.len())
}

/// How many pixels are decoded for a picture.
pub(super) fn pixels_to_decode(file: &[u8]) -> u64 {
    size(file).map_or(0, |(width, height)| u64::from(width) * u64::from(height))
}

/// The width and height that a PNG or JPEG file says it has.
fn size(file: &[u8]) -> Option<(u32, u32)> {
    png_size(file).or_else(|| jpeg_size(file))
}

fn is_fair(side: u32) -> bool {
    (1..=MAX_SIDE).contains(&side)
}

/// The kinds of chunks that a PNG file needs for its pixels.
const CHUNKS_OF_PIXELS: [&[u8]; 5] = [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"];
/// The bytes of a chunk besides its data: their number, the kind, and a checksum.
const CHUNK_OVERHEAD: usize = 12;

/// A PNG file without the chunks that its pixels do not need. A color profile or a text may be compressed, and a small
/// one become 64 MiB. `None` if the file ends within a chunk.
fn only_pixels(file: &[u8]) -> Option<Vec<u8>> {
    let (signature, mut rest) = file.split_at_checked(8)?;
    let mut pixels = signature.to_vec();
    while let Some(length) = rest.first_chunk() {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (chunk, others) = rest.split_at_checked(length.checked_add(CHUNK_OVERHEAD)?)?;
        if CHUNKS_OF_PIXELS.contains(&&chunk[4..8]) {
            pixels.extend_from_slice(chunk);
        }
        rest = others;
    }
    Some(pixels)
}

/// The width and height that a PNG file says it has: the first fields of its first chunk. Decoders take no other ones.
fn png_size(file: &[u8]) -> Option<(u32, u32)> {
    let header = file.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR")?;
    let (width, rest) = header.split_first_chunk()?;
    let (height, _) = rest.split_first_chunk()?;
    Some((u32::from_be_bytes(*width), u32::from_be_bytes(*height)))
}

/// The width and height that a JPEG file says it has.
fn jpeg_size(file: &[u8]) -> Option<(u32, u32)> {
    let mut decoder = jpeg_decoder(file);
    decoder.decode_headers().ok()?;
    let (width, height) = decoder.dimensions()?;
    Some((width.try_into().ok()?, height.try_into().ok()?))
}

/// Whether a JPEG file has all its pixels. It becomes part of a document as it is. The decoder does not miss the last
/// few bytes, so the marker of the end has to follow that of the last scan: neither can stand in what is compressed.
fn is_whole_jpeg(file: &[u8]) -> bool {
    let last = |marker: [u8; 2]| file.windows(2).rposition(|bytes| bytes == marker);
    last([0xFF, 0xD9]) > last([0xFF, 0xDA]) && jpeg_decoder(file).decode().is_ok()
}

fn jpeg_decoder(file: &[u8]) -> JpegDecoder<ZCursor<&[u8]>> {
    JpegDecoder::new_with_options(ZCursor::new(file), DecoderOptions::default().set_strict_mode(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gray pixel as a PNG file. The compressed pixels and their checksum are those of `zlib.compress(bytes(2))` and
    /// of `zlib.crc32` in Python.
    const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\
        \0\0\0\x0DIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3A\x7E\x9B\x55\
        \0\0\0\x0AIDAT\x78\x9C\x63\x60\x00\x00\x00\x02\x00\x01\x48\xAF\xA4\x71\
        \0\0\0\0IEND\xAE\x42\x60\x82";

    #[test]
    fn of_a_png_file_only_the_pixels_are_decoded() {
        // After the signature and the header.
        let (start, end) = PIXEL.split_at(33);
        let mut file = start.to_vec();
        for kind in [b"iCCP", b"zTXt", b"iTXt", b"eXIf"] {
            file.extend(4_u32.to_be_bytes());
            file.extend(kind);
            file.extend(b"\0\0\0\0sum.");
        }
        file.extend(end);
        assert_eq!(only_pixels(&file).as_deref(), Some(PIXEL));
        assert_eq!(picture(&file).unwrap().bytes, picture(PIXEL).unwrap().bytes);
        // In the last of the chunks.
        file.truncate(33 + 4 * 16 - 1);
        assert_eq!(only_pixels(&file), None);
    }
}
