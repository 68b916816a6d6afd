//! Mails to customers and organizers.
//!
//! With [`Builder::mail`](crate::Builder::mail), a customer who has paid gets the tickets by mail. A mail is a row that is
//! written in the transaction that causes it. Threads of the service make its text of what is stored when they send it,
//! and pass it to a [`MailTransport`]. Each mail is sent once. If the process ends between the answer of the relay and
//! the commit that records it, the mail is sent once more, with the same `Message-ID`.

mod addresses;
mod content;
mod folder;
mod message;
mod options;
mod picture;
#[cfg(feature = "smtp")]
mod smtp;
mod transport;

use std::sync::Arc;

pub(crate) use addresses::ascii_address;
pub use folder::FolderTransport;
pub use options::MailOptions;
#[cfg(feature = "smtp")]
pub use smtp::{SmtpTransport, SmtpTransportBuilder};
pub use transport::{MailError, MailReceipt, MailTransport, OutgoingMail};

pub(crate) use content::has_document;
use content::{Content, Document};
use message::Attachments;
pub use message::test_mail;

use crate::documents::TicketDocument;
use crate::error::Result;
pub use crate::model::sale::mail::{
    ListMails, Mail, MailKind, MailPreview, MailSettings, MailState, PreviewMail, ResendTickets, UpdateMailSettings,
};
use crate::model::tickets::mail_facts::MailFacts;
use crate::model::values::timestamp::Timestamp;

/// The largest document that is attached, in bytes.
const MAX_ATTACHED: usize = 5 * 1024 * 1024;

/// Renders a mail: a message (RFC 5322).
pub(crate) fn render(
    facts: &MailFacts,
    document: Option<&TicketDocument>,
    options: &MailOptions,
    now: Timestamp,
) -> Result<Arc<[u8]>> {
    let attached = document.filter(|document| document.bytes.len() <= MAX_ATTACHED);
    let content = Content::of(facts, placed(attached))?;
    let calendar_entry = if has_document(facts) { message::calendar_entry(facts) } else { None };
    message::build(facts, &content, &Attachments { document: attached, calendar_entry }, options, now)
}

fn placed(attached: Option<&TicketDocument>) -> Document {
    if attached.is_some() { Document::Attached } else { Document::Linked }
}

/// The subject and the texts of a mail.
pub(crate) fn preview(facts: &MailFacts, document: Option<&TicketDocument>) -> Result<MailPreview> {
    let attached = document.filter(|document| document.bytes.len() <= MAX_ATTACHED);
    let content = Content::of(facts, placed(attached))?;
    Ok(MailPreview { text: content.text()?, html: content.html()?, subject: content.subject })
}
