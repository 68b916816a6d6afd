//! A cache of the decoded images of logos, and the limits on the images of one document.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use super::picture::{self, Picture, PictureFile};
use crate::documents::last_used::LastUsed;
use crate::environment::Locked;

/// The size of the cache in bytes.
const MAX_KEPT_BYTES: usize = 32 * 1024 * 1024;
/// The maximum size of the images of one document in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The maximum number of pixels of the images of one document. Cached images count too.
const MAX_PIXELS: u64 = 16_000_000;

/// The images that were last used, by the digests of their files. `None` for a file that cannot be drawn: it is damaged
/// or too large.
pub(in crate::documents) struct Pictures(Mutex<LastUsed<Option<Picture>>>);

impl Default for Pictures {
    fn default() -> Self {
        Self(Mutex::new(LastUsed::new(MAX_KEPT_BYTES)))
    }
}

impl Pictures {
    /// The pictures of a document with these logos, by the digests of their files: without those that are damaged, and
    /// without those that would be more than one document may have.
    pub(in crate::documents) fn of_document<'a>(
        &self,
        logos: impl Iterator<Item = &'a PictureFile>,
    ) -> HashMap<[u8; 32], Picture> {
        let mut seen = HashSet::new();
        let mut pictures = HashMap::new();
        let mut pixels: u64 = 0;
        let mut bytes = 0;
        for logo in logos.filter(|logo| seen.insert(logo.digest)) {
            let with_this = pixels.saturating_add(picture::pixels_to_decode(&logo.file));
            if with_this > MAX_PIXELS {
                continue;
            }
            pixels = with_this;
            if let Some(picture) = self.get_or_decode(logo)
                && bytes + picture.bytes <= MAX_BYTES
            {
                bytes += picture.bytes;
                pictures.insert(logo.digest, picture);
            }
        }
        pictures
    }

    fn get_or_decode(&self, logo: &PictureFile) -> Option<Picture> {
        let kept = self.0.locked().get(&logo.digest);
        kept.unwrap_or_else(|| {
            let picture = picture::picture(&logo.file);
            let bytes = picture.as_ref().map_or(0, |picture| picture.bytes);
            self.0.locked().put(logo.digest, picture.clone(), bytes);
            picture
        })
    }
}
