//! What all pages have in common: the style sheet and the icon.

use std::sync::LazyLock;

use askama::Template;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

pub(super) const STYLE: &str = include_str!("page.css");

/// The further style of the pages on which customers buy.
pub(super) const STYLE_OF_SALE: &str = include_str!("sale.css");

/// The further style of the report of an event.
pub(super) const STYLE_OF_REPORT: &str = include_str!("report.css");

/// The hashes of the styles for the content security policy of the pages.
pub(crate) static STYLE_HASHES: LazyLock<String> = LazyLock::new(|| {
    let hash = |style: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(style)));
    [STYLE, STYLE_OF_SALE, STYLE_OF_REPORT].map(hash).join(" ")
});

/// The icon of the pages, a ticket. Without an icon in the page, browsers ask the server for `/favicon.ico`.
pub(super) const ICON: &str = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2016%2016'%3E\
    %3Cpath%20fill='%231f4b99'%20d='M1,3h14v3a2,2,0,0,0,0,4v3H1v-3a2,2,0,0,0,0-4z'/%3E%3C/svg%3E";

pub(super) fn render(page: &impl Template) -> Result<String> {
    page.render().map_err(|error| Error::Internal(format!("a page could not be rendered: {error}")))
}
