//! Files of pictures without metadata, such as the place where a photo was taken, thumbnails and comments.

use std::collections::HashSet;
use std::io::Read;

use flate2::read::ZlibDecoder;

use super::picture::{exif, orientation};
use crate::form::picture::{is_whole_jpeg, is_whole_png, png_chunks, png_size, size};

/// The largest color profile in a PNG file, in bytes. It is compressed, and a small one may become 1,000 times as large.
const MAX_PROFILE_BYTES: u64 = 4 * 1024 * 1024;

/// Returns the picture in a PNG or JPEG file as a file without metadata. Its pixels are not compressed again, and look
/// the same. `None` if the picture is larger than `max_side` in width or height, or damaged. All its pixels are decoded:
/// a JPEG of 4,000 by 4,000 pixels may take 200 MB, and 0.8 seconds of a processor.
///
/// If the file says that the picture lies on its side or is mirrored, the returned file says it too.
pub(super) fn clean(file: &[u8], max_side: u32) -> Option<Vec<u8>> {
    let is_png = png_size(file).is_some();
    let clean = if is_png { clean_png(file) } else { clean_jpeg(file) }?;
    size(&clean, max_side)?;
    let is_whole = if is_png { is_whole_png(&clean) } else { is_whole_jpeg(&clean) };
    is_whole.then_some(clean)
}

/// EXIF data with nothing but an orientation.
fn exif_data(orientation: u8) -> [u8; 26] {
    let mut data = *b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0";
    data[19] = orientation;
    data
}

/// A PNG file with the chunks of its pixels and colors only. `None` if it ends within a chunk.
fn clean_png(file: &[u8]) -> Option<Vec<u8>> {
    let orientation = exif(file).and_then(|exif| orientation(&exif)).filter(|orientation| *orientation != 1);
    let mut clean = file.get(..8)?.to_vec();
    let mut seen = HashSet::new();
    for chunk in png_chunks(file)? {
        let kind = &chunk[4..8];
        if !is_of_picture(chunk) || (is_ancillary(kind) && !seen.insert(kind)) {
            continue;
        }
        clean.extend_from_slice(chunk);
        if let (b"IHDR", Some(orientation)) = (kind, orientation) {
            clean.extend(exif_chunk(orientation));
        }
    }
    Some(clean)
}

/// Whether decoders may ignore chunks of this kind.
fn is_ancillary(kind: &[u8]) -> bool {
    kind[0].is_ascii_lowercase()
}

/// Whether a chunk of a PNG file, which has at least a length, a kind and a checksum, is needed for pixels and colors.
fn is_of_picture(chunk: &[u8]) -> bool {
    let (kind, data) = (&chunk[4..8], &chunk[8..chunk.len() - 4]);
    let is_needed = match kind {
        b"IHDR" | b"PLTE" | b"IDAT" => true,
        b"IEND" => data.is_empty(),
        b"tRNS" => data.len() <= 256,
        b"gAMA" => data.len() == 4,
        b"cHRM" => data.len() == 32,
        b"sRGB" => data.len() == 1,
        b"pHYs" => data.len() == 9,
        b"iCCP" => has_small_profile(data),
        _ => false,
    };
    // The decoder checks the others.
    let is_intact = || crc32fast::hash(&chunk[4..chunk.len() - 4]).to_be_bytes() == chunk[chunk.len() - 4..];
    is_needed && (!is_ancillary(kind) || is_intact())
}

/// Whether the data of the chunk `iCCP` contain a color profile within the limit: its name, 0, the kind of compression,
/// which is 0, and the compressed profile.
fn has_small_profile(data: &[u8]) -> bool {
    let Some(end_of_name) = data.iter().position(|byte| *byte == 0) else { return false };
    let Some((0, compressed)) = data[end_of_name + 1..].split_first() else { return false };
    let mut profile = ZlibDecoder::new(compressed).take(MAX_PROFILE_BYTES + 1);
    std::io::copy(&mut profile, &mut std::io::sink()).is_ok_and(|bytes| (1..=MAX_PROFILE_BYTES).contains(&bytes))
}

/// The chunk of a PNG file with [EXIF data](exif_data).
fn exif_chunk(orientation: u8) -> Vec<u8> {
    let kind_and_data = [&b"eXIf"[..], &exif_data(orientation)].concat();
    [&26_u32.to_be_bytes()[..], &kind_and_data, &crc32fast::hash(&kind_and_data).to_be_bytes()].concat()
}

const START: [u8; 2] = [0xFF, 0xD8];
const END: [u8; 2] = [0xFF, 0xD9];
const START_OF_SCAN: u8 = 0xDA;
const APP0: u8 = 0xE0;
const APP1: u8 = 0xE1;

/// A JPEG file with the segments of its pixels and colors only, up to its end. `None` if it has no end.
fn clean_jpeg(file: &[u8]) -> Option<Vec<u8>> {
    let mut rest = file.strip_prefix(&START)?;
    let (mut jfif, mut orientation_of_file, mut others) = (None, None, Vec::new());
    loop {
        let (marker, after) = next_marker(rest)?;
        if marker == END[1] {
            break;
        }
        let (length, _) = after.split_first_chunk()?;
        let (segment, after) = after.split_at_checked(u16::from_be_bytes(*length).into())?;
        let data = segment.get(2..)?;
        rest = after;
        match marker {
            // Without its thumbnail, whose width and height are the last bytes.
            APP0 if data.starts_with(b"JFIF\0") && jfif.is_none() => {
                jfif = data.get(..12).map(|data| jpeg_segment(APP0, &[data, &[0, 0]].concat()));
            }
            APP1 if data.starts_with(b"Exif\0\0") => {
                orientation_of_file = orientation_of_file.or_else(|| orientation(&data[6..]));
            }
            // A color profile.
            0xE2 if data.starts_with(b"ICC_PROFILE\0") => others.extend(jpeg_segment(marker, data)),
            // How the colors of Adobe's programs are to be understood.
            0xEE if data.starts_with(b"Adobe") && data.len() >= 12 => others.extend(jpeg_segment(marker, &data[..12])),
            // The frame, Huffman tables, quantization tables, and the interval of restarts.
            0xC0..=0xC2 | 0xC4 | 0xDB | 0xDD => others.extend(jpeg_segment(marker, data)),
            START_OF_SCAN => {
                let (scan, after) = rest.split_at(end_of_scan(rest)?);
                others.extend(jpeg_segment(marker, data));
                others.extend_from_slice(scan);
                rest = after;
            }
            // Other data of applications, comments, and what the decoder does not know.
            _ => {}
        }
    }
    let orientation = orientation_of_file.filter(|orientation| *orientation != 1);
    let exif = orientation.map(|orientation| jpeg_segment(APP1, &[&b"Exif\0\0"[..], &exif_data(orientation)].concat()));
    Some([&START[..], &jfif.unwrap_or_default(), &exif.unwrap_or_default(), &others, &END].concat())
}

/// The next marker of a JPEG file, and what follows it. Bytes before it that belong to nothing are skipped.
fn next_marker(rest: &[u8]) -> Option<(u8, &[u8])> {
    let at = rest.windows(2).position(|bytes| bytes[0] == 0xFF && !matches!(bytes[1], 0 | 0xFF))?;
    Some((rest[at + 1], &rest[at + 2..]))
}

/// Where the compressed pixels of a scan end: at the next marker that is none of a restart.
fn end_of_scan(rest: &[u8]) -> Option<usize> {
    rest.windows(2).position(|bytes| bytes[0] == 0xFF && !matches!(bytes[1], 0 | 0xD0..=0xD7 | 0xFF))
}

/// A segment of a JPEG file. Its data come from such a segment, or are short.
fn jpeg_segment(marker: u8, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len() + 2).unwrap_or(u16::MAX);
    [&[0xFF, marker], &length.to_be_bytes()[..], data].concat()
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};
    use std::path::Path;
    use std::process::Command;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;
    use crate::form::picture::jpeg_decoder;

    /// More than any picture here has.
    const SIDE: u32 = 4000;

    /// What `convert` of `ImageMagick` writes, `None` if it is not installed.
    fn converted(arguments: &[&str], input: Option<(&Path, &[u8])>) -> Option<Vec<u8>> {
        if let Some((path, file)) = input {
            std::fs::write(path, file).unwrap();
        }
        let output = match Command::new("/usr/bin/convert").args(arguments).output() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let is_needed = std::env::var_os("TICKETING_REQUIRE_ALL_TESTS").is_some_and(|value| value == "1");
                assert!(!is_needed, "/usr/bin/convert is not installed");
                writeln!(std::io::stderr(), "skipped: a test of covers: /usr/bin/convert is not installed").unwrap();
                return None;
            }
            output => output.unwrap(),
        };
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {complaint}");
        Some(output.stdout)
    }

    /// A picture with many colors in a file of this format.
    fn made(options: &[&str], format: &str) -> Option<Vec<u8>> {
        let output = format!("{format}:-");
        converted(&[&["-size", "61x43", "-seed", "1", "plasma:"], options, &["-strip", &output]].concat(), None)
    }

    /// The pixels of a file as `ImageMagick` decodes them, and turns them if the file says so.
    fn seen(file: &[u8], mode: &str) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture");
        let arguments = [path.to_str().unwrap(), "-auto-orient", "-depth", "16", mode];
        converted(&arguments, Some((&path, file))).unwrap()
    }

    /// The width, height and pixels of a file as this crate decodes them.
    fn decoded(file: &[u8]) -> (u32, u32, Vec<u8>) {
        let (width, height) = size(file, SIDE).unwrap();
        if png_size(file).is_none() {
            return (width, height, jpeg_decoder(file).decode().unwrap());
        }
        let mut decoder = png::Decoder::new(Cursor::new(file));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        (width, height, pixels)
    }

    fn contains(file: &[u8], part: &[u8]) -> bool {
        file.windows(part.len()).any(|bytes| bytes == part)
    }

    fn segment(marker: u8, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(data.len() + 2).unwrap().to_be_bytes();
        [&[0xFF, marker], &length[..], data].concat()
    }

    fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        let sum = crc32fast::hash(&[kind, data].concat()).to_be_bytes();
        [&length[..], kind, data, &sum].concat()
    }

    fn compressed(data: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    /// EXIF data as those of a phone: this orientation, where the photo was taken, the name of the camera, and a thumbnail.
    fn exif_of_phone(orientation: u16) -> Vec<u8> {
        let entry = |tag: u16, kind: u16, count: u32, value: [u8; 4]| {
            [&tag.to_be_bytes()[..], &kind.to_be_bytes(), &count.to_be_bytes(), &value].concat()
        };
        let short = |value: u16| [value.to_be_bytes(), [0, 0]].concat().try_into().unwrap();
        let long = u32::to_be_bytes;
        // Three entries have 42 bytes, two have 30. The first directory begins at 8.
        let (gps, thumbnails, values) = (50, 80, 110);
        let first = [
            entry(0x010F, 2, 12, long(values)),
            entry(0x0112, 3, 1, short(orientation)),
            entry(0x8825, 4, 1, long(gps)),
        ];
        let place = [entry(0x0001, 2, 2, *b"N\0\0\0"), entry(0x0002, 5, 3, long(values + 12))];
        let thumbnail = [entry(0x0201, 4, 1, long(values + 36)), entry(0x0202, 4, 1, long(14))];
        let degrees = [52_u32, 1, 31, 1, 12_345, 1000].map(u32::to_be_bytes).concat();
        [
            &b"MM\0*\0\0\0\x08\0\x03"[..],
            &first.concat(),
            &long(thumbnails),
            &[0, 2],
            &place.concat(),
            &long(0),
            &[0, 2],
            &thumbnail.concat(),
            &long(0),
            b"Secret phone",
            &degrees,
            b"\xFF\xD8thumbnail\0\xFF\xD9",
        ]
        .concat()
    }

    /// What may not be in a clean file.
    fn secrets() -> Vec<Vec<u8>> {
        let place = [52_u32, 1, 31, 1, 12_345, 1000].map(u32::to_be_bytes).concat();
        let texts = [&b"Secret phone"[..], b"thumbnail", b"a comment", b"xmpmeta", b"8BIM", b"second picture"];
        texts.into_iter().map(<[u8]>::to_vec).chain([place]).collect()
    }

    /// The markers of a JPEG file up to its pixels.
    fn markers(file: &[u8]) -> Vec<u8> {
        let (mut at, mut markers) = (2, Vec::new());
        while markers.last() != Some(&START_OF_SCAN) {
            markers.push(file[at + 1]);
            at += 2 + usize::from(u16::from_be_bytes([file[at + 2], file[at + 3]]));
        }
        markers
    }

    fn kinds(file: &[u8]) -> Vec<String> {
        let kind = |chunk: &[u8]| String::from_utf8(chunk[4..8].to_vec()).unwrap();
        png_chunks(file).unwrap().into_iter().map(kind).collect()
    }

    #[test]
    fn a_jpeg_keeps_its_pixels_and_loses_what_was_written_about_it() {
        for (options, mode) in [
            (&["-sampling-factor", "4:2:0"][..], "rgb:-"),
            (&["-sampling-factor", "4:4:4", "-quality", "97"], "rgb:-"),
            (&["-interlace", "JPEG"], "rgb:-"),
            (&["-colorspace", "gray"], "gray:-"),
            // Without the segment of Adobe, these have other colors.
            (&["-colorspace", "CMYK"], "cmyk:-"),
        ] {
            let Some(plain) = made(options, "jpg") else { return };
            let profile = segment(0xE2, b"ICC_PROFILE\0\x01\x01a color profile");
            let adobe = segment(0xEE, b"Adobe\0\x64\0\0\0\0\x01");
            let head = [
                segment(0xE1, &[b"Exif\0\0", &exif_of_phone(6)[..]].concat()),
                segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta/>"),
                segment(0xE2, b"MPF\0MM\0*second picture"),
                segment(0xED, b"Photoshop 3.0\08BIM"),
                segment(0xE0, b"JFXX\0\x10thumbnail"),
                // Fill bytes before a marker.
                [&[0xFF, 0xFF], &segment(0xFE, b"a comment")[..]].concat(),
            ];
            let file = [&plain[..2], &head.concat(), &plain[2..], b"second picture"].concat();
            assert!(secrets().iter().all(|secret| contains(&file, secret)), "the control");
            let clean_file = clean(&file, SIDE).unwrap();
            assert!(!secrets().iter().any(|secret| contains(&clean_file, secret)), "{options:?}");
            assert_eq!(decoded(&clean_file), decoded(&file), "{options:?}");
            assert_eq!(seen(&clean_file, mode), seen(&file, mode), "{options:?}");
            assert_eq!(exif(&clean_file), Some(exif_data(6).to_vec()));
            assert_eq!(clean(&clean_file, SIDE), Some(clean_file), "{options:?}: it is clean");

            let with_colors = [&plain[..2], &profile, &plain[2..]].concat();
            let clean_file = clean(&with_colors, SIDE).unwrap();
            assert!(contains(&clean_file, &profile));
            let is_cmyk = mode == "cmyk:-";
            assert_eq!(markers(&clean_file).contains(&0xEE), is_cmyk, "{options:?}");
            if mode == "rgb:-" {
                let with_adobe = [&plain[..2], &adobe, &plain[2..]].concat();
                let clean_file = clean(&with_adobe, SIDE).unwrap();
                assert!(contains(&clean_file, &adobe));
                assert_eq!(decoded(&clean_file), decoded(&with_adobe));
            }
        }
    }

    #[test]
    fn a_jpeg_of_a_camera_becomes_its_picture_and_its_orientation_byte_for_byte() {
        let jfif = |thumbnail: &[u8]| segment(0xE0, &[&b"JFIF\0\x01\x01\x01\0\x48\0\x48"[..], thumbnail].concat());
        let frame = segment(0xC0, &[8, 0, 8, 0, 8, 1, 1, 0x11, 0]);
        let table = |kind: u8| [&[kind, 1][..], &[0; 15], &[0]].concat();
        let tables = [segment(0xDB, &[&[0][..], &[1; 64]].concat()), segment(0xC4, &[table(0), table(0x10)].concat())];
        let scan = [segment(0xDA, &[1, 1, 0, 0, 63, 0]), vec![0x3F, 0xFF, 0xD9]].concat();
        let exif = |data: &[u8]| segment(0xE1, &[&b"Exif\0\0"[..], data].concat());
        let start = [0xFF, 0xD8];
        let file = [
            &start[..],
            &exif(&exif_of_phone(8)),
            &jfif(b"\x01\x01RGB"),
            &tables.concat(),
            &segment(0xFE, b"a comment"),
            &frame,
            &segment(0xE5, b"something else"),
            &scan,
            b"a video",
        ]
        .concat();
        let eight = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0";
        let expected = [&start[..], &jfif(&[0, 0]), &exif(eight), &tables.concat(), &frame, &scan].concat();
        assert_eq!(clean(&file, SIDE).unwrap(), expected);
    }

    #[test]
    fn a_picture_of_each_orientation_stays_upright() {
        let (Some(jpeg), Some(png)) = (made(&[], "jpg"), made(&[], "png")) else { return };
        for tag in 0..=9 {
            let exif_of_file = exif_of_phone(tag);
            let known = u8::try_from(tag).ok().filter(|tag| (2..=8).contains(tag));
            let with_exif = segment(0xE1, &[b"Exif\0\0", &exif_of_file[..]].concat());
            let file = [&jpeg[..2], &with_exif, &jpeg[2..]].concat();
            let clean_jpeg = clean(&file, SIDE).unwrap();
            assert_eq!(exif(&clean_jpeg), known.map(|tag| exif_data(tag).to_vec()), "{tag}");
            assert_eq!(seen(&clean_jpeg, "rgb:-"), seen(&file, "rgb:-"), "{tag}");
            // Also if the data come after the pixels.
            let file = [&png[..png.len() - 12], &chunk(b"eXIf", &exif_of_file), &png[png.len() - 12..]].concat();
            let clean_png = clean(&file, SIDE).unwrap();
            assert_eq!(exif(&clean_png), known.map(|tag| exif_data(tag).to_vec()), "{tag}");
            assert_eq!(decoded(&clean_png), decoded(&file));
            assert!(!contains(&clean_png, b"Secret phone"));
        }
    }

    #[test]
    fn a_png_keeps_its_pixels_and_colors_and_loses_what_was_written_about_it() {
        for options in [
            &["-depth", "8"][..],
            &["-depth", "16", "-interlace", "PNG"],
            &["-colorspace", "gray", "-depth", "8"],
            &["-colors", "16", "-transparent", "white", "-define", "png:color-type=3"],
            &["-alpha", "set", "-channel", "A", "-evaluate", "set", "40%"],
        ] {
            let Some(plain) = made(options, "png") else { return };
            let profile = [&b"name\0\0"[..], &compressed(b"a color profile")].concat();
            let bomb = [&b"bomb\0\0"[..], &compressed(&vec![0; 5 * 1024 * 1024])].concat();
            let before = [
                chunk(b"tEXt", b"Comment\0a comment"),
                chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x:xmpmeta/>"),
                chunk(b"zTXt", b"8BIM\0\0thumbnail"),
                chunk(b"eXIf", &exif_of_phone(1)),
                chunk(b"iCCP", &bomb),
                chunk(b"iCCP", &profile),
                chunk(b"iCCP", &profile),
                chunk(b"pHYs", &[0, 0, 11, 19, 0, 0, 11, 19, 1]),
                chunk(b"gAMA", b"something else"),
                chunk(b"teSt", b"second picture"),
            ];
            let damaged = [&chunk(b"cHRM", &[0; 32])[..43], &[7]].concat();
            let file = [&plain[..33], &before.concat(), &damaged, &plain[33..], b"second picture"].concat();
            assert!(secrets().iter().all(|secret| contains(&file, secret)), "the control");
            let clean_file = clean(&file, SIDE).unwrap();
            assert!(!secrets().iter().any(|secret| contains(&clean_file, secret)), "{options:?}");
            assert_eq!(decoded(&clean_file), decoded(&plain), "{options:?}");
            assert_eq!(seen(&clean(&plain, SIDE).unwrap(), "rgba:-"), seen(&plain, "rgba:-"), "{options:?}");
            assert!(contains(&clean_file, &chunk(b"iCCP", &profile)), "{options:?}: the profile that is not too large");
            let mut kinds = kinds(&clean_file);
            kinds.retain(|kind| !["gAMA", "cHRM", "PLTE", "tRNS"].contains(&kind.as_str()));
            kinds.dedup();
            assert_eq!(kinds, ["IHDR", "iCCP", "pHYs", "IDAT", "IEND"], "{options:?}");
            assert_eq!(clean(&clean_file, SIDE), Some(clean_file), "{options:?}: it is clean");
        }
    }

    #[test]
    fn files_that_are_too_large_or_damaged_are_refused() {
        let png = |width: u32, height: u32, pixels: &[u8]| {
            let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
            let chunks = [chunk(b"IHDR", &header), chunk(b"IDAT", pixels), chunk(b"IEND", b"")].concat();
            [&b"\x89PNG\r\n\x1a\n"[..], &chunks].concat()
        };
        let wide = compressed(&[0; 4001]);
        let high = compressed(&[0; 8000]);
        for (what, file, is_whole) in [
            ("the widest", png(4000, 1, &wide), true),
            ("a wider one", png(4001, 1, &compressed(&[0; 4002])), false),
            ("the highest", png(1, 4000, &high), true),
            ("a higher one", png(1, 4001, &compressed(&[0; 8002])), false),
            ("no pixel", png(0, 1, &wide), false),
            ("510 million pixels", png(30_000, 17_000, &wide), false),
            ("a row too few", png(1, 4000, &compressed(&[0; 7998])), false),
            ("pixels that are not compressed", png(1, 1, b"pixels"), false),
            ("nothing", Vec::new(), false),
            ("the start of a JPEG", vec![0xFF, 0xD8], false),
            ("a page", b"<!DOCTYPE html><title>Cover</title>".to_vec(), false),
            ("a GIF", b"GIF89a\x01\0\x01\0\0\0\0;".to_vec(), false),
        ] {
            assert_eq!(clean(&file, SIDE).is_some(), is_whole, "{what}");
        }
        for (options, format) in [(&[][..], "png"), (&[], "jpg"), (&["-interlace", "JPEG"], "jpg")] {
            let Some(file) = made(options, format) else { return };
            for length in (0..file.len()).step_by(7).chain(file.len() - 12..file.len()) {
                assert_eq!(clean(&file[..length], SIDE), None, "{format}: {length} of {} bytes", file.len());
            }
        }
    }

    #[test]
    fn a_clean_file_is_whole_whichever_bytes_of_a_file_are_wrong() {
        let mut random = 1_u64;
        let mut next = |most: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 33).unwrap() % most
        };
        for format in ["png", "jpg"] {
            let Some(file) = made(&["-resize", "20x20"], format) else { return };
            for _ in 0..1000 {
                let mut damaged = file.clone();
                for _ in 0..=next(3) {
                    let at = next(damaged.len());
                    damaged[at] = u8::try_from(next(256)).unwrap();
                }
                if let Some(clean_file) = clean(&damaged, SIDE) {
                    assert_eq!(clean(&clean_file, SIDE).as_ref(), Some(&clean_file));
                }
            }
        }
    }
}
