//! The covers of events at URLs, for their pages.

use std::sync::Arc;
use std::time::Duration;

use super::clean_file::clean;
use super::picture::{PictureFile, exif, orientation};
use super::picture_fetcher::{Fetch, PictureFetcher, PictureKind};
use crate::environment::Clock;
use crate::form::picture::{png_size, size};
use crate::model::operation::statistics::LogoOutcome;
use crate::model::values::id::OrganizationId;

/// The largest width and height of a cover, in pixels.
const MAX_SIDE: u32 = 4000;

const COVERS: PictureKind = PictureKind {
    name: "cover",
    max_bytes: 2 * 1024 * 1024,
    max_side: MAX_SIDE,
    max_kept_bytes: 64 * 1024 * 1024,
    // One may take 200 MB.
    max_decoding: 1,
    check: |file| clean(&file, MAX_SIDE),
};

/// The cover of an event: a whole PNG or JPEG file without metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cover {
    /// Clones share it.
    pub(crate) file: Arc<[u8]>,
    /// The SHA-256 digest of the file. It suits an `ETag`.
    pub(crate) digest: [u8; 32],
    pub(crate) media_type: &'static str,
    /// The width of the upright picture, in pixels.
    pub(crate) width: u32,
    /// The height of the upright picture, in pixels.
    pub(crate) height: u32,
}

impl Cover {
    fn new(PictureFile { file, digest }: PictureFile) -> Option<Self> {
        let (width, height) = size(&file, MAX_SIDE)?;
        let is_turned = exif(&file).and_then(|exif| orientation(&exif)).is_some_and(|orientation| orientation >= 5);
        let (width, height) = if is_turned { (height, width) } else { (width, height) };
        let media_type = if png_size(&file).is_some() { "image/png" } else { "image/jpeg" };
        Some(Self { file, digest, media_type, width, height })
    }
}

/// Fetches and keeps covers.
pub(in crate::documents) struct Covers(PictureFetcher);

impl Covers {
    pub(in crate::documents) fn new(fetch: Option<Fetch>, timeout: Duration, clock: Arc<dyn Clock>) -> Self {
        Self(PictureFetcher::new(COVERS, fetch, timeout, clock))
    }

    /// The cover at a URL: the one that is kept, or else the one that is fetched until the timeout.
    pub(in crate::documents) fn get(&self, organization: OrganizationId, url: &str) -> Option<Cover> {
        self.0.get(organization, url, self.0.deadline()).and_then(Cover::new)
    }

    /// The cover at a URL that is kept. Nothing is fetched.
    pub(in crate::documents) fn kept(&self, organization: OrganizationId, url: &str) -> Option<Cover> {
        self.0.kept(organization, url).and_then(Cover::new)
    }

    /// How often covers were fetched, by outcome.
    pub(in crate::documents) fn outcomes(&self) -> Vec<(LogoOutcome, u64)> {
        self.0.outcomes()
    }
}
