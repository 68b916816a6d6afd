//! The picture of a logo: an untrusted file.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use data_url::DataUrl;
use krilla::image::Image;
use sha2::{Digest, Sha256};

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

impl Hash for Logo {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

/// Returns the picture in a PNG or JPEG file, unless it is larger than 2,000 pixels in width or height, or its header is
/// damaged. The pixels of a PNG are decoded at once, so its size is read before. Those of a JPEG are not decoded at all.
pub(super) fn picture(file: &[u8]) -> Option<Image> {
    let data = || krilla::Data::from(file.to_vec());
    let image = if let Some((width, height)) = png_size(file) {
        if !(is_fair(width) && is_fair(height)) {
            return None;
        }
        Image::from_png(data(), true)
    } else if file.starts_with(b"\xFF\xD8\xFF") {
        Image::from_jpeg(data(), true)
    } else {
        return None;
    };
    let image = image.ok()?;
    let (width, height) = image.size();
    (is_fair(width) && is_fair(height)).then_some(image)
}

fn is_fair(side: u32) -> bool {
    (1..=MAX_SIDE).contains(&side)
}

/// The width and height that a PNG file says it has: the first fields of its first chunk. Decoders take no other ones.
fn png_size(file: &[u8]) -> Option<(u32, u32)> {
    let header = file.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR")?;
    let (width, rest) = header.split_first_chunk()?;
    let (height, _) = rest.split_first_chunk()?;
    Some((u32::from_be_bytes(*width), u32::from_be_bytes(*height)))
}
