//! Renders documents.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use super::content::{Content, DocumentToPrint, TicketToPrint};
use super::fonts::Fonts;
use super::limits::{self, Key, RenderingLimits};
#[cfg(feature = "event-pages")]
use super::pictures::covers::{Cover, Covers};
use super::pictures::decoded_pictures::Pictures;
use super::pictures::logos::{self, LogosOfDocument};
use super::pictures::picture::Picture;
use super::pictures::picture_fetcher::{Fetch, PictureFetcher};
use super::typesetter::Typesetter;
use super::{Paper, TicketDocument, TicketDocuments, design, drawing, language};
use crate::environment::{Clock, Locked};
use crate::error::{Error, Result};
use crate::model::operation::statistics::LogoOutcome;
use crate::model::tickets::linked::DocumentVersion;
use crate::model::values::id::OrganizationId;
use crate::words;

/// Renders documents with one set of fonts.
pub(crate) struct Renderer {
    paper: Paper,
    /// Fonts as they were loaded.
    fonts: Fonts,
    /// Typesetters that no thread uses. A document needs one to itself.
    idle: Mutex<Vec<Typesetter>>,
    logos: PictureFetcher,
    #[cfg(feature = "event-pages")]
    covers: Covers,
    pictures: Pictures,
    limits: RenderingLimits,
}

/// A document that was rendered or kept.
pub(crate) struct Rendered {
    pub(crate) document: TicketDocument,
    /// Whether it has characters that no font has, and was not rendered like this before.
    pub(crate) has_new_gaps: bool,
    /// Whether a title has no letter that a font has. False if the document was kept.
    pub(crate) has_lost_title: bool,
}

impl fmt::Debug for Renderer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renderer").field("paper", &self.paper).finish_non_exhaustive()
    }
}

impl Renderer {
    /// Loads the fonts. `fetch` fetches logos and covers; without it, those at URLs are left out.
    ///
    /// # Errors
    /// - [`Error::Validation`] if what was given as a font is not one.
    pub(crate) fn new(settings: &TicketDocuments, clock: Arc<dyn Clock>, fetch: Option<Fetch>) -> Result<Self> {
        let not_a_font = |position: usize| {
            Error::field(format!("ticket_documents.fonts[{position}]"), "must be a TrueType or OpenType font")
        };
        let fonts = Fonts::load(&settings.fonts).map_err(not_a_font)?;
        Ok(Self {
            paper: settings.paper,
            fonts,
            idle: Mutex::default(),
            #[cfg(feature = "event-pages")]
            covers: Covers::new(fetch.clone(), settings.logo_timeout, Arc::clone(&clock)),
            logos: logos::fetcher(fetch, settings.logo_timeout, clock),
            pictures: Pictures::default(),
            limits: RenderingLimits::default(),
        })
    }

    /// How often logos and covers were fetched, by outcome.
    pub(crate) fn logo_outcomes(&self) -> Vec<(LogoOutcome, u64)> {
        let logos = self.logos.outcomes();
        #[cfg(feature = "event-pages")]
        let logos = logos
            .into_iter()
            .zip(self.covers.outcomes())
            .map(|((outcome, logos), (_, covers))| (outcome, logos + covers))
            .collect();
        logos
    }

    /// The cover of an event at a URL: the one that is kept, or else the one that is fetched.
    #[cfg(feature = "event-pages")]
    pub(crate) fn cover(&self, organization: OrganizationId, url: &str) -> Option<Cover> {
        self.covers.get(organization, url)
    }

    /// The cover of an event at a URL that is kept. Nothing is fetched.
    #[cfg(feature = "event-pages")]
    pub(crate) fn kept_cover(&self, organization: OrganizationId, url: &str) -> Option<Cover> {
        self.covers.kept(organization, url)
    }

    /// Begins a document of an organization: finds its logos.
    pub(crate) fn logos(&self, organization: OrganizationId) -> LogosOfDocument<'_> {
        LogosOfDocument::new(&self.logos, organization)
    }

    /// The document of a ticket or an order with this version, if it is kept.
    pub(crate) fn kept(
        &self,
        id: &str,
        version: &DocumentVersion,
        logos: &mut LogosOfDocument<'_>,
    ) -> Option<TicketDocument> {
        self.limits.kept(&key(id, version, logos))
    }

    /// Renders the document of a ticket or an order, each ticket on pages of its own. There must be at least one. The document has the
    /// title and the language of the first. It is kept under its version.
    ///
    /// # Errors
    /// - [`Error::Unavailable`] if other threads render, and none ends in time.
    pub(crate) fn render(
        &self,
        id: &str,
        version: &DocumentVersion,
        logos: &mut LogosOfDocument<'_>,
        DocumentToPrint { file_name, tickets }: DocumentToPrint<'_>,
    ) -> Result<Rendered> {
        // This fetches the logos at URLs.
        let key = key(id, version, logos);
        let _permit = tickets.first().map(|ticket| self.limits.wait(ticket.event.organizer_id)).transpose()?;
        // Another request may have rendered it meanwhile.
        if let Some(document) = self.limits.kept(&key) {
            return Ok(Rendered { document, has_new_gaps: false, has_lost_title: false });
        }
        let logos = logos.of_types(&tickets);
        let content_of = |ticket: &TicketToPrint<'_>| {
            let mut content = Content::of(*ticket, words::of(ticket.language))?;
            content.logo = logos.get(&ticket.ticket_type.id).cloned().flatten();
            Ok(content)
        };
        let contents = tickets.iter().map(content_of).collect::<Result<Vec<_>>>()?;
        let pictures = self.pictures.of_document(contents.iter().filter_map(|content| content.logo.as_ref()));
        let idle = self.idle.locked().pop();
        let mut typesetter = idle.unwrap_or_else(|| Typesetter::new(self.fonts.clone()));
        let bytes = render_with(&mut typesetter, &contents, self.paper, &pictures)?;
        let missing_glyphs = typesetter.end_document();
        self.idle.locked().push(typesetter);
        let has_lost_title = contents.iter().any(|content| is_lost(&content.title, &missing_glyphs));
        let document = TicketDocument::new(file_name, bytes, missing_glyphs);
        self.limits.keep(key, document.clone());
        let has_new_gaps = !document.missing_glyphs.is_empty() && self.limits.is_new(key);
        Ok(Rendered { document, has_new_gaps, has_lost_title })
    }
}

/// Whether all letters of a text are missing. A text without letters is not lost.
fn is_lost(text: &str, missing_glyphs: &[char]) -> bool {
    let mut letters = text.chars().filter(|character| character.is_alphabetic()).peekable();
    letters.peek().is_some() && letters.all(|letter| missing_glyphs.contains(&letter))
}

fn key(id: &str, version: &DocumentVersion, logos: &mut LogosOfDocument<'_>) -> Key {
    let digests = version.logo_urls.iter().map(|url| logos.fetched(url).map(|logo| logo.digest));
    limits::key(id, &version.link, &digests.collect::<Vec<_>>())
}

fn render_with(
    typesetter: &mut Typesetter,
    contents: &[Content],
    paper: Paper,
    pictures: &HashMap<[u8; 32], Picture>,
) -> Result<Vec<u8>> {
    let Some(first) = contents.first() else {
        return Err(Error::Internal("a document was rendered without a ticket".to_owned()));
    };
    typesetter.begin_document(language::of(first.language.as_deref(), contents.iter().flat_map(Content::texts)));
    let picture_of = |content: &Content| pictures.get(&content.logo.as_ref()?.digest);
    let compose = |content| design::compose(typesetter, content, paper, picture_of(content));
    let sheets = contents.iter().map(compose).collect::<Result<Vec<_>>>()?;
    drawing::write(&sheets, &mut typesetter.fonts, paper, &first.title, first.words.language)
}
