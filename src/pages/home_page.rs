//! The page at `/`: the events of the only organization, or what the server is.

use askama::Template;

use super::document::render;
use crate::error::Result;
#[cfg(feature = "event-pages")]
use crate::model::sale::event::Event;
#[cfg(feature = "event-pages")]
use crate::model::tenants::organization::Organization;
use crate::words::{self, Words};

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    words: &'static Words,
    title: String,
    base: &'a str,
    documentation: &'static str,
    /// `None` if there is not exactly one organization.
    events: Option<Vec<ListedEvent>>,
}

/// An event, with a link to its page.
struct ListedEvent {
    /// The path of its page below `/e`.
    path: String,
    title: String,
    period: String,
    place: Option<String>,
}

impl HomePage<'_> {
    fn title(&self) -> &str {
        &self.title
    }
}

/// The page of the server. `base` is the path under which the routes are, without a trailing slash, and `accepted` are the
/// languages of the browser.
pub(crate) fn home_page(base: &str, accepted: &[String]) -> Result<String> {
    let words = words::for_reader(None, accepted);
    render_home(base, words.home.title.to_owned(), None, words)
}

/// The page of a server with one organization: its published events.
#[cfg(feature = "event-pages")]
pub(crate) fn events_page(
    base: &str,
    organization: &Organization,
    events: &[Event],
    accepted: &[String],
) -> Result<String> {
    use super::heading::Heading;
    use crate::rules::printed_text;

    let words = words::for_reader(None, accepted);
    let list = |event: &Event| {
        let heading = Heading::of(event, words, None)?;
        Ok(ListedEvent {
            path: format!("{}/{}", organization.page(), event.slug),
            title: heading.title,
            period: heading.period,
            place: heading.location.into_iter().next(),
        })
    };
    let events = events.iter().map(list).collect::<Result<_>>()?;
    let title = printed_text::organizer(&organization.name).unwrap_or_else(|| words.event.events.to_owned());
    render_home(base, title, Some(events), words)
}

fn render_home(base: &str, title: String, events: Option<Vec<ListedEvent>>, words: &'static Words) -> Result<String> {
    let documentation = if cfg!(feature = "docs-page") { "docs" } else { "openapi.json" };
    render(&HomePage { words, title, base, documentation, events })
}
