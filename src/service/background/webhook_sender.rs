//! Starts the threads that send webhooks.

use std::sync::Arc;

use crate::error::Result;
use crate::service::TicketingService;
use crate::webhook::{SenderOptions, Transport, WebhookSenderGuard, deliver_due};

/// # Sending webhooks
impl TicketingService {
    /// Starts the threads that send notifications to the webhook endpoints of all organizations. They stop when
    /// the returned guard is dropped. As long as they run, the database stays open.
    ///
    /// A notification is sent as soon as the change that it reports is durable. After a failed attempt there are up to
    /// seven more, 1, 2, 5, 10, 20, 40 and 80 minutes after the previous one. Delivery is at least once: an attempt
    /// that is interrupted by the end of its process is repeated within 30 seconds.
    ///
    /// Several senders may run, in this process and in others on the same database. Each notification is sent by one of
    /// them.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) lists every option outside its limits, or says that the
    ///   default transport needs an implementation of cryptography or a feature of this crate (see
    ///   [`webhook`](crate::webhook#sending)).
    /// - [`Error::Store`](crate::Error::Store) if a thread cannot be started.
    ///
    /// ```
    /// use ticketing::webhook::SenderOptions;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # let _ = rustls::crypto::ring::default_provider().install_default();
    /// let guard = service.start_webhook_sender(SenderOptions::default())?;
    /// drop(guard); // waits a moment for attempts in progress
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_webhook_sender(&self, options: SenderOptions) -> Result<WebhookSenderGuard> {
        let store = Arc::clone(self.store()?);
        WebhookSenderGuard::start(store, self.inner.environment.clone(), self.webhook_transport()?, options)
    }

    /// Makes all attempts to send notifications that are due now, one after another on this thread, and returns how
    /// many it made. For tests: with a [`ManualClock`](crate::environment::ManualClock) and a
    /// [`Transport`](crate::webhook::Transport) of your own, they need neither threads nor waiting.
    ///
    /// An attempt that fails is due again later, by the service's clock: `ManualClock::advance` makes it due. The
    /// results are in [`list_webhook_deliveries`](Self::list_webhook_deliveries). A sender that runs at the same time
    /// takes a part of the attempts.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) if the default transport cannot be used, as for
    ///   [`start_webhook_sender`](Self::start_webhook_sender).
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// use std::time::Duration;
    /// # use ticketing::webhook::{Transport, WebhookFailure, WebhookRequest, WebhookResponse};
    /// #[derive(Debug)]
    /// struct AcceptEverything;
    ///
    /// impl Transport for AcceptEverything {
    ///     fn send(&self, request: &WebhookRequest, _: Duration) -> Result<WebhookResponse, WebhookFailure> {
    ///         Ok(WebhookResponse::new(204, Vec::new()))
    ///     }
    /// }
    ///
    /// let path = folder.path().join("test.db");
    /// let service = TicketingService::builder(path).webhook_transport(AcceptEverything).open()?;
    /// # let organization = service.create_organization(CreateOrganization::default())?;
    /// # let caller = service.act_for(organization.id)?;
    /// # let event = CreateEvent::new("Summer Night", "summer-night", Timestamp::MAX).status(EventStatus::Published);
    /// # let event = service.create_event(&caller, event)?;
    /// # let ticket_type = CreateTicketType::new("General admission", Amount::cents(1250), 100);
    /// # let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type)?;
    /// # let ada = NewCustomer::new("Ada", "ada@example.com");
    /// # let webhook = CreateWebhook::new("https://example.com/hook", [EventType::OrderCompleted]);
    /// # let webhook = service.create_webhook(&caller, webhook)?;
    /// let order = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?.order;
    /// service.mark_order_paid(&caller, order.id, ticketing::payment::ManualMethod::Cash)?;
    /// assert_eq!(service.deliver_due_webhooks()?, 1);
    /// let request = ListWebhookDeliveries::default();
    /// let deliveries = service.list_webhook_deliveries(&caller, webhook.endpoint.id, request)?;
    /// assert!(deliveries.data[0].success);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deliver_due_webhooks(&self) -> Result<usize> {
        deliver_due(self.store()?, &self.inner.environment, self.webhook_transport()?)
    }

    /// The transport of a new sender.
    fn webhook_transport(&self) -> Result<Arc<dyn Transport>> {
        match &self.inner.webhook_transport {
            Some(transport) => Ok(Arc::clone(transport)),
            // One for each sender: when a sender stops, the connections of its transport are closed.
            None => https_transport(self.inner.allow_local_webhooks),
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
