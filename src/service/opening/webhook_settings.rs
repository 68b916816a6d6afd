//! The webhook settings of a service.

use std::sync::Arc;

use crate::environment::Environment;
use crate::error::Result;
use crate::store::Store;
use crate::webhook::{SenderOptions, Transport, WebhookSenderGuard};

pub(in crate::service) struct WebhookSettings {
    /// Whether endpoints may have loopback addresses and plain `http` URLs.
    pub(in crate::service) allow_local: bool,
    /// The transport of all senders; `None` for the HTTPS transport.
    pub(in crate::service) transport: Option<Arc<dyn Transport>>,
}

impl WebhookSettings {
    pub(in crate::service) fn start_sender(
        &self,
        store: &Arc<Store>,
        environment: &Environment,
        options: SenderOptions,
    ) -> Result<WebhookSenderGuard> {
        WebhookSenderGuard::start(Arc::clone(store), environment.clone(), self.transport()?, options)
    }

    /// The transport of a new sender.
    pub(in crate::service) fn transport(&self) -> Result<Arc<dyn Transport>> {
        match &self.transport {
            Some(transport) => Ok(Arc::clone(transport)),
            // One for each sender: when a sender stops, the connections of its transport are closed.
            None => https_transport(self.allow_local),
        }
    }
}

#[cfg(feature = "webhooks")]
fn https_transport(allow_local: bool) -> Result<Arc<dyn Transport>> {
    use crate::webhook::HttpsTransport;
    Ok(Arc::new(HttpsTransport::builder().allow_local(allow_local).build()?))
}

#[cfg(not(feature = "webhooks"))]
fn https_transport(_: bool) -> Result<Arc<dyn Transport>> {
    use crate::error::Error;
    Err(Error::field(
        "webhook_transport",
        "must be set, because the crate `ticketing` is compiled without its feature `webhooks`",
    ))
}
