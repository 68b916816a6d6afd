//! Ticket documents: tickets as PDF, with a QR code that scanners read.
//!
//! [`Builder::ticket_documents`](crate::Builder::ticket_documents) switches them on.
//! [`get_ticket_document`](crate::TicketingService::get_ticket_document) returns the document of a ticket, and
//! [`get_order_document`](crate::TicketingService::get_order_document) one document with all valid tickets of an order.
//!
//! A document says what the event, the ticket type and the ticket say: title, date and time in the time zone of the
//! event, location, ticket type, holder, validity, access areas, price, the text of the ticket type and its logo, the
//! organizer, the order and which of its tickets it is, and the code, as letters and as a QR code of 40 mm. Nothing but
//! the code is in the QR code. The language is that of the order, else that of the customer's locale: English, German,
//! French, Spanish, Italian or Dutch, and otherwise English. Tickets without an order, which
//! [`issue_tickets`](crate::TicketingService::issue_tickets) issues, have that of their holder's locale.
//!
//! The same ticket gives the same bytes until something that it says is changed. The file is accessible as PDF/UA-1
//! demands: it is tagged for screen readers, which read the code after what the ticket says, and what the organizer has
//! written has the language of the order. If its title is read from right to left, a ticket is mirrored.
//!
//! # Links
//!
//! A ticket has the link of its document in [`download_ticket_url`](crate::ticket::IssuedTicket::download_ticket_url),
//! and an order that is completed the link of the buyer's page in
//! [`documents_url`](crate::order::OrderDetails::documents_url). A link shows this one ticket or order and works
//! without an API key; [`renew_ticket_link`](crate::TicketingService::renew_ticket_link) gives a ticket a new link.
//! With the feature `server`, links lead to pages, documents and calendar entries. They begin with the [public
//! URL](crate::Builder::public_url). A program with routes of its own passes the token of a link to
//! [`get_ticket_by_link`](crate::TicketingService::get_ticket_by_link),
//! [`get_ticket_document_by_link`](crate::TicketingService::get_ticket_document_by_link),
//! [`get_order_by_link`](crate::TicketingService::get_order_by_link) or
//! [`get_order_document_by_link`](crate::TicketingService::get_order_document_by_link).
//!
//! A token is the id of the ticket or order and 130 bits of an HMAC-SHA256 of it, under a secret that is made when
//! documents are first switched on and stored in the database: the secret is in every backup. Links stay the same after
//! a restart and in every process.
//!
//! # Fonts
//!
//! Noto Sans is part of the program, with the letters of the Latin, Greek and Cyrillic scripts, and with [signs such as
//! arrows, stars and notes](crate::guide::documents#signs). Names and titles in other scripts need a font that has them:
//! see [`TicketDocuments::font`]. No font of the system is used. Letters and signs that no font has are drawn as a
//! replacement character (�). Only what Unicode presents as an emoji is left out, for which the font `NotoColorEmoji.ttf`
//! works. Both are listed in [`TicketDocument::missing_glyphs`]. Each such document is logged and
//! [counted](crate::monitoring::DocumentStatistics) once until its tickets, their types or the event are changed.
//!
//! Chinese, Japanese and Korean draw the same characters in different ways. Of fonts whose names differ in `JP`, `KR`,
//! `SC`, `TC` or `HK`, as in `NotoSansCJK-Regular.ttc`, those for the language of the order are first; without such a
//! language, those for Japanese or Korean if a text has letters that only it has.
//!
//! # Logos
//!
//! The logo of a ticket type is drawn if it is a PNG or JPEG file of at most 512 KiB, and at most 2,000 pixels in each
//! direction: in a `data:` URI, or at an `https:` URL. Otherwise, and if the picture is damaged, a request with it in a
//! `data:` URI is refused, and a document has no logo. The logos of one document have at most 4 MiB in its file and 16
//! million pixels in all, in the order of its tickets. Further logos are left out. Pictures are turned as their
//! files say (the tag `Orientation` of EXIF).
//!
//! Logos at `https:` URLs need the feature `webhooks`. Like notifications, they are fetched from public addresses only,
//! and redirects are not followed. [`Builder::logo_transport`](crate::Builder::logo_transport) sets another transport.
//! A logo is used for an hour before it is fetched again, and for a day if it cannot be. A document waits up to 3
//! seconds for its logos, and has none if they take longer, or if too many other logos are just being fetched. After a
//! failure, a URL is not tried again for a minute, and for up to an hour if it keeps failing. The bytes of a document
//! change when its logo arrives.
//!
//! # Covers
//!
//! The page of an event (feature `event-pages`) shows its [cover](crate::event::Event::cover_image) if that is a PNG or JPEG
//! file of at most 2 MiB, and at most 4,000 pixels in each direction, at an `https:` URL. Covers are fetched and kept as
//! logos are, over the same transport and for the same time, apart from them and up to 64 MiB. Visitors get them from the
//! server, so that no other host learns their addresses.
//!
//! All pixels of a cover are decoded before it is shown. What else is in its file is left out, such as the place where a
//! photo was taken, thumbnails, comments, and bytes after the end. Color profiles and the orientation stay. Of an animated
//! PNG, the picture for programs without animation stays.

mod content;
mod design;
mod drawing;
mod fonts;
mod language;
mod last_used;
mod limits;
mod pictures;
pub(crate) mod qr;
mod renderer;
mod sheets;
mod typesetter;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

pub use crate::model::tickets::linked::{LinkedOrder, LinkedTicket};
pub(crate) use content::DocumentToPrint;
#[cfg(any(feature = "mail", feature = "server"))]
pub(crate) use content::code_in_groups;
#[cfg(feature = "server")]
pub(crate) use content::{Content, Field, TicketToPrint};
#[cfg(feature = "event-pages")]
pub(crate) use pictures::covers::Cover;
pub(crate) use pictures::picture_fetcher::Fetch;
pub(crate) use renderer::{Rendered, Renderer};

/// The size of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Paper {
    /// 210 × 297 mm.
    #[default]
    A4,
    /// 8.5 × 11 inches.
    Letter,
}

impl Paper {
    /// Width and height in points.
    fn size(self) -> (f32, f32) {
        match self {
            Self::A4 => (595.276, 841.89),
            Self::Letter => (612.0, 792.0),
        }
    }
}

/// The settings of ticket documents, for [`Builder::ticket_documents`](crate::Builder::ticket_documents).
#[derive(Clone)]
#[must_use = "settings do nothing before they are given to the builder"]
pub struct TicketDocuments {
    fonts: Vec<Arc<[u8]>>,
    paper: Paper,
    logo_timeout: Duration,
}

impl Default for TicketDocuments {
    fn default() -> Self {
        Self { fonts: Vec::new(), paper: Paper::default(), logo_timeout: Duration::from_secs(3) }
    }
}

impl TicketDocuments {
    /// Adds a font: the bytes of a TrueType or OpenType file, or of a collection of them. It must permit embedding.
    ///
    /// Each letter takes the first font that has it: Noto Sans, then the fonts in the order in which they are added, then
    /// the signs of Noto Sans. Add the bold font of a family too, if titles are to be bold.
    pub fn font(mut self, file: impl Into<Vec<u8>>) -> Self {
        self.fonts.push(file.into().into());
        self
    }

    /// Sets the size of the pages. Default: [`Paper::A4`].
    pub fn paper(mut self, paper: Paper) -> Self {
        self.paper = paper;
        self
    }

    /// Sets how long a document waits for its logos at URLs, which holds the thread that asks for it. Default: 3
    /// seconds.
    pub fn logo_timeout(mut self, timeout: Duration) -> Self {
        self.logo_timeout = timeout;
        self
    }
}

impl fmt::Debug for TicketDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketDocuments")
            .field("fonts", &self.fonts.len())
            .field("paper", &self.paper)
            .finish_non_exhaustive()
    }
}

/// A document for the holders of tickets: a PDF file.
///
/// It contains codes that admit, so it belongs to nobody but their holders.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TicketDocument {
    /// A name for the file, such as `summer-night-ticket-2-of-3.pdf` or `summer-night-tickets.pdf`, with the slug of the
    /// event. Documents of different orders have the same name.
    pub file_name: String,
    /// The file. Clones share it.
    pub bytes: Arc<[u8]>,
    /// The SHA-256 digest of the file. It suits an `ETag`: the same ticket gives the same one.
    pub sha256: [u8; 32],
    /// The characters that no font has, in the order of their numbers.
    pub missing_glyphs: Vec<char>,
}

impl TicketDocument {
    fn new(file_name: String, bytes: Vec<u8>, missing_glyphs: Vec<char>) -> Self {
        let sha256 = Sha256::digest(&bytes).into();
        Self { file_name, bytes: bytes.into(), sha256, missing_glyphs }
    }
}

impl fmt::Debug for TicketDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The file contains a code that admits.
        f.debug_struct("TicketDocument")
            .field("file_name", &self.file_name)
            .field("bytes", &self.bytes.len())
            .field("missing_glyphs", &self.missing_glyphs)
            .finish_non_exhaustive()
    }
}
