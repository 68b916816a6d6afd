//! The logo of a ticket: an untrusted picture.

use data_url::DataUrl;
use krilla::image::Image;

const MAX_BYTES: usize = 512 * 1024;
const MAX_SIDE: u32 = 2000;

/// Returns the file in a `data:` URI, unless it is larger than 512 KiB.
pub(super) fn from_data_uri(uri: &str) -> Option<Vec<u8>> {
    let (file, _) = DataUrl::process(uri).ok()?.decode_to_vec().ok()?;
    (file.len() <= MAX_BYTES).then_some(file)
}

/// Returns the picture in a PNG or JPEG file, unless it is damaged or larger than 2,000 pixels in width or height.
pub(super) fn picture(file: &[u8]) -> Option<Image> {
    let data = krilla::Data::from(file.to_vec());
    let image = if file.starts_with(b"\x89PNG\r\n\x1a\n") {
        Image::from_png(data, true)
    } else if file.starts_with(b"\xFF\xD8\xFF") {
        Image::from_jpeg(data, true)
    } else {
        return None;
    };
    let image = image.ok()?;
    let (width, height) = image.size();
    let is_fair = |side| (1..=MAX_SIDE).contains(&side);
    (is_fair(width) && is_fair(height)).then_some(image)
}
