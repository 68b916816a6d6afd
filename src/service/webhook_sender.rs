//! Starts the threads that send webhooks.

use super::TicketingService;
use crate::error::Result;
use crate::webhook::{SenderOptions, WebhookSender};

/// # Sending webhooks
impl TicketingService {
    /// Starts the threads that send notifications to the webhook endpoints of all organizations. Dropping the result
    /// stops them. As long as they run, the database stays open.
    ///
    /// A notification is sent as soon as the change that it reports is durable. After a failed attempt there are up to
    /// seven more, 1, 2, 5, 10, 20, 40 and 80 minutes after the previous one. Delivery is at least once: an attempt
    /// that is interrupted by the end of its process is repeated within 30 seconds.
    ///
    /// Several senders may run, in this process and in others on the same database. Each notification is sent by one of
    /// them.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) lists every option outside its limits, or says that the default
    ///   transport needs an implementation of cryptography or a feature of this crate (see
    ///   [`webhook`](crate::webhook#sending)).
    /// - [`Error::Store`](crate::Error::Store) if a thread cannot be started.
    ///
    /// ```
    /// use ticketing::webhook::SenderOptions;
    #[doc = include_str!("../doc_fixture.md")]
    /// # let _ = rustls::crypto::ring::default_provider().install_default();
    /// let sender = service.start_webhook_sender(SenderOptions::default())?;
    /// drop(sender); // waits a moment for attempts in progress
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_webhook_sender(&self, options: SenderOptions) -> Result<WebhookSender> {
        self.inner.webhooks.start_sender(&self.inner.store, &self.inner.environment, options)
    }
}
