//! The interface between the queue of mails and what delivers them.

use std::fmt;
use std::sync::Arc;

use crate::model::values::id::{MailId, OrganizationId};

/// Passes mails to a relay. [`FolderTransport`](super::FolderTransport) writes them to files, and with the feature `smtp`,
/// `SmtpTransport` sends them over SMTP. With another provider, implement it over the HTTP API of that provider.
///
/// Several threads call it at once, and no transaction is open. Calls may block, for at most 30 seconds: after a minute,
/// another process may send the same mail.
pub trait MailTransport: Send + Sync + 'static {
    /// Sends a mail. It is sent again after an error that may pass, and if the process ends before the result is
    /// recorded: then with the same `Message-ID`.
    ///
    /// # Errors
    /// Why it was not accepted.
    fn send(&self, mail: &OutgoingMail) -> Result<MailReceipt, MailError>;
}

/// Implements the trait for pointers, so that a program can keep the transport that it gives to the service.
macro_rules! for_pointers {
    ($($pointer:ident),+) => {$(
        impl<T: MailTransport + ?Sized> MailTransport for $pointer<T> {
            fn send(&self, mail: &OutgoingMail) -> Result<MailReceipt, MailError> {
                (**self).send(mail)
            }
        }
    )+};
}

for_pointers!(Arc, Box);

/// A mail to one address.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutgoingMail {
    /// The organization for which it is sent.
    pub organization_id: OrganizationId,
    /// The id of the mail.
    pub id: MailId,
    /// The e-mail address of the sender, to which a relay reports what it cannot deliver.
    pub envelope_from: String,
    /// The e-mail address of the recipient. Its domain is in ASCII.
    pub to: String,
    /// The message (RFC 5322). It is in ASCII, with lines of at most 998 characters, which end with CR and LF.
    pub message: Arc<[u8]>,
}

impl OutgoingMail {
    /// Creates a mail, for tests of transports.
    #[must_use]
    pub fn new(
        organization_id: OrganizationId,
        id: MailId,
        envelope_from: impl Into<String>,
        to: impl Into<String>,
        message: impl Into<Arc<[u8]>>,
    ) -> Self {
        let (envelope_from, to, message) = (envelope_from.into(), to.into(), message.into());
        Self { organization_id, id, envelope_from, to, message }
    }
}

impl fmt::Debug for OutgoingMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message has codes that admit, and addresses are personal data.
        f.debug_struct("OutgoingMail")
            .field("organization_id", &self.organization_id)
            .field("id", &self.id)
            .field("message", &self.message.len())
            .finish_non_exhaustive()
    }
}

/// A relay has accepted a mail.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MailReceipt {
    /// What it has answered. At most 500 characters are stored.
    pub answer: String,
}

impl MailReceipt {
    /// Creates a receipt with the answer of the relay.
    #[must_use]
    pub fn new(answer: impl Into<String>) -> Self {
        Self { answer: answer.into() }
    }
}

impl fmt::Debug for MailReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relays repeat the address.
        f.write_str("MailReceipt")
    }
}

/// Why a relay has not accepted a mail, with its text. At most 500 characters of the text are stored. It is never logged,
/// because it may contain an address.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MailError {
    /// The relay cannot be reached, does not accept the credentials, or asks to try again later. The mail is sent again.
    #[error("{0}")]
    Unavailable(String),
    /// The relay refuses the mail for good.
    #[error("{0}")]
    Refused(String),
    /// The relay refuses the recipient for good.
    #[error("{0}")]
    RecipientRefused(String),
}

impl fmt::Debug for MailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unavailable(_) => "Unavailable",
            Self::Refused(_) => "Refused",
            Self::RecipientRefused(_) => "RecipientRefused",
        })
    }
}
