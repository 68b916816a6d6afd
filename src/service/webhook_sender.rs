//! Sending notifications.

use std::sync::Arc;

use super::TicketingService;
use crate::environment::Environment;
use crate::error::Result;
use crate::store::Store;
use crate::webhook::{HttpsTransport, SenderOptions, Transport, WebhookSender};

/// How webhooks are sent.
pub(super) struct Webhooks {
    /// Whether they may go to this machine, and by plain HTTP.
    pub(super) allow_local: bool,
    /// What carries them, where it is not HTTPS as it comes with the crate.
    pub(super) transport: Option<Arc<dyn Transport>>,
}

impl Webhooks {
    pub(super) fn start_sender(
        &self,
        store: &Arc<Store>,
        environment: &Environment,
        options: SenderOptions,
    ) -> Result<WebhookSender> {
        let https = || Arc::new(HttpsTransport::builder().allow_local(self.allow_local).build());
        // Each sender has its own: the end of one is the end of its connections.
        let transport = self.transport.clone().unwrap_or_else(|| https());
        WebhookSender::start(Arc::clone(store), environment.clone(), transport, options)
    }
}

impl TicketingService {
    /// Starts the threads that send notifications to the webhook endpoints of every organization, until the answer is
    /// dropped. It keeps the store open meanwhile. Several may run, in this process and in others on the same file: each
    /// notification is sent by one of them.
    ///
    /// A notification is sent as soon as the change is durable that it reports. It is delivered at least once: an attempt
    /// that the end of a process cut off is made again within 30 seconds. After an attempt that fails there are seven
    /// more, 1, 2, 5, 10, 20, 40 and 80 minutes after the one before.
    ///
    /// # Errors
    /// A validation error names each option that is out of its range; [`Error::Store`](crate::Error::Store) where no
    /// thread can be started.
    ///
    /// ```
    /// use ticketing::webhook::SenderOptions;
    #[doc = include_str!("../doc_fixture.md")]
    /// let sender = service.start_webhook_sender(SenderOptions::default())?;
    /// drop(sender); // what is under way has a moment to end
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_webhook_sender(&self, options: SenderOptions) -> Result<WebhookSender> {
        self.inner.webhooks.start_sender(&self.inner.store, &self.inner.environment, options)
    }
}
