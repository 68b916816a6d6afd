//! What all pages have in common: the style sheet and the icon.

use askama::Template;

use crate::error::{Error, Result};

pub(super) const STYLE: &str = include_str!("page.css");

/// The hash of [`STYLE`] for the content security policy of the pages.
pub(crate) const STYLE_HASH: &str = "sha256-HCMgkVww/ZQtSZlO0ptMoaW2wj5npixMCUp4MWOhoc4=";

/// The icon of the pages, a ticket. Without an icon in the page, browsers ask the server for `/favicon.ico`.
pub(super) const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
    %3Cpath fill='%231f4b99' d='M1 3h14v3a2 2 0 0 0 0 4v3H1v-3a2 2 0 0 0 0-4z'/%3E%3C/svg%3E";

pub(super) fn render(page: &impl Template) -> Result<String> {
    page.render().map_err(|error| Error::Internal(format!("a page could not be rendered: {error}")))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_hash_in_the_policy_is_that_of_the_style() {
        assert_eq!(STYLE_HASH, format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(STYLE))));
    }
}
