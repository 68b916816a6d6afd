//! A picture: an untrusted file.

use std::sync::Arc;

use krilla::Document;
use krilla::geom::{Size, Transform};
use krilla::image::Image;
use krilla::page::PageSettings;
use krilla::surface::Surface;
use sha2::{Digest, Sha256};

use crate::form::picture::{MAX_SIDE, is_whole_jpeg, jpeg_decoder, only_pixels, png_chunks, png_size, size};

/// The file of a picture.
#[derive(Debug, Clone)]
pub(in crate::documents) struct PictureFile {
    pub(in crate::documents) file: Arc<[u8]>,
    pub(in crate::documents) digest: [u8; 32],
}

impl PictureFile {
    /// A picture in this file, which may be damaged.
    pub(in crate::documents) fn new(file: Vec<u8>) -> Self {
        Self { digest: Sha256::digest(&file).into(), file: file.into() }
    }
}

/// A picture that can be drawn.
#[derive(Debug, Clone)]
pub(in crate::documents) struct Picture {
    image: Image,
    orientation: Orientation,
    /// How many bytes it has in a document.
    pub(in crate::documents) bytes: usize,
}

/// How the pixels of a file lie in the upright picture: the steps to the right and down that are one step to the right
/// in the file, and the steps that are one step down in the file.
type Orientation = [i8; 4];

/// The orientations 1 to 8 of EXIF.
const ORIENTATIONS: [Orientation; 8] = [
    [1, 0, 0, 1],
    [-1, 0, 0, 1],
    [-1, 0, 0, -1],
    [1, 0, 0, -1],
    [0, 1, 1, 0],
    [0, 1, -1, 0],
    [0, -1, -1, 0],
    [0, -1, 1, 0],
];

impl Picture {
    /// The width and height of the upright picture, in pixels.
    #[expect(clippy::cast_precision_loss, reason = "a picture has at most 2,000 pixels in each direction")]
    pub(in crate::documents) fn size(&self) -> (f32, f32) {
        let (width, height) = self.image.size();
        self.turned((width as f32, height as f32))
    }

    /// The width and height of the file from those of the upright picture, and the other way around.
    fn turned(&self, (width, height): (f32, f32)) -> (f32, f32) {
        if self.orientation[0] == 0 { (height, width) } else { (width, height) }
    }

    /// Draws the upright picture in a rectangle.
    pub(in crate::documents) fn draw(&self, surface: &mut Surface<'_>, x: f32, y: f32, width: f32, height: f32) {
        let [right, right_down, down_right, down] = self.orientation.map(f32::from);
        let left = if right + down_right < 0.0 { x + width } else { x };
        let top = if right_down + down < 0.0 { y + height } else { y };
        let (width, height) = self.turned((width, height));
        if let Some(size) = Size::from_wh(width, height) {
            surface.push_transform(&Transform::from_row(right, right_down, down_right, down, left, top));
            surface.draw_image(self.image.clone(), size);
            surface.pop();
        }
    }
}

/// Returns the picture in a PNG or JPEG file, unless it is larger than 2,000 pixels in width or height, or damaged. Its
/// pixels are decoded at once, so its size is read before.
pub(in crate::documents) fn picture(file: &[u8]) -> Option<Picture> {
    size(file, MAX_SIDE)?;
    let image = if png_size(file).is_some() {
        Image::from_png(only_pixels(file)?.into(), true)
    } else if is_whole_jpeg(file) {
        Image::from_jpeg(file.to_vec().into(), true)
    } else {
        return None;
    };
    let image = image.ok()?;
    let orientation = exif(file).and_then(|exif| orientation(&exif)).unwrap_or(1);
    let orientation = ORIENTATIONS[usize::from(orientation) - 1];
    Some(Picture { bytes: bytes_in_document(&image)?, image, orientation })
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
pub(in crate::documents) fn pixels_to_decode(file: &[u8]) -> u64 {
    size(file, MAX_SIDE).map_or(0, |(width, height)| u64::from(width) * u64::from(height))
}

/// What a camera has written about a picture.
pub(super) fn exif(file: &[u8]) -> Option<Vec<u8>> {
    if png_size(file).is_some() {
        let chunk = png_chunks(file)?.into_iter().find(|chunk| &chunk[4..8] == b"eXIf")?;
        return Some(chunk[8..chunk.len() - 4].to_vec());
    }
    let mut decoder = jpeg_decoder(file);
    decoder.decode_headers().ok()?;
    decoder.exif().cloned()
}

/// The tag `Orientation` in the first directory of EXIF data: 1 to 8.
pub(super) fn orientation(exif: &[u8]) -> Option<u8> {
    let is_big_endian = match exif.get(..4)? {
        b"MM\0*" => true,
        b"II*\0" => false,
        _ => return None,
    };
    let number = |at: usize, length: usize| -> Option<usize> {
        let mut bytes = exif.get(at..at.checked_add(length)?)?.to_vec();
        if !is_big_endian {
            bytes.reverse();
        }
        Some(bytes.into_iter().fold(0, |number, byte| number << 8 | usize::from(byte)))
    };
    let directory = number(4, 4)?;
    let mut entries = (0..number(directory, 2)?).map_while(|index| directory.checked_add(2 + 12 * index));
    let entry = entries.find(|entry| number(*entry, 2) == Some(0x0112))?;
    u8::try_from(number(entry + 8, 2)?).ok().filter(|orientation| (1..=8).contains(orientation))
}
