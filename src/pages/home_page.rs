//! The page at `/`: what the server is, for those who open its address.

use askama::Template;

use super::document::render;
use crate::error::Result;
use crate::words::{self, Words};

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    words: &'static Words,
    base: &'a str,
    documentation: &'static str,
}

impl HomePage<'_> {
    fn title(&self) -> &str {
        self.words.home.title
    }
}

/// The page of the server. `base` is the path under which the routes are, without a trailing slash, and `accepted` are the
/// languages of the browser.
pub(crate) fn home_page(base: &str, accepted: &[String]) -> Result<String> {
    let documentation = if cfg!(feature = "docs-page") { "docs" } else { "openapi.json" };
    render(&HomePage { words: words::for_reader(None, accepted), base, documentation })
}
