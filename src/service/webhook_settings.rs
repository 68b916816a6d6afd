//! The webhook settings of a service.

use std::sync::Arc;

use crate::environment::Environment;
use crate::error::Result;
use crate::store::Store;
use crate::webhook::{HttpsTransport, SenderOptions, Transport, WebhookSender};

/// The webhook settings of a service.
pub(super) struct WebhookSettings {
    /// Whether endpoints may have loopback addresses and plain `http` URLs.
    pub(super) allow_local: bool,
    /// The transport of all senders; `None` for the HTTPS transport.
    pub(super) transport: Option<Arc<dyn Transport>>,
}

impl WebhookSettings {
    pub(super) fn start_sender(
        &self,
        store: &Arc<Store>,
        environment: &Environment,
        options: SenderOptions,
    ) -> Result<WebhookSender> {
        let transport = match &self.transport {
            Some(transport) => Arc::clone(transport),
            // One for each sender: when a sender stops, the connections of its transport are closed.
            None => Arc::new(HttpsTransport::builder().allow_local(self.allow_local).build()),
        };
        WebhookSender::start(Arc::clone(store), environment.clone(), transport, options)
    }
}
