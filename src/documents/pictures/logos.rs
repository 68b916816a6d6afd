//! The logos of a document. Those at URLs are fetched before the document waits for its turn, by the thread that wants
//! it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::picture::{PictureFile, picture};
use super::picture_fetcher::{Fetch, PictureFetcher, PictureKind};
use crate::documents::content::TicketToPrint;
use crate::environment::Clock;
use crate::form::picture::{MAX_PICTURE_BYTES, MAX_SIDE, file_in_data_uri, is_data_uri};
use crate::model::values::id::{OrganizationId, TicketTypeId};

const LOGOS: PictureKind = PictureKind {
    name: "logo",
    max_bytes: MAX_PICTURE_BYTES,
    max_side: MAX_SIDE,
    max_kept_bytes: 32 * 1024 * 1024,
    // One may take 50 MB.
    max_decoding: 2,
    check: |file| picture(&file).is_some().then_some(file),
};

/// Returns a fetcher of logos. A document waits for all its logos until `timeout`.
pub(in crate::documents) fn fetcher(fetch: Option<Fetch>, timeout: Duration, clock: Arc<dyn Clock>) -> PictureFetcher {
    PictureFetcher::new(LOGOS, fetch, timeout, clock)
}

pub(crate) struct LogosOfDocument<'a> {
    fetcher: &'a PictureFetcher,
    organization: OrganizationId,
    deadline: Duration,
    /// Those at URLs.
    fetched: HashMap<String, Option<PictureFile>>,
}

impl<'a> LogosOfDocument<'a> {
    pub(in crate::documents) fn new(fetcher: &'a PictureFetcher, organization: OrganizationId) -> Self {
        Self { fetcher, organization, deadline: fetcher.deadline(), fetched: HashMap::new() }
    }

    /// The logo at a URL. `None` if it cannot be had.
    pub(in crate::documents) fn fetched(&mut self, url: &str) -> Option<PictureFile> {
        if let Some(fetched) = self.fetched.get(url) {
            return fetched.clone();
        }
        let logo = self.fetcher.get(self.organization, url, self.deadline);
        self.fetched.insert(url.to_owned(), logo.clone());
        logo
    }

    /// The logos of the types of some tickets. Those that cannot be had are left out.
    pub(in crate::documents) fn of_types(
        &mut self,
        tickets: &[TicketToPrint<'_>],
    ) -> HashMap<TicketTypeId, Option<PictureFile>> {
        let mut found = HashMap::new();
        for ticket_type in tickets.iter().map(|ticket| ticket.ticket_type) {
            let find = |logo: &String| match is_data_uri(logo) {
                true => file_in_data_uri(logo).map(PictureFile::new),
                false => self.fetched(logo),
            };
            found.entry(ticket_type.id).or_insert_with(|| ticket_type.ticket_logo.as_ref().and_then(find));
        }
        found
    }
}
