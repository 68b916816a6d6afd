//! Mails to customers and organizers.

use crate::mail::MailOptions;
use crate::service::opening::builder::Builder;

/// # Mails
impl Builder {
    /// Sends mails: the tickets to customers, and what happens to their orders. They are sent by threads of the service,
    /// which start when it is opened.
    ///
    /// Needs the [public URL](Self::public_url), because mails have links, and [ticket
    /// documents](Self::ticket_documents).
    ///
    /// ```
    /// use ticketing::documents::TicketDocuments;
    /// use ticketing::mail::{FolderTransport, MailOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ticketing.db");
    /// let mails = FolderTransport::new(folder.path().join("mails"));
    /// let builder = ticketing::TicketingService::builder(path).public_url("https://tickets.example.com");
    /// let builder = builder.ticket_documents(TicketDocuments::default());
    /// let service = builder.mail(MailOptions::new(mails, "tickets@example.com")).open()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mail(mut self, options: MailOptions) -> Self {
        self.mail = Some(options);
        self
    }
}
