//! Who sells, below the page of an event: the law wants to know.

use crate::model::tenants::organization::Organization;
use crate::rules::printed_text;
use crate::words::Words;

/// The name of an organization, and its links.
pub(super) struct Seller<'a> {
    pub(super) name: Option<String>,
    /// The website first.
    pub(super) links: Vec<(&'static str, &'a str)>,
    /// Those that also stand above the order button.
    pub(super) legal: Vec<(&'static str, &'a str)>,
}

impl<'a> Seller<'a> {
    pub(super) fn of(organization: &'a Organization, words: &'static Words) -> Self {
        let link = |label, url: &'a Option<String>| url.as_deref().map(|url| (label, url));
        let imprint = link(words.event.imprint, &organization.imprint_url);
        let privacy = link(words.event.privacy, &organization.privacy_url);
        let legal: Vec<_> = imprint.into_iter().chain(privacy).collect();
        let website = link(words.event.website, &organization.website);
        Self {
            name: printed_text::organizer(&organization.name),
            links: website.into_iter().chain(legal.iter().copied()).collect(),
            legal,
        }
    }
}
