//! Pictures in requests: untrusted PNG and JPEG files, which are decoded before a request is accepted.

use std::io::Cursor;

use data_url::DataUrl;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

/// The largest file of a picture in a request, in bytes.
pub(crate) const MAX_PICTURE_BYTES: usize = 512 * 1024;

/// The largest width and height of such a picture, in pixels.
pub(crate) const MAX_SIDE: u32 = 2000;

/// The most scans of a progressive JPEG. A scan of a few bytes takes milliseconds, and programs write about 20 at most.
const MAX_SCANS: usize = 32;

/// Whether a URI is a `data:` URI, which contains a file.
pub(crate) fn is_data_uri(uri: &str) -> bool {
    uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// The file in a `data:` URI, unless it is larger than 512 KiB.
pub(crate) fn file_in_data_uri(uri: &str) -> Option<Vec<u8>> {
    let (file, _) = DataUrl::process(uri).ok()?.decode_to_vec().ok()?;
    (file.len() <= MAX_PICTURE_BYTES).then_some(file)
}

/// Whether a JSON text may contain a `data:` URI. A text that escapes signs of ASCII, which clients do not, may too.
pub(crate) fn may_have_data_uri(json: &[u8]) -> bool {
    let is_escape = |text: &[u8]| text.starts_with(b"\\u00") && matches!(text[4], b'2'..=b'7');
    json.windows(5).any(|text| text.eq_ignore_ascii_case(b"data:") || is_escape(text))
}

/// Whether a `data:` URI contains a whole PNG or JPEG picture within the limits. All its pixels are decoded: a JPEG may
/// take 50 MB, and 0.2 seconds of a processor.
pub(crate) fn is_picture(uri: &str) -> bool {
    let Some(file) = file_in_data_uri(uri) else { return false };
    size(&file, MAX_SIDE).is_some()
        && if png_size(&file).is_some() { is_whole_png(&file) } else { is_whole_jpeg(&file) }
}

/// The width and height that a PNG or JPEG file says it has. `None` if one of them is 0 or more than `max_side`.
pub(crate) fn size(file: &[u8], max_side: u32) -> Option<(u32, u32)> {
    let (width, height) = png_size(file).or_else(|| jpeg_size(file))?;
    [width, height].iter().all(|side| (1..=max_side).contains(side)).then_some((width, height))
}

/// The width and height that a PNG file says it has: the first fields of its first chunk. Decoders take no other ones.
pub(crate) fn png_size(file: &[u8]) -> Option<(u32, u32)> {
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

/// The kinds of chunks that a PNG file needs for its pixels.
const CHUNKS_OF_PIXELS: [&[u8]; 5] = [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"];
/// The bytes of a chunk besides its data: their number, the kind, and a checksum.
const CHUNK_OVERHEAD: usize = 12;

/// The chunks of a PNG file up to its end. `None` if the file ends within a chunk.
pub(crate) fn png_chunks(file: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = file.get(8..)?;
    let mut chunks: Vec<&[u8]> = Vec::new();
    while let Some(length) = rest.first_chunk()
        && chunks.last().is_none_or(|chunk| &chunk[4..8] != b"IEND")
    {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (chunk, others) = rest.split_at_checked(length.checked_add(CHUNK_OVERHEAD)?)?;
        chunks.push(chunk);
        rest = others;
    }
    Some(chunks)
}

/// A PNG file without the chunks that its pixels do not need. A color profile or a text may be compressed, and a small
/// one become 64 MiB. `None` if the file ends within a chunk.
pub(crate) fn only_pixels(file: &[u8]) -> Option<Vec<u8>> {
    let mut pixels = file.get(..8)?.to_vec();
    let is_of_pixels = |chunk: &&[u8]| CHUNKS_OF_PIXELS.contains(&&chunk[4..8]);
    png_chunks(file)?.into_iter().filter(is_of_pixels).for_each(|chunk| pixels.extend_from_slice(chunk));
    Some(pixels)
}

/// Whether a PNG file has all its pixels and its end. They are decoded row by row.
pub(crate) fn is_whole_png(file: &[u8]) -> bool {
    let decode = |pixels: Vec<u8>| {
        let mut decoder = png::Decoder::new(Cursor::new(pixels));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info()?;
        while reader.next_row()?.is_some() {}
        reader.finish()
    };
    only_pixels(file).map(decode).is_some_and(|decoded| decoded.is_ok())
}

/// Whether a JPEG file has all its pixels. It becomes part of a document as it is. The decoder does not miss the last
/// few bytes, so the marker of the end has to follow that of the last scan: neither can stand in what is compressed.
pub(crate) fn is_whole_jpeg(file: &[u8]) -> bool {
    let last = |marker: [u8; 2]| file.windows(2).rposition(|bytes| bytes == marker);
    last([0xFF, 0xD9]) > last([0xFF, 0xDA]) && jpeg_decoder(file).decode().is_ok()
}

pub(crate) fn jpeg_decoder(file: &[u8]) -> JpegDecoder<ZCursor<&[u8]>> {
    let options = DecoderOptions::default().set_strict_mode(true).jpeg_set_max_scans(MAX_SCANS);
    JpegDecoder::new_with_options(ZCursor::new(file), options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_png_file_only_the_pixels_are_decoded() {
        let header = b"\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3A\x7E\x9B\x55";
        let pixel =
            b"\0\0\0\x0AIDAT\x78\x9C\x63\x60\x00\x00\x00\x02\x00\x01\x48\xAF\xA4\x71\0\0\0\0IEND\xAE\x42\x60\x82";
        let chunk = |kind: &[u8; 4]| [b"\0\0\0\x04", &kind[..], b"datasum."].concat();
        let others = [b"iCCP", b"zTXt", b"iTXt", b"eXIf"].map(chunk).concat();
        assert_eq!(only_pixels(&[header, &others[..], pixel].concat()), Some([&header[..], pixel].concat()));
    }
}
