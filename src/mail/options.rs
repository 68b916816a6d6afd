//! How a service sends mails.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::addresses::mailbox_of;
use super::transport::MailTransport;
use crate::error::FieldErrors;

/// How many mails a service sends in a second.
const PER_SECOND: u32 = 20;

/// How many mails an organization sends to one address in an hour.
const PER_ADDRESS: u32 = 10;

/// How many mails an organization sends in an hour.
const PER_ORGANIZATION: u32 = 5_000;

/// How long the rows of mails are kept.
const RETENTION: Duration = Duration::from_hours(365 * 24);

/// The shortest retention: resends are counted over a day.
const DAY: Duration = Duration::from_hours(24);

/// How a service sends mails: see [`Builder::mail`](crate::Builder::mail).
#[derive(Clone)]
pub struct MailOptions {
    pub(crate) transport: Arc<dyn MailTransport>,
    pub(crate) from: String,
    pub(crate) reply_to: Option<String>,
    pub(crate) per_second: u32,
    pub(crate) per_address: u32,
    pub(crate) per_organization: u32,
    pub(crate) retention: Duration,
    pub(crate) has_threads: bool,
}

impl fmt::Debug for MailOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailOptions")
            .field("per_second", &self.per_second)
            .field("per_address", &self.per_address)
            .field("per_organization", &self.per_organization)
            .finish_non_exhaustive()
    }
}

impl MailOptions {
    /// Sends mails over `transport`. `from` is the e-mail address of the sender: the relay must be allowed to send for its
    /// domain. The name of the sender is that of each organization.
    #[must_use]
    pub fn new(transport: impl MailTransport, from: impl Into<String>) -> Self {
        Self {
            transport: Arc::new(transport),
            from: from.into(),
            reply_to: None,
            per_second: PER_SECOND,
            per_address: PER_ADDRESS,
            per_organization: PER_ORGANIZATION,
            retention: RETENTION,
            has_threads: true,
        }
    }

    /// Sets the e-mail address to which answers go, for organizations that have set none. Default: the sender's.
    #[must_use]
    pub fn reply_to(mut self, address: impl Into<String>) -> Self {
        self.reply_to = Some(address.into());
        self
    }

    /// Sets how many mails this process sends in a second. Default: 20; minimum: 1.
    #[must_use]
    pub fn per_second(mut self, mails: u32) -> Self {
        self.per_second = mails;
        self
    }

    /// Sets how many mails an organization sends to one address in an hour. Default: 10; minimum: 1. Further ones wait. An
    /// order that costs nothing can name any address, so this protects those who have not ordered. It does not limit the
    /// mails about new orders to the organization's own address.
    #[must_use]
    pub fn per_address_and_hour(mut self, mails: u32) -> Self {
        self.per_address = mails;
        self
    }

    /// Sets how many mails an organization sends in an hour. Default: 5,000; minimum: 1. Further ones wait.
    #[must_use]
    pub fn per_organization_and_hour(mut self, mails: u32) -> Self {
        self.per_organization = mails;
        self
    }

    /// Sets how long it stays listed what became of a mail, and to which address it went. Default: 365 days; minimum: one
    /// day. A mail that waits is kept.
    #[must_use]
    pub fn retention(mut self, kept: Duration) -> Self {
        self.retention = kept;
        self
    }

    /// Sets whether threads of the service send mails. Default: `true`. Without them,
    /// [`deliver_due_mails`](crate::TicketingService::deliver_due_mails) does.
    #[must_use]
    pub fn threads(mut self, has_threads: bool) -> Self {
        self.has_threads = has_threads;
        self
    }

    pub(crate) fn check(&self, errors: &mut FieldErrors) {
        // A name without a dot, such as localhost, is one too.
        let is_address = |address: &str| mailbox_of(None, address).is_ok();
        errors.check(is_address(&self.from), "mail.from", "must be an e-mail address");
        let reply_to_is_valid = self.reply_to.as_deref().is_none_or(is_address);
        errors.check(reply_to_is_valid, "mail.reply_to", "must be an e-mail address");
        errors.check(self.per_second > 0, "mail.per_second", "must be at least 1");
        errors.check(self.per_address > 0, "mail.per_address_and_hour", "must be at least 1");
        errors.check(self.per_organization > 0, "mail.per_organization_and_hour", "must be at least 1");
        errors.check(self.retention >= DAY, "mail.retention", "must be at least a day");
    }
}
